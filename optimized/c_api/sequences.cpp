// Generations of conversations.
#include <vector>

#include "optimized/c_api/handles.hpp"
#include "optimized/c_api/options.hpp"
#include "slip/chat.hpp"
#include "slip/slip.h"

namespace slip::c_api {
namespace {

ChatMessage::Role role_of(slip_role role) {
    switch (role) {
        case SLIP_SYSTEM:
            return ChatMessage::Role::system;
        case SLIP_USER:
            return ChatMessage::Role::user;
        case SLIP_ASSISTANT:
            return ChatMessage::Role::assistant;
    }
    throw BadInput("role " + std::to_string(static_cast<int>(role)) +
                   " of a message is none of slip_role");
}

std::vector<ChatMessage> conversation(const slip_chat_message* messages, std::size_t count) {
    std::vector<ChatMessage> result;
    for (const slip_chat_message& message : array(messages, count, "messages")) {
        ChatMessage& next = result.emplace_back();
        next.role = role_of(message.role);
        next.text = &given(message.text, "the text of a message");
    }
    return result;
}

void give_text(HeldTextStream& held, std::string completed, const char** text, std::size_t* bytes) {
    held.text = std::move(completed);
    *text = held.text.c_str();
    *bytes = held.text.size();
}

}  // namespace
}  // namespace slip::c_api

using namespace slip::c_api;

extern "C" {

slip_status slip_open_sequence(slip_language_model* model, slip_sequence** sequence) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        given(sequence, "sequence");
        *sequence = Sequences::all().add(held->compute(
            [&](slip::LanguageModel& m) { return std::make_shared<HeldSequence>(held, m); }));
    });
}

slip_status slip_generate_in_sequence(slip_sequence* sequence, const int32_t* prompt,
                                      size_t prompt_count, const slip_sampling_options* options,
                                      slip_on_token on_token, void* context, int32_t* ids,
                                      size_t* count) {
    return guarded([&] {
        const auto held = Sequences::all().find(sequence);
        const slip::SamplingOptions sampling = sampling_of(options);
        given(count, "count");
        const auto made = held->model->compute([&](slip::LanguageModel&) {
            return held->sequence.generate(array(prompt, prompt_count, "prompt"), sampling,
                                           on_token_of(on_token, context));
        });
        if (ids != nullptr) std::copy(made.begin(), made.end(), ids);
        *count = made.size();
    });
}

slip_status slip_free_sequence(slip_sequence* sequence) {
    return guarded([&] { Sequences::all().remove(sequence); });
}

slip_status slip_open_text_stream(slip_language_model* model, const int32_t* prompt,
                                  size_t prompt_count, const char* const* stops, size_t stop_count,
                                  slip_text_stream** stream) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        given(stream, "stream");
        std::vector<std::string> texts;
        for (const char* stop : array(stops, stop_count, "stops")) {
            texts.emplace_back(&given(stop, "one of stops"));
        }
        *stream = TextStreams::all().add(held->read([&](const slip::LanguageModel& m) {
            return std::make_shared<HeldTextStream>(
                held, slip::TextStream(m, array(prompt, prompt_count, "prompt"), texts));
        }));
    });
}

slip_status slip_push_token(slip_text_stream* stream, int32_t id, const char** text, size_t* bytes,
                            int* stopped) {
    return guarded([&] {
        const auto held = TextStreams::all().find(stream);
        given(text, "text");
        given(bytes, "bytes");
        given(stopped, "stopped");
        const std::lock_guard lock(held->mutex);
        std::string completed =
            held->model->read([&](const slip::LanguageModel&) { return held->stream.push(id); });
        give_text(*held, std::move(completed), text, bytes);
        *stopped = held->stream.stopped() ? 1 : 0;
    });
}

slip_status slip_finish_text(slip_text_stream* stream, const char** text, size_t* bytes) {
    return guarded([&] {
        const auto held = TextStreams::all().find(stream);
        given(text, "text");
        given(bytes, "bytes");
        const std::lock_guard lock(held->mutex);
        std::string completed =
            held->model->read([&](const slip::LanguageModel&) { return held->stream.finish(); });
        give_text(*held, std::move(completed), text, bytes);
    });
}

slip_status slip_free_text_stream(slip_text_stream* stream) {
    return guarded([&] { TextStreams::all().remove(stream); });
}

slip_status slip_encode_chat(const slip_language_model* model, const char* format,
                             const slip_chat_message* messages, size_t message_count, int32_t* ids,
                             size_t capacity, size_t* count, int32_t* end_of_answer) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const auto spoken = conversation(messages, message_count);
        given(end_of_answer, "end_of_answer");
        held->read([&](const slip::LanguageModel& m) {
            const slip::ChatFormat chat(m, format == nullptr ? "" : format);
            copy_out(chat.encode(spoken), ids, capacity, count);
            *end_of_answer = chat.end_of_answer();
        });
    });
}
}
