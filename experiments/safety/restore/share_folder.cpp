#include "experiments/safety/restore/share_folder.hpp"

#include "experiments/training/text.hpp"

#include <algorithm>
#include <stdexcept>

namespace safety {

ShareDescription ShareDescription::load(const std::string& folder) {
    const std::string path = folder + "/share.json";
    try {
        const auto json = nlohmann::ordered_json::parse(training::read_file(path));
        ShareDescription share;
        share.model = json.at("model");
        share.strategy = json.at("strategy");
        share.known = json.at("known") == "embeddings-and-norms";
        for (const auto& [tensor, rank] : json.at("ranks").items()) share.ranks[tensor] = rank;
        return share;
    } catch (const nlohmann::json::exception& error) {
        throw std::runtime_error(path + ": expected what david_share writes: " + error.what());
    }
}

int64_t ShareDescription::largest_rank() const {
    int64_t largest = 0;
    for (const auto& [tensor, rank] : ranks) largest = std::max(largest, rank);
    return largest;
}

int64_t ShareDescription::rank_of(const std::string& tensor) const {
    const auto found = ranks.find(tensor);
    return found == ranks.end() ? 0 : found->second;
}

bool is_given(const ShareDescription& share, const training::ModelConfig& config,
              const std::string& tensor) {
    if (!share.known) return false;
    const bool offloaded = share.ranks.count(tensor) != 0;
    const bool tied = config.tie_word_embeddings &&
                      (tensor == "model.embed_tokens.weight" || tensor == "transformer.wte.weight");
    return !offloaded || tied;
}

}  // namespace safety
