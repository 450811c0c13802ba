// Buffers for messages of changing size on the online path.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace slip {

/// The first `size` elements of `buffer`, which grows to the largest message so far and never
/// shrinks: after the first messages nothing is allocated and nothing is filled in twice.
template <class T>
std::span<T> first_of(std::vector<T>& buffer, std::size_t size) {
    if (buffer.size() < size) buffer.resize(size);
    return std::span(buffer).first(size);
}

}  // namespace slip
