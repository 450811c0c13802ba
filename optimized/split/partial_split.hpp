// A split under way (DECO-11): a hidden folder beside OUT that a killed split leaves behind, and
// from which the same command goes on.
//
//   .OUT.slip-partial/ (0700)  state.json  groups.txt  lock  out/
//
// out/ becomes OUT when all is done. groups.txt has a line for each finished group, its
// activation_norm and the digest of its bytes in out/, and zeros for the rest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/files.hpp"

namespace slip::splitting {

/// A group whose bytes are in the weight files.
struct FinishedGroup {
    std::int32_t activation_norm = 0;
    artifact::layout::Sha256 digest{};  // of activation_norm and these bytes
    friend bool operator==(const FinishedGroup&, const FinishedGroup&) = default;
};

class PartialSplit {
public:
    /// Begins a split of `groups` groups into `out`, or goes on with one that was begun with the
    /// same `request` (what is split, and how). `choices` are what a new split has drawn at random;
    /// one that goes on keeps its own. Throws BadInput if `out` exists, if its partial folder
    /// belongs to another request, or if another process is at work in it.
    PartialSplit(const std::filesystem::path& out, std::size_t groups,
                 const nlohmann::json& request, const nlohmann::json& choices);
    PartialSplit(const PartialSplit&) = delete;
    PartialSplit& operator=(const PartialSplit&) = delete;
    /// The partial folder goes, and without commit() all of the split: what failed once would fail
    /// again. Only a process that is killed leaves it.
    ~PartialSplit();

    const nlohmann::json& choices() const { return choices_; }
    /// Where to write. It exists, and only its owner may enter.
    std::filesystem::path folder() const;
    /// The groups that are finished. Whoever goes on compares their digests with the files first.
    const std::vector<FinishedGroup>& finished() const { return finished_; }
    /// One more group is finished, and its bytes are on the disk already.
    void record(const FinishedGroup& group);
    /// Only the first `groups` of the finished ones count; the others are made again.
    void keep(std::size_t groups) { finished_.resize(groups); }
    /// Renames folder() to `out`. BadInput if something has taken its place in the meantime.
    void commit();

private:
    void begin(std::size_t groups, const nlohmann::json& request, const nlohmann::json& choices);
    void go_on(std::size_t groups, const nlohmann::json& request);

    std::filesystem::path out_;
    std::filesystem::path partial_;
    std::optional<base::FileLock> lock_;
    std::optional<base::FixedFile> groups_;
    nlohmann::json choices_;
    std::vector<FinishedGroup> finished_;
};

/// The groups that a groups.txt says are finished: its lines that were written whole, up to the
/// first that says nothing.
std::vector<FinishedGroup> parse_finished_groups(std::string_view text);

}  // namespace slip::splitting
