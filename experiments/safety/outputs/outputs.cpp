// What clients of an endpoint learn of the model from its answers, and with David's half of the
// head. Prints one JSON object: a run of the safety measurements.
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "experiments/measure/model_label.hpp"
#include "experiments/safety/outputs/attacker.hpp"
#include "experiments/training/options.hpp"
#include "optimized/base/error.hpp"

namespace {

using namespace slip;
using namespace slip::outputs;
using Eigen::Index;
using Eigen::MatrixXd;
using nlohmann::ordered_json;
using training::Options;

constexpr const char* usage =
    "usage: outputs --model DIR --shown WAY --states N,... [options]\n"
    "  --shown WAY    of each state after random tokens: all, the log-probabilities of all "
    "tokens;\n"
    "                 top-K, of the K likeliest; bias-K, of all in turn, a logit bias lifting "
    "them\n"
    "                 among K; chosen, of the token that a seed picks; text, that token alone;\n"
    "                 drawn-N, N tokens picked by seeds that the client does not know\n"
    "  --states N,... in how many states; `answers` says what that took\n"
    "  --values V,... exact, float16, decimals-D, noise-S (exact)\n"
    "  --split NAME   of the head: paper or hidden (paper)\n"
    "  --rank K       of Charlie's part of the head, with paper (8)\n"
    "  --seed N       of the states, noise, and what is drawn (1)\n";

std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) all.push_back(word);
    return all;
}

std::size_t number(const std::string& word) {
    const bool right = !word.empty() && word.size() < 7 &&
                       word.find_first_not_of("0123456789") == std::string::npos;
    if (!right || std::stoul(word) == 0) {
        throw BadInput("--states '" + word + "': expected numbers from 1 to 999999");
    }
    return std::stoul(word);
}

struct Experiment {
    Head head;
    Index rank = 0;
    std::mt19937_64 random;

    ordered_json point(const States& states, const std::string& way, const std::string& value);

private:
    std::vector<Index> all_rows() const {
        std::vector<Index> rows(static_cast<std::size_t>(head.weights.rows()));
        std::iota(rows.begin(), rows.end(), 0);
        return rows;
    }
    ordered_json of_columns(const MatrixXd& logits, const std::vector<Index>& rows,
                            const MatrixXd& hidden);
    ordered_json of_most(const Answers& answers, const MatrixXd& hidden);
    ordered_json of_likeliest(const Answers& answers, const MatrixXd& hidden);
};

ordered_json describe(const Nearness& found) {
    return {{"mean_squared_cosine", found.mean_squared_cosine}, {"directions", found.directions}};
}

ordered_json describe(const Space& space) {
    return {{"width_found", space.found_width},
            {"gap", space.gap},
            {"gap_at_width", space.gap_at_width}};
}

/// `rows`: the tokens that the logits are of.
ordered_json Experiment::of_columns(const MatrixXd& logits, const std::vector<Index>& rows,
                                    const MatrixXd& hidden) {
    const Space space = space_of(logits, head.weights.cols(), random);
    MatrixXd basis = MatrixXd::Zero(head.weights.rows(), space.basis.cols());
    basis(rows, Eigen::all) = space.basis;
    ordered_json point = describe(nearness(head.weights, basis));
    point.update(describe(space));
    // Fewer columns do not span the space, and nothing is tried.
    const bool enough = logits.cols() >= head.weights.cols();
    point["share_of_states"] =
        enough ? share_of_states(logits, space, head.davids(rows, Eigen::all), rank, hidden) : 0.0;
    return point;
}

ordered_json Experiment::of_most(const Answers& answers, const MatrixXd& hidden) {
    const Index width = head.weights.cols();
    const Completed whole = completed(answers.entries, head.weights.rows(), hidden.cols(), width);
    ordered_json point{{"entries_per_state", static_cast<double>(answers.entries.size()) /
                                                 static_cast<double>(hidden.cols())},
                       {"states_used", whole.columns.size()},
                       {"tokens_used", whole.rows.size()},
                       {"tokens_in_common", whole.common.rows()}};
    if (whole.columns.empty()) return point;
    point.update(of_columns(whole.logits, whole.rows, hidden(Eigen::all, whole.columns)));
    point.update(describe(space_of(whole.common, width, random)));
    return point;
}

ordered_json Experiment::of_likeliest(const Answers& answers, const MatrixXd& hidden) {
    const Index rows = head.weights.rows(), width = head.weights.cols();
    const MatrixXd bounds = clipped(answers.entries, rows, hidden.cols());
    const Space by_bounds = space_of(bounds, width, random);
    ordered_json point{{"by_bounds", describe(nearness(head.weights, by_bounds.basis))}};
    const MatrixXd factor =
        left_factor(answers.entries, rows, hidden.cols(), by_bounds.basis * std::sqrt(rows));
    const Space by_factors = space_of(factor, width, random);
    point["by_factors"] = describe(nearness(head.weights, by_factors.basis));
    point["share_of_states"] = share_of_states(answers.entries, head, hidden);
    return point;
}

ordered_json Experiment::point(const States& states, const std::string& way,
                               const std::string& value) {
    const Answers answers = answers_of(states.logits, way, blur_named(value, random), random);
    ordered_json point{
        {"values", value}, {"states", states.logits.cols()}, {"answers", answers.count}};
    point.update(answers.known == Known::columns
                     ? of_columns(answers.logits, all_rows(), states.hidden)
                 : answers.known == Known::most ? of_most(answers, states.hidden)
                                                : of_likeliest(answers, states.hidden));
    std::cerr << point.dump() << '\n';
    return point;
}

ordered_json measure_outputs(const Options& options) {
    const importing::Checkpoint checkpoint(options.text("--model"));
    const std::string split = options.text("--split"), way = options.text("--shown");
    if (split != "paper" && split != "hidden") throw BadInput("--split is paper or hidden");
    const auto seed = static_cast<std::uint64_t>(options.integer("--seed", 0, training::kMany));
    const long rank = options.integer("--rank", 1, 1 << 16);
    std::mt19937_64 random(seed);
    Experiment experiment{head_of(checkpoint, split, static_cast<std::size_t>(rank), random), rank,
                          random};
    const Head& head = experiment.head;
    if (rank >= head.weights.cols()) throw BadInput("--rank: expected less than the width");
    ordered_json points = ordered_json::array();
    for (const std::string& word : words(options.text("--states"))) {
        const States states = states_of(checkpoint, head, number(word), experiment.random);
        for (const std::string& value : words(options.text("--values"))) {
            points.push_back(experiment.point(states, way, value));
        }
    }
    const double by_chance =
        static_cast<double>(head.weights.cols()) / static_cast<double>(head.weights.rows() - 1);
    return {{"experiment", "outputs"},
            {"model", measure::label_of(checkpoint)},
            {"settings", {{"shown", way}, {"split", split}, {"rank", rank}}},
            {"seed", seed},
            {"result",
             {{"vocabulary", head.weights.rows()},
              {"width", head.weights.cols()},
              {"squared_cosine_by_chance", by_chance},
              {"points", points}}}};
}

}  // namespace

int main(int argc, char** argv) {
    return training::run_program(usage, [&] {
        const Options options(argc, argv, 1,
                              {{"--model", ""},
                               {"--shown", ""},
                               {"--states", ""},
                               {"--values", "exact"},
                               {"--split", "paper"},
                               {"--rank", "8"},
                               {"--seed", "1"}});
        std::cout << measure_outputs(options).dump() << std::endl;
    });
}
