// The IDX format of the MNIST files: images and labels in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace slip {

struct IdxImages {
    std::size_t count = 0;
    std::size_t height = 0;
    std::size_t width = 0;
    std::vector<std::uint8_t> pixels;  // count x height x width
};

/// Throws BadInput, naming the file, unless it is exactly a three-dimensional IDX file of bytes.
IdxImages read_idx_images(const std::filesystem::path& path);

/// Throws BadInput, naming the file, unless it is exactly a one-dimensional IDX file of bytes.
std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path);

}  // namespace slip
