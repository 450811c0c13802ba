// Sealing (MODEL-20): the key's file, and what opens only as it was sealed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/seal.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"

namespace slip::testing {
namespace {

namespace fs = std::filesystem;
namespace layout = artifact::layout;
using artifact::GroupSeal;
using artifact::SealedGroup;
using artifact::SealKey;
using Bytes = std::vector<std::uint8_t>;
using Tag = std::array<std::uint8_t, layout::tag_bytes>;

Bytes counting(std::size_t size, std::uint8_t first, std::uint8_t step = 1) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::uint8_t>(first + step * i);
    }
    return bytes;
}

fs::path write_key(const fs::path& file, const Bytes& bytes, fs::perms mode = fs::perms(0600)) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    fs::permissions(file, mode);
    return file;
}

SealKey key_of(const Bytes& bytes) {
    const TemporaryFolder folder;
    return SealKey(write_key(folder / "key", bytes));
}

/// One group, with what it is made of to change.
struct Group {
    const base::parameters::ParameterSet* set = base::parameters::set_named("hidden");
    Bytes key = counting(32, 0), seed = counting(32, 50), salt = counting(32, 100);
    std::size_t group = 5, rows = 130, columns = 64;

    GroupSeal seal() const {
        return GroupSeal(key_of(key), SealedGroup{set, group, rows, columns, seed, salt});
    }
};

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        constexpr const char* digits = "0123456789abcdef";
        text += {digits[byte >> 4], digits[byte & 15]};
    }
    return text;
}

/// Computed with Python's hmac and cryptography from the clause.
TEST(Seal, MODEL_20_equals_an_independent_implementation) {
    const Bytes plain = counting(24, 0, 7);
    Bytes sealed(plain.size());
    Tag tag{};
    Group().seal().seal(2, plain, sealed, tag);
    EXPECT_EQ(hex(sealed), "7ca2c9aec2b73c39a03c9ce150a7c7235c05d329e162def9");
    EXPECT_EQ(hex(tag), "324c363cbd1a77d26cae91451d0cc52b");
}

RC_GTEST_PROP(Seal, MODEL_20_opens_exactly_what_was_sealed, (const Bytes& plain)) {
    const auto number = *rc::gen::inRange<std::size_t>(0, 1U << 20);
    Bytes sealed(plain.size()), opened(plain.size());
    Tag tag{};
    const GroupSeal seal = Group().seal();
    seal.seal(number, plain, sealed, tag);
    RC_ASSERT(seal.open(number, sealed, tag, opened));
    RC_ASSERT(opened == plain);
}

RC_GTEST_PROP(Seal, MODEL_20_whatever_is_changed_opens_nothing, ()) {
    Bytes sealed(100);
    Tag tag{};
    Group group;
    group.seal().seal(1, counting(100, 3), sealed, tag);
    std::size_t number = 1;
    const auto flip = [](auto& bytes) {
        const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
        bytes[at] ^= static_cast<std::uint8_t>(1U << *rc::gen::inRange(0, 8));
    };
    switch (*rc::gen::inRange(0, 9)) {
        case 0:
            flip(sealed);
            break;
        case 1:
            flip(tag);
            break;
        case 2:
            flip(group.salt);
            break;
        case 3:
            flip(group.key);
            break;
        case 4:
            flip(group.seed);
            break;
        case 5:
            number = *rc::gen::elementOf(std::vector<std::size_t>{0, 2, 257});
            break;
        case 6:
            ++group.group;
            break;
        case 7:
            ++group.rows, --group.columns;
            break;
        default:
            group.set = base::parameters::set_named("paper-lattice");
            break;
    }
    Bytes opened(100, 1);
    RC_ASSERT(!group.seal().open(number, sealed, tag, opened));
    RC_ASSERT(opened == Bytes(100));
}

TEST(Seal, MODEL_20_a_key_is_32_bytes_that_nobody_else_may_use) {
    const TemporaryFolder folder;
    const auto says = [](const fs::path& file) { return refusal([&] { SealKey key(file); }); };
    const auto expect = [&](const fs::path& file, const std::string& because) {
        const std::string said = says(file);
        EXPECT_EQ(said.find(file.string() + ": " + because), 0U) << said;
    };
    EXPECT_EQ(says(write_key(folder / "good", counting(32, 0))), "accepted");
    expect(folder / "absent", "does not exist: expected a key of 32 random bytes; to make one: ");
    expect(folder.path(), "is not a regular file");
    for (const std::size_t size : {0U, 31U, 33U, 64U}) {
        expect(write_key(folder / std::to_string(size), counting(size, 0)),
               "has " + std::to_string(size) + " bytes: expected a secret of exactly 32");
    }
    for (const unsigned mode : {0640U, 0604U, 0620U, 0601U, 0666U}) {
        expect(write_key(folder / "open", counting(32, 0), fs::perms(mode)),
               "other users may use this secret: expected mode 0600");
    }
    if (::geteuid() != 0) return;
    const fs::path foreign = write_key(folder / "foreign", counting(32, 0));
    ASSERT_EQ(::chown(foreign.c_str(), 65534, 65534), 0);
    expect(foreign, "belongs to another user");
}

TEST(Seal, MODEL_20_the_id_of_a_key_tells_keys_apart_and_is_none) {
    const Bytes bytes = counting(32, 0);
    EXPECT_EQ(key_of(bytes).id(), key_of(bytes).id());
    EXPECT_NE(key_of(bytes).id(), key_of(counting(32, 1)).id());
    EXPECT_NE(key_of(bytes).id(), hex(bytes));
}

}  // namespace
}  // namespace slip::testing
