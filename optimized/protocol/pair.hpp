// Pairs (rho, s) that are made before the session that uses them: INTEG-1 and INTEG-2 for all
// groups of an artifact, under a key used for rho only. A pair is as secret as A and B, since rho
// suffices to forge every reply. pair_store.hpp stores pairs in files.
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

/// Identifies the artifact that a pair belongs to.
struct PairSubject {
    Profile profile = Profile::p31;
    Digest digest{};                         // of David's weight file
    std::vector<base::ProductShape> groups;  // index = GroupId

    friend bool operator==(const PairSubject&, const PairSubject&) = default;
};

/// One pair, in the format of its file:
///
///   magic SLIPPAIR | version u16 = 1 | profile u8 | 0 | groups u32 | digest 32 | key of rho 32 |
///   rows u32, n u32 of every group | s of every group, kappa x n residues | SHA-256 of all before
///
/// Integers are little-endian. Move-only; the destructor wipes it.
class Pair {
public:
    /// Parses the bytes of a file. Throws BadInput, naming `origin` and the field, unless they are
    /// a complete pair of `subject`.
    Pair(base::SecretBuffer<std::byte> file, const PairSubject& subject,
         const std::filesystem::path& origin);
    /// Draws a fresh key (RAND-4) and computes s from the W_D of every group. `test_key`: in tests
    /// only, 32 bytes to use as the key.
    static Pair draw(const PairSubject& subject, const kernels::OffloadedWeights& weights,
                     std::span<const std::uint8_t> test_key = {});
    /// Whether the header in `file`, which may be truncated, is that of a pair of the other
    /// profile. Artifacts of both profiles may have the same weight file, and then they share a
    /// state folder.
    static bool is_of_other_profile(std::span<const std::byte> file, const PairSubject& subject);
    /// Size in bytes of the file of a pair of `subject`.
    static std::size_t file_bytes(const PairSubject& subject);

    std::span<const std::byte> file() const { return file_.span(); }
    const PairSubject& subject() const { return subject_; }
    /// Overwrites everything but the subject with zeros.
    void wipe() noexcept { file_.clear(); }

    /// rho and s of every group. Requires: P is the subject's profile.
    template <class P>
    std::vector<CheckVectors<P>> vectors() const;

private:
    friend class PairBuilder;
    Pair(base::SecretBuffer<std::byte> file, const PairSubject& subject)
        : file_(std::move(file)), subject_(subject) {}

    base::SecretBuffer<std::byte> file_;
    PairSubject subject_;
};

/// Makes a pair from blocks of rows of W_D, so that W_D need not be in memory as a whole. The
/// caller ensures that the rows come from the file with the subject's digest; a pair of other rows
/// rejects right replies.
class PairBuilder {
public:
    /// `test_key`: as in Pair::draw().
    explicit PairBuilder(const PairSubject& subject, std::span<const std::uint8_t> test_key = {});

    /// The next rows of the stacked W_D, groups in order. Throws InternalError for rows of another
    /// length, or for more rows than the group has left.
    void append(const kernels::WeightMatrix& rows);
    /// Throws InternalError unless all groups are complete.
    Pair finish() &&;

private:
    template <class P>
    void append_to_group(const kernels::WeightMatrix& rows);
    template <class P>
    void begin_group();

    Pair pair_;
    KeyStream keys_;
    base::GroupId group_ = 0;
    std::size_t row_ = 0;                // the next row of the group
    std::size_t place_ = 0;              // offset of the group's s in the file
    base::SecretBuffer<std::byte> rho_;  // of the group
};

}  // namespace slip::protocol
