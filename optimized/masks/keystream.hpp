// Keystreams: spec/randomness.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "optimized/base/parameters.hpp"

namespace slip::masks {

/// What a stream of RAND-1 is for. A session's key serves masks alone, the seed of a check the two
/// checks, the key of a process its blocks of lattice masks (MASK-7).
enum class Purpose : std::uint8_t {
    mask = base::parameters::mask_purpose,
    integrity = base::parameters::integrity_purpose,
    block_secret = base::parameters::block_secret_purpose,
    noise = base::parameters::noise_purpose,
    product_check = base::parameters::product_check_purpose,
    weight_secret = base::parameters::weight_secret_purpose,
    weight_error = base::parameters::weight_error_purpose
};

/// A keystream: AES-256-CTR under a key that the operating system drew for this object alone
/// (RAND-4), that is never written anywhere and is wiped at the end. Not thread-safe.
class Keystream {
public:
    struct Options {
        /// RAND-5: blocks drawn under one key before a fresh one replaces it.
        std::uint64_t blocks_per_key = base::parameters::blocks_per_key;
        /// Keys of 32 bytes each that are used one after the other before the operating system is
        /// asked for the next: the seed of a check (INTEG-1), and those of tests.
        std::span<const std::uint8_t> given_keys = {};
    };
    Keystream();
    explicit Keystream(const Options& options);
    Keystream(Keystream&&) noexcept;
    Keystream& operator=(Keystream&&) noexcept;
    ~Keystream();

    /// Fills `column`, `planes` planes of as many residues each: plane p with the sampler's output
    /// modulo primes[p] (RAND-2) for stream (p, purpose, index), from its first block on. Throws
    /// InternalError after destroy() and in a forked child (RAND-6).
    void draw(Purpose purpose, std::uint64_t index, std::size_t planes,
              std::span<std::uint8_t> column);

    /// Fills `bytes` with stream (0, purpose, index), from its first block on. Throws as draw().
    void draw_bytes(Purpose purpose, std::uint64_t index, std::span<std::uint8_t> bytes);

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

}  // namespace slip::masks
