// sorting_ids --examples N --out FILE
//
// What an attacker has who knows the sorting task: some of its inputs, each with its letters in
// order, for the programs of experiments/safety. Prints one JSON object.
#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "experiments/measure/program.hpp"
#include "experiments/tasks/sorting.hpp"
#include "optimized/base/files.hpp"
#include "slip/error.hpp"

namespace slip::tasks {
namespace {

nlohmann::ordered_json write_examples(const measure::Flags& flags) {
    const std::uint64_t examples = flags.number("examples", 1, sorting_inputs);
    const std::uint64_t seed = flags.number("seed", 0);
    const std::string out = flags.text("out");
    std::vector<std::size_t> order(sorting_inputs);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    order.resize(examples);
    std::string line;
    for (const std::size_t number : order) {
        std::vector<TokenId> letters = letters_of(number);
        for (const TokenId letter : letters) line += std::to_string(letter) + " ";
        std::sort(letters.begin(), letters.end());
        for (const TokenId letter : letters) line += std::to_string(letter) + " ";
    }
    line.back() = '\n';
    base::StagedFile file(out, base::StagedFile::Existing::replace, 0644);
    file.append(std::as_bytes(std::span(line)));
    file.commit();
    return {{"experiment", "sorting-ids"},
            {"model", {{"name", "none"}}},
            {"settings", {{"examples", examples}}},
            {"seed", seed},
            {"result", {{"inputs", sorting_inputs}}}};
}

}  // namespace
}  // namespace slip::tasks

int main(int argc, char** argv) {
    return slip::measure::run(
        {"sorting_ids",
         "--examples N --out FILE [OPTIONS]\n\nWrites examples of the sorting task, on which "
         "attackers train; prints one JSON object.",
         {{"examples", "N", "how many of the 729 inputs, drawn without repetition"},
          {"out", "FILE",
           "token ids in one line, 12 per example: an input, then its letters in order"},
          {"seed", "S", "of the draw", "1"}},
         slip::tasks::write_examples},
        argc, argv);
}
