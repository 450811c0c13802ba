#include "experiments/safety/outputs/answers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "optimized/base/error.hpp"
#include "optimized/graph/sampler.hpp"

namespace slip::outputs {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double temperature = 2;  // the flattest distribution that a client can ask for
constexpr int seed_bits = 20;      // seeds that the client has tried on his own machine

/// What follows `prefix` in `name`, as a number.
std::optional<double> number_after(const std::string& prefix, const std::string& name) {
    if (!name.starts_with(prefix)) return std::nullopt;
    std::size_t used = 0;
    try {
        const double number = std::stod(name.substr(prefix.size()), &used);
        if (number >= 0 && used == name.size() - prefix.size()) return number;
    } catch (const std::logic_error&) {
        used = 0;
    }
    throw BadInput("'" + name + "': expected a number after " + prefix);
}

std::vector<float> floats(const VectorXd& column) {
    std::vector<float> values(static_cast<std::size_t>(column.size()));
    std::transform(column.begin(), column.end(), values.begin(),
                   [](double value) { return static_cast<float>(value); });
    return values;
}

VectorXd log_probabilities(const VectorXd& column) {
    const std::vector<double> values = graph::log_probabilities(floats(column));
    return Eigen::Map<const VectorXd>(values.data(), column.size());
}

Answers all(const MatrixXd& logits, const Blur& blur) {
    Answers answers{Known::columns, MatrixXd(logits.rows(), logits.cols()), {}, 0};
    for (Index j = 0; j < logits.cols(); ++j) {
        answers.logits.col(j) = log_probabilities(logits.col(j)).unaryExpr(blur);
    }
    answers.count = static_cast<double>(logits.cols());
    return answers;
}

/// The rows of the k largest entries.
std::vector<Index> likeliest(const VectorXd& column, std::size_t k) {
    std::vector<Index> rows(static_cast<std::size_t>(column.size()));
    std::iota(rows.begin(), rows.end(), 0);
    k = std::min(k, rows.size());
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(),
                      [&](Index a, Index b) { return column(a) > column(b); });
    rows.resize(k);
    return rows;
}

Answers top(const MatrixXd& logits, std::size_t k, const Blur& blur) {
    Answers answers{Known::likeliest, {}, {}, 0};
    for (Index j = 0; j < logits.cols(); ++j) {
        const VectorXd values = log_probabilities(logits.col(j));
        for (const Index row : likeliest(values, k)) {
            answers.entries.push_back({row, j, blur(values(row))});
        }
    }
    answers.count = static_cast<double>(logits.cols());
    return answers;
}

/// Token 0 and k - 1 others per answer, all of them with a bias beside which no other token counts:
/// differences of their log-probabilities are those of the logits.
Answers biased(const MatrixXd& logits, Index k, const Blur& blur) {
    Answers answers{Known::columns, MatrixXd::Zero(logits.rows(), logits.cols()), {}, 0};
    for (Index j = 0; j < logits.cols(); ++j) {
        for (Index first = 1; first < logits.rows(); first += k - 1) {
            const Index others = std::min(k - 1, logits.rows() - first);
            VectorXd shown(others + 1);
            shown << logits(0, j), logits.col(j).segment(first, others);
            shown = log_probabilities(shown).unaryExpr(blur);
            answers.logits.col(j).segment(first, others) = shown.tail(others).array() - shown(0);
            ++answers.count;
        }
    }
    return answers;
}

/// Which token a seed picks first: the same as the server's choice.
class Picks {
public:
    explicit Picks(const VectorXd& column) : logits_(floats(column)) {}
    Index operator()(std::uint64_t seed) {
        SamplingOptions options;
        options.temperature = temperature;
        options.seed = seed;
        ++count_;
        return graph::Sampler(options, {}).next(logits_);
    }
    double count() const { return count_; }

private:
    std::vector<float> logits_;
    double count_ = 0;
};

/// The uniform number that each seed begins with, which the client computes by himself.
using Seeds = std::map<double, std::uint64_t>;

const Seeds& known_seeds() {
    static const Seeds all = [] {
        Seeds seeds;
        for (std::uint64_t seed = 0; seed < (1U << seed_bits); ++seed) {
            seeds[std::ldexp(static_cast<double>(std::mt19937_64(seed)() >> 11), -53)] = seed;
        }
        return seeds;
    }();
    return all;
}

/// A search for where in [0, 1) one token's seeds end and the next token's begin.
class Boundaries {
public:
    /// `text_only`: the interval's lengths are wanted; otherwise each token is, once.
    Boundaries(const VectorXd& column, bool text_only)
        : picks_(column),
          text_only_(text_only),
          lengths_(VectorXd::Zero(column.size())),
          seen_(VectorXd::Zero(column.size())) {
        const auto first = known_seeds().begin(), last = std::prev(known_seeds().end());
        const Index low = ask(first->second), high = ask(last->second);
        search(first->first, low, last->first, high);
    }
    /// Shares of the seeds, and 1 for each token that was seen.
    const VectorXd& lengths() const { return lengths_; }
    const VectorXd& seen() const { return seen_; }
    double count() const { return picks_.count(); }

private:
    Index ask(std::uint64_t seed) {
        const Index token = picks_(seed);
        seen_(token) = 1;
        return token;
    }
    void search(double from, Index low, double to, Index high) {
        const bool settled = text_only_ ? low == high : high - low <= 1;
        const auto middle = known_seeds().upper_bound((from + to) / 2);
        if (settled || middle->first >= to) {
            lengths_(low) += (to - from) / 2;
            lengths_(high) += (to - from) / 2;
            return;
        }
        const Index token = ask(middle->second);
        search(from, low, middle->first, token);
        search(middle->first, token, to, high);
    }

    Picks picks_;
    bool text_only_;
    VectorXd lengths_, seen_;
};

/// Answers about tokens that any of his seeds picks.
Answers picked(const MatrixXd& logits, bool text_only, const Blur& blur) {
    Answers answers{Known::most, {}, {}, 0};
    for (Index j = 0; j < logits.cols(); ++j) {
        const Boundaries found(logits.col(j), text_only);
        const VectorXd values = log_probabilities(logits.col(j));
        for (Index i = 0; i < logits.rows(); ++i) {
            if (found.seen()(i) == 0) continue;
            const double length = found.lengths()(i);
            answers.entries.push_back(
                {i, j, text_only ? temperature * std::log(length) : blur(values(i))});
        }
        answers.count += found.count();
    }
    return answers;
}

/// The logarithms of frequencies, half a count being added to each.
Answers drawn(const MatrixXd& logits, std::size_t each, std::mt19937_64& random) {
    Answers answers{Known::columns, MatrixXd(logits.rows(), logits.cols()), {}, 0};
    for (Index j = 0; j < logits.cols(); ++j) {
        Picks picks(logits.col(j));
        VectorXd counts = VectorXd::Constant(logits.rows(), 0.5);
        for (std::size_t i = 0; i < each; ++i) ++counts(picks(random()));
        answers.logits.col(j) = temperature * counts.array().log();
        answers.count += picks.count();
    }
    return answers;
}

}  // namespace

Blur blur_named(const std::string& name, std::mt19937_64& random) {
    if (name == "exact") return [](double value) { return value; };
    if (name == "float16") {
        return [](double value) {
            int exponent = 0;
            const double part = std::frexp(value, &exponent);
            return std::ldexp(std::nearbyint(std::ldexp(part, 11)), exponent - 11);
        };
    }
    if (const auto decimals = number_after("decimals-", name)) {
        const double unit = std::pow(10, *decimals);
        return [unit](double value) { return std::nearbyint(value * unit) / unit; };
    }
    if (const auto deviation = number_after("noise-", name)) {
        return [&random, noise = std::normal_distribution<double>(0, *deviation)](
                   double value) mutable { return value + noise(random); };
    }
    throw BadInput("'" + name + "': expected exact, float16, decimals-D or noise-S");
}

Answers answers_of(const MatrixXd& logits, const std::string& way, const Blur& blur,
                   std::mt19937_64& random) {
    if (way == "all") return all(logits, blur);
    if (way == "chosen") return picked(logits, false, blur);
    if (way == "text") return picked(logits, true, blur);
    if (const auto k = number_after("top-", way)) {
        return top(logits, static_cast<std::size_t>(*k), blur);
    }
    const auto k = number_after("bias-", way);
    if (k && *k >= 2) return biased(logits, static_cast<Index>(*k), blur);
    if (const auto each = number_after("drawn-", way)) {
        return drawn(logits, static_cast<std::size_t>(*each), random);
    }
    throw BadInput("'" + way + "': expected all, top-K, bias-K, chosen, text or drawn-N");
}

}  // namespace slip::outputs
