// Which profile a model needs, measured on a text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/import/checkpoint.hpp"
#include "slip/split.hpp"
#include "slip/types.hpp"

namespace slip::tool {

/// The integer model of one profile on the text.
struct ProfileQuality {
    Profile profile = Profile::p31;
    std::int32_t least_qa_max = 0;  // over the groups (ENC-3)
    /// Nothing if a group leaves less than 127 steps, so that the profile is refused.
    std::optional<double> perplexity;
    /// perplexity / float's - 1.
    std::optional<double> difference;
};

struct Calibration {
    unsigned weight_bits = 8;  // of W_D (DECO-3)
    std::uint64_t tokens = 0;
    double float_perplexity = 0;
    std::vector<ProfileQuality> profiles;  // P31, P61
    /// The narrowest profile whose perplexity is at most tolerance above or below float's.
    std::optional<Profile> sufficient;
};

/// A profile suffices if its perplexity is within 0.1 % of float's.
inline constexpr double calibration_tolerance = 0.001;

/// The first `most` tokens of the file `text` by the tokenizer of the folder `checkpoint`. Throws
/// BadInput, naming `flag`, if there is no tokenizer, and if the text has no token.
std::vector<TokenId> tokens_of(const std::filesystem::path& checkpoint,
                               const std::filesystem::path& text, std::size_t most,
                               const char* flag);

/// Decomposes the checkpoint as `options` say, once, in memory, and measures the perplexity of the
/// text's first `most` tokens in float32 and in each profile. Nothing is written; options.out and
/// options.profile are not read. Throws BadInput.
Calibration calibrate(const importing::Checkpoint& checkpoint, const SplitOptions& options,
                      const std::filesystem::path& text, std::size_t most);

/// One JSON object, or a table for people.
void print(const Calibration& calibration, bool json);

}  // namespace slip::tool
