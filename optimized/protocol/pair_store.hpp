// OFF-13. Pairs with a life of their own: prepared before a session, used by one process at a time,
// and never again once anything that they judged was not accepted.
//
//   put() -> free -> take() -> taken -> every begun verdict was accepted -> free
//                                    -> anything else                    -> deleted
//
// In the state folder (state_folder.hpp) a pair is the file ID-R.free or ID-R.taken, where ID is 32
// digits of the SHA-256 that the file ends with, and R is how often the pair has come back. Its
// file is moved, never copied. Whoever has taken a pair holds a lock on its file while he lives, so
// a taken pair without a lock is nobody's, and is deleted: what it judged last is not known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "optimized/base/disk.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/pair.hpp"

namespace slip::protocol {

/// A pair in use: one life, from take() to the first reject, which deletes it, or to the end of
/// this object, which then gives it back. Sessions of one process may share it. In a forked child
/// it does nothing.
class TakenPair {
public:
    TakenPair(const TakenPair&) = delete;
    TakenPair& operator=(const TakenPair&) = delete;
    /// Back to the store if every verdict that was begun was accepted and the pair has come back
    /// less than `most_returns` times; otherwise deleted, if a reject has not done it (OFF-11).
    /// Where the disk refuses it stays taken, and is deleted by the next process that opens the
    /// store.
    ~TakenPair();

    /// Zero after a reject: what others read of it, they read in Life::while_it_lasts().
    const Pair& pair() const { return pair_; }
    /// Of all that it judges; what pending() counts at its end decides whether it goes back.
    Life& life() { return life_; }

    /// A pair that has come back so often is deleted at the end of its life.
    static constexpr std::uint64_t most_returns = std::uint64_t{1} << 20;

private:
    friend class PairStore;
    TakenPair(Pair&& pair, base::OpenFile&& file, std::filesystem::path path, std::uint64_t returns,
              base::Disk& disk);
    void remove() noexcept;

    Pair pair_;
    base::OpenFile file_;  // whose lock says that somebody has the pair
    std::filesystem::path path_;
    std::uint64_t returns_;
    base::Disk& disk_;
    pid_t owner_;
    bool deleted_ = false;
    Life life_;
    Life::AtReject at_reject_;
};

/// The pairs of one artifact in its state folder. Several processes, and several objects of one
/// process, may work in one folder.
class PairStore {
public:
    /// Deletes what is taken or half made by nobody.
    PairStore(std::filesystem::path folder, PairSubject subject,
              base::Disk& disk = base::Disk::of_system());

    /// Adds a pair of the subject, which is free when it is on the disk. Throws BadInput, naming
    /// the file, if the disk refuses; nothing stays then.
    void put(const Pair& pair) const;

    /// A free pair that this process alone has from now on, durably; null if there is none. Throws
    /// BadInput, naming the file, for one that cannot be read, is not a pair of the subject, may be
    /// read by other users, or is one of two copies, and if the disk refuses; a pair that was not
    /// begun to be taken is still free then. Pairs of the other profile are left alone.
    std::unique_ptr<TakenPair> take() const;

    /// Pairs that are free.
    std::size_t free() const;

private:
    struct Name;
    std::vector<Name> names() const;
    void delete_abandoned() const;
    bool write_new(const std::filesystem::path& path, const Pair& pair) const;
    std::unique_ptr<TakenPair> take(const Name& name) const;
    std::optional<Pair> read(const base::OpenFile& file, const Name& name) const;
    void require_single(const Name& name) const;
    void take_durably(const base::OpenFile& file, const std::filesystem::path& from,
                      const std::filesystem::path& to) const;

    std::filesystem::path folder_;
    PairSubject subject_;
    base::Disk& disk_;
};

}  // namespace slip::protocol
