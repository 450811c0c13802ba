// Sealing: the hints of a split, encrypted on their owner's disk (MODEL-20).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::artifact {

/// The owner's key, of KEYFILE.
class SealKey {
public:
    /// Throws BadInput, naming the file and what was expected, unless it is a regular file of 32
    /// bytes of the user's own that nobody else may use.
    explicit SealKey(std::filesystem::path file);

    const std::filesystem::path& file() const { return file_; }
    std::span<const std::uint8_t> bytes() const { return bytes_.span(); }
    /// Tells this key from others, and nothing else of it.
    std::string id() const;

private:
    std::filesystem::path file_;
    base::SecretBuffer<std::uint8_t> bytes_;
};

/// What is sealed: the hint of one group, written once.
struct SealedGroup {
    const base::parameters::ParameterSet* set = nullptr;
    std::size_t group = 0;
    std::size_t rows = 0;                // M
    std::size_t columns = 0;             // n
    std::span<const std::uint8_t> seed;  // of T
    std::span<const std::uint8_t> salt;  // layout::salt_bytes, drawn for this group alone
};

/// AES-256-GCM under the key of one group. Safe to use from any number of threads.
class GroupSeal {
public:
    using Tag = std::span<std::uint8_t, layout::tag_bytes>;
    using GivenTag = std::span<const std::uint8_t, layout::tag_bytes>;

    GroupSeal(const SealKey& key, const SealedGroup& group);

    /// `sealed` is as long as `plain`. Each number may be used once.
    void seal(std::size_t number, std::span<const std::uint8_t> plain,
              std::span<std::uint8_t> sealed, Tag tag) const;
    /// False, with zeros in `plain`, unless exactly this was sealed under this number and key.
    [[nodiscard]] bool open(std::size_t number, std::span<const std::uint8_t> sealed, GivenTag tag,
                            std::span<std::uint8_t> plain) const;

private:
    base::SecretBuffer<std::uint8_t> key_;
};

}  // namespace slip::artifact
