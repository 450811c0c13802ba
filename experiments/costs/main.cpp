// costs --model DIR | --shape NAME, --rank K,... | --plan FILE | --hidden
//
// Prints one JSON object: epsilon_online and epsilon_total of sessions over a split model, for each
// rank, prompt length and number of new tokens. The values of the weights are not read.
#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/bench/cost.hpp"
#include "experiments/costs/session.hpp"
#include "experiments/synthetic/shapes.hpp"
#include "experiments/tasks/model_label.hpp"
#include "experiments/tasks/program.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/checkpoint.hpp"
#include "slip/error.hpp"

namespace slip::costs {
namespace {

namespace po = boost::program_options;
using nlohmann::ordered_json;

constexpr std::size_t largest_number = std::size_t{1} << 20;  // PARAM-3, for ranks

struct NamedModel {
    std::string name;
    base::ModelConfig config;
    std::uint64_t parameters = 0;  // of the whole model
};

/// A split and what identifies it in the results.
struct NamedSplit {
    ordered_json settings;
    bench::ScheduleShape schedule;
};

/// "1,16,64": whole numbers from `least` to 2^20, at least one.
std::vector<std::size_t> numbers(const po::variables_map& values, const std::string& flag,
                                 std::size_t least) {
    std::vector<std::size_t> list;
    std::istringstream text(values[flag].as<std::string>());
    for (std::string word; std::getline(text, word, ',');) {
        std::size_t number = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, number);
        if (error != std::errc() || stop != end || number < least || number > largest_number) {
            throw BadInput("--" + flag + " '" + word + "': expected whole numbers from " +
                           std::to_string(least) + " to 2^20, separated by commas");
        }
        list.push_back(number);
    }
    if (list.empty()) throw BadInput("--" + flag + ": expected at least one number");
    return list;
}

/// The same for a flag that takes one number.
std::size_t number(const po::variables_map& values, const std::string& flag, std::size_t least) {
    const std::vector<std::size_t> list = numbers(values, flag, least);
    if (list.size() == 1) return list.front();
    throw BadInput("--" + flag + " '" + values[flag].as<std::string>() + "': expected one number");
}

std::size_t count_weights(const std::vector<base::GroupShape>& groups) {
    std::size_t weights = 0;
    for (const base::GroupShape& group : groups) weights += group.product().rows * group.n;
    return weights;
}

NamedModel shape_named(const std::string& name) {
    const auto found = synthetic::shapes.find(name);
    if (found == synthetic::shapes.end()) {
        std::string names;
        for (const auto& shape : synthetic::shapes) names += " " + shape.first;
        throw BadInput("--shape '" + name + "': expected one of" + names);
    }
    const synthetic::Shape& shape = found->second;
    const base::ModelConfig config = bench::config_of(shape);
    const std::size_t embedding = shape.vocabulary * shape.hidden;  // the head is not tied to it
    const std::size_t norms = (2 * shape.blocks + 1) * shape.hidden;
    return {name, config, count_weights(graph::groups_of(config)) + embedding + norms};
}

/// The weights are not read, only their sizes.
NamedModel read_model(std::filesystem::path folder) {
    if (folder.filename().empty()) folder = folder.parent_path();
    const importing::Checkpoint checkpoint(folder);
    return {folder.filename().string(), checkpoint.config(), tasks::parameters_of(checkpoint)};
}

NamedModel model_of(const po::variables_map& values) {
    if (values.contains("shape") == values.contains("model")) {
        throw BadInput("expected either --model or --shape; see --help");
    }
    return values.contains("shape") ? shape_named(values["shape"].as<std::string>())
                                    : read_model(values["model"].as<std::string>());
}

Strategy strategy_of(const po::variables_map& values) {
    const auto name = values["strategy"].as<std::string>();
    const std::optional<Strategy> strategy = strategy_named(name);
    if (!strategy) {
        throw BadInput("--strategy '" + name + "': expected lsc, rcs, norm, random or fms");
    }
    return *strategy;
}

/// Ranks that are larger than a matrix allows are cut, as a split does; standard error says so.
bench::ScheduleShape schedule_of(const std::vector<base::GroupShape>& groups, const Plan& plan,
                                 Strategy strategy) {
    std::vector<std::string> notes;
    const auto ranks = artifact::ranks_of(plan, groups, strategy, notes);
    for (const std::string& note : notes) std::cerr << "costs: note: " << note << '\n';
    return bench::schedule_of(groups, ranks);
}

/// Every linear layer of the blocks, or of the first and last --blocks of them, and the head.
NamedSplit uniform_split(const std::vector<base::GroupShape>& groups,
                         const po::variables_map& values, std::size_t rank) {
    std::optional<std::size_t> first_and_last;
    if (values.contains("blocks")) first_and_last = number(values, "blocks", 1);
    Plan plan = artifact::uniform_plan(groups, rank, first_and_last);
    const std::size_t head_rank = values.contains("head-rank") ? number(values, "head-rank", 0) : 0;
    if (head_rank > 0) plan.push_back({std::nullopt, "lm_head", head_rank});
    ordered_json settings{{"rank", rank}, {"head_rank", head_rank}};
    if (first_and_last) settings["blocks"] = *first_and_last;
    return {settings, schedule_of(groups, plan, strategy_of(values))};
}

/// Throws BadInput unless exactly one of them says what is split.
void require_one_split(const po::variables_map& values) {
    const auto given =
        std::ranges::count_if(std::array{"plan", "rank", "hidden"},
                              [&](const char* flag) { return values.contains(flag); });
    if (given != 1) throw BadInput("expected one of --rank, --plan and --hidden; see --help");
    if (values.contains("rank")) return;
    for (const char* flag : {"blocks", "head-rank"}) {
        if (values.contains(flag)) {
            throw BadInput(std::string("--") + flag + " has no meaning without --rank");
        }
    }
}

std::vector<NamedSplit> splits_of(const base::ModelConfig& config,
                                  const std::vector<base::GroupShape>& groups,
                                  const po::variables_map& values) {
    require_one_split(values);
    if (values.contains("hidden")) {
        return {{{{"set", "hidden"}}, bench::schedule_of(config, 0, "hidden")}};
    }
    if (values.contains("plan")) {
        const Plan plan = read_plan(values["plan"].as<std::string>());
        return {{{{"plan", ordered_json::parse(artifact::plan_to_json(plan))}},
                 schedule_of(groups, plan, strategy_of(values))}};
    }
    std::vector<NamedSplit> splits;
    for (const std::size_t rank : numbers(values, "rank", 0)) {
        splits.push_back(uniform_split(groups, values, rank));
    }
    return splits;
}

ordered_json point_of(const NamedSplit& split, const base::ModelConfig& config,
                      const Session& session) {
    const Cost cost = cost_of(split.schedule, config, session);
    ordered_json point = split.settings;
    point.update({{"prompt", session.prompt},
                  {"tokens", session.tokens},
                  {"multiplications",
                   {{"linear", cost.products.linear},
                    {"online", cost.products.online},
                    {"offline", cost.products.offline},
                    {"attention", cost.attention}}},
                  {"epsilon_online", bench::epsilon_online(cost.products)},
                  {"epsilon_total", bench::epsilon_total(cost.products)},
                  {"attention_share", cost.attention_share()},
                  {"epsilon_online_with_attention", cost.online_with_attention()}});
    return point;
}

ordered_json measure(const po::variables_map& values) {
    const NamedModel model = model_of(values);
    const std::vector<base::GroupShape> groups = graph::groups_of(model.config);
    ordered_json points = ordered_json::array();
    for (const NamedSplit& split : splits_of(model.config, groups, values)) {
        for (const std::size_t prompt : numbers(values, "prompt", 1)) {
            for (const std::size_t tokens : numbers(values, "tokens", 1)) {
                points.push_back(point_of(split, model.config, {prompt, tokens}));
            }
        }
    }
    const ordered_json described{{"name", model.name},
                                 {"family", tasks::name_of(model.config.family)},
                                 {"parameters", model.parameters},
                                 {"linear_parameters", count_weights(groups)}};
    ordered_json settings;
    if (!values.contains("hidden")) settings["strategy"] = values["strategy"].as<std::string>();
    settings["attention"] = slip::name_of(model.config.attention);
    return {{"experiment", "costs"},
            {"model", described},
            {"settings", settings},
            {"seed", nullptr},
            {"result", {{"points", points}}}};
}

po::options_description flags() {
    po::options_description description("Options", 100, 60);
    const auto text = [] { return po::value<std::string>(); };
    description.add_options()("model", text()->value_name("DIR"),
                              "a checkpoint; its weights are not read, only their sizes")(
        "shape", text()->value_name("NAME"), "instead of --model: small, tinyllama or llama2-7b")(
        "rank", text()->value_name("K,..."), "of every linear layer of the blocks")(
        "head-rank", text()->value_name("K"), "of the head; 0 if absent")(
        "blocks", text()->value_name("A"), "with --rank: only the first and last A blocks")(
        "plan", text()->value_name("FILE"), "instead of --rank: what 'slip split --plan' takes")(
        "hidden", "instead of --rank: the hidden split")(
        "strategy", text()->value_name("NAME")->default_value("lsc"),
        "lsc, rcs, norm, random or fms")("prompt", text()->value_name("N,...")->default_value("1"),
                                         "tokens of the prompt")(
        "tokens", text()->value_name("N,...")->default_value("1"), "new tokens")("help",
                                                                                 "show this help");
    return description;
}

}  // namespace
}  // namespace slip::costs

int main(int argc, char** argv) {
    return slip::tasks::run(
        {"costs",
         "(--model DIR | --shape NAME) (--rank K,... | --plan FILE | --hidden) [OPTIONS]\n\n"
         "Prints Charlie's share of a model's multiplications, online and in total, as one JSON "
         "object.",
         slip::costs::flags(), slip::costs::measure},
        argc, argv);
}
