// A one-time mask: spec/masking.md.
#pragma once

#include <cstdint>

#include "optimized/base/secret_buffer.hpp"

namespace slip::masks {

/// A mask and its cancellation for one column, used once (MASK-5). Moving it moves the right to
/// spend; destroying or spending it wipes it.
class Mask {
public:
    using Residues = base::SecretBuffer<std::uint8_t>;

    Mask() = default;
    Mask(std::uint64_t index, Residues mask, Residues cancellation);
    Mask(Mask&&) noexcept = default;
    Mask& operator=(Mask&&) noexcept = default;

    /// The two halves of a spent mask: r masks the column that is sent, the cancellation c unmasks
    /// the reply (MASK-3, MASK-7).
    struct Spent {
        std::uint64_t index = 0;
        Residues mask;
        Residues cancellation;
    };
    /// Throws InternalError if this mask was spent or moved from before.
    Spent spend() &&;

    bool spendable() const { return mask_.size() != 0; }
    std::uint64_t index() const { return index_; }

private:
    std::uint64_t index_ = 0;
    Residues mask_;
    Residues cancellation_;
};

}  // namespace slip::masks
