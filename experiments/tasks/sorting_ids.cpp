// sorting_ids --examples N --out FILE
//
// What an attacker has who knows the sorting task: some of its inputs, each with its letters in
// order, for the programs of experiments/safety. Prints one JSON object.
#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "experiments/tasks/program.hpp"
#include "experiments/tasks/sorting.hpp"
#include "optimized/base/files.hpp"
#include "slip/error.hpp"

namespace slip::tasks {
namespace {

nlohmann::ordered_json write_examples(const po::variables_map& values) {
    for (const char* name : {"examples", "out"}) {
        if (!values.contains(name)) {
            throw BadInput(std::string("--") + name + " is missing; see --help");
        }
    }
    const auto examples = values["examples"].as<std::size_t>();
    const auto seed = values["seed"].as<std::uint64_t>();
    if (examples < 1 || examples > sorting_inputs) {
        throw BadInput("--examples " + std::to_string(examples) + ": expected 1 to " +
                       std::to_string(sorting_inputs));
    }
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
    base::StagedFile file(values["out"].as<std::string>(), base::StagedFile::Existing::replace,
                          0644);
    file.append(std::as_bytes(std::span(line)));
    file.commit();
    return {{"experiment", "sorting-ids"},
            {"model", {{"name", "none"}}},
            {"settings", {{"examples", examples}}},
            {"seed", seed},
            {"result", {{"inputs", sorting_inputs}}}};
}

po::options_description flags() {
    po::options_description description("Options", 100, 60);
    description.add_options()("examples", po::value<std::size_t>()->value_name("N"),
                              "how many of the 729 inputs, drawn without repetition");
    description.add_options()("out", po::value<std::string>()->value_name("FILE"),
                              "token ids in one line, 12 per example: an input, then its letters "
                              "in order");
    description.add_options()("seed", po::value<std::uint64_t>()->default_value(1)->value_name("S"),
                              "of the draw");
    description.add_options()("help", "show this help");
    return description;
}

}  // namespace
}  // namespace slip::tasks

int main(int argc, char** argv) {
    return slip::tasks::run(
        {"sorting_ids",
         "--examples N --out FILE [OPTIONS]\n\nWrites examples of the sorting task, on which "
         "attackers train; prints one JSON object.",
         slip::tasks::flags(), slip::tasks::write_examples},
        argc, argv);
}
