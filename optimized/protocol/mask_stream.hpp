// One-time masks: spec/randomness.md and spec/masking.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/profile.hpp"

namespace slip::protocol {

/// The purpose tags of RAND-1.
enum class StreamTag : std::uint32_t {
    mask = base::parameters::mask_tag,
    integrity = base::parameters::integrity_tag
};

/// A keystream: AES-256-CTR under a key that the operating system drew for this object alone
/// (RAND-4), that is never written anywhere and is wiped at the end. Not thread-safe.
class KeyStream {
public:
    struct Options {
        /// RAND-5: blocks drawn under one key before a fresh one replaces it.
        std::uint64_t blocks_per_key = base::parameters::blocks_per_key;
        /// Tests only: keys of 32 bytes each that are used one after the other before the operating
        /// system is asked for the next.
        std::span<const std::uint8_t> test_keys = {};
    };
    KeyStream();
    explicit KeyStream(const Options& options);
    KeyStream(KeyStream&&) noexcept;
    KeyStream& operator=(KeyStream&&) noexcept;
    ~KeyStream();

    /// Fills `residues` with the sampler's output (RAND-2) for stream (tag, index), from its first
    /// block on. Throws InternalError after destroy() and in a forked child (RAND-6).
    template <class P>
    void draw(StreamTag tag, std::uint64_t index, std::span<typename P::Residue> residues);

    /// Whether this process was forked after the key was drawn. Masks that were made before the
    /// fork are then as forbidden as new ones (RAND-6), so whoever keeps masks asks before handing
    /// one out.
    bool forked() const noexcept;
    /// Throws InternalError, saying why, if draw() would. May be called while another
    /// thread draws.
    void require_usable() const;

    /// Wipes the key; every later call throws. Nothing happens in a forked child: it has no key.
    void destroy() noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// A mask and its cancellation for one column, used once (MASK-5). Moving it moves the right to
/// spend; destroying or spending it wipes it.
template <class P>
class Mask {
public:
    using Residues = base::SecretBuffer<typename P::Residue>;

    Mask() = default;
    Mask(std::uint64_t index, Residues mask, Residues cancellation);
    Mask(Mask&&) noexcept = default;
    Mask& operator=(Mask&&) noexcept = default;

    /// The two halves of a spent mask: r masks the column that is sent, c = W_D r unmasks the
    /// reply.
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

}  // namespace slip::protocol
