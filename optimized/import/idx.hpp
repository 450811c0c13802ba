// The IDX format of the MNIST files: images and labels in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace slip::importing {

struct IdxImages {
    std::size_t count = 0;
    std::size_t height = 0;
    std::size_t width = 0;
    std::vector<std::uint8_t> pixels;  // count x height x width
};

/// Throws BadInput, naming `origin`, unless `file` is exactly a three-dimensional IDX file of bytes
/// that holds at least one.
IdxImages parse_idx_images(std::span<const std::byte> file, const std::filesystem::path& origin);

/// The same for a one-dimensional IDX file.
std::vector<std::uint8_t> parse_idx_labels(std::span<const std::byte> file,
                                           const std::filesystem::path& origin);

/// The same for files on disk. Throws BadInput, naming the file.
IdxImages read_idx_images(const std::filesystem::path& path);
std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path);

}  // namespace slip::importing
