// Pairs (rho, s) that are made before the session that uses them: INTEG-1 and INTEG-2 for all
// groups of an artifact, with a key of rho's own. A pair is as secret as A and B, since whoever has
// rho can forge every reply. Where pairs are kept: pair_store.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "optimized/base/product_shape.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/check_vectors.hpp"
#include "optimized/protocol/profile.hpp"

namespace slip::protocol {

/// The artifact that a pair is of, as Charlie knows it.
struct PairSubject {
    Profile profile = Profile::p31;
    Digest digest{};                         // of David's weight file
    std::vector<base::ProductShape> groups;  // index = GroupId

    friend bool operator==(const PairSubject&, const PairSubject&) = default;
};

/// One pair, in the bytes of its file:
///
///   magic SLIPPAIR | version u16 = 1 | profile u8 | 0 | groups u32 | digest 32 | key of rho 32 |
///   rows u32, n u32 of every group | s of every group, kappa x n residues | SHA-256 of all before
///
/// Integers are little-endian. Move-only, and wiped at its end.
class Pair {
public:
    /// Takes a file's bytes. Throws BadInput, naming `origin` and the field, unless they are a pair
    /// of `subject`, whole.
    Pair(base::SecretBuffer<std::byte> file, const PairSubject& subject,
         const std::filesystem::path& origin);
    /// With a fresh key (RAND-4), from the W_D of every group. `test_key`: in tests only, 32 bytes
    /// in its place.
    static Pair draw(const PairSubject& subject, const kernels::OffloadedWeights& weights,
                     std::span<const std::uint8_t> test_key = {});
    /// Whether `file`, or its beginning, says that it is a pair of the other profile. Artifacts of
    /// both profiles may have one weight file, and then they have one state folder.
    static bool is_of_other_profile(std::span<const std::byte> file, const PairSubject& subject);
    /// Bytes of the file of every pair of `subject`.
    static std::size_t file_bytes(const PairSubject& subject);

    std::span<const std::byte> file() const { return file_.span(); }
    const PairSubject& subject() const { return subject_; }
    /// Overwrites everything with zeros but the subject.
    void wipe() noexcept { file_.clear(); }

    /// rho and s of `group` in the profile of the subject, which is P's.
    template <class P>
    CheckVectors<P> vectors(base::GroupId group) const;

private:
    friend class PairBuilder;
    Pair(base::SecretBuffer<std::byte> file, const PairSubject& subject)
        : file_(std::move(file)), subject_(subject) {}

    base::SecretBuffer<std::byte> file_;
    PairSubject subject_;
};

/// Makes a pair from W_D that comes in pieces and need never be in memory as a whole. What it makes
/// is of use only if the pieces were those of the file with the subject's digest: the caller knows.
class PairBuilder {
public:
    /// Draws the key, unless a test gives one.
    explicit PairBuilder(const PairSubject& subject, std::span<const std::uint8_t> test_key = {});

    /// The next rows of the stacked W_D, groups in order. Throws InternalError for rows of another
    /// length, or more of them than the group still lacks.
    void append(const kernels::WeightMatrix& rows);
    /// Throws InternalError unless all groups are whole.
    Pair finish() &&;

private:
    template <class P>
    void append_to_group(const kernels::WeightMatrix& rows);
    template <class P>
    void begin_group();

    Pair pair_;
    KeyStream keys_;
    base::GroupId group_ = 0;
    std::size_t row_ = 0;                // of the group: so many are taken
    std::size_t place_ = 0;              // of the group's s in the file
    base::SecretBuffer<std::byte> rho_;  // of the group
};

}  // namespace slip::protocol
