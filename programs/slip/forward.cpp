#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "programs/slip/command.hpp"
#include "programs/slip/support/model.hpp"
#include "programs/slip/support/options.hpp"

namespace slip::tool {

int forward(const Arguments& arguments) {
    Options options(std::string("forward ") + model_usage + "\n            --ids 1,2,3 [--json]",
                    "Computes the logits of every position of a list of tokens.");
    options.example("slip forward --artifact split --ids 1,2,3");
    add_model_flags(options);
    options.group("Tokens");
    options.add("ids", "1,2,3", "token ids, used as they are");
    options.add_switch("json", "print {\"logits\": [[...], ...]}, one row per position");
    if (!options.parse(arguments)) return 0;
    const std::vector<TokenId> ids = options.token_ids("ids");

    auto model = open_model<LanguageModel>(options);
    const std::vector<float> logits = model.forward(ids);

    const auto width = static_cast<std::ptrdiff_t>(model.vocabulary_size());
    nlohmann::json rows = nlohmann::json::array();
    for (auto row = logits.begin(); row != logits.end(); row += width) {
        if (options.has("json")) {
            rows.push_back(std::vector<float>(row, row + width));
        } else {
            const auto best = std::max_element(row, row + width);
            std::cout << "position " << (row - logits.begin()) / width << ": likeliest next token "
                      << best - row << ", logit " << *best << '\n';
        }
    }
    // A float32 survives this: the writer prints binary64 values so that they read back equal.
    if (options.has("json")) std::cout << nlohmann::json{{"logits", rows}}.dump() << '\n';
    return 0;
}

}  // namespace slip::tool
