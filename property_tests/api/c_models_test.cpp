// Models, conversations and splits by slip/slip.h: that each function does its work, and how it
// refuses what it cannot do. That results are the program's is in ../system/c_api_test.py.
// test: threads
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/files.hpp"
#include "property_tests/api/c_handles.hpp"
#include "property_tests/api/small_network.hpp"
#include "slip/version.hpp"

namespace slip::testing {
namespace {

using CIds = std::vector<std::int32_t>;

/// The ids of a text, with room for exactly as many as there are.
template <class Encode>
CIds encoded_by(const Encode& encode, slip_language_model* model, const std::string& text) {
    std::size_t count = 0;
    expect_refused(encode(model, text.data(), text.size(), nullptr, 0, &count),
                   SLIP_BUFFER_TOO_SMALL, "the buffer has 0 elements: expected ");
    CIds ids(count, -1);
    expect_refused(encode(model, text.data(), text.size(), ids.data(), count - 1, &count),
                   SLIP_BUFFER_TOO_SMALL);
    EXPECT_EQ(ids, CIds(count, -1)) << "only the count is written";
    EXPECT_EQ(encode(model, text.data(), text.size(), ids.data(), count, &count), SLIP_OK);
    EXPECT_EQ(count, ids.size());
    return ids;
}

std::string decoded(slip_language_model* model, const CIds& prompt, const CIds& ids) {
    std::size_t bytes = 0;
    const auto decode = [&](char* text, std::size_t capacity) {
        return slip_decode(model, prompt.data(), prompt.size(), ids.data(), ids.size(), text,
                           capacity, &bytes);
    };
    expect_refused(decode(nullptr, 0), SLIP_BUFFER_TOO_SMALL);
    std::string text(bytes + 1, '?');
    expect_refused(decode(text.data(), bytes), SLIP_BUFFER_TOO_SMALL,
                   "expected " + std::to_string(bytes + 1));
    EXPECT_EQ(decode(text.data(), bytes + 1), SLIP_OK) << slip_last_error();
    EXPECT_EQ(text.back(), '\0');
    text.pop_back();
    return text;
}

TEST(CModels, LIN_4_charlie_in_process_equals_the_unsplit_model) {
    const auto unsplit = unsplit_handle();
    const auto charlie = opened<slip_language_model>([](slip_language_model** place) {
        return slip_open_charlie_in_process(small_served().artifact.c_str(), nullptr, place,
                                            nullptr);
    });
    EXPECT_EQ(bits_of(three_rows(charlie.get())), bits_of(three_rows(unsplit.get())));
    for (slip_language_model* model : {unsplit.get(), charlie.get()}) {
        std::size_t count = 0;
        EXPECT_EQ(slip_vocabulary_size(model, &count), SLIP_OK);
        EXPECT_EQ(count, small_served().vocabulary);
        EXPECT_EQ(slip_max_positions(model, &count), SLIP_OK);
        EXPECT_EQ(count, 160U);
    }
    auto charlies = sized<slip_run_statistics>();
    auto nobodys = sized<slip_run_statistics>();
    EXPECT_EQ(slip_get_language_statistics(charlie.get(), &charlies), SLIP_OK);
    EXPECT_EQ(slip_get_language_statistics(unsplit.get(), &nobodys), SLIP_OK);
    EXPECT_GT(charlies.rounds, 0U);
    EXPECT_EQ(charlies.checks, charlies.rounds);
    EXPECT_EQ(nobodys.rounds, 0U);
}

TEST(CModels, what_cannot_be_opened_is_named_and_leaves_its_place_alone) {
    const TemporaryFolder folder;
    const std::string nothing = folder / "nothing";
    auto* const untouched = reinterpret_cast<slip_language_model*>(std::uintptr_t{7});
    slip_language_model* place = untouched;
    expect_refused(slip_open_checkpoint(nothing.c_str(), &place, nullptr), SLIP_BAD_INPUT, nothing);
    expect_refused(slip_open_checkpoint(nullptr, &place, nullptr), SLIP_BAD_INPUT, "path is NULL");
    expect_refused(slip_open_unsplit(nothing.c_str(), nullptr, &place, nullptr), SLIP_BAD_INPUT,
                   nothing);
    expect_refused(slip_open_unsplit(nullptr, nullptr, &place, nullptr), SLIP_BAD_INPUT,
                   "artifact is NULL");
    expect_refused(slip_open_charlie_in_process(nothing.c_str(), nullptr, &place, nullptr),
                   SLIP_BAD_INPUT, nothing);
    expect_refused(slip_open_charlie_in_process(nullptr, nullptr, &place, nullptr), SLIP_BAD_INPUT,
                   "artifact is NULL");
    EXPECT_EQ(place, untouched);
    expect_refused(slip_open_checkpoint(nothing.c_str(), nullptr, nullptr), SLIP_BAD_INPUT,
                   "expected a place for a model");
    // What the struct may say, but the library refuses.
    auto options = sized<slip_charlie_options>();
    options.masks_ready = 65537;
    expect_refused(
        slip_open_charlie_in_process(small_served().artifact.c_str(), &options, &place, nullptr),
        SLIP_BAD_INPUT, "masks_ready");
}

/// A network on disk and its split.
struct SplitNetwork {
    SplitNetwork() {
        base::write_file(file, network_file(), 0600);
        auto options = sized<slip_split_options>();
        options.rank = 2;
        EXPECT_EQ(slip_split(file.c_str(), artifact.c_str(), &options), SLIP_OK)
            << slip_last_error();
    }
    TemporaryFolder folder;
    const std::string file = folder / "net.onnx", artifact = folder / "out";
};

TEST(CModels, a_place_of_the_other_kind_gets_NULL_or_is_not_given) {
    const SplitNetwork network;
    slip_language_model* language = nullptr;
    slip_image_classifier* images = nullptr;
    expect_refused(slip_open_checkpoint(network.file.c_str(), &language, nullptr), SLIP_BAD_INPUT,
                   "expected a language model");
    expect_refused(slip_open_unsplit(small_served().artifact.c_str(), nullptr, nullptr, &images),
                   SLIP_BAD_INPUT, "expected a convolutional network");
    language = reinterpret_cast<slip_language_model*>(std::uintptr_t{7});
    ASSERT_EQ(slip_open_unsplit(network.artifact.c_str(), nullptr, &language, &images), SLIP_OK);
    EXPECT_EQ(language, nullptr);
    const Handle<slip_image_classifier> first(images);
    ASSERT_EQ(slip_open_unsplit(small_served().artifact.c_str(), nullptr, &language, &images),
              SLIP_OK);
    EXPECT_EQ(images, nullptr);
    const Handle<slip_language_model> second(language);
}

TEST(CModels, CNN_5_images_are_classified) {
    const SplitNetwork network;
    const auto unsplit = opened<slip_image_classifier>([&](slip_image_classifier** place) {
        return slip_open_unsplit(network.artifact.c_str(), nullptr, nullptr, place);
    });
    const auto charlie = opened<slip_image_classifier>([&](slip_image_classifier** place) {
        return slip_open_charlie_in_process(network.artifact.c_str(), nullptr, nullptr, place);
    });
    std::size_t elements = 0;
    std::size_t classes = 0;
    EXPECT_EQ(slip_image_size(charlie.get(), &elements), SLIP_OK);
    EXPECT_EQ(slip_class_count(charlie.get(), &classes), SLIP_OK);
    ASSERT_EQ(elements, 24U);
    ASSERT_EQ(classes, 4U);
    const std::vector<float> pixels(2 * elements, 1);
    std::vector<float> expected(2 * classes);
    std::vector<float> logits(2 * classes);
    EXPECT_EQ(slip_classify(unsplit.get(), pixels.data(), 2, expected.data()), SLIP_OK);
    EXPECT_EQ(slip_classify(charlie.get(), pixels.data(), 2, logits.data()), SLIP_OK);
    EXPECT_EQ(bits_of(logits), bits_of(expected));

    for (const auto& [count, says] : std::vector<std::pair<std::size_t, std::string>>{
             {0, ""}, {SIZE_MAX / elements + 1, "image_count"}}) {
        expect_refused(slip_classify(charlie.get(), pixels.data(), count, logits.data()),
                       SLIP_BAD_INPUT, says);
    }
    expect_refused(slip_classify(charlie.get(), nullptr, 1, logits.data()), SLIP_BAD_INPUT,
                   "images is NULL");
    auto run = sized<slip_run_statistics>();
    EXPECT_EQ(slip_get_image_statistics(charlie.get(), &run), SLIP_OK);
    EXPECT_EQ(run.rounds, 2U);
}

TEST(CModels, MODEL_11_texts_become_ids_and_again_texts) {
    const auto model = bundled_handle();
    const CIds words = encoded_by(slip_encode, model.get(), "Once upon a time");
    CIds prompt = encoded_by(slip_encode_prompt, model.get(), "Once upon a time");
    EXPECT_EQ(prompt.front(), 1) << "BOS";
    EXPECT_EQ(CIds(prompt.begin() + 1, prompt.end()), words);
    EXPECT_EQ(decoded(model.get(), {}, prompt), "Once upon a time");
    const CIds begin(prompt.begin(), prompt.begin() + 2);
    const CIds rest(prompt.begin() + 2, prompt.end());
    EXPECT_EQ(decoded(model.get(), {}, begin) + decoded(model.get(), begin, rest),
              "Once upon a time");
    std::size_t count = 0;
    expect_refused(slip_encode(unsplit_handle().get(), "a", 1, nullptr, 0, &count), SLIP_BAD_INPUT,
                   "no tokenizer");
}

/// Stops a generation when it has been called as often as *left says.
int stop_after(void* left, std::int32_t, const float* logits, std::size_t count) {
    EXPECT_NE(logits, nullptr);
    EXPECT_EQ(count, small_served().vocabulary);
    return --*static_cast<int*>(left) > 0 ? 1 : 0;
}

slip_sampling_options up_to(std::size_t tokens) {
    auto options = sized<slip_sampling_options>();
    options.max_tokens = tokens;
    return options;
}

/// What generate(prompt, count, options, on_token, context, ids, count) makes, until a callback
/// stops it.
template <class Generate>
CIds made_by(const Generate& generate, const CIds& prompt, int stopped_after) {
    const slip_sampling_options options = up_to(4);
    CIds ids(4, -1);
    std::size_t count = 0;
    EXPECT_EQ(generate(prompt.data(), prompt.size(), &options, stop_after, &stopped_after,
                       ids.data(), &count),
              SLIP_OK)
        << slip_last_error();
    ids.resize(count);
    return ids;
}

TEST(CModels, a_callback_stops_a_generation_and_a_sequence_goes_on) {
    const auto model = unsplit_handle();
    const auto sequence = opened<slip_sequence>(
        [&](slip_sequence** place) { return slip_open_sequence(model.get(), place); });
    const auto whole = [&](auto... all) { return slip_generate(model.get(), all...); };
    const auto goes_on = [&](auto... all) {
        return slip_generate_in_sequence(sequence.get(), all...);
    };
    CIds prompt = four_token_prompt();
    const CIds four = made_by(whole, prompt, 5);
    ASSERT_EQ(four.size(), 4U);
    EXPECT_EQ(made_by(whole, prompt, 2), CIds(four.begin(), four.begin() + 2));
    EXPECT_EQ(made_by(goes_on, prompt, 1), CIds{four[0]});

    prompt.push_back(four[0]);
    EXPECT_EQ(made_by(goes_on, prompt, 2), CIds(four.begin() + 1, four.begin() + 3));
    const slip_sampling_options options = up_to(2);
    std::size_t count = 0;
    EXPECT_EQ(whole(prompt.data(), prompt.size(), &options, nullptr, nullptr, nullptr, &count),
              SLIP_OK);
    EXPECT_EQ(count, 2U);
}

TEST(CModels, MODEL_17_a_bias_forbids_a_token) {
    const auto model = unsplit_handle();
    const CIds prompt = four_token_prompt();
    slip_sampling_options options = up_to(1);
    std::int32_t id = -1;
    std::size_t count = 0;
    const auto generate = [&] {
        return slip_generate(model.get(), prompt.data(), prompt.size(), &options, nullptr, nullptr,
                             &id, &count);
    };
    ASSERT_EQ(generate(), SLIP_OK) << slip_last_error();
    const slip_token_bias against = {id, -1000};
    options.logit_bias = &against;
    options.logit_bias_count = 1;
    id = -1;
    ASSERT_EQ(generate(), SLIP_OK) << slip_last_error();
    EXPECT_NE(id, against.id);
    options.logit_bias = nullptr;
    expect_refused(generate(), SLIP_BAD_INPUT, "logit_bias is NULL");
}

/// Asks its model, computes with it and frees it, from within a generation.
int meddle_with(void* context, std::int32_t, const float*, std::size_t) {
    auto* const model = static_cast<slip_language_model*>(context);
    std::size_t count = 0;
    float logits = 0;
    const std::int32_t id = 1;
    auto run = sized<slip_run_statistics>();
    slip_sequence* sequence = nullptr;
    slip_scheduler* scheduler = nullptr;
    EXPECT_EQ(slip_vocabulary_size(model, &count), SLIP_OK);
    expect_refused(slip_forward(model, &id, 1, &logits), SLIP_BUSY, "in use by another call");
    expect_refused(slip_get_language_statistics(model, &run), SLIP_BUSY);
    expect_refused(slip_open_sequence(model, &sequence), SLIP_BUSY);
    expect_refused(slip_open_scheduler(model, nullptr, &scheduler), SLIP_BUSY);
    EXPECT_EQ(slip_free_language_model(model), SLIP_OK);
    expect_refused(slip_vocabulary_size(model, &count), SLIP_INVALID_HANDLE, "freed");
    return 0;
}

TEST(CModels, a_callback_may_free_the_model_but_not_compute_with_it) {
    slip_language_model* const model = unsplit_handle().release();
    const slip_sampling_options options = up_to(2);
    const CIds prompt = four_token_prompt();
    std::size_t count = 0;
    EXPECT_EQ(slip_generate(model, prompt.data(), prompt.size(), &options, meddle_with, model,
                            nullptr, &count),
              SLIP_OK);
    EXPECT_EQ(count, 1U);
}

/// The text of `ids` behind `prompt`, token by token, and whether a stop has come.
std::pair<std::string, bool> streamed(slip_language_model* model, const CIds& prompt,
                                      const CIds& ids, const std::vector<const char*>& stops) {
    const auto stream = opened<slip_text_stream>([&](slip_text_stream** place) {
        return slip_open_text_stream(model, prompt.data(), prompt.size(), stops.data(),
                                     stops.size(), place);
    });
    std::string all;
    const char* text = nullptr;
    std::size_t bytes = 0;
    int stopped = 0;
    for (const std::int32_t id : ids) {
        EXPECT_EQ(slip_push_token(stream.get(), id, &text, &bytes, &stopped), SLIP_OK)
            << slip_last_error();
        EXPECT_EQ(text[bytes], '\0');
        all.append(text, bytes);
        if (stopped != 0) break;
    }
    EXPECT_EQ(slip_finish_text(stream.get(), &text, &bytes), SLIP_OK) << slip_last_error();
    return {all.append(text, bytes), stopped != 0};
}

TEST(CModels, MODEL_15_a_stream_gives_the_text_up_to_a_stop) {
    const auto model = bundled_handle();
    const CIds ids = encoded_by(slip_encode_prompt, model.get(), "Once upon a time in a town");
    const CIds prompt(ids.begin(), ids.begin() + 2);
    const CIds rest(ids.begin() + 2, ids.end());
    const std::string text = decoded(model.get(), prompt, rest);
    EXPECT_EQ(streamed(model.get(), prompt, rest, {}), std::make_pair(text, false));
    EXPECT_EQ(streamed(model.get(), prompt, rest, {"never", "in a"}),
              std::make_pair(text.substr(0, text.find("in a")), true));

    slip_text_stream* stream = nullptr;
    const char* const none = nullptr;
    expect_refused(slip_open_text_stream(model.get(), nullptr, 0, &none, 1, &stream),
                   SLIP_BAD_INPUT, "one of stops is NULL");
    expect_refused(slip_open_text_stream(model.get(), nullptr, 0, nullptr, 1, &stream),
                   SLIP_BAD_INPUT, "stops is NULL");
}

TEST(CModels, MODEL_18_a_conversation_becomes_ids) {
    const auto model = bundled_handle();
    std::vector<slip_chat_message> messages = {
        {SLIP_SYSTEM, "Be brief."}, {SLIP_USER, "Hi"}, {SLIP_ASSISTANT, "Yes?"}, {SLIP_USER, "Go"}};
    std::int32_t end = -1;
    const auto encode = [&](slip_language_model* m, const char*, std::size_t, std::int32_t* ids,
                            std::size_t capacity, std::size_t* count) {
        return slip_encode_chat(m, "llama2", messages.data(), messages.size(), ids, capacity, count,
                                &end);
    };
    const CIds ids = encoded_by(encode, model.get(), "");
    EXPECT_EQ(end, 2) << "EOS";
    const std::string text = decoded(model.get(), {}, ids);
    for (const slip_chat_message& message : messages) {
        EXPECT_NE(text.find(message.text), std::string::npos) << text;
    }
    std::size_t count = 0;
    const auto refused = [&](const char* format, const std::string& says) {
        expect_refused(slip_encode_chat(model.get(), format, messages.data(), messages.size(),
                                        nullptr, 0, &count, &end),
                       SLIP_BAD_INPUT, says);
    };
    refused(nullptr, "shows no chat format");
    refused("morse", "morse");
    messages[0].text = nullptr;
    refused("llama2", "the text of a message is NULL");
    messages[0] = {static_cast<slip_role>(3), "Hi"};
    refused("llama2", "role 3");
    messages.clear();
    refused("llama2", "out of order");
}

/// What a split tells its caller.
struct SplitTold {
    std::size_t calls = 0, stops_at = 0, finished = 0, matrices = 0;
    std::vector<std::string> notes;
};

int see_progress(void* context, const slip_split_progress* progress) {
    auto& told = *static_cast<SplitTold*>(context);
    EXPECT_EQ(std::string(progress->name).empty(), progress->finished == 0);
    EXPECT_LE(progress->finished_weights, progress->weights);
    told.finished = progress->finished;
    told.matrices = progress->matrices;
    return ++told.calls == told.stops_at ? 0 : 1;
}

void see_note(void* context, const char* line) {
    static_cast<SplitTold*>(context)->notes.emplace_back(line);
}

TEST(CModels, MODEL_13_a_split_tells_how_far_it_is_and_may_be_stopped) {
    const TemporaryFolder folder;
    SyntheticModel synthetic = random_llama(5);
    synthetic.config.tie_word_embeddings = true;
    synthetic.tensors.erase("lm_head.weight");
    const std::string model = folder / "model";
    write_checkpoint(synthetic, model);
    const std::string out = folder / "out";
    SplitTold told;
    auto options = sized<slip_split_options>();
    options.rank = 2;
    options.on_progress = see_progress;
    options.note = see_note;
    options.context = &told;
    ASSERT_EQ(slip_split(model.c_str(), out.c_str(), &options), SLIP_OK) << slip_last_error();
    EXPECT_GT(told.matrices, 0U);
    EXPECT_EQ(told.finished, told.matrices);
    EXPECT_EQ(told.calls, told.matrices + 1);
    EXPECT_EQ(told.notes.size(), 1U) << "of the head, which is tied";
    expect_refused(slip_split(model.c_str(), out.c_str(), &options), SLIP_BAD_INPUT, out);

    const std::string other = folder / "other";
    told = SplitTold();
    told.stops_at = 2;
    expect_refused(slip_split(model.c_str(), other.c_str(), &options), SLIP_STOPPED, "stopped");
    EXPECT_EQ(told.calls, 2U);
    EXPECT_FALSE(std::filesystem::exists(other));
    expect_refused(slip_split(nullptr, other.c_str(), &options), SLIP_BAD_INPUT, "model is NULL");
    expect_refused(slip_split(model.c_str(), nullptr, &options), SLIP_BAD_INPUT, "out is NULL");
    options.plan = "plan.json";
    expect_refused(slip_split(model.c_str(), other.c_str(), &options), SLIP_BAD_INPUT,
                   "plan and rank");
    options.rank = 0;
    expect_refused(slip_split(model.c_str(), other.c_str(), &options), SLIP_BAD_INPUT, "plan.json");
}

TEST(CModels, the_version_is_the_header_s) {
    EXPECT_STREQ(slip_library_version(), SLIP_VERSION);
    EXPECT_STREQ(slip_library_version(), library_version());
}

}  // namespace
}  // namespace slip::testing
