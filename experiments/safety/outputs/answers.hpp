// What clients are shown of a state, and what it takes them to see it.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "experiments/safety/outputs/head.hpp"

namespace slip::outputs {

/// What the server does to each log-probability before it shows it.
using Blur = std::function<double(double)>;
/// "exact", "float16", "decimals-D" or "noise-S", S being the standard deviation. Throws BadInput
/// for another name. `random` outlives the result.
Blur blur_named(const std::string& name, std::mt19937_64& random);

/// A number that the client knows of token `row` in state `column`.
struct Entry {
    Eigen::Index row = 0, column = 0;
    double value = 0;
};

enum class Known { columns, likeliest, most };

/// Logits or log-probabilities: a column is known up to a constant.
struct Answers {
    Known known = Known::columns;
    Eigen::MatrixXd logits;      ///< vocabulary x states, of whole columns; or
    std::vector<Entry> entries;  ///< the likeliest, or most, of each column
    double count = 0;            ///< answers that it took, of one token each
};

/// `way`: "all" log-probabilities; the K likeliest, "top-K"; all of them by a logit bias that lifts
/// other tokens among the K likeliest, "bias-K", K > 1; the log-probability of the token that a
/// seed of the client's choosing picks, "chosen"; that token alone, "text"; tokens picked by seeds
/// that the client does not know, "drawn-N", N of them per state. Throws BadInput for another name.
Answers answers_of(const Eigen::MatrixXd& logits, const std::string& way, const Blur& blur,
                   std::mt19937_64& random);

}  // namespace slip::outputs
