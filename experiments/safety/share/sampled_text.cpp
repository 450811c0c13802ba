// Writes a text that a model makes up, for measurements without any other text. An attacker who has
// no public text can get one from the protected model in the same way. Prints one JSON object.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "experiments/measure/model_label.hpp"
#include "experiments/safety/share/share.hpp"
#include "experiments/training/options.hpp"
#include "experiments/training/text.hpp"
#include "optimized/base/error.hpp"
#include "slip/model.hpp"

namespace {

using namespace slip;
using training::Options;

constexpr const char* usage =
    "usage: sampled_text --model DIR --tokens N --out FILE [options]\n"
    "Writes stories sampled from the checkpoint in float32 until they have N tokens together,\n"
    "prompts not counted, separated by empty lines.\n"
    "  --prompt TEXT    how each story begins (nothing: after BOS alone)\n"
    "  --length N       tokens per story, at most (what the model can hold)\n"
    "  --temperature X  (1)\n"
    "  --seed N         other seeds give other stories (1)\n";

/// Text without the empty lines that separate stories.
std::string in_one_piece(const std::string& text) {
    std::string kept;
    for (const char c : text) {
        if (c == '\n' && (kept.empty() || kept.back() == '\n')) continue;
        kept += c;
    }
    while (!kept.empty() && kept.back() == '\n') kept.pop_back();
    return kept;
}

struct Sample {
    std::string text;
    std::size_t tokens = 0;
    std::size_t stories = 0;
};

struct Settings {
    explicit Settings(const Options& options)
        : tokens(static_cast<std::size_t>(options.integer("--tokens", 1, training::kMany))),
          length(static_cast<std::size_t>(options.integer("--length", 1, training::kMany))),
          temperature(options.real("--temperature", 0.01, 10.0)),
          seed(static_cast<std::uint64_t>(options.integer("--seed", 0, 1L << 31))),
          prompt(options.text("--prompt") == "none" ? "" : options.text("--prompt")) {}

    std::size_t tokens, length;
    double temperature;
    std::uint64_t seed;
    std::string prompt;
};

/// How many tokens a story after `beginning` may have. Throws BadInput if there is no room for one.
std::size_t room_after(const LanguageModel& model, const std::vector<TokenId>& beginning) {
    if (beginning.size() >= model.max_positions()) {
        throw BadInput("--prompt has " + std::to_string(beginning.size()) +
                       " tokens: expected fewer than the model's " +
                       std::to_string(model.max_positions()) + " positions");
    }
    return model.max_positions() - beginning.size();
}

/// Story i is drawn with the seed 2^32 `seed` + i, so no two texts share a story's seed.
Sample sample(LanguageModel& model, const Settings& settings) {
    const std::vector<TokenId> beginning = model.encode_prompt(settings.prompt);
    const std::size_t longest = std::min(settings.length, room_after(model, beginning));
    Sample found;
    for (std::uint64_t story = 0; found.tokens < settings.tokens; ++story) {
        // A model may end at once, each time.
        if (story > 2 * settings.tokens) throw BadInput("the model's stories are empty");
        SamplingOptions options;
        options.max_tokens = std::min(longest, settings.tokens - found.tokens);
        options.temperature = settings.temperature;
        options.seed = (settings.seed << 32) + story;
        const std::vector<TokenId> ids = model.generate(beginning, options);
        if (ids.empty()) continue;
        found.text += (found.stories == 0 ? "" : "\n\n") +
                      in_one_piece(settings.prompt + model.continuation(beginning, ids));
        found.tokens += ids.size();
        ++found.stories;
    }
    found.text += '\n';
    return found;
}

void run(const Options& options) {
    const std::filesystem::path folder = options.text("--model");
    const Settings settings(options);
    LanguageModel model = open_checkpoint<LanguageModel>(folder);
    const Sample found = sample(model, settings);
    training::write_file_atomically(options.text("--out"), found.text);
    const nlohmann::ordered_json json{
        {"experiment", "sampled-text"},
        {"model", measure::label_of(importing::Checkpoint(folder))},
        {"settings",
         {{"tokens", settings.tokens},
          {"prompt", settings.prompt},
          {"temperature", settings.temperature}}},
        {"seed", settings.seed},
        {"result",
         {{"tokens", found.tokens}, {"stories", found.stories}, {"bytes", found.text.size()}}}};
    std::cout << json.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    return training::run_program(usage, [&] {
        run(Options(argc, argv, 1,
                    {{"--model", ""},
                     {"--tokens", ""},
                     {"--out", ""},
                     {"--prompt", "none"},
                     {"--length", "1000000000"},
                     {"--temperature", "1"},
                     {"--seed", "1"}}));
    });
}
