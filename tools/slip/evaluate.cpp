#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "optimized/base/files.hpp"
#include "optimized/graph/generate.hpp"
#include "tools/slip/command.hpp"
#include "tools/slip/model.hpp"
#include "tools/slip/options.hpp"
#include "tools/slip/progress.hpp"

namespace slip::tool {

int evaluate(const Arguments& arguments) {
    Options options(std::string("eval ") + model_usage + "\n            --text FILE [--json]",
                    "Measures a text's perplexity in windows of the model's whole context, each "
                    "after BOS.");
    add_model_flags(options);
    options.add("text", "FILE", "UTF-8 text");
    options.add("max-tokens", "N", "only the first N tokens of the text");
    options.add_switch("json",
                       "print {\"tokens\", \"nll\", \"perplexity\", \"bits_per_byte\"}; nll is the "
                       "sum in nats");
    if (!options.parse(arguments)) return 0;
    const std::string path = options.required("text");
    const std::size_t most = options.number_or("max-tokens", SIZE_MAX, 1);

    const std::string text = read_file(path);
    const std::unique_ptr<Model> model = open_model(options);
    const Tokenizer& tokenizer = model->tokenizer_for("--text");
    std::vector<TokenId> ids = tokenizer.encode(text);
    if (ids.empty()) throw BadInput(path + ": the text has no token");
    std::size_t bytes = text.size();
    if (most < ids.size()) {
        ids.resize(most);
        bytes = tokenizer.decode(ids).size();
    }

    PerplexityResult result;
    {
        Progress progress("slip eval: tokens");
        result = perplexity(model->graph(), model->engine(), ids,
                            model->graph().config().max_position_embeddings,
                            [&](std::uint64_t done) { progress.update(done, ids.size()); });
    }
    const double bits_per_byte = result.nll / std::log(2.0) / static_cast<double>(bytes);
    if (options.has("json")) {
        const nlohmann::ordered_json json{{"tokens", result.tokens},
                                          {"nll", result.nll},
                                          {"perplexity", result.perplexity()},
                                          {"bits_per_byte", bits_per_byte}};
        std::cout << json.dump() << '\n';
    } else {
        std::cout << "tokens         " << result.tokens << "\nperplexity     "
                  << result.perplexity() << "\nbits per byte  " << bits_per_byte << '\n';
    }
    return 0;
}

}  // namespace slip::tool
