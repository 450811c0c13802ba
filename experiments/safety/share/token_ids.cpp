// Tokenises a text with a model's tokenizer, for the programs that train. Prints one JSON object.
#include <iostream>
#include <nlohmann/json.hpp>

#include "experiments/measure/model_label.hpp"
#include "experiments/safety/share/share.hpp"
#include "experiments/training/options.hpp"
#include "experiments/training/text.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/tokenizer.hpp"

namespace {

using namespace slip;
using training::Options;

constexpr const char* usage =
    "usage: token_ids --model DIR --text FILE --out IDS [--max-tokens N]\n"
    "Writes the token ids of FILE, at most N of them, in one line, without BOS and EOS.\n";

void run(const Options& options) {
    const std::filesystem::path model = options.text("--model");
    const std::filesystem::path text = options.text("--text");
    const auto most = static_cast<std::size_t>(options.integer("--max-tokens", 1, 1L << 40));
    const importing::Checkpoint checkpoint(model);
    const auto tokenizer = importing::open_tokenizer(model);
    if (!tokenizer) throw BadInput(model.string() + ": expected a tokenizer beside the model");
    std::vector<TokenId> ids = tokenizer->encode(base::read_file(text));
    if (ids.size() > most) ids.resize(most);
    std::string line;
    for (const TokenId id : ids) line += std::to_string(id) + " ";
    line.back() = '\n';
    training::write_file_atomically(options.text("--out"), line);
    const nlohmann::ordered_json json{
        {"experiment", "token-ids"},
        {"model", measure::label_of(checkpoint)},
        {"settings", {{"text", text.filename()}, {"max_tokens", most}}},
        {"seed", 0},
        {"result", {{"tokens", ids.size()}}}};
    std::cout << json.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    return training::run_program(usage, [&] {
        run(Options(
            argc, argv, 1,
            {{"--model", ""}, {"--text", ""}, {"--out", ""}, {"--max-tokens", "1000000000000"}}));
    });
}
