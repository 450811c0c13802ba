// Opening a model as the kind that it is, or that the caller expects.
#include <concepts>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "slip/charlie.hpp"
#include "slip/model.hpp"

namespace slip {
namespace {

using api::SplitFiles;

/// Throws BadInput unless `files`, which were read from `path`, hold a model of the kind.
template <class Kind>
void require_kind(const api::ModelFiles& files, const std::filesystem::path& path) {
    const bool is_network = files.network() != nullptr;
    if (std::same_as<Kind, LanguageModel> && is_network) {
        throw BadInput(path.string() +
                       ": is a convolutional network, which takes images: expected a language "
                       "model");
    }
    if (std::same_as<Kind, ImageClassifier> && !is_network) {
        throw BadInput(path.string() +
                       ": is a language model, which takes tokens: expected a convolutional "
                       "network");
    }
}

/// Opens `files`, which were read from `path`; `start` makes what multiplies by them, and `reopen`,
/// if there is one, the same again at any later time.
template <class Kind, class Files, class Start, class Reopen = std::nullptr_t>
Kind open_model(std::unique_ptr<Files> files, const std::filesystem::path& path, const Start& start,
                const Reopen& reopen = nullptr) {
    require_kind<Kind>(*files, path);
    const bool is_network = files->network() != nullptr;
    const auto start_now = [&, opened = files.get()] { return start(*opened); };
    // Kind is one of the two, or may hold either.
    if constexpr (std::constructible_from<Kind, ImageClassifier>) {
        if (is_network) return Access::image_classifier(std::move(files), start_now);
    }
    if constexpr (std::constructible_from<Kind, LanguageModel>) {
        if constexpr (!std::same_as<Reopen, std::nullptr_t>) {
            auto later = [reopen, opened = files.get()] { return reopen(*opened); };
            if (!is_network) return Access::language_model(std::move(files), start_now, later);
        }
        if (!is_network) return Access::language_model(std::move(files), start_now);
    }
    throw std::logic_error("require_kind() lets no other kind through");
}

/// What the protocol runs with. Throws BadInput, before David is called, where sealed hints lack
/// their key (MODEL-20).
std::unique_ptr<SplitFiles> open_split(const std::filesystem::path& artifact,
                                       const CharlieOptions& options) {
    auto files = std::make_unique<SplitFiles>(artifact, options.seal);
    files->charlie().require_seal_key();
    return files;
}

/// The options for one attempt.
CharlieOptions asking_once(CharlieOptions options) {
    options.busy_limit = {};
    options.on_busy = {};
    return options;
}

}  // namespace

template <class Kind>
Kind open_checkpoint(const std::filesystem::path& model) {
    return open_model<Kind>(std::make_unique<api::CheckpointFiles>(model), model,
                            api::make_float_runtime);
}

template <class Kind>
Kind open_unsplit(const std::filesystem::path& artifact, const std::filesystem::path& audit) {
    return open_model<Kind>(
        std::make_unique<SplitFiles>(artifact), artifact,
        [&](const SplitFiles& files) { return api::make_unsplit_runtime(files, audit); });
}

template <class Kind>
Kind open_charlie(const std::filesystem::path& artifact, const Connect& connect,
                  const CharlieOptions& options) {
    return open_charlie<Kind>(artifact, std::vector<Connect>{connect}, options);
}

template <class Kind>
Kind open_charlie(const std::filesystem::path& artifact, const std::vector<Connect>& shards,
                  const CharlieOptions& options) {
    // One object for all sessions: it may count its calls.
    const auto shared = std::make_shared<const std::vector<Connect>>(shards);
    return open_model<Kind>(
        open_split(artifact, options), artifact,
        [&](const SplitFiles& files) { return api::make_hybrid_runtime(files, *shared, options); },
        [shared, later = asking_once(options)](const SplitFiles& files) {
            return api::make_hybrid_runtime(files, *shared, later);
        });
}

template <class Kind>
Kind open_charlie(const std::filesystem::path& artifact, std::unique_ptr<Transport> david,
                  const CharlieOptions& options) {
    return open_model<Kind>(open_split(artifact, options), artifact, [&](const SplitFiles& files) {
        const Connect once = [&] { return std::move(david); };
        return api::make_hybrid_runtime(files, {once}, asking_once(options));
    });
}

bool secrets_may_be_swapped() noexcept { return base::secrets_may_be_swapped(); }

template <class Kind>
Kind open_charlie_in_process(const std::filesystem::path& artifact, const CharlieOptions& options) {
    const auto start = [options](const SplitFiles& files) {
        return api::make_hybrid_runtime(files, options);
    };
    return open_model<Kind>(open_split(artifact, options), artifact, start, start);
}

#define SLIP_OPENS(Kind)                                                                          \
    template Kind open_checkpoint<Kind>(const std::filesystem::path&);                            \
    template Kind open_unsplit<Kind>(const std::filesystem::path&, const std::filesystem::path&); \
    template Kind open_charlie<Kind>(const std::filesystem::path&, const Connect&,                \
                                     const CharlieOptions&);                                      \
    template Kind open_charlie<Kind>(const std::filesystem::path&, const std::vector<Connect>&,   \
                                     const CharlieOptions&);                                      \
    template Kind open_charlie<Kind>(const std::filesystem::path&, std::unique_ptr<Transport>,    \
                                     const CharlieOptions&);                                      \
    template Kind open_charlie_in_process<Kind>(const std::filesystem::path&,                     \
                                                const CharlieOptions&);
SLIP_OPENS(LanguageModel)
SLIP_OPENS(ImageClassifier)
SLIP_OPENS(Model)
#undef SLIP_OPENS

}  // namespace slip
