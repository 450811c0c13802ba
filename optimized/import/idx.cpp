#include "optimized/import/idx.hpp"

#include <array>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip::importing {
namespace {

std::size_t big_endian(const std::uint8_t* bytes) {
    std::size_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | bytes[i];
    return value;
}

/// The bytes after a header of 0, 0, 8 (unsigned bytes), the number of dimensions, and the extents.
template <std::size_t Dimensions>
std::vector<std::uint8_t> parse_idx(std::span<const std::byte> file,
                                    const std::filesystem::path& origin,
                                    std::array<std::size_t, Dimensions>& extents) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.data());
    const std::size_t size = file.size();
    constexpr std::size_t header = 4 + 4 * Dimensions;
    const bool known =
        size >= header && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == 8 && bytes[3] == Dimensions;
    const std::size_t missing = known ? size - header : 0;
    std::size_t count = 1;
    bool fits = known;
    for (std::size_t d = 0; fits && d < Dimensions; ++d) {
        extents[d] = big_endian(bytes + 4 + 4 * d);
        fits = extents[d] == 0 || count <= missing / extents[d];
        count *= fits ? extents[d] : 0;
    }
    if (!fits || count != missing || count == 0) {
        throw BadInput(origin.string() + ": is not an IDX file of unsigned bytes with " +
                       std::to_string(Dimensions) + " dimensions");
    }
    return {bytes + header, bytes + size};
}

}  // namespace

IdxImages parse_idx_images(std::span<const std::byte> file, const std::filesystem::path& origin) {
    std::array<std::size_t, 3> extents{};
    IdxImages images;
    images.pixels = parse_idx(file, origin, extents);
    images.count = extents[0];
    images.height = extents[1];
    images.width = extents[2];
    return images;
}

std::vector<std::uint8_t> parse_idx_labels(std::span<const std::byte> file,
                                           const std::filesystem::path& origin) {
    std::array<std::size_t, 1> extents{};
    return parse_idx(file, origin, extents);
}

IdxImages read_idx_images(const std::filesystem::path& path) {
    return parse_idx_images(base::MappedFile(path).bytes(), path);
}

std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path) {
    return parse_idx_labels(base::MappedFile(path).bytes(), path);
}

}  // namespace slip::importing
