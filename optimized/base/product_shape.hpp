// What a group's product takes and gives: shared by whoever sends, multiplies, checks or counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "optimized/base/convolution.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::base {

/// A group's place in the model's list; its number on the wire (WIRE-4) and in streams (INTEG-1).
using GroupId = std::uint32_t;

/// The linear map of a group: W X for a matrix W or, where W is the kernel matrix of a convolution,
/// the convolution of every image that is a column of X (CNN-4).
struct ProductShape {
    std::size_t rows = 0;  // M: rows of W, the members' stacked (LIN-3)
    std::size_t n = 0;     // columns of W
    std::optional<Convolution> convolution = std::nullopt;

    /// Columns that W multiplies for one column of X.
    std::size_t positions() const { return convolution ? convolution->positions() : 1; }
    /// Elements of a column of X, and of the product's.
    std::size_t inputs() const { return convolution ? convolution->inputs() : n; }
    std::size_t outputs() const { return positions() * rows; }
    /// Multiplications for one column of X.
    std::uint64_t multiplications() const { return std::uint64_t{rows} * n * positions(); }

    friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

/// What W multiplies for whole columns of X: the columns themselves or, if it is the kernel matrix
/// of a convolution, the patches of the images that the columns are. A column of residues has
/// `planes` planes of shape.inputs() bytes, and so of shape.n what is multiplied; of other elements
/// planes is 1. Calls use(multiplied, first) for one piece after the other; `first` is the number
/// of its first column. Patches are gathered a few at a time, so that memory is bounded whatever
/// the sizes, and wiped: those of a mask or an activation are as secret as it is (MASK-6).
template <class T, class Use>
void for_each_multiplied(const ProductShape& shape, std::span<const T> columns, std::size_t planes,
                         const Use& use) {
    if (!shape.convolution) return use(columns, std::size_t{0});
    constexpr std::size_t elements_at_once = std::size_t{1} << 18;  // or one patch
    const std::size_t positions = shape.positions(), patch = planes * shape.n;
    const std::size_t count = columns.size() / (planes * shape.inputs()) * positions;
    const std::size_t at_once = std::min(std::max<std::size_t>(elements_at_once / patch, 1), count);
    SecretBuffer<T> room(at_once * patch);
    for (std::size_t first = 0; first < count; first += at_once) {
        const auto patches = room.span().first(std::min(at_once, count - first) * patch);
        for (std::size_t i = 0; i < patches.size() / shape.n; ++i) {
            const std::size_t at = first + i / planes;
            const std::size_t image = at / positions * planes + i % planes;
            gather_patches(*shape.convolution,
                           columns.subspan(image * shape.inputs(), shape.inputs()), at % positions,
                           patches.subspan(i * shape.n, shape.n));
        }
        use(std::span<const T>(patches), first);
    }
}
template <class T, class Use>
void for_each_multiplied(const ProductShape& shape, std::span<const T> columns, const Use& use) {
    for_each_multiplied(shape, columns, 1, use);
}

}  // namespace slip::base
