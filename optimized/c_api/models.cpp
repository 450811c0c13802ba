// Models, and what computes with them alone.
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "optimized/c_api/handles.hpp"
#include "optimized/c_api/options.hpp"
#include "optimized/c_api/statistics.hpp"
#include "slip/charlie.hpp"
#include "slip/model.hpp"
#include "slip/slip.h"
#include "slip/tls.hpp"

namespace slip::c_api {
namespace {

void give(LanguageModel model, slip_language_model** language) {
    *language = LanguageModels::all().add(std::make_shared<HeldLanguageModel>(std::move(model)));
}

void give(ImageClassifier model, slip_image_classifier** images) {
    *images = ImageClassifiers::all().add(std::make_shared<HeldImageClassifier>(std::move(model)));
}

/// open.operator()<Kind>() opens the model as the kinds that the caller has a place for.
template <class Open>
slip_status open_model(slip_language_model** language, slip_image_classifier** images,
                       const Open& open) {
    return guarded([&] {
        if (language == nullptr && images == nullptr) {
            throw BadInput("language and images are NULL: expected a place for a model");
        }
        if (images == nullptr) return give(open.template operator()<LanguageModel>(), language);
        if (language == nullptr) {
            return give(open.template operator()<ImageClassifier>(), images);
        }
        Model model = open.template operator()<Model>();
        *language = nullptr;
        *images = nullptr;
        if (auto* text = std::get_if<LanguageModel>(&model)) {
            give(std::move(*text), language);
        } else {
            give(std::get<ImageClassifier>(std::move(model)), images);
        }
    });
}

/// To "HOST:PORT,HOST:PORT,...", one per shard.
std::vector<Connect> connects_to(const std::string& endpoints, const std::string& certificates,
                                 const TimeLimits& limits) {
    std::vector<Connect> connects;
    std::istringstream list(endpoints + ',');
    for (std::string endpoint; std::getline(list, endpoint, ',');) {
        connects.emplace_back([address = parse_endpoint(endpoint, "endpoint"), certificates,
                               limits] { return connect_tls(address, certificates, limits); });
    }
    return connects;
}

template <class Size>
slip_status size_of_text(const slip_language_model* model, std::size_t* count, const Size& size) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        given(count, "count") = held->read(size);
    });
}

template <class Size>
slip_status size_of_images(const slip_image_classifier* model, std::size_t* count,
                           const Size& size) {
    return guarded([&] {
        const auto held = ImageClassifiers::all().find(model);
        given(count, "count") = size(held->model);
    });
}

}  // namespace
}  // namespace slip::c_api

using namespace slip::c_api;

extern "C" {

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
        const slip_charlie_options chosen = known_part(options, "options");
        return slip::open_charlie<Kind>(
            &given(artifact, "artifact"),
            connects_to(&given(endpoint, "endpoint"), &given(certificates, "certificates"),
                        limits_of(chosen)),
            charlie_of(chosen));
    });
}

slip_status slip_open_charlie_fd(const char* artifact, int input, int output,
                                 const slip_charlie_options* options,
                                 slip_language_model** language, slip_image_classifier** images) {
    slip_charlie_options chosen{};
    const slip_status known = guarded([&] { chosen = known_part(options, "options"); });
    std::unique_ptr<slip::Transport> david;
    const slip_status opened = guarded(  // closes the descriptors in every case
        [&] { david = slip::open_pipe(input, output, limits_of(chosen)); });
    if (known != SLIP_OK || opened != SLIP_OK) return known != SLIP_OK ? known : opened;
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
                                                   charlie_of(known_part(options, "options")));
    });
}

slip_status slip_free_language_model(slip_language_model* model) {
    return guarded([&] { LanguageModels::all().remove(model); });
}

slip_status slip_free_image_classifier(slip_image_classifier* model) {
    return guarded([&] { ImageClassifiers::all().remove(model); });
}

slip_status slip_get_language_statistics(slip_language_model* model,
                                         slip_run_statistics* statistics) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const auto run = held->compute([](slip::LanguageModel& m) { return m.statistics(); });
        give_known_part(statistics_of(run), statistics, "statistics");
    });
}

slip_status slip_get_image_statistics(slip_image_classifier* model,
                                      slip_run_statistics* statistics) {
    return guarded([&] {
        const auto held = ImageClassifiers::all().find(model);
        const InUse in_use(held->busy);
        give_known_part(statistics_of(held->model.statistics()), statistics, "statistics");
    });
}

slip_status slip_vocabulary_size(const slip_language_model* model, size_t* count) {
    return size_of_text(model, count, [](const auto& m) { return m.vocabulary_size(); });
}

slip_status slip_max_positions(const slip_language_model* model, size_t* count) {
    return size_of_text(model, count, [](const auto& m) { return m.max_positions(); });
}

slip_status slip_encode_prompt(const slip_language_model* model, const char* text, size_t bytes,
                               int32_t* ids, size_t capacity, size_t* count) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const auto letters = array(text, bytes, "text");
        held->read([&](const slip::LanguageModel& m) {
            copy_out(m.encode_prompt({letters.data(), letters.size()}), ids, capacity, count);
        });
    });
}

slip_status slip_encode(const slip_language_model* model, const char* text, size_t bytes,
                        int32_t* ids, size_t capacity, size_t* count) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const auto letters = array(text, bytes, "text");
        held->read([&](const slip::LanguageModel& m) {
            copy_out(m.encode({letters.data(), letters.size()}), ids, capacity, count);
        });
    });
}

slip_status slip_decode(const slip_language_model* model, const int32_t* prompt,
                        size_t prompt_count, const int32_t* ids, size_t count, char* text,
                        size_t capacity, size_t* bytes) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const std::string decoded = held->read([&](const slip::LanguageModel& m) {
            return m.continuation(array(prompt, prompt_count, "prompt"), array(ids, count, "ids"));
        });
        copy_out(decoded, text, capacity, bytes, 1);
        text[decoded.size()] = '\0';
    });
}

slip_status slip_generate(slip_language_model* model, const int32_t* prompt, size_t prompt_count,
                          const slip_sampling_options* options, slip_on_token on_token,
                          void* context, int32_t* ids, size_t* count) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const slip::SamplingOptions sampling = sampling_of(options);
        given(count, "count");
        const auto made = held->compute([&](slip::LanguageModel& m) {
            return m.generate(array(prompt, prompt_count, "prompt"), sampling,
                              on_token_of(on_token, context));
        });
        if (ids != nullptr) std::copy(made.begin(), made.end(), ids);
        *count = made.size();
    });
}

slip_status slip_forward(slip_language_model* model, const int32_t* ids, size_t count,
                         float* logits) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        given(logits, "logits");
        const auto rows = held->compute(
            [&](slip::LanguageModel& m) { return m.forward(array(ids, count, "ids")); });
        std::copy(rows.begin(), rows.end(), logits);
    });
}

slip_status slip_image_size(const slip_image_classifier* model, size_t* elements) {
    return size_of_images(model, elements, [](const auto& m) { return m.image_size(); });
}

slip_status slip_class_count(const slip_image_classifier* model, size_t* count) {
    return size_of_images(model, count, [](const auto& m) { return m.class_count(); });
}

slip_status slip_classify(slip_image_classifier* model, const float* images, size_t image_count,
                          float* logits) {
    return guarded([&] {
        const auto held = ImageClassifiers::all().find(model);
        const InUse in_use(held->busy);
        given(logits, "logits");
        const std::size_t elements = held->model.image_size();
        if (image_count > std::numeric_limits<std::size_t>::max() / elements) {
            throw slip::BadInput("image_count " + std::to_string(image_count) + " is too large");
        }
        const auto rows = held->model.classify(array(images, image_count * elements, "images"));
        std::copy(rows.begin(), rows.end(), logits);
    });
}
}
