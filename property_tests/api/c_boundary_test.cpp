// The boundary of slip/slip.h: what every function makes of handles, places and structs that are
// wrong, David and his server, and a scheduler.
// test: threads
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimized/c_api/guarded.hpp"
#include "property_tests/api/c_handles.hpp"
#include "slip/error.hpp"
#include "slip/slip.h"
#include "slip/tls.hpp"

namespace slip::testing {
namespace {

/// A call with this as its handle, and all else right.
using HandleCall = std::pair<const char*, std::function<slip_status(void*)>>;

template <class T>
T* as(void* handle) {
    return static_cast<T*>(handle);
}

/// What the arguments of a call lead to, which has to fail before it writes to them.
struct Places {
    std::size_t count = 0;
    std::uint16_t port = 0;
    std::int32_t id = 1, end = 0;
    float value = 0;
    const char* text = nullptr;
    int stopped = 0;
    slip_chat_message message = {SLIP_USER, "Hi"};
    slip_sampling_options sampling = sized<slip_sampling_options>();
    slip_run_statistics run = sized<slip_run_statistics>();
    slip_scheduler_statistics scheduling = sized<slip_scheduler_statistics>();
    slip_generation_request request = [this] {
        auto made = sized<slip_generation_request>();
        made.prompt = &id;
        made.prompt_count = 1;
        made.sampling = &sampling;
        return made;
    }();
    slip_sequence* sequence = nullptr;
    slip_text_stream* stream = nullptr;
    slip_scheduler* scheduler = nullptr;
    slip_server* server = nullptr;
};

/// The calls that take a language model.
std::vector<HandleCall> language_calls(Places& p) {
    using M = slip_language_model;
    return {
        {"free", [](void* h) { return slip_free_language_model(as<M>(h)); }},
        {"statistics", [&](void* h) { return slip_get_language_statistics(as<M>(h), &p.run); }},
        {"vocabulary_size", [&](void* h) { return slip_vocabulary_size(as<M>(h), &p.count); }},
        {"max_positions", [&](void* h) { return slip_max_positions(as<M>(h), &p.count); }},
        {"encode", [&](void* h) { return slip_encode(as<M>(h), "a", 1, &p.id, 1, &p.count); }},
        {"encode_prompt",
         [&](void* h) { return slip_encode_prompt(as<M>(h), "a", 1, &p.id, 1, &p.count); }},
        {"encode_chat",
         [&](void* h) {
             return slip_encode_chat(as<M>(h), "llama2", &p.message, 1, &p.id, 1, &p.count, &p.end);
         }},
        {"decode",
         [&](void* h) {
             return slip_decode(as<M>(h), nullptr, 0, &p.id, 1, nullptr, 0, &p.count);
         }},
        {"generate",
         [&](void* h) {
             return slip_generate(as<M>(h), &p.id, 1, &p.sampling, nullptr, nullptr, nullptr,
                                  &p.count);
         }},
        {"forward", [&](void* h) { return slip_forward(as<M>(h), &p.id, 1, &p.value); }},
        {"open_sequence", [&](void* h) { return slip_open_sequence(as<M>(h), &p.sequence); }},
        {"open_text_stream",
         [&](void* h) {
             return slip_open_text_stream(as<M>(h), nullptr, 0, nullptr, 0, &p.stream);
         }},
        {"open_scheduler",
         [&](void* h) { return slip_open_scheduler(as<M>(h), nullptr, &p.scheduler); }},
    };
}

/// The calls that take images, a sequence, a text stream or a scheduler.
std::vector<HandleCall> other_calls_of_charlie(Places& p) {
    using C = slip_image_classifier;
    using S = slip_scheduler;
    using T = slip_text_stream;
    return {
        {"free_image_classifier", [](void* h) { return slip_free_image_classifier(as<C>(h)); }},
        {"image_statistics", [&](void* h) { return slip_get_image_statistics(as<C>(h), &p.run); }},
        {"image_size", [&](void* h) { return slip_image_size(as<C>(h), &p.count); }},
        {"class_count", [&](void* h) { return slip_class_count(as<C>(h), &p.count); }},
        {"classify", [&](void* h) { return slip_classify(as<C>(h), &p.value, 1, &p.value); }},
        {"generate_in_sequence",
         [&](void* h) {
             return slip_generate_in_sequence(as<slip_sequence>(h), &p.id, 1, &p.sampling, nullptr,
                                              nullptr, nullptr, &p.count);
         }},
        {"free_sequence", [](void* h) { return slip_free_sequence(as<slip_sequence>(h)); }},
        {"push_token",
         [&](void* h) { return slip_push_token(as<T>(h), 1, &p.text, &p.count, &p.stopped); }},
        {"finish_text", [&](void* h) { return slip_finish_text(as<T>(h), &p.text, &p.count); }},
        {"free_text_stream", [](void* h) { return slip_free_text_stream(as<T>(h)); }},
        {"submit", [&](void* h) { return slip_submit(as<S>(h), &p.request, nullptr); }},
        {"cancel", [](void* h) { return slip_cancel(as<S>(h), 1); }},
        {"drain", [](void* h) { return slip_drain(as<S>(h)); }},
        {"scheduler_statistics",
         [&](void* h) { return slip_get_scheduler_statistics(as<S>(h), &p.scheduling, nullptr); }},
        {"free_scheduler", [](void* h) { return slip_free_scheduler(as<S>(h)); }},
    };
}

/// The calls that take a David or a server, but for slip_serve_fd(), which takes descriptors too.
std::vector<HandleCall> calls_of_david(Places& p) {
    using S = slip_server;
    return {
        {"open_server",
         [&](void* h) {
             return slip_open_server(as<slip_david>(h), "127.0.0.1:0", "nowhere", nullptr, nullptr,
                                     &p.server);
         }},
        {"free_david", [](void* h) { return slip_free_david(as<slip_david>(h)); }},
        {"server_port", [&](void* h) { return slip_server_port(as<S>(h), &p.port); }},
        {"run_server", [](void* h) { return slip_run_server(as<S>(h)); }},
        {"reload_server", [](void* h) { return slip_reload_server(as<S>(h)); }},
        {"stop_server", [](void* h) { return slip_stop_server(as<S>(h)); }},
        {"free_server", [](void* h) { return slip_free_server(as<S>(h)); }},
    };
}

Handle<slip_david> small_david() {
    return opened<slip_david>([](slip_david** place) {
        return slip_open_david((small_served().artifact / "david").c_str(), nullptr, place);
    });
}

void expect_invalid(const std::vector<HandleCall>& calls, void* handle, const std::string& says) {
    for (const auto& [name, call] : calls) {
        SCOPED_TRACE(name);
        expect_refused(call(handle), SLIP_INVALID_HANDLE, says);
    }
}

TEST(CBoundary, handles_that_are_NULL_or_freed_or_of_another_type_are_refused) {
    Places places;
    const auto model = unsplit_handle();
    const auto david = small_david();
    slip_language_model* const gone = unsplit_handle().release();
    ASSERT_EQ(slip_free_language_model(gone), SLIP_OK);
    const auto of_models = language_calls(places);
    const auto of_others = other_calls_of_charlie(places);
    expect_invalid(of_models, david.get(), "of another type");
    expect_invalid(of_others, model.get(), "of another type");
    expect_invalid(of_models, gone, "was freed");
    for (const auto& calls : {of_models, of_others}) expect_invalid(calls, nullptr, "is NULL");
    std::size_t count = 0;
    EXPECT_EQ(slip_vocabulary_size(model.get(), &count), SLIP_OK) << "it was left alone";
}

TEST(CBoundary, handles_of_david_and_of_servers_are_refused_alike) {
    Places places;
    const auto model = unsplit_handle();
    slip_david* const gone = small_david().release();
    ASSERT_EQ(slip_free_david(gone), SLIP_OK);
    const auto calls = calls_of_david(places);
    expect_invalid(calls, nullptr, "is NULL");
    expect_invalid(calls, gone, "was freed");
    expect_invalid(calls, model.get(), "of another type");
}

/// Every place for a result and every pointer to what is read.
TEST(CBoundary, a_pointer_that_may_not_be_NULL_is_named) {
    const auto model = unsplit_handle();
    slip_language_model* const m = model.get();
    Places p;
    const auto refused = [](slip_status status, const std::string& what) {
        SCOPED_TRACE(what);
        expect_refused(status, SLIP_BAD_INPUT, what + " is NULL");
    };
    refused(slip_vocabulary_size(m, nullptr), "count");
    refused(slip_max_positions(m, nullptr), "count");
    refused(slip_get_language_statistics(m, nullptr), "statistics");
    refused(slip_encode(m, nullptr, 1, &p.id, 1, &p.count), "text");
    refused(slip_encode_prompt(m, nullptr, 1, &p.id, 1, &p.count), "text");
    refused(slip_generate(m, &p.id, 1, nullptr, nullptr, nullptr, nullptr, &p.count), "options");
    refused(slip_generate(m, nullptr, 1, &p.sampling, nullptr, nullptr, nullptr, &p.count),
            "prompt");
    refused(slip_generate(m, &p.id, 1, &p.sampling, nullptr, nullptr, nullptr, nullptr), "count");
    refused(slip_forward(m, &p.id, 1, nullptr), "logits");
    refused(slip_forward(m, nullptr, 1, &p.value), "ids");
    refused(slip_open_sequence(m, nullptr), "sequence");
    refused(slip_open_text_stream(m, nullptr, 0, nullptr, 0, nullptr), "stream");
    refused(slip_encode_chat(m, "llama2", nullptr, 1, &p.id, 1, &p.count, &p.end), "messages");
    refused(slip_encode_chat(m, "llama2", &p.message, 1, &p.id, 1, &p.count, nullptr),
            "end_of_answer");
    refused(slip_open_scheduler(m, nullptr, nullptr), "scheduler");
    refused(slip_open_david("nowhere", nullptr, nullptr), "david");
    slip_david* david = nullptr;
    refused(slip_open_david(nullptr, nullptr, &david), "artifact");
}

/// A caller's struct that is larger than the library's.
struct NewerSampling {
    slip_sampling_options known;
    std::uint64_t later;
};

TEST(CBoundary, structs_of_older_and_newer_callers_are_read_as_far_as_they_go) {
    const auto model = unsplit_handle();
    const std::int32_t id = 1;
    std::size_t count = 0;
    const auto generate = [&](const slip_sampling_options& options) {
        return slip_generate(model.get(), &id, 1, &options, nullptr, nullptr, nullptr, &count);
    };
    NewerSampling newer{};
    newer.known.max_tokens = 2;
    for (const std::size_t size :
         {std::size_t{0}, sizeof(std::size_t) - 1, std::size_t{4097}, SIZE_MAX}) {
        newer.known.size = size;
        expect_refused(generate(newer.known), SLIP_BAD_INPUT,
                       "options.size is " + std::to_string(size));
    }
    newer.known.temperature = -1;  // which an older caller does not have
    newer.known.size = offsetof(slip_sampling_options, temperature);
    EXPECT_EQ(generate(newer.known), SLIP_OK) << slip_last_error();
    EXPECT_EQ(count, 2U);
    newer.known.size = offsetof(slip_sampling_options, seed);
    expect_refused(generate(newer.known), SLIP_BAD_INPUT, "temperature");
    newer.known.temperature = 0;
    newer.known.size = sizeof newer;
    EXPECT_EQ(generate(newer.known), SLIP_OK) << slip_last_error();
    newer.later = 1;
    expect_refused(generate(newer.known), SLIP_BAD_INPUT, "does not have");
}

/// A caller's statistics with room behind the library's.
struct NewerStatistics {
    slip_run_statistics known;
    std::uint64_t later;
};

TEST(CBoundary, statistics_are_written_as_far_as_the_caller_s_struct_goes) {
    const auto model = unsplit_handle();
    NewerStatistics place{};
    std::memset(&place, 0x55, sizeof place);
    const auto ask = [&](std::size_t size) {
        place.known.size = size;
        return slip_get_language_statistics(model.get(), &place.known);
    };
    for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t) - 1, std::size_t{4097}}) {
        expect_refused(ask(size), SLIP_BAD_INPUT, "statistics.size");
    }
    EXPECT_EQ(ask(offsetof(slip_run_statistics, columns)), SLIP_OK);
    EXPECT_EQ(place.known.rounds, 0U);
    EXPECT_EQ(place.known.columns, 0x5555555555555555U);
    EXPECT_EQ(ask(sizeof place), SLIP_OK);
    EXPECT_EQ(place.known.size, sizeof place);
    EXPECT_EQ(place.known.masks_waited_for, 0U);
    EXPECT_EQ(place.later, 0U);
}

TEST(CBoundary, every_thread_has_its_own_last_error) {
    expect_refused(slip_free_language_model(nullptr), SLIP_INVALID_HANDLE, "the handle is NULL");
    std::string at_first = "?";
    std::string then = "?";
    std::thread([&] {
        at_first = slip_last_error();
        static_cast<void>(slip_open_unsplit(nullptr, nullptr, nullptr, nullptr));
        then = slip_last_error();
    }).join();
    EXPECT_EQ(at_first, "");
    EXPECT_NE(then.find("expected a place for a model"), std::string::npos) << then;
    EXPECT_STREQ(slip_last_error(), "the handle is NULL");
    const auto model = unsplit_handle();
    EXPECT_STREQ(slip_last_error(), "the handle is NULL") << "of the last call that failed";
}

TEST(CBoundary, every_kind_of_error_has_its_status) {
    const auto expect_status = [](const auto& error, slip_status status, const std::string& says) {
        expect_refused(c_api::guarded([&] { throw error; }), status, says);
    };
    expect_status(BadInput("bad"), SLIP_BAD_INPUT, "bad");
    expect_status(ProtocolError("gone"), SLIP_PROTOCOL_ERROR, "gone");
    expect_status(IntegrityError("wrong"), SLIP_INTEGRITY_ERROR, "wrong");
    expect_status(Overloaded("later"), SLIP_OVERLOADED, "later");
    expect_status(InternalError("broken"), SLIP_INTERNAL_ERROR, "broken");
    expect_status(std::bad_alloc(), SLIP_OUT_OF_MEMORY, "not enough memory");
    expect_status(std::runtime_error("other"), SLIP_INTERNAL_ERROR, "other");
    expect_status(7, SLIP_INTERNAL_ERROR, "unknown type");
}

std::array<int, 2> socket_pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    return ends;
}

bool is_closed(int descriptor) { return ::fcntl(descriptor, F_GETFD) == -1; }

TEST(CBoundary, LIN_4_charlie_and_david_over_descriptors) {
    auto david = small_david();
    const auto ends = socket_pair();
    slip_status served = SLIP_INTERNAL_ERROR;
    std::thread thread([&] { served = slip_serve_fd(david.get(), ends[0], ends[0]); });
    {
        const auto options = sized<slip_charlie_options>();
        const auto charlie = opened<slip_language_model>([&](slip_language_model** place) {
            return slip_open_charlie_fd(small_served().artifact.c_str(), ends[1], ends[1], &options,
                                        place, nullptr);
        });
        EXPECT_EQ(bits_of(three_rows(charlie.get())), bits_of(three_rows(unsplit_handle().get())));
    }
    thread.join();
    EXPECT_EQ(served, SLIP_OK);
}

TEST(CBoundary, descriptors_are_closed_in_every_case) {
    slip_language_model* place = nullptr;
    const std::string artifact = small_served().artifact;
    auto unset = sized<slip_charlie_options>();
    unset.size = 0;
    auto ends = socket_pair();
    expect_refused(
        slip_open_charlie_fd(artifact.c_str(), ends[0], ends[0], &unset, &place, nullptr),
        SLIP_BAD_INPUT, "options.size is 0");
    EXPECT_TRUE(is_closed(ends[0]));
    expect_refused(slip_open_charlie_fd(nullptr, ends[1], ends[1], nullptr, &place, nullptr),
                   SLIP_BAD_INPUT, "artifact is NULL");
    EXPECT_TRUE(is_closed(ends[1]));
    ends = socket_pair();
    expect_refused(slip_serve_fd(nullptr, ends[0], ends[0]), SLIP_INVALID_HANDLE, "is NULL");
    EXPECT_TRUE(is_closed(ends[0]));
    // David is gone.
    expect_refused(
        slip_open_charlie_fd(artifact.c_str(), ends[1], ends[1], nullptr, &place, nullptr),
        SLIP_PROTOCOL_ERROR);
    EXPECT_TRUE(is_closed(ends[1]));
}

void keep_line(void* lines, const char* line) {
    static_cast<std::vector<std::string>*>(lines)->emplace_back(line);
}

/// Keys, and a server of small_served() at a port of its own.
struct SmallServer {
    SmallServer() { make_keys(tls); }
    Handle<slip_server> opened_for(slip_david* david) {
        return opened<slip_server>([&](slip_server** place) {
            return slip_open_server(david, "127.0.0.1:0", (tls / "david").c_str(), keep_line,
                                    &lines, place);
        });
    }
    TemporaryFolder folder;
    const std::filesystem::path tls = folder / "tls";
    std::vector<std::string> lines;  // that it reports, once it has ended
};

TEST(CBoundary, SESS_7_charlie_and_david_over_tls) {
    SmallServer keys;
    const auto server = keys.opened_for(small_david().get());  // it outlives david's handle
    std::uint16_t port = 0;
    ASSERT_EQ(slip_server_port(server.get(), &port), SLIP_OK);
    EXPECT_GT(port, 0);
    expect_refused(slip_server_port(server.get(), nullptr), SLIP_BAD_INPUT, "port is NULL");
    slip_status ran = SLIP_INTERNAL_ERROR;
    std::thread thread([&] { ran = slip_run_server(server.get()); });
    EXPECT_EQ(slip_reload_server(server.get()), SLIP_OK) << slip_last_error();
    std::filesystem::rename(keys.tls / "david", keys.tls / "away");
    expect_refused(slip_reload_server(server.get()), SLIP_BAD_INPUT, keys.tls / "david");
    {  // the old certificates stay
        const std::string endpoint = "127.0.0.1:" + std::to_string(port);
        const auto charlie = opened<slip_language_model>([&](slip_language_model** place) {
            return slip_open_charlie_tls(small_served().artifact.c_str(), endpoint.c_str(),
                                         (keys.tls / "charlie").c_str(), nullptr, place, nullptr);
        });
        EXPECT_EQ(bits_of(three_rows(charlie.get())), bits_of(three_rows(unsplit_handle().get())));
    }
    EXPECT_EQ(slip_stop_server(server.get()), SLIP_OK);
    thread.join();
    EXPECT_EQ(ran, SLIP_OK);
    expect_refused(slip_run_server(server.get()), SLIP_BUSY, "run before");
    EXPECT_EQ(keys.lines, std::vector<std::string>());
}

TEST(CBoundary, SESS_7_a_server_reports_whom_it_does_not_know) {
    SmallServer keys;
    make_keys(keys.folder / "strangers");
    const auto david = small_david();
    const auto server = keys.opened_for(david.get());
    std::uint16_t port = 0;
    ASSERT_EQ(slip_server_port(server.get(), &port), SLIP_OK);
    slip_status ran = SLIP_INTERNAL_ERROR;
    std::thread thread([&] { ran = slip_run_server(server.get()); });
    const std::string endpoint = "127.0.0.1:" + std::to_string(port);
    slip_language_model* place = nullptr;
    expect_refused(slip_open_charlie_tls(small_served().artifact.c_str(), endpoint.c_str(),
                                         (keys.folder / "strangers/charlie").c_str(), nullptr,
                                         &place, nullptr),
                   SLIP_PROTOCOL_ERROR, endpoint);
    EXPECT_EQ(slip_stop_server(server.get()), SLIP_OK);
    thread.join();
    EXPECT_EQ(ran, SLIP_OK);
    EXPECT_EQ(keys.lines.size(), 1U);
}

TEST(CBoundary, what_david_cannot_serve_is_named) {
    SmallServer keys;
    const auto david = small_david();
    slip_server* server = nullptr;
    slip_david* other = nullptr;
    slip_language_model* model = nullptr;
    const std::string artifact = small_served().artifact;
    const std::string nowhere = keys.folder / "nowhere";
    const auto open = [&](const char* endpoint, const char* certificates, slip_server** place) {
        return slip_open_server(david.get(), endpoint, certificates, nullptr, nullptr, place);
    };
    expect_refused(open("127.0.0.1:0", nowhere.c_str(), &server), SLIP_BAD_INPUT, nowhere);
    expect_refused(open("127.0.0.1", nowhere.c_str(), &server), SLIP_BAD_INPUT, "endpoint");
    expect_refused(open(nullptr, nowhere.c_str(), &server), SLIP_BAD_INPUT, "endpoint is NULL");
    expect_refused(open("127.0.0.1:0", nullptr, &server), SLIP_BAD_INPUT, "certificates is NULL");
    expect_refused(open("127.0.0.1:0", nowhere.c_str(), nullptr), SLIP_BAD_INPUT, "server is NULL");
    expect_refused(slip_open_david((artifact + "/charlie").c_str(), nullptr, &other),
                   SLIP_BAD_INPUT, artifact + "/charlie");
    auto options = sized<slip_david_options>();
    options.threads = 1025;
    expect_refused(slip_open_david((artifact + "/david").c_str(), &options, &other), SLIP_BAD_INPUT,
                   "threads");
    expect_refused(slip_open_charlie_tls(artifact.c_str(), "nowhere", nowhere.c_str(), nullptr,
                                         &model, nullptr),
                   SLIP_BAD_INPUT, "nowhere");
    expect_refused(
        slip_open_charlie_tls(artifact.c_str(), nullptr, nowhere.c_str(), nullptr, &model, nullptr),
        SLIP_BAD_INPUT, "endpoint is NULL");
}

struct GenerationSeen {
    int tokens = 0, ends = 0;
    slip_scheduler* scheduler = nullptr;
};

/// Tries to wait for the thread that it runs in.
int see_token(void* context, std::int32_t, const float*, std::size_t) {
    auto& seen = *static_cast<GenerationSeen*>(context);
    expect_refused(slip_drain(seen.scheduler), SLIP_BUSY, "callback");
    expect_refused(slip_free_scheduler(seen.scheduler), SLIP_BUSY, "callback");
    ++seen.tokens;
    return 1;
}

void see_end(void* context, const slip_generation_end* end) {
    auto& seen = *static_cast<GenerationSeen*>(context);
    EXPECT_EQ(end->reason, SLIP_END_LENGTH);
    EXPECT_EQ(end->status, SLIP_OK);
    EXPECT_STREQ(end->message, "");
    EXPECT_EQ(end->prompt_tokens, 1U);
    EXPECT_EQ(end->generated_tokens, 2U);
    ++seen.ends;
}

TEST(CBoundary, a_scheduler_takes_the_model_and_generates) {
    const auto model = unsplit_handle();
    const auto scheduler = opened<slip_scheduler>(
        [&](slip_scheduler** place) { return slip_open_scheduler(model.get(), nullptr, place); });
    GenerationSeen seen;
    seen.scheduler = scheduler.get();
    Places p;
    p.sampling.max_tokens = 2;
    p.request.on_token = see_token;
    p.request.on_end = see_end;
    p.request.context = &seen;
    expect_refused(slip_forward(model.get(), &p.id, 1, &p.value), SLIP_BUSY, "in a scheduler");
    EXPECT_EQ(slip_max_positions(model.get(), &p.count), SLIP_OK);
    EXPECT_EQ(p.count, 160U);
    expect_refused(slip_submit(scheduler.get(), nullptr, nullptr), SLIP_BAD_INPUT,
                   "request is NULL");
    p.request.gbnf = p.request.json_schema = "{}";
    expect_refused(slip_submit(scheduler.get(), &p.request, nullptr), SLIP_BAD_INPUT,
                   "gbnf and json_schema");
    p.request.gbnf = p.request.json_schema = nullptr;
    std::uint64_t id = 0;
    ASSERT_EQ(slip_submit(scheduler.get(), &p.request, &id), SLIP_OK) << slip_last_error();
    ASSERT_EQ(slip_drain(scheduler.get()), SLIP_OK);
    EXPECT_EQ(seen.tokens, 2);
    EXPECT_EQ(seen.ends, 1);
    EXPECT_EQ(slip_cancel(scheduler.get(), id), SLIP_OK) << "which has ended";
    ASSERT_EQ(slip_get_scheduler_statistics(scheduler.get(), &p.scheduling, &p.run), SLIP_OK);
    EXPECT_EQ(p.scheduling.generations, 1U);
    EXPECT_EQ(p.scheduling.generated_tokens, 2U);
    p.run.size = 0;
    expect_refused(slip_get_scheduler_statistics(scheduler.get(), &p.scheduling, &p.run),
                   SLIP_BAD_INPUT, "run.size is 0");
}

TEST(CBoundary, a_model_of_an_open_sequence_does_not_go_to_a_scheduler) {
    const auto model = unsplit_handle();
    slip_scheduler* scheduler = nullptr;
    {
        const auto sequence = opened<slip_sequence>(
            [&](slip_sequence** place) { return slip_open_sequence(model.get(), place); });
        expect_refused(slip_open_scheduler(model.get(), nullptr, &scheduler), SLIP_BUSY,
                       "sequences or text streams");
    }
    auto options = sized<slip_scheduler_options>();
    options.keeps_no_prompts = 1;
    options.kept_prompt_bytes = 1;
    expect_refused(slip_open_scheduler(model.get(), &options, &scheduler), SLIP_BAD_INPUT,
                   "keeps_no_prompts and kept_prompt_bytes");
    options.kept_prompt_bytes = 0;
    options.ends_when_lost = 1;
    options.reopen_limit_ms = 1;
    expect_refused(slip_open_scheduler(model.get(), &options, &scheduler), SLIP_BAD_INPUT,
                   "ends_when_lost and reopen_limit_ms");
    options.reopen_limit_ms = 0;
    const auto opens = opened<slip_scheduler>(
        [&](slip_scheduler** place) { return slip_open_scheduler(model.get(), &options, place); });
}

}  // namespace
}  // namespace slip::testing
