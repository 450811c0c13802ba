#include "optimized/split/resumption.hpp"

#include <optional>
#include <span>
#include <string_view>

#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/safetensors.hpp"
#include "slip/error.hpp"

namespace slip::splitting {

namespace layout = artifact::layout;
namespace parameters = base::parameters;
using base::GroupShape;
using importing::Checkpoint;
using nlohmann::ordered_json;

namespace {

/// All that the model is, in one digest.
std::string checkpoint_digest(const Checkpoint& checkpoint) {
    artifact::Sha256Stream stream;
    const auto append_text = [&](std::string_view text) {
        stream.append(std::as_bytes(std::span(text)));
    };
    append_text(checkpoint.config_text());
    for (const auto& [name, tensor] : checkpoint.tensors()) {
        append_text("\n");
        append_text(name);
        append_text("\n");
        append_text(importing::name_of(tensor.dtype));
        for (const std::size_t extent : tensor.shape) {
            append_text(" ");
            append_text(std::to_string(extent));
        }
        append_text("\n");
        stream.append(tensor.bytes);
        checkpoint.forget_pages();
    }
    return artifact::to_hex(stream.finish());
}

}  // namespace

ordered_json request_of(const Checkpoint& checkpoint, const SplitOptions& options,
                        const artifact::SealKey* seal) {
    ordered_json request = {{"version", parameters::artifact_version},
                            {"set", options.set},
                            {"checkpoint_sha256", checkpoint_digest(checkpoint)},
                            {"strategy", name_of(options.strategy)},
                            {"plan", artifact::plan_as_json(options.plan)}};
    if (!checkpoint.network()) request["attention"] = name_of(checkpoint.config().attention);
    if (options.shards > 1) request["shards"] = options.shards;
    if (seal != nullptr) request["seal"] = seal->id();
    if (options.seed) request["seed"] = artifact::to_hex(*options.seed);
    return request;
}

ordered_json choices_of(const SplitOptions& options) {
    ordered_json choices{{"check_seed", artifact::to_hex(new_seed())}};
    if (layout::require_set(options.set).lattice)
        choices["masks_seed"] = artifact::to_hex(new_seed());
    if (layout::require_set(options.set).hides_weights) {  // HIDE-3
        choices["hiding_secret"] = artifact::to_hex(new_seed());
    }
    if (artifact::uses_randomness(options.strategy)) {
        choices["seed"] = artifact::to_hex(options.seed ? *options.seed : new_seed());
    }
    return choices;
}

Seeds seeds_of(const PartialSplit& partial) {
    const nlohmann::json& choices = partial.choices();
    const auto seed_in = [&](const char* name) {
        const auto text = choices.find(name);
        const bool is_text = text != choices.end() && text->is_string();
        const auto seed = is_text ? artifact::from_hex(text->get<std::string>()) : std::nullopt;
        if (seed) return *seed;
        throw BadInput(partial.state_file().string() + ": " + name +
                       ": expected 64 lower-case hexadecimal digits");
    };
    const auto seed_or_zeros = [&](const char* name) {
        return choices.contains(name) ? seed_in(name) : SelectionSeed{};
    };
    return {seed_in("check_seed"), seed_or_zeros("masks_seed"), seed_or_zeros("seed"),
            seed_or_zeros("hiding_secret")};
}

void keep_what_is_whole(const std::vector<GroupShape>& groups, WeightFiles& files,
                        const GroupRange& range, PartialSplit& partial,
                        std::vector<std::string>& notes) {
    for (std::size_t g = range.first; g < range.end; ++g) {
        const std::optional<FinishedGroup>& finished = partial.finished()[g];
        if (!finished || files.digest_of(g, finished->activation_norm) == finished->digest)
            continue;
        notes.push_back("in the unfinished split " + groups[g].members.front().name() +
                        " was damaged; it was made again");
        partial.forget(g);
    }
}

}  // namespace slip::splitting
