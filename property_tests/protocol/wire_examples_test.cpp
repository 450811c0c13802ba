// WIRE-10: the examples of spec/wire.md, by both implementations.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "property_tests/protocol/frame_codecs.hpp"

namespace slip::testing {
namespace {

namespace wire = protocol::wire;

struct Example {
    bool valid = false;
    std::string title;  // the words after "hex" or "hex-invalid"
    Bytes bytes;
};

std::vector<Example> examples_of_the_chapter() {
    std::ifstream chapter(std::string(SLIP_SOURCE_DIR) + "/spec/wire.md");
    std::vector<Example> examples;
    std::string hex;
    bool inside = false;
    for (std::string line; std::getline(chapter, line);) {
        if (!inside && line.rfind("```hex", 0) == 0) {
            inside = true;
            hex.clear();
            const bool valid = line.rfind("```hex ", 0) == 0;
            examples.push_back({valid, line.substr(line.find(' ') + 1), {}});
        } else if (inside && line == "```") {
            inside = false;
            examples.back().bytes = from_hex(hex);
        } else if (inside) {
            hex += line;
        }
    }
    return examples;
}

/// The shape that the title gives, "n=3" or "M=2", for the groups 0 to 2.
Groups shapes_of(const std::string& title) {
    Shape shape{.rows = 1, .n = 1};
    std::istringstream words(title);
    for (std::string word; words >> word;) {
        if (word.rfind("n=", 0) == 0) shape.n = std::stoul(word.substr(2));
        if (word.rfind("M=", 0) == 0) shape.rows = std::stoul(word.substr(2));
    }
    return {shape, shape, shape};
}

TEST(Chapter, WIRE_10_examples_are_decoded_and_encoded_or_refused) {
    const std::vector<Example> examples = examples_of_the_chapter();
    std::map<std::string, int> valid;
    int invalid = 0;
    for (const Example& example : examples) {
        SCOPED_TRACE(example.title);
        const auto frame = try_decode(example.bytes, shapes_of(example.title));
        EXPECT_EQ(frame, try_decode_by_reference(example.bytes, shapes_of(example.title)));
        EXPECT_EQ(frame.has_value(), example.valid);
        invalid += !example.valid;
        if (!frame) continue;
        EXPECT_EQ(encode(*frame), example.bytes);
        const std::string name = example.title.substr(0, example.title.find(' '));
        EXPECT_EQ(name, type_name(frame->type));
        ++valid[name];
    }
    EXPECT_EQ(valid.size(), 7U) << "the chapter shows every frame";
    EXPECT_GE(invalid, 10);
}

/// The example of the chapter is the protocol: David's answer to the APPLY is the REPLY.
TEST(Chapter, WIRE_10_the_replies_are_davids_answers) {
    const std::vector<std::int8_t> w = {1, -2, 3, 0, 127, -127};
    protocol::DavidModel model;
    model.set = set_of(paper_planes);
    for (int g = 0; g < 3; ++g) model.weights.emplace_back(w.data(), 2U, 3U);
    protocol::DavidSession david(model);
    std::vector<Bytes> applies;
    std::vector<Bytes> replies;
    for (const Example& example : examples_of_the_chapter()) {
        if (example.valid && example.title.rfind("APPLY ", 0) == 0)
            applies.push_back(example.bytes);
        if (example.valid && example.title.rfind("REPLY ", 0) == 0)
            replies.push_back(example.bytes);
    }
    ASSERT_EQ(applies.size(), replies.size());
    ASSERT_GE(applies.size(), 1U);
    const Bytes hello = encode(Frame(wire::Hello{2, 1, {}}));
    david.handle(std::span(hello).subspan(wire::length_bytes));
    for (std::size_t i = 0; i < applies.size(); ++i) {
        const auto reply = david.handle(std::span(applies[i]).subspan(wire::length_bytes));
        EXPECT_EQ(Bytes(reply.begin(), reply.end()), replies[i]);
    }
}

}  // namespace
}  // namespace slip::testing
