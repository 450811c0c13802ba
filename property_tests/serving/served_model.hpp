// Models for the tests of a scheduler, and what each generation gives alone and in company.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/slip.hpp"

namespace slip::testing {

/// A split model on disk; gone with the object.
class Served {
public:
    explicit Served(const SyntheticModel& synthetic, Attention attention = Attention::fused)
        : vocabulary(synthetic.config.vocab_size) {
        write_checkpoint(synthetic, folder_ / "model");
        SplitOptions options;
        options.plan = uniform_plan(folder_ / "model", 2);
        options.out = artifact;
        options.attention = attention;
        split_checkpoint(folder_ / "model", options);
    }

    LanguageModel unsplit() const { return open_unsplit<LanguageModel>(artifact); }
    LanguageModel in_process() const { return open_charlie_in_process<LanguageModel>(artifact); }

private:
    TemporaryFolder folder_;

public:
    const std::filesystem::path artifact = folder_ / "artifact";
    const std::size_t vocabulary;
};

/// A small model of the LLaMA family with room for 160 positions.
inline const Served& small_served() {
    static const Served served([] {
        SyntheticModel model = random_llama(5);
        model.config.max_position_embeddings = 160;
        return model;
    }());
    return served;
}

/// All that a caller sees of one generation.
struct Outcome {
    std::vector<TokenId> ids;
    std::vector<std::vector<std::uint32_t>> logits;  // their bits, one row for each id
    std::vector<GenerationEnd> ends;

    OnToken on_token() {
        return [this](TokenId id, std::span<const float> row) {
            ids.push_back(id);
            logits.push_back(bits_of({row.begin(), row.end()}));
            return true;
        };
    }
    Scheduler::OnEnd on_end() {
        return [this](const GenerationEnd& end) { ends.push_back(end); };
    }
    bool ended_by(GenerationEnd::Reason reason) const {
        return ends.size() == 1 && ends.front().reason == reason &&
               (ends.front().error != nullptr) == (reason == GenerationEnd::Reason::failed);
    }
    bool same_tokens(const Outcome& other) const {
        return ids == other.ids && logits == other.logits;
    }
    /// The receipt of the one end.
    const Receipt& receipt() const { return ends.at(0).receipt; }
};

/// What the generation gives alone (the oracle).
inline Outcome alone(LanguageModel& model, const GenerationRequest& request) {
    Outcome outcome;
    model.generate(request.prompt, request.sampling, outcome.on_token());
    const bool full = outcome.ids.size() == request.sampling.max_tokens;
    outcome.ends.push_back(
        {full ? GenerationEnd::Reason::length : GenerationEnd::Reason::end_of_text, {}, {}});
    return outcome;
}

inline Scheduler::Id submit(Scheduler& scheduler, const GenerationRequest& request,
                            Outcome& outcome) {
    return scheduler.submit(request, outcome.on_token(), outcome.on_end());
}

inline GenerationRequest request_of(std::vector<TokenId> prompt, std::size_t max_tokens,
                                    std::string tenant = {}) {
    GenerationRequest request;
    request.prompt = std::move(prompt);
    request.sampling.max_tokens = max_tokens;
    request.tenant = std::move(tenant);
    return request;
}

/// A request that does not end before max_tokens; above temperature 0 with a seed of its own.
inline GenerationRequest full_request(LanguageModel& model, std::uint64_t seed, std::size_t prompt,
                                      std::size_t max_tokens, double temperature = 0) {
    for (;; seed += 1000) {
        auto request = request_of(random_ids(seed, prompt, model.vocabulary_size()), max_tokens);
        request.sampling.temperature = temperature;
        request.sampling.seed = seed;
        if (alone(model, request).ids.size() == max_tokens) return request;
    }
}

}  // namespace slip::testing
