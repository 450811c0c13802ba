// A split under way (DECO-11): a hidden folder beside OUT that a killed split leaves behind, and
// from which the same command goes on.
//
//   .OUT.slip-partial/ (0700)  state.json  groups.txt  lock  part-I.lock  out/
//
// out/ becomes OUT when all is done. groups.txt has a line for each group: of a finished one its
// activation_norm and the digest of its bytes in out/, of another zeros. Several processes may each
// finish a part of the groups, in any order; each holds the lock of its part and shares `lock`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "optimized/artifact/sha256.hpp"
#include "optimized/base/files.hpp"
#include "slip/split.hpp"

namespace slip::splitting {

/// A group whose bytes are in the weight files.
struct FinishedGroup {
    std::int32_t activation_norm = 0;
    artifact::Sha256 digest{};  // of activation_norm and these bytes
    friend bool operator==(const FinishedGroup&, const FinishedGroup&) = default;
};

class PartialSplit {
public:
    /// Begins a split of `groups` groups into `out`, or goes on with one that was begun with the
    /// same `request` (what is split, and how). `choices` are what a new split has drawn at random;
    /// one that goes on keeps its own. Of a `part` others may be at work in the folder. Throws
    /// BadInput if `out` exists, if its partial folder belongs to another request or to another
    /// number of parts, or if another process is at work in it or at this part.
    PartialSplit(const std::filesystem::path& out, std::size_t groups,
                 const nlohmann::json& request, nlohmann::json choices,
                 const std::optional<SplitPart>& part = std::nullopt);
    PartialSplit(const PartialSplit&) = delete;
    PartialSplit& operator=(const PartialSplit&) = delete;
    /// The partial folder goes, and without commit() all of the split: what failed once would fail
    /// again. Only a process that is killed leaves it, and a part.
    ~PartialSplit();

    const nlohmann::json& choices() const { return choices_; }
    /// Where the choices are, for messages.
    std::filesystem::path state_file() const;
    /// In how many parts it was begun; 1 if not in parts.
    std::size_t parts() const { return choices_.value("parts", std::size_t{1}); }
    /// Where to write. It exists, and only its owner may enter.
    std::filesystem::path folder() const;
    /// Other parts may go on: the files in folder() are there.
    void let_others_in();
    /// By group, of those that are finished. Whoever goes on compares their digests with the files
    /// first.
    const std::vector<std::optional<FinishedGroup>>& finished() const { return finished_; }
    /// Group `g` is finished, and its bytes are on the disk already.
    void record(std::size_t g, const FinishedGroup& group);
    /// Group `g` does not count as finished.
    void forget(std::size_t g) { finished_[g].reset(); }
    /// Renames folder() to `out`. BadInput if something has taken its place in the meantime.
    void commit();

private:
    void begin(std::size_t groups, const nlohmann::json& request, const nlohmann::json& choices);
    void go_on(std::size_t groups, const nlohmann::json& request);

    std::filesystem::path out_;
    std::filesystem::path partial_;
    std::optional<SplitPart> part_;
    std::optional<base::FileLock> lock_;
    std::optional<base::FileLock> lock_of_part_;
    std::optional<base::FixedFile> groups_;
    nlohmann::json choices_;
    std::vector<std::optional<FinishedGroup>> finished_;
};

/// What the lines of a groups.txt say of as many groups: nothing where one was not written whole.
std::vector<std::optional<FinishedGroup>> parse_finished_groups(std::string_view text);

}  // namespace slip::splitting
