// The C interface of slip/slip.h over the public classes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "slip/slip.h"
#include "slip/slip.hpp"

namespace {

using slip::BadInput;

// ---- errors

thread_local std::string last_error;

/// A status that is no kind of slip::Error.
struct Refused : std::runtime_error {
    Refused(slip_status s, const std::string& message) : std::runtime_error(message), status(s) {}
    slip_status status;
};

slip_status fail(slip_status status, const char* message) noexcept {
    try {
        last_error = message;
    } catch (...) {
        last_error.clear();  // no memory is left for the message
    }
    return status;
}

/// Where every exception ends.
template <class Call>
slip_status guarded(const Call& call) noexcept {
    try {
        call();
        return SLIP_OK;
    } catch (const Refused& error) {
        return fail(error.status, error.what());
    } catch (const BadInput& error) {
        return fail(SLIP_BAD_INPUT, error.what());
    } catch (const slip::IntegrityError& error) {
        return fail(SLIP_INTEGRITY_ERROR, error.what());
    } catch (const slip::ProtocolError& error) {
        return fail(SLIP_PROTOCOL_ERROR, error.what());
    } catch (const std::bad_alloc&) {
        return fail(SLIP_OUT_OF_MEMORY, "there is not enough memory");
    } catch (const std::exception& error) {
        return fail(SLIP_INTERNAL_ERROR, error.what());
    } catch (...) {
        return fail(SLIP_INTERNAL_ERROR, "an exception of an unknown type");
    }
}

/// What a pointer of the caller's leads to; BadInput if it is NULL.
template <class T>
T& given(T* pointer, const char* name) {
    if (pointer != nullptr) return *pointer;
    throw BadInput(std::string(name) + " is NULL");
}

/// An array of the caller's, which may be NULL if it is empty.
template <class T>
std::span<T> array(T* first, std::size_t count, const char* name) {
    if (count > 0) given(first, name);
    return {first, count};
}

// ---- handles

/// Objects by numbers that are never used again.
template <class Handle, class Object>
class Handles {
public:
    /// Never destroyed: other threads may still be in calls when the process ends.
    static Handles& all() {
        static Handles& handles = *new Handles;
        return handles;
    }
    Handle* add(std::shared_ptr<Object> object) {
        const std::lock_guard lock(mutex_);
        const std::uintptr_t number = next_number();
        objects_.emplace(number, std::move(object));
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number that nobody follows
        return reinterpret_cast<Handle*>(number);
    }
    std::shared_ptr<Object> find(const Handle* handle) {
        const std::lock_guard lock(mutex_);
        return at(handle)->second;
    }
    std::shared_ptr<Object> remove(const Handle* handle) {
        const std::lock_guard lock(mutex_);
        const auto found = at(handle);
        auto object = std::move(found->second);
        objects_.erase(found);
        return object;
    }

private:
    using Objects = std::map<std::uintptr_t, std::shared_ptr<Object>>;
    typename Objects::iterator at(const Handle* handle) {
        const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
        if (found != objects_.end()) return found;
        throw Refused(SLIP_INVALID_HANDLE, handle == nullptr
                                               ? "the handle is NULL"
                                               : "the handle was freed, or is of another type");
    }
    static std::uintptr_t next_number();

    std::mutex mutex_;
    Objects objects_;
};

/// One count for the handles of all types, so that none is taken for one of another type.
std::uintptr_t new_number() {
    static std::atomic<std::uintptr_t> last{0};
    return ++last;
}

template <class Handle, class Object>
std::uintptr_t Handles<Handle, Object>::next_number() {
    return new_number();
}

/// A model, and whether a call computes with it.
template <class Kind>
struct Held {
    explicit Held(Kind m) : model(std::move(m)) {}
    Kind model;
    std::atomic_flag busy;
};

/// Held while a call computes.
class InUse {
public:
    explicit InUse(std::atomic_flag& busy) : busy_(busy) {
        if (busy_.test_and_set()) {
            throw Refused(SLIP_BUSY, "the model is in use by another call");
        }
    }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse() { busy_.clear(); }

private:
    std::atomic_flag& busy_;
};

/// A David, and how his servers serve.
struct HeldDavid {
    slip::David david;
    slip::DavidOptions options;
};

struct Server {
    Server(const std::shared_ptr<HeldDavid>& held, const slip::Endpoint& endpoint,
           const std::string& certificates, slip::TlsServer::Report report)
        : server(
              endpoint, certificates, held->options,
              [held](slip::Transport& charlie) { held->david.serve(charlie); }, std::move(report)) {
    }
    slip::TlsServer server;
    std::atomic_flag begun;
};

using LanguageModels = Handles<slip_language_model, Held<slip::LanguageModel>>;
using ImageClassifiers = Handles<slip_image_classifier, Held<slip::ImageClassifier>>;
using Davids = Handles<slip_david, HeldDavid>;
using Servers = Handles<slip_server, Server>;

// ---- options

slip::TimeLimits limits_of(std::uint32_t timeout_ms, std::uint32_t patience_ms) {
    slip::TimeLimits limits;
    if (timeout_ms > 0) limits.timeout = std::chrono::milliseconds(timeout_ms);
    if (patience_ms > 0) limits.patience = std::chrono::milliseconds(patience_ms);
    return limits;
}

slip_charlie_options options_of(const slip_charlie_options* options) {
    return options != nullptr ? *options : slip_charlie_options{};
}

slip::TimeLimits limits_of(const slip_charlie_options& options) {
    return limits_of(options.timeout_ms, options.patience_ms);
}

/// All but the time limits, which belong to connections.
slip::CharlieOptions charlie_of(const slip_charlie_options& options) {
    slip::CharlieOptions charlie;
    charlie.masks_ready = options.masks_ready;
    if (options.seal != nullptr) charlie.seal = options.seal;
    if (options.note != nullptr) {
        charlie.note = [note = options.note, context = options.note_context](
                           const std::string& line) { note(context, line.c_str()); };
    }
    return charlie;
}

slip::DavidOptions options_of(const slip_david_options* options) {
    const slip_david_options chosen = options != nullptr ? *options : slip_david_options{};
    slip::DavidOptions serving;
    serving.threads = chosen.threads;
    if (chosen.max_sessions > 0) serving.max_sessions = chosen.max_sessions;
    serving.limits = limits_of(chosen.timeout_ms, chosen.patience_ms);
    return serving;
}

// ---- opening

void give(slip::LanguageModel model, slip_language_model** language) {
    *language =
        LanguageModels::all().add(std::make_shared<Held<slip::LanguageModel>>(std::move(model)));
}

void give(slip::ImageClassifier model, slip_image_classifier** images) {
    *images = ImageClassifiers::all().add(
        std::make_shared<Held<slip::ImageClassifier>>(std::move(model)));
}

/// open.operator()<Kind>() opens the model as the kinds that the caller has a place for.
template <class Open>
slip_status open_model(slip_language_model** language, slip_image_classifier** images,
                       const Open& open) {
    return guarded([&] {
        if (language == nullptr && images == nullptr) {
            throw BadInput("language and images are NULL: expected a place for a model");
        }
        if (images == nullptr)
            return give(open.template operator()<slip::LanguageModel>(), language);
        if (language == nullptr) {
            return give(open.template operator()<slip::ImageClassifier>(), images);
        }
        slip::Model model = open.template operator()<slip::Model>();
        *language = nullptr;
        *images = nullptr;
        if (auto* text = std::get_if<slip::LanguageModel>(&model)) {
            give(std::move(*text), language);
        } else {
            give(std::get<slip::ImageClassifier>(std::move(model)), images);
        }
    });
}

// ---- copying out

/// Copies `from` to the caller's `to` if it fits `capacity`, with `terminators` more elements left
/// for what ends it; *count is its size in either case.
template <class From, class T>
void copy_out(const From& from, T* to, std::size_t capacity, std::size_t* count,
              std::size_t terminators = 0) {
    given(count, "count") = from.size();
    if (from.size() + terminators > capacity) {
        throw Refused(SLIP_BUFFER_TOO_SMALL, "the buffer has " + std::to_string(capacity) +
                                                 " elements: expected " +
                                                 std::to_string(from.size() + terminators));
    }
    std::copy(from.begin(), from.end(), array(to, from.size() + terminators, "buffer").begin());
}

template <class Handle, class All, class Size>
slip_status size_of(All& all, const Handle* model, std::size_t* count, const Size& size) {
    return guarded([&] {
        const std::size_t found = size(all.find(model)->model);
        given(count, "count") = found;
    });
}

}  // namespace

extern "C" {

const char* slip_last_error(void) { return last_error.c_str(); }
const char* slip_library_version(void) { return slip::library_version(); }

slip_status slip_open_checkpoint(const char* path, slip_language_model** language,
                                 slip_image_classifier** images) {
    return open_model(language, images, [&]<class Kind>() {
        return slip::open_checkpoint<Kind>(&given(path, "path"));
    });
}

slip_status slip_open_unsplit(const char* artifact, const char* audit,
                              slip_language_model** language, slip_image_classifier** images) {
    return open_model(language, images, [&]<class Kind>() {
        return slip::open_unsplit<Kind>(&given(artifact, "artifact"),
                                        audit == nullptr ? "" : audit);
    });
}

slip_status slip_open_charlie_tls(const char* artifact, const char* endpoint,
                                  const char* certificates, const slip_charlie_options* options,
                                  slip_language_model** language, slip_image_classifier** images) {
    return open_model(language, images, [&]<class Kind>() {
        const slip_charlie_options chosen = options_of(options);
        const auto address = slip::parse_endpoint(&given(endpoint, "endpoint"), "endpoint");
        given(certificates, "certificates");
        return slip::open_charlie<Kind>(
            &given(artifact, "artifact"),
            [&] { return slip::connect_tls(address, certificates, limits_of(chosen)); },
            charlie_of(chosen));
    });
}

slip_status slip_open_charlie_fd(const char* artifact, int input, int output,
                                 const slip_charlie_options* options,
                                 slip_language_model** language, slip_image_classifier** images) {
    const slip_charlie_options chosen = options_of(options);
    std::unique_ptr<slip::Transport> david;
    const slip_status status =
        guarded([&] { david = slip::open_pipe(input, output, limits_of(chosen)); });
    if (status != SLIP_OK) return status;
    return open_model(language, images, [&]<class Kind>() {
        return slip::open_charlie<Kind>(&given(artifact, "artifact"), std::move(david),
                                        charlie_of(chosen));
    });
}

slip_status slip_open_charlie_in_process(const char* artifact, const slip_charlie_options* options,
                                         slip_language_model** language,
                                         slip_image_classifier** images) {
    return open_model(language, images, [&]<class Kind>() {
        return slip::open_charlie_in_process<Kind>(&given(artifact, "artifact"),
                                                   charlie_of(options_of(options)));
    });
}

slip_status slip_free_language_model(slip_language_model* model) {
    return guarded([&] { LanguageModels::all().remove(model); });
}

slip_status slip_free_image_classifier(slip_image_classifier* model) {
    return guarded([&] { ImageClassifiers::all().remove(model); });
}

slip_status slip_vocabulary_size(const slip_language_model* model, size_t* count) {
    return size_of(LanguageModels::all(), model, count,
                   [](const auto& m) { return m.vocabulary_size(); });
}

slip_status slip_max_positions(const slip_language_model* model, size_t* count) {
    return size_of(LanguageModels::all(), model, count,
                   [](const auto& m) { return m.max_positions(); });
}

slip_status slip_encode_prompt(const slip_language_model* model, const char* text, size_t bytes,
                               int32_t* ids, size_t capacity, size_t* count) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const auto letters = array(text, bytes, "text");
        copy_out(held->model.encode_prompt({letters.data(), letters.size()}), ids, capacity, count);
    });
}

slip_status slip_encode(const slip_language_model* model, const char* text, size_t bytes,
                        int32_t* ids, size_t capacity, size_t* count) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const auto letters = array(text, bytes, "text");
        copy_out(held->model.encode({letters.data(), letters.size()}), ids, capacity, count);
    });
}

slip_status slip_decode(const slip_language_model* model, const int32_t* prompt,
                        size_t prompt_count, const int32_t* ids, size_t count, char* text,
                        size_t capacity, size_t* bytes) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const std::string decoded = held->model.continuation(array(prompt, prompt_count, "prompt"),
                                                             array(ids, count, "ids"));
        copy_out(decoded, text, capacity, bytes, 1);
        text[decoded.size()] = '\0';
    });
}

slip_status slip_generate(slip_language_model* model, const int32_t* prompt, size_t prompt_count,
                          const slip_sampling_options* options, slip_on_token on_token,
                          void* context, int32_t* ids, size_t* count) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const InUse in_use(held->busy);
        const slip_sampling_options chosen = given(options, "options");
        given(count, "count");
        slip::LanguageModel::OnToken see;
        if (on_token != nullptr) {
            see = [&](slip::TokenId id, std::span<const float> logits) {
                return on_token(context, id, logits.data(), logits.size()) != 0;
            };
        }
        const auto made =
            held->model.generate(array(prompt, prompt_count, "prompt"),
                                 {chosen.max_tokens, chosen.temperature, chosen.seed}, see);
        if (ids != nullptr) std::copy(made.begin(), made.end(), ids);
        *count = made.size();
    });
}

slip_status slip_forward(slip_language_model* model, const int32_t* ids, size_t count,
                         float* logits) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const InUse in_use(held->busy);
        given(logits, "logits");
        const auto rows = held->model.forward(array(ids, count, "ids"));
        std::copy(rows.begin(), rows.end(), logits);
    });
}

slip_status slip_image_size(const slip_image_classifier* model, size_t* elements) {
    return size_of(ImageClassifiers::all(), model, elements,
                   [](const auto& m) { return m.image_size(); });
}

slip_status slip_class_count(const slip_image_classifier* model, size_t* count) {
    return size_of(ImageClassifiers::all(), model, count,
                   [](const auto& m) { return m.class_count(); });
}

slip_status slip_classify(slip_image_classifier* model, const float* images, size_t image_count,
                          float* logits) {
    return guarded([&] {
        const auto held = ImageClassifiers::all().find(model);
        const InUse in_use(held->busy);
        given(logits, "logits");
        const std::size_t elements = held->model.image_size();
        if (image_count > std::numeric_limits<std::size_t>::max() / elements) {
            throw BadInput("image_count " + std::to_string(image_count) + " is too large");
        }
        const auto rows = held->model.classify(array(images, image_count * elements, "images"));
        std::copy(rows.begin(), rows.end(), logits);
    });
}

slip_status slip_open_david(const char* artifact, const slip_david_options* options,
                            slip_david** david) {
    return guarded([&] {
        const slip::DavidOptions serving = options_of(options);
        given(david, "david");
        slip::David opened(&given(artifact, "artifact"), serving);
        *david = Davids::all().add(std::make_shared<HeldDavid>(std::move(opened), serving));
    });
}

slip_status slip_free_david(slip_david* david) {
    return guarded([&] { Davids::all().remove(david); });
}

slip_status slip_serve_fd(slip_david* david, int input, int output) {
    std::shared_ptr<HeldDavid> held;
    const slip_status found = guarded([&] { held = Davids::all().find(david); });
    return guarded([&] {
        const auto limits = held ? held->options.limits : slip::TimeLimits{};
        const auto charlie = slip::open_pipe(input, output, limits);  // closes them in every case
        if (!held) throw Refused(found, last_error);
        held->david.serve(*charlie);
    });
}

slip_status slip_open_server(slip_david* david, const char* endpoint, const char* certificates,
                             slip_report report, void* context, slip_server** server) {
    return guarded([&] {
        const auto held = Davids::all().find(david);
        const auto address = slip::parse_endpoint(&given(endpoint, "endpoint"), "endpoint");
        given(server, "server");
        *server = Servers::all().add(
            std::make_shared<Server>(held, address, &given(certificates, "certificates"),
                                     [report, context](const std::string& line) {
                                         if (report != nullptr) report(context, line.c_str());
                                     }));
    });
}

slip_status slip_server_port(const slip_server* server, uint16_t* port) {
    return guarded([&] { given(port, "port") = Servers::all().find(server)->server.port(); });
}

slip_status slip_run_server(slip_server* server) {
    return guarded([&] {
        const auto held = Servers::all().find(server);
        if (held->begun.test_and_set()) throw Refused(SLIP_BUSY, "the server was run before");
        held->server.run();
    });
}

slip_status slip_stop_server(slip_server* server) {
    return guarded([&] { Servers::all().find(server)->server.stop(); });
}

slip_status slip_free_server(slip_server* server) {
    return guarded([&] { Servers::all().remove(server)->server.stop(); });
}

}  // extern "C"
