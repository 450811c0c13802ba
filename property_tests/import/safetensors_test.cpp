// The safetensors reader and writer, and the files below them: what is not exactly right is refused
// and named, and what is written is what is read.
#include "optimized/import/safetensors.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/import/json.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/generators/values.hpp"

namespace {

using namespace slip::base;
using namespace slip::importing;
using slip::BadInput;
using slip::testing::any_list;
using slip::testing::any_size;
using slip::testing::permissions_of;
using slip::testing::refusal;
using slip::testing::TemporaryFolder;

constexpr DType all_dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8,
                                DType::i16, DType::i32, DType::u8};

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

/// A file with this header text and this data, the length field as the format wants it.
std::string file_with(const std::string& header, const std::string& data) {
    const std::uint64_t length = header.size();
    std::string file(sizeof length, '\0');
    std::memcpy(file.data(), &length, sizeof length);
    return file + header + data;
}

/// How the reader refuses a file with these bytes.
std::string refusal_of(const std::string& contents) {
    const TemporaryFolder folder;
    const auto path = folder / "hostile.safetensors";
    write_file(path, contents, 0600);
    return refusal([&] { SafetensorsFile{path}; });
}

void expect_file_refused(const std::string& contents, const std::string& because) {
    const std::string message = refusal_of(contents);
    EXPECT_NE(message.find("hostile.safetensors"), std::string::npos) << message;
    EXPECT_NE(message.find(because), std::string::npos) << message;
}

// --- round trip ----------------------------------------------------------------------------------

RC_GTEST_PROP(Safetensors, CONV_2_what_is_written_is_read, ()) {
    const auto count = *any_size(0, 5).as("tensors");
    std::vector<std::string> contents(count);
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < count; ++i) {
        Tensor tensor;
        tensor.name =
            "t" + std::to_string(i) +
            *rc::gen::elementOf(std::vector<std::string>{"", ".weight", " \"quoted\"", "\xc3\xa9"});
        tensor.dtype = all_dtypes[*any_size(0, 5).as("type")];
        const auto extents = *any_size(0, 3).as("extents");
        for (std::size_t d = 0; d < extents; ++d) tensor.shape.push_back(*any_size(0, 3));
        const auto bytes =
            *any_list<std::uint8_t>(tensor.elements() * size_of(tensor.dtype), 0, 255).as("bytes");
        contents[i].assign(bytes.begin(), bytes.end());
        tensor.bytes = bytes_of(contents[i]);
        tensors.push_back(tensor);
    }
    const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"x", ""}};
    const TemporaryFolder folder;
    write_safetensors(folder / "f", tensors, metadata, 0600);

    const SafetensorsFile file(folder / "f");
    RC_ASSERT(file.metadata() == metadata);
    RC_ASSERT(file.tensors().size() == count);
    for (std::size_t i = 0; i < count; ++i) {
        const Tensor& read = file.tensor(tensors[i].name);
        RC_ASSERT(read.dtype == tensors[i].dtype);
        RC_ASSERT(read.shape == tensors[i].shape);
        RC_ASSERT(std::equal(read.bytes.begin(), read.bytes.end(), tensors[i].bytes.begin(),
                             tensors[i].bytes.end()));
    }
}

/// The bytes themselves: the length is little-endian, the data begins at a multiple of 64.
TEST(Safetensors, CONV_2_bytes_of_a_small_file) {
    const TemporaryFolder folder;
    const std::vector<std::int16_t> values = {1, -2};
    const Tensor tensor{"x", DType::i16, {2}, std::as_bytes(std::span(values))};
    write_safetensors(folder / "f", {tensor}, {}, 0600);
    const std::string contents = read_file(folder / "f");
    const std::string header = R"({"x":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}})";
    ASSERT_EQ(contents.size(), 68u);
    EXPECT_EQ(contents.substr(0, 8), std::string("\x38\0\0\0\0\0\0\0", 8));  // 56 = 64 - 8
    EXPECT_EQ(contents.substr(8, header.size()), header);
    EXPECT_EQ(contents.substr(8 + header.size(), 64 - 8 - header.size()),
              std::string(64 - 8 - header.size(), ' '));
    EXPECT_EQ(contents.substr(64), std::string("\x01\0\xfe\xff", 4));
}

TEST(Safetensors, tensors_stay_valid_when_the_file_is_moved) {
    const TemporaryFolder folder;
    const std::string data = "abcd";
    write_safetensors(folder / "f", {{"x", DType::i8, {4}, bytes_of(data)}}, {}, 0600);
    SafetensorsFile first(folder / "f");
    SafetensorsFile second(std::move(first));
    EXPECT_EQ(std::memcmp(second.tensor("x").bytes.data(), "abcd", 4), 0);
    EXPECT_NE(refusal([&] { second.tensor("y"); }).find("has no tensor y"), std::string::npos);
}

TEST(Safetensors, the_writer_insists_on_exactly_the_declared_bytes) {
    const TemporaryFolder folder;
    const std::string data = "abcd";
    const std::vector<Tensor> declared = {{"x", DType::i8, {4}, {}}};
    {
        SafetensorsWriter writer(folder / "f", declared, {}, 0600);
        writer.append(bytes_of(data).first(3));
        EXPECT_THROW(writer.append(bytes_of(data)), slip::InternalError);
        EXPECT_THROW(writer.finish(), slip::InternalError);
    }
    EXPECT_TRUE(folder.empty()) << "an unfinished file must not stay";
    EXPECT_THROW(
        write_safetensors(folder / "f", {{"x", DType::i8, {0}, {}}, {"x", DType::i8, {0}, {}}}, {},
                          0600),
        slip::InternalError);
}

// --- hostile files -------------------------------------------------------------------------------

constexpr const char* entry = R"("x":{"dtype":"I8","shape":[4],"data_offsets":[0,4]})";

TEST(Safetensors, hostile_lengths_are_refused) {
    expect_file_refused("", "is empty");
    expect_file_refused("1234567", "too short");
    expect_file_refused(std::string(8, '\xff') + "{}", "the limit is 100000000");
    std::string too_long = file_with("{}", "");
    too_long[0] = 3;
    expect_file_refused(too_long, "longer than the file");
    std::string over_limit(8, '\0');
    const std::uint64_t length = 100'000'001;
    std::memcpy(over_limit.data(), &length, 8);
    expect_file_refused(over_limit + "{}", "the limit is 100000000");
    expect_file_refused(file_with("", ""), "does not begin with '{'");
}

TEST(Safetensors, hostile_json_is_refused) {
    for (const char* header : {"{", "[]", "{}x", R"({"x":1e999})", "{\"\xff\":1}", "{'x':1}"}) {
        EXPECT_NE(refusal_of(file_with(header, "")), "accepted") << header;
    }
    using namespace std::string_literals;
    for (const std::string& header : {"{}\0"s, "{}\0 "s, "{} \0{}"s, "{}{}"s}) {
        EXPECT_NE(refusal_of(file_with(header, "")), "accepted") << header;  // MODEL-7
    }
    expect_file_refused(file_with("\xef\xbb\xbf{}", ""), "does not begin with '{'");
    expect_file_refused(file_with(R"({"x":7})", ""), "expected an object");
    expect_file_refused(file_with(R"({"__metadata__":{"a":1}})", ""), "expected a string");
    expect_file_refused(file_with(R"({"__metadata__":[]})", ""), "expected an object");
    const std::string twice = "{" + std::string(entry) + "," + entry + "}";
    expect_file_refused(file_with(twice, "abcd"), "\"x\" stands twice");
    expect_file_refused(
        file_with(R"({"x":{"dtype":"I8","dtype":"I8","shape":[4],"data_offsets":[0,4]}})", "abcd"),
        "\"dtype\" stands twice");
    // Names that differ as text and are equal after unescaping.
    expect_file_refused(file_with(R"({"x":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},)"
                                  R"("\u0078":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}})",
                                  ""),
                        "\"x\" stands twice");
    // Depth must cost no stack.
    EXPECT_NE(refusal_of(file_with("{\"x\":" + std::string(1'000'000, '['), "")), "accepted");
}

TEST(Json, MODEL_7_nothing_stands_before_or_behind_the_value) {
    using namespace std::string_literals;
    const auto refusal_of_text = [](const std::string& text) {
        return refusal([&] { parse_json(text, "some.json"); });
    };
    EXPECT_EQ(refusal_of_text(" \t\r\n{\"a\": 1} \n"), "accepted");
    for (const std::string& text :
         {"\xef\xbb\xbf{}"s, "\xef\xbb\xbf"s, "{}\0"s, "{}\n\0"s, "{}\0{}"s, "{}\0garbage"s,
          "\0{}"s, "{}\xef\xbb\xbf"s, "{}{}"s, "{},"s, "{}\v"s, "{}\xc2\xa0"s}) {
        EXPECT_NE(refusal_of_text(text).find("some.json: is not valid JSON"), std::string::npos)
            << testing::PrintToString(text);
    }
}

TEST(Safetensors, hostile_descriptions_are_refused) {
    const auto with = [](const std::string& description) {
        return file_with(R"({"x":{)" + description + "}}", "abcd");
    };
    EXPECT_EQ(refusal_of(with(R"("dtype":"I8","shape":[4],"data_offsets":[0,4])")), "accepted");
    EXPECT_EQ(refusal_of(with(R"("dtype":"F32","shape":[],"data_offsets":[0,4])")), "accepted");
    const std::pair<const char*, const char*> cases[] = {
        {R"("shape":[4],"data_offsets":[0,4])", "\"dtype\" is missing"},
        {R"("dtype":"I8","data_offsets":[0,4])", "\"shape\" is missing"},
        {R"("dtype":"I8","shape":[4])", "\"data_offsets\" is missing"},
        {R"("dtype":"I8","shape":[4],"data_offsets":[0,4],"y":1)", "\"y\" is unknown"},
        {R"("dtype":"F8","shape":[4],"data_offsets":[0,4])", "one of F32, F16"},
        {R"("dtype":8,"shape":[4],"data_offsets":[0,4])", "expected a string"},
        {R"("dtype":"I8","shape":[-4],"data_offsets":[0,4])", "integers from 0 on"},
        {R"("dtype":"I8","shape":[4.0],"data_offsets":[0,4])", "integers from 0 on"},
        {R"("dtype":"I8","shape":[99999999999999999999],"data_offsets":[0,4])",
         "integers from 0 on"},
        {R"("dtype":"I8","shape":4,"data_offsets":[0,4])", "an array"},
        {R"("dtype":"I8","shape":[5],"data_offsets":[0,4])", "as many bytes as"},
        {R"("dtype":"I16","shape":[4],"data_offsets":[0,4])", "as many bytes as"},
        // 2^33 * 2^33 * 4 = 2^68, which is 16 times 2^64.
        {R"("dtype":"F32","shape":[8589934592,8589934592],"data_offsets":[0,0])",
         "as many bytes as"},
        // 2^63 * 2 * 2 bytes wrap to 0, and a later 0 does not excuse it.
        {R"("dtype":"I16","shape":[9223372036854775808,2,0],"data_offsets":[0,0])",
         "as many bytes as"},
        {R"("dtype":"I8","shape":[4],"data_offsets":[4,0])", "a begin and an end"},
        {R"("dtype":"I8","shape":[4],"data_offsets":[0])", "a begin and an end"},
        {R"("dtype":"I8","shape":[4],"data_offsets":[0,4,4])", "a begin and an end"},
        {R"("dtype":"I8","shape":[4],"data_offsets":[-4,0])", "integers from 0 on"},
    };
    for (const auto& [description, because] : cases) {
        SCOPED_TRACE(description);
        expect_file_refused(with(description), because);
    }
}

TEST(Safetensors, tensors_must_tile_the_data) {
    const auto two = [](const std::string& first, const std::string& second,
                        const std::string& data) {
        return file_with(R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[)" + first +
                             R"(]},"b":{"dtype":"I8","shape":[2],"data_offsets":[)" + second +
                             "]}}",
                         data);
    };
    EXPECT_EQ(refusal_of(two("0,2", "2,4", "abcd")), "accepted");
    EXPECT_EQ(refusal_of(two("2,4", "0,2", "abcd")), "accepted");
    expect_file_refused(two("0,2", "1,3", "abc"), "without gap or overlap");
    expect_file_refused(two("0,2", "0,2", "ab"), "without gap or overlap");
    expect_file_refused(two("0,2", "3,5", "abcde"), "without gap or overlap");
    expect_file_refused(two("1,3", "3,5", "abcde"), "without gap or overlap");
    expect_file_refused(two("0,2", "2,4", "abc"), "of the data, which has 3");
    expect_file_refused(two("0,2", "2,4", "abcde"), "of the data, which has 5");
    expect_file_refused(two("0,2", "18446744073709551614,18446744073709551616", "abcd"),
                        "integers from 0 on");
    expect_file_refused(file_with("{}", "a"), "of the data, which has 1");
}

/// Whatever one byte of a file becomes, reading either works or gives BadInput.
TEST(Safetensors, any_changed_byte_is_read_or_refused) {
    const std::string good = file_with("{" + std::string(entry) + "}", "abcd");
    const TemporaryFolder folder;
    std::mt19937_64 random(1);
    for (std::size_t position = 0; position < good.size(); ++position) {
        for (int attempt = 0; attempt < 4; ++attempt) {
            std::string bad = good;
            bad[position] = static_cast<char>(random());
            const auto path = folder / (std::to_string(position) + "-" + std::to_string(attempt));
            write_file(path, bad, 0600);
            EXPECT_NO_FATAL_FAILURE(refusal([&] { SafetensorsFile{path}; }));
        }
    }
}

// --- conversion to float -------------------------------------------------------------------------

std::vector<float> converted(DType dtype, const std::vector<std::uint16_t>& bits,
                             bool require_finite = false) {
    const Tensor tensor{"x", dtype, {bits.size()}, std::as_bytes(std::span(bits))};
    return to_floats(tensor, require_finite);
}

/// The value that a binary16 number has by definition.
float value_of_f16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
    if (exponent == 31) {
        return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    }
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

TEST(ToFloats, every_f16_and_every_bf16) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    const std::vector<float> f16 = converted(DType::f16, all);
    const std::vector<float> bf16 = converted(DType::bf16, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const float expected = value_of_f16(all[i]);
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(f16[i])) << i;
        } else {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(f16[i]), std::bit_cast<std::uint32_t>(expected));
        }
        EXPECT_EQ(std::bit_cast<std::uint32_t>(bf16[i]), i << 16);
    }
}

TEST(ToFloats, unaligned_bytes_and_wrong_types) {
    const std::vector<float> values = {1.5f, -2.25f};
    std::string shifted(1 + sizeof(float) * values.size(), '\0');
    std::memcpy(shifted.data() + 1, values.data(), sizeof(float) * values.size());
    const Tensor tensor{"x", DType::f32, {2}, bytes_of(shifted).subspan(1)};
    EXPECT_EQ(to_floats(tensor), values);
    for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::u8}) {
        const Tensor integers{"ids", dtype, {0}, {}};
        EXPECT_NE(refusal([&] { to_floats(integers); }).find("ids"), std::string::npos);
    }
    EXPECT_TRUE(to_floats({"empty", DType::f32, {0, 3}, {}}).empty());
}

TEST(ToFloats, DECO_5_not_finite_is_refused_and_named) {
    EXPECT_NE(refusal([] { converted(DType::f16, {0x7c00}, true); }).find("tensor x"),
              std::string::npos);
    EXPECT_NE(refusal([] {
                  converted(DType::bf16, {0x0000, 0x7fc0}, true);
              }).find("tensor x"),
              std::string::npos);
    EXPECT_EQ(refusal([] { converted(DType::bf16, {0x7f7f}, true); }), "accepted");
}

// --- files ---------------------------------------------------------------------------------------

TEST(Files, THREAT_2_permissions_hold_from_the_first_byte) {
    const TemporaryFolder folder;
    NewFile file(folder / "secret", 0600);
    EXPECT_EQ(permissions_of(folder / "secret"), 0600u);
    const std::string data = "x";
    file.append(bytes_of(data));
    file.finish();
    EXPECT_EQ(read_file(folder / "secret"), "x");
    EXPECT_THROW(file.finish(), slip::InternalError);
}

TEST(Files, CONV_4_errors_name_the_file_and_nothing_is_overwritten) {
    const TemporaryFolder folder;
    write_file(folder / "old", "old", 0600);
    EXPECT_NE(refusal([&] { write_file(folder / "old", "new", 0600); }).find("old"),
              std::string::npos);
    EXPECT_EQ(read_file(folder / "old"), "old");
    const std::string missing = folder / "missing";
    EXPECT_NE(refusal([&] { read_file(missing); }).find(missing), std::string::npos);
    EXPECT_NE(refusal([&] { MappedFile{missing}; }).find(missing), std::string::npos);
    EXPECT_NE(refusal([&] { read_file(folder.path()); }).find("regular"), std::string::npos);
    EXPECT_NE(refusal([&] { MappedFile{folder.path()}; }).find("regular"), std::string::npos);
    EXPECT_NE(refusal([&] { read_file(folder / "old", 2); }).find("longer than 2"),
              std::string::npos);
    EXPECT_NE(refusal([&] { write_file(folder / "no/such", "", 0600); }).find("no/such"),
              std::string::npos);
    // A FIFO must not hang the program.
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_NE(refusal([&] { read_file(folder / "pipe"); }).find("regular"), std::string::npos);
}

TEST(Files, staged_folders_appear_whole_or_not_at_all) {
    const TemporaryFolder folder;
    {
        StagedFolder staged(folder / "out");
        write_file(staged.path() / "file", "x", 0600);
        EXPECT_FALSE(std::filesystem::exists(folder / "out"));
    }
    EXPECT_TRUE(folder.empty());
    {
        StagedFolder staged(folder / "out/");
        write_file(staged.path() / "file", "x", 0600);
        staged.commit();
    }
    EXPECT_EQ(read_file(folder / "out/file"), "x");
    EXPECT_EQ(permissions_of(folder / "out"), 0700u);
    EXPECT_NE(refusal([&] { StagedFolder{folder / "out"}; }).find("exists already"),
              std::string::npos);
    EXPECT_NE(refusal([&] { StagedFolder{folder / "no/such"}; }).find("no/such"),
              std::string::npos);
}

TEST(Files, a_target_taken_in_the_meantime_is_kept) {
    const TemporaryFolder folder;
    {
        StagedFolder staged(folder / "out");
        std::filesystem::create_directory(folder / "out");
        write_file(folder / "out/theirs", "x", 0600);
        EXPECT_NE(refusal([&] { staged.commit(); }).find("put in place"), std::string::npos);
    }
    EXPECT_EQ(read_file(folder / "out/theirs"), "x");
    std::filesystem::remove_all(folder / "out");
    EXPECT_TRUE(folder.empty());
}

// --- files that are written over several runs ----------------------------------------------------

TEST(Assembly, DECO_11_any_order_over_several_runs_gives_the_same_file) {
    const TemporaryFolder folder;
    const std::string wide = "four", narrow = "abcdef";
    const std::vector<Tensor> tensors = {
        {"wide", DType::f32, {1}, std::as_bytes(std::span(wide))},
        {"narrow", DType::i8, {2, 3}, std::as_bytes(std::span(narrow))}};
    write_safetensors(folder / "whole", tensors, {}, 0600);
    {
        SafetensorsAssembly first(folder / "file", tensors, 0600);
        first.write("narrow", tensors[1].bytes.subspan(3), 3);
        first.flush();
    }
    EXPECT_EQ(permissions_of(folder / "file"), 0600u);
    {
        SafetensorsAssembly second(folder / "file", tensors, 0600);
        second.write("narrow", tensors[1].bytes.first(3));
        second.write("wide", tensors[0].bytes);
        EXPECT_THROW(second.write("wide", tensors[1].bytes), slip::InternalError);
        EXPECT_THROW(second.write("wide", tensors[0].bytes, 1), slip::InternalError);
    }
    EXPECT_EQ(read_file(folder / "file"), read_file(folder / "whole"));
    // Another header, of this length and of another one.
    const std::vector<Tensor> renamed = {{"wild", DType::f32, {1}, {}},
                                         {"narrow", DType::i8, {2, 3}, {}}};
    const std::vector<Tensor> longer = {{"wide", DType::f32, {100}, {}}};
    for (const auto& [others, because] :
         {std::pair{renamed, "does not hold"}, {longer, "bytes that is expected"}}) {
        EXPECT_NE(refusal([&, &other = others] {
                      SafetensorsAssembly(folder / "file", other, 0600);
                  }).find(because),
                  std::string::npos);
    }
    EXPECT_EQ(read_file(folder / "file"), read_file(folder / "whole"));
}

TEST(Files, DECO_11_a_lock_has_one_holder) {
    const TemporaryFolder folder;
    {
        const FileLock lock(folder / "lock");
        EXPECT_NE(refusal([&] { FileLock{folder / "lock"}; }).find("another process"),
                  std::string::npos);
    }
    EXPECT_NO_THROW(FileLock{folder / "lock"});
}

TEST(Files, forgotten_pages_are_read_again) {
    const TemporaryFolder folder;
    write_file(folder / "file", std::string(10'000, 'x'), 0600);
    const MappedFile file(folder / "file");
    EXPECT_EQ(file.bytes()[9'999], std::byte{'x'});
    file.forget_pages();
    EXPECT_EQ(file.bytes()[9'999], std::byte{'x'});
}

}  // namespace
