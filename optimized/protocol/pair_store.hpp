// OFF-13. Pairs that are prepared before a session: one process at a time uses a pair, and a pair
// with a verdict that was not an acceptance is never used again.
//
//   put() -> free -> take() -> taken -> every begun verdict was accepted -> free
//                                    -> anything else                    -> deleted
//
// In the state folder (state_folder.hpp) a pair is the file ID-R.free or ID-R.taken, where ID is 32
// digits of the SHA-256 at the end of the file, and R is how often the pair has been returned. The
// file is moved, never copied. A process that has taken a pair holds a lock on its file until it
// ends. So a taken pair without a lock belongs to a process that has ended, and is deleted, since
// its last verdict is unknown.
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

/// A pair in use, and its life: from take() to the first reject, which deletes the pair, or to the
/// destructor, which returns it. Sessions of one process may share it. In a forked child the
/// destructor does nothing.
class TakenPair {
public:
    TakenPair(const TakenPair&) = delete;
    TakenPair& operator=(const TakenPair&) = delete;
    /// Returns the pair to the store if every verdict that was begun was an acceptance and the pair
    /// was returned fewer than `most_returns` times; otherwise deletes it, unless a reject has
    /// already done so (OFF-11). If the disk fails, the file stays taken, and the next process that
    /// opens the store deletes it.
    ~TakenPair();

    /// Zeroed at a reject; other threads read it inside Life::while_it_lasts().
    const Pair& pair() const { return pair_; }
    /// The life of all its verdicts; the pair is returned only if pending() is 0 at the end.
    Life& life() { return life_; }

    /// After so many returns a pair is deleted at the end of its life.
    static constexpr std::uint64_t most_returns = std::uint64_t{1} << 20;

private:
    friend class PairStore;
    TakenPair(Pair&& pair, base::OpenFile&& file, std::filesystem::path path, std::uint64_t returns,
              base::Disk& disk);
    void remove() noexcept;

    Pair pair_;
    base::OpenFile file_;  // locked while the pair is in use
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
    /// Deletes taken and unfinished files of processes that have ended.
    PairStore(std::filesystem::path folder, PairSubject subject,
              base::Disk& disk = base::Disk::of_system());

    /// Adds a pair of the subject as free, durably. Throws BadInput, naming the file, if the disk
    /// fails; then no file is left.
    void put(const Pair& pair) const;

    /// Takes a free pair for this process alone, durably; null if there is none. Throws BadInput,
    /// naming the file, if a pair cannot be read, is not of the subject, may be read by other
    /// users, or is one of two copies, or if the disk fails. After an error before its file is
    /// renamed, a pair is still free. Pairs of the other profile are left alone.
    std::unique_ptr<TakenPair> take() const;

    /// The number of free pairs.
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
