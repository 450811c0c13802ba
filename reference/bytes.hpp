// Strings of bytes, and where they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slip::reference {

using Bytes = std::vector<std::uint8_t>;

/// Where raw bytes come from, in order.
class ByteSource {
public:
    ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    virtual ~ByteSource() = default;

    /// The next `count` bytes.
    virtual Bytes take(std::size_t count) = 0;
};

}  // namespace slip::reference
