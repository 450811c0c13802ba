// Handles of slip/slip.h that are freed with their scope, and the models that its tests open.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "property_tests/serving/served_model.hpp"
#include "slip/slip.h"

namespace slip::testing {

/// Frees a handle, which has to be a valid one.
struct HandleFree {
    void operator()(slip_language_model* h) const { freed(slip_free_language_model(h)); }
    void operator()(slip_image_classifier* h) const { freed(slip_free_image_classifier(h)); }
    void operator()(slip_sequence* h) const { freed(slip_free_sequence(h)); }
    void operator()(slip_text_stream* h) const { freed(slip_free_text_stream(h)); }
    void operator()(slip_scheduler* h) const { freed(slip_free_scheduler(h)); }
    void operator()(slip_david* h) const { freed(slip_free_david(h)); }
    void operator()(slip_server* h) const { freed(slip_free_server(h)); }

private:
    static void freed(slip_status status) { EXPECT_EQ(status, SLIP_OK) << slip_last_error(); }
};

template <class T>
using Handle = std::unique_ptr<T, HandleFree>;

/// What open(place) opens.
template <class T, class Open>
Handle<T> opened(const Open& open) {
    T* handle = nullptr;
    EXPECT_EQ(open(&handle), SLIP_OK) << slip_last_error();
    EXPECT_NE(handle, nullptr);
    return Handle<T>(handle);
}

/// A struct with its size and the defaults.
template <class Options>
Options sized() {
    Options options{};
    options.size = sizeof options;
    return options;
}

/// The call whose status this is failed so, with these words in its message.
inline void expect_refused(slip_status status, slip_status expected, const std::string& says = "") {
    EXPECT_EQ(status, expected) << slip_last_error();
    EXPECT_NE(std::string(slip_last_error()).find(says), std::string::npos)
        << "'" << says << "' is not in '" << slip_last_error() << "'";
}

/// A model without a tokenizer.
inline Handle<slip_language_model> unsplit_handle() {
    return opened<slip_language_model>([](slip_language_model** place) {
        return slip_open_unsplit(small_served().artifact.c_str(), nullptr, place, nullptr);
    });
}

/// The bundled model in float32, with its tokenizer.
inline Handle<slip_language_model> bundled_handle() {
    return opened<slip_language_model>([](slip_language_model** place) {
        return slip_open_checkpoint(SLIP_SOURCE_DIR "/models/tinystories-llama", place, nullptr);
    });
}

/// Behind which small_served() generates four tokens, or as many as are asked for.
inline std::vector<std::int32_t> four_token_prompt() {
    LanguageModel model = small_served().unsplit();
    return full_request(model, 1, 2, 4).prompt;
}

/// The logits of three tokens of small_served(); none if they are refused.
inline std::vector<float> three_rows(slip_language_model* model) {
    const std::vector<std::int32_t> ids = {1, 2, 3};
    std::vector<float> logits(ids.size() * small_served().vocabulary);
    const slip_status status = slip_forward(model, ids.data(), ids.size(), logits.data());
    EXPECT_EQ(status, SLIP_OK) << slip_last_error();
    return status == SLIP_OK ? logits : std::vector<float>();
}

}  // namespace slip::testing
