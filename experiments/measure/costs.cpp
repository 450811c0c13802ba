// costs --model DIR | --shape NAME, --rank K,... | --plan FILE | --hidden
//
// Prints one JSON object: epsilon_online and epsilon_total of sessions over a split model, for each
// rank, prompt length and number of new tokens. The values of the weights are not read.
#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/counts.hpp"
#include "experiments/measure/model_label.hpp"
#include "experiments/measure/program.hpp"
#include "experiments/measure/shapes.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/checkpoint.hpp"
#include "slip/error.hpp"

namespace slip::measure {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t largest = std::uint64_t{1} << 20;  // PARAM-3, for ranks

struct LabelledModel {
    ordered_json label;
    base::ModelConfig config;
};

/// A split and what identifies it in the results.
struct NamedSplit {
    ordered_json settings;
    ScheduleShape schedule;
};

double ratio(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

std::size_t count_weights(const std::vector<base::GroupShape>& groups) {
    std::size_t weights = 0;
    for (const base::GroupShape& group : groups) weights += group.product().rows * group.n;
    return weights;
}

LabelledModel model_of_shape(const std::string& name) {
    const Shape& shape = shape_named(name);
    const base::ModelConfig config = config_of(shape);
    const std::size_t embedding = shape.vocabulary * shape.hidden;  // the head is not tied to it
    const std::size_t norms = (2 * shape.blocks + 1) * shape.hidden;
    const std::size_t parameters = count_weights(graph::groups_of(config)) + embedding + norms;
    return {{{"name", name}, {"family", name_of(config.family)}, {"parameters", parameters}},
            config};
}

LabelledModel model_of(const Flags& flags) {
    if (flags.has("shape") == flags.has("model")) {
        throw BadInput("expected either --model or --shape; see --help");
    }
    if (flags.has("shape")) return model_of_shape(flags.text("shape"));
    const importing::Checkpoint checkpoint(flags.text("model"));
    return {label_of(checkpoint), checkpoint.config()};
}

Strategy strategy_of(const Flags& flags) {
    const std::string name = flags.text("strategy");
    const std::optional<Strategy> strategy = strategy_named(name);
    if (!strategy) {
        throw BadInput("--strategy '" + name + "': expected lsc, rcs, norm, random or fms");
    }
    return *strategy;
}

/// Ranks that are larger than a matrix allows are cut, as a split does; standard error says so.
ScheduleShape planned(const std::vector<base::GroupShape>& groups, const Plan& plan,
                      Strategy strategy) {
    std::vector<std::string> notes;
    const auto ranks = artifact::ranks_of(plan, groups, strategy, notes);
    for (const std::string& note : notes) std::cerr << "costs: note: " << note << '\n';
    return schedule_of(groups, ranks);
}

/// Every linear layer of the blocks, or of the first and last --blocks of them, and the head.
NamedSplit uniform_split(const std::vector<base::GroupShape>& groups, const Flags& flags,
                         std::size_t rank) {
    std::optional<std::size_t> first_and_last;
    if (flags.has("blocks")) first_and_last = flags.number("blocks", 1, largest);
    Plan plan = artifact::uniform_plan(groups, rank, first_and_last);
    const std::size_t head_rank = flags.number_or("head-rank", 0, 0, largest);
    if (head_rank > 0) plan.push_back({std::nullopt, "lm_head", head_rank});
    ordered_json settings{{"rank", rank}, {"head_rank", head_rank}};
    if (first_and_last) settings["blocks"] = *first_and_last;
    return {settings, planned(groups, plan, strategy_of(flags))};
}

/// Throws BadInput unless exactly one of them says what is split.
void require_one_split(const Flags& flags) {
    const auto given = std::ranges::count_if(std::array{"plan", "rank", "hidden"},
                                             [&](const char* flag) { return flags.has(flag); });
    if (given != 1) throw BadInput("expected one of --rank, --plan and --hidden; see --help");
    if (flags.has("rank")) return;
    for (const char* flag : {"blocks", "head-rank"}) {
        if (flags.has(flag)) {
            throw BadInput(std::string("--") + flag + " has no meaning without --rank");
        }
    }
}

std::vector<NamedSplit> splits_of(const base::ModelConfig& config,
                                  const std::vector<base::GroupShape>& groups, const Flags& flags) {
    require_one_split(flags);
    if (flags.has("hidden")) {
        return {{{{"set", "hidden"}}, schedule_of(config, 0, "hidden")}};
    }
    if (flags.has("plan")) {
        const Plan plan = read_plan(flags.text("plan"));
        return {{{{"plan", ordered_json::parse(artifact::plan_to_json(plan))}},
                 planned(groups, plan, strategy_of(flags))}};
    }
    std::vector<NamedSplit> splits;
    for (const std::size_t rank : flags.numbers("rank", 0, largest)) {
        splits.push_back(uniform_split(groups, flags, rank));
    }
    return splits;
}

ordered_json point_of(const NamedSplit& split, const base::ModelConfig& config,
                      const Session& session) {
    const Multiplications products = of_rows(split.schedule, session.positions(), session.tokens);
    const std::uint64_t attention = attention_of(config, session);
    ordered_json point = split.settings;
    point.update({{"prompt", session.prompt},
                  {"tokens", session.tokens},
                  {"multiplications",
                   {{"linear", products.linear},
                    {"online", products.online},
                    {"offline", products.offline},
                    {"attention", attention}}},
                  {"epsilon_online", epsilon_online(products)},
                  {"epsilon_total", epsilon_total(products)},
                  {"attention_share", ratio(attention, products.linear)},
                  {"epsilon_online_with_attention",  // of the whole model, attention on both sides
                   ratio(products.online + attention, products.linear + attention)}});
    return point;
}

ordered_json measure_costs(const Flags& flags) {
    LabelledModel model = model_of(flags);
    const std::vector<base::GroupShape> groups = graph::groups_of(model.config);
    ordered_json points = ordered_json::array();
    for (const NamedSplit& split : splits_of(model.config, groups, flags)) {
        for (const std::size_t prompt : flags.numbers("prompt", 1, largest)) {
            for (const std::size_t tokens : flags.numbers("tokens", 1, largest)) {
                points.push_back(point_of(split, model.config, {prompt, tokens}));
            }
        }
    }
    model.label["linear_parameters"] = count_weights(groups);
    ordered_json settings;
    if (!flags.has("hidden")) settings["strategy"] = flags.text("strategy");
    settings["attention"] = slip::name_of(model.config.attention);
    return {{"experiment", "costs"},
            {"model", model.label},
            {"settings", settings},
            {"seed", nullptr},
            {"result", {{"points", points}}}};
}

}  // namespace
}  // namespace slip::measure

int main(int argc, char** argv) {
    return slip::measure::run(
        {"costs",
         "(--model DIR | --shape NAME) (--rank K,... | --plan FILE | --hidden) [OPTIONS]\n\n"
         "Prints Charlie's share of a model's multiplications, online and in total, as one JSON "
         "object.",
         {{"model", "DIR", "a checkpoint; its weights are not read, only their sizes"},
          {"shape", "NAME", "instead of --model: small, tinyllama, llama2-7b or llama2-70b"},
          {"rank", "K,...", "of every linear layer of the blocks"},
          {"head-rank", "K", "of the head; 0 if absent"},
          {"blocks", "A", "with --rank: only the first and last A blocks"},
          {"plan", "FILE", "instead of --rank: what 'slip split --plan' takes"},
          {"hidden", nullptr, "instead of --rank: the hidden split"},
          {"strategy", "NAME", "lsc, rcs, norm, random or fms", "lsc"},
          {"prompt", "N,...", "tokens of the prompt", "1"},
          {"tokens", "N,...", "new tokens", "1"}},
         slip::measure::measure_costs},
        argc, argv);
}
