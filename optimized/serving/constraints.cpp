#include "optimized/serving/constraints.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "optimized/grammar/grammar.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::serving {

void Constraints::prepare() {
    std::call_once(read_, [&] { read_vocabulary(); });
}

void Constraints::read_vocabulary() {
    const importing::Tokenizer& tokenizer = model_.required_tokenizer();
    std::vector<std::string> bytes(model_.graph->config().vocab_size);
    const std::size_t known = std::min(bytes.size(), tokenizer.vocab_size());
    for (std::size_t i = 0; i < known; ++i) {
        const auto id = static_cast<TokenId>(i);
        importing::TokenText token = tokenizer.token(id);
        if (token.special) continue;
        if (!strips_first_space_ && token.text.starts_with(' ')) {
            strips_first_space_ = !tokenizer.decode(std::span(&id, 1)).starts_with(' ');
        }
        bytes[i] = std::move(token.text);
    }
    vocabulary_ = std::make_shared<const grammar::Vocabulary>(std::move(bytes));
}

void Constraints::constrain(Generation& generation) const {
    const GenerationRequest& request = generation.request;
    const base::ModelConfig& config = model_.graph->config();
    std::vector<TokenId> ends = request.ends;
    for (TokenId id = 0; std::cmp_less(id, config.vocab_size); ++id) {
        if (config.ends_text(id)) ends.push_back(id);
    }
    // Where the prompt has no text, the new text is the beginning.
    const bool first =
        strips_first_space_ && model_.required_tokenizer().decode(request.prompt).empty();
    generation.constraint.emplace(request.grammar->state()->program, vocabulary_, std::move(ends),
                                  first);
}

}  // namespace slip::serving
