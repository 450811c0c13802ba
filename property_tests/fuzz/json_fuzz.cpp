// Strict JSON: whatever is accepted means one thing only.
#include "optimized/base/error.hpp"
#include "optimized/import/json.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::json_fuzz {
namespace {

int depth_of(const nlohmann::json& value) {
    int deepest = 0;
    if (!value.is_structured()) return 0;
    for (const auto& element : value) deepest = std::max(deepest, depth_of(element));
    return 1 + deepest;
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    std::vector<Bytes> texts;
    for (const char* text :
         {"{}", "[]", "null", "[true, false, null, -0, 1e3, 18446744073709551615, -1.5E-7]",
          R"({"a": {"b": [1, {"c": "\u00e9\n\ud83d\ude00"}]}, "b": [[], {}]})",
          R"({"a": 1, "b": {"a": 2}})"}) {
        texts.push_back(bytes_of(text));
    }
    return texts;
}

bool check(std::span<const std::byte> input) {
    nlohmann::json value;
    if (!accepts<BadInput>([&] { value = importing::parse_json(text_of(input), "file"); })) {
        return false;
    }
    expect(depth_of(value) <= importing::largest_json_depth,
           "the nesting is deeper than the limit");
    expect(importing::parse_json(value.dump(), "file") == value,
           "written and read again is another value");
    accepts<BadInput>([&] {
        importing::JsonObject object(value, "file", "object");
        expect(object.text("a").size() <= input.size(), "a string is longer than its text");
    });
    accepts<BadInput>([&] {
        importing::JsonObject object(value, "file", "object");
        const std::size_t number = object.integer("a", 3, 1000);
        expect(number >= 3 && number <= 1000, "an integer lies outside its range");
        object.refuse_unknown_fields();
        expect(value.size() == 1, "an unknown field is accepted");
    });
    return true;
}

const Target target{"json_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::json_fuzz
