// INTEG-4 and INTEG-10 by numbers: ten million wrong replies of each kind, to a check small enough
// that many of them pass. The count of those accepted must be the exact probability, and the same
// comparison refuses checks with a fault. Arithmetic is that of the machine, tied to the reference.
// test: alone, calculates
// links: slip_reference
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "reference/integrity.hpp"

namespace slip::reference {
namespace {

constexpr std::array<unsigned, 3> primes{3, 5, 7};
constexpr std::size_t h = primes.size();
constexpr std::size_t kappa = 2, M = 2, n = 2, most_columns = 2;
constexpr std::size_t all_replies = 10'000'000;  // of each kind, for the check itself
constexpr std::size_t few_replies = 200'000;     // for a check with a fault

/// SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    unsigned below(unsigned bound) {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return static_cast<unsigned>(((z ^ (z >> 31)) >> 32) * bound >> 32);
    }

private:
    std::uint64_t state_;
};

constexpr auto remainders = [] {
    std::array<std::array<std::uint8_t, 256>, h> table{};
    for (std::size_t p = 0; p < h; ++p) {
        for (unsigned v = 0; v < 256; ++v) table[p][v] = static_cast<std::uint8_t>(v % primes[p]);
    }
    return table;
}();

/// v mod p, for the small sums of this file.
inline unsigned residue(std::size_t plane, unsigned v) { return remainders[plane][v]; }

template <std::size_t length>
using Column = std::array<unsigned, length>;

/// One message, its honest reply y = W_D x~ and the reply that comes.
struct Exchange {
    std::size_t columns = 1;
    std::array<std::array<Column<n>, M>, h> W_D{};           // [plane][row]
    std::array<std::array<Column<n>, most_columns>, h> x{};  // [plane][column]
    std::array<std::array<Column<M>, most_columns>, h> honest{};
    std::array<std::array<Column<M>, most_columns>, h> reply{};
};

using Combinations = std::array<std::array<Column<M>, kappa>, h>;  // w: [plane][a]

void draw_message(Random& random, Exchange& exchange) {
    for (std::size_t p = 0; p < h; ++p) {
        for (std::size_t c = 0; c < exchange.columns; ++c) {
            for (unsigned& entry : exchange.x[p][c]) entry = random.below(primes[p]);
            for (std::size_t i = 0; i < M; ++i) {
                unsigned sum = 0;
                for (std::size_t j = 0; j < n; ++j) {
                    sum += exchange.W_D[p][i][j] * exchange.x[p][c][j];
                }
                exchange.honest[p][c][i] = residue(p, sum);
            }
        }
    }
    exchange.reply = exchange.honest;
}

/// Messages to choose from, each with the same W_D.
using Messages = std::vector<Exchange>;

Exchange draw_weights(Random& random, std::size_t columns) {
    Exchange exchange;
    exchange.columns = columns;
    for (std::size_t p = 0; p < h; ++p) {
        for (Column<n>& row : exchange.W_D[p]) {
            for (unsigned& entry : row) entry = random.below(primes[p]);
        }
    }
    return exchange;
}

Messages draw_messages(Random& random, std::size_t columns) {
    Messages messages(2048, draw_weights(random, columns));
    for (Exchange& message : messages) draw_message(random, message);
    return messages;
}

const Exchange& any_of(Random& random, const Messages& messages) {
    return messages[random.below(static_cast<unsigned>(messages.size()))];
}

// ---- The check, and its faults

struct Fault {
    bool shared_w = false;  // every plane has the w of plane 0
    bool no_zero = false;   // entries of w from 1..p-1
    std::size_t combinations = kappa;
    std::size_t planes = h;  // the others are not checked
    bool first_column = false;
    bool sum_of_columns = false;
};

inline Combinations draw(Random& random, const Fault& fault) {
    Combinations w{};
    for (std::size_t a = 0; a < kappa; ++a) {
        for (std::size_t i = 0; i < M; ++i) {
            const unsigned entry = random.below(3 * 5 * 7);  // uniform in every plane, by CRT
            for (std::size_t p = 0; p < h; ++p) {
                w[p][a][i] = fault.no_zero ? 1 + random.below(primes[p] - 1) : residue(p, entry);
            }
        }
    }
    if (fault.shared_w) w.fill(w[0]);
    return w;
}

/// w y - (w W_D) x~ in F_p, for one combination and one column.
inline unsigned difference(const Exchange& exchange, std::size_t p, const Column<M>& w,
                           std::size_t c) {
    unsigned from_reply = 0;
    for (std::size_t i = 0; i < M; ++i) from_reply += w[i] * exchange.reply[p][c][i];
    unsigned expected = 0;
    for (std::size_t j = 0; j < n; ++j) {
        unsigned s = 0;
        for (std::size_t i = 0; i < M; ++i) s += w[i] * exchange.W_D[p][i][j];
        expected += residue(p, s) * exchange.x[p][c][j];
    }
    return residue(p, from_reply + primes[p] - residue(p, expected));
}

/// INTEG-3, with its faults if it has any.
inline bool accepts(const Exchange& exchange, const Combinations& w, const Fault& fault) {
    unsigned wrong = 0;
    for (std::size_t p = 0; p < fault.planes; ++p) {
        for (std::size_t a = 0; a < fault.combinations; ++a) {
            unsigned sum = 0;
            const std::size_t columns = fault.first_column ? 1 : exchange.columns;
            for (std::size_t c = 0; c < columns; ++c) {
                const unsigned d = difference(exchange, p, w[p][a], c);
                sum += d;
                if (!fault.sum_of_columns) wrong |= d;
            }
            if (fault.sum_of_columns) wrong |= residue(p, sum);
        }
    }
    return wrong == 0;
}

// ---- The exact probability

/// The rank over F_p of reply - honest: M = 2 rows and at most two columns.
inline std::size_t rank_of_error(const Exchange& exchange, std::size_t p) {
    std::array<Column<M>, most_columns> E{};
    bool zero = true;
    for (std::size_t c = 0; c < exchange.columns; ++c) {
        for (std::size_t i = 0; i < M; ++i) {
            E[c][i] = residue(p, exchange.reply[p][c][i] + primes[p] - exchange.honest[p][c][i]);
            zero = zero && E[c][i] == 0;
        }
    }
    if (zero) return 0;
    return residue(p, E[0][0] * E[1][1]) == residue(p, E[0][1] * E[1][0]) ? 1 : 2;
}

/// INTEG-4: prod_p p^(-kappa rank_p); 1 for the honest reply.
inline double exact_probability(const Exchange& exchange) {
    double inverse = 1;
    for (std::size_t p = 0; p < h; ++p) {
        const std::size_t rank = rank_of_error(exchange, p);
        for (std::size_t i = 0; i < kappa * rank; ++i) inverse *= primes[p];
    }
    return 1 / inverse;
}

// ---- Kinds of wrong replies

struct Kind {
    const char* name;
    std::size_t columns;
    /// Changes the reply. The errors do not depend on w.
    void (*spoil)(Random&, const Messages&, Exchange&);
};

/// As the name of a test shows it.
void PrintTo(const Kind& kind, std::ostream* os) { *os << kind.name; }

void add_error(Random& random, Exchange& exchange, std::size_t p, std::size_t c) {
    for (unsigned& entry : exchange.reply[p][c]) {
        entry = residue(p, entry + random.below(primes[p]));
    }
}

void one_byte(Random& random, const Messages&, Exchange& exchange) {
    const std::size_t p = random.below(h);
    unsigned& entry = exchange.reply[p][random.below(2)][random.below(M)];
    entry = residue(p, entry + 1 + random.below(primes[p] - 1));
}

void one_prime(Random& random, const Messages&, Exchange& exchange) {
    const std::size_t p = random.below(h);
    for (std::size_t c = 0; c < 2; ++c) add_error(random, exchange, p, c);
}

void several_primes(Random& random, const Messages&, Exchange& exchange) {
    for (std::size_t p = 0; p < h; ++p) {
        exchange.reply[p][0][0] = residue(p, exchange.reply[p][0][0] + 1);
    }
    if (random.below(2) == 0) add_error(random, exchange, random.below(h), 0);
}

/// E = [d, k e_1] with d_2 != 0 and k != 0: rank 2.
void rank_two(Random& random, const Messages&, Exchange& exchange) {
    const std::size_t p = random.below(h);
    auto& reply = exchange.reply[p];
    reply[0][0] = residue(p, reply[0][0] + random.below(primes[p]));
    reply[0][1] = residue(p, reply[0][1] + 1 + random.below(primes[p] - 1));
    reply[1][0] = residue(p, reply[1][0] + 1 + random.below(primes[p] - 1));
}

void replayed(Random& random, const Messages& messages, Exchange& exchange) {
    exchange.reply = any_of(random, messages).honest;
}

/// The planes of 5 and 7 are exchanged. (A byte that is not canonical then is refused before.)
void swapped_planes(Random&, const Messages&, Exchange& exchange) {
    std::swap(exchange.reply[1], exchange.reply[2]);
}

void swapped_columns(Random&, const Messages&, Exchange& exchange) {
    for (auto& plane : exchange.reply) std::swap(plane[0], plane[1]);
}

const Kind kinds[] = {
    {"one byte", 2, one_byte},
    {"one prime only", 2, one_prime},
    {"several primes", 1, several_primes},
    {"rank 2 over two columns", 2, rank_two},
    {"the reply to another message", 1, replayed},
    {"swapped planes", 1, swapped_planes},
    {"swapped columns", 2, swapped_columns},
};

bool is_canonical(const Exchange& exchange) {
    for (std::size_t p = 0; p < h; ++p) {
        for (std::size_t c = 0; c < exchange.columns; ++c) {
            for (unsigned entry : exchange.reply[p][c]) {
                if (entry >= primes[p]) return false;
            }
        }
    }
    return true;
}

/// A wrong, canonical reply to some message.
void draw_wrong(Random& random, const Kind& kind, const Messages& messages, Exchange& exchange) {
    do {
        exchange = any_of(random, messages);
        kind.spoil(random, messages, exchange);
    } while (!is_canonical(exchange) || exchange.reply == exchange.honest);
}

struct Count {
    double accepted = 0, expected = 0, variance = 0;

    /// Within six standard deviations.
    bool matches() const { return std::abs(accepted - expected) <= 6 * std::sqrt(variance); }
};

/// Independent combinations for each reply.
Count count(const Kind& kind, std::size_t replies, const Fault& fault = {}) {
    Random random(20261125);
    const Messages messages = draw_messages(random, kind.columns);
    Exchange exchange;
    Count result;
    for (std::size_t reply = 0; reply < replies; ++reply) {
        draw_wrong(random, kind, messages, exchange);
        if (accepts(exchange, draw(random, fault), fault)) ++result.accepted;
        const double probability = exact_probability(exchange);
        result.expected += probability;
        result.variance += probability * (1 - probability);
    }
    return result;
}

class WrongReplies : public ::testing::TestWithParam<Kind> {};

TEST_P(WrongReplies, INTEG_4_ten_million_pass_as_often_as_the_exact_probability_says) {
    const Count result = count(GetParam(), all_replies);
    RecordProperty("accepted", std::to_string(result.accepted));
    RecordProperty("expected", std::to_string(result.expected));
    EXPECT_TRUE(result.matches()) << result.accepted << " accepted, " << result.expected
                                  << " expected";
    EXPECT_GT(result.expected, 100) << "else nothing could be told";
    EXPECT_LE(result.expected, all_replies / std::pow(primes[0], kappa)) << "p_min^-kappa";
}

INSTANTIATE_TEST_SUITE_P(Kinds, WrongReplies, ::testing::ValuesIn(kinds), [](const auto& instance) {
    std::string name = instance.param.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
});

/// A David who adapts: each message of a life, with one w, he errs mod 3 in another direction.
/// With M = kappa = 2, w = 0 is blind to all 4 directions and each of the 32 w of rank 1 to one.
Count fooled_lives(std::size_t lives, std::size_t tries, const Fault& fault = {}) {
    constexpr std::array<Column<M>, 4> directions{{{1, 0}, {0, 1}, {1, 1}, {1, 2}}};
    Random random(20261126);
    const Messages messages = draw_messages(random, 1);
    Count result;
    for (std::size_t life = 0; life < lives; ++life) {
        const Combinations w = draw(random, fault);
        const std::size_t first = random.below(4);
        bool fooled = false;
        for (std::size_t i = 0; i < tries && !fooled; ++i) {
            Exchange exchange = any_of(random, messages);
            const Column<M>& d = directions[(first + i) % 4];
            for (std::size_t row = 0; row < M; ++row) {
                exchange.reply[0][0][row] = residue(0, exchange.reply[0][0][row] + d[row]);
            }
            fooled = accepts(exchange, w, fault);
        }
        if (fooled) ++result.accepted;
    }
    const double probability = (1 + 8 * static_cast<double>(tries)) / 81;
    result.expected = static_cast<double>(lives) * probability;
    result.variance = result.expected * (1 - probability);
    return result;
}

TEST(WrongReplies, INTEG_10_an_adaptive_david_and_one_w_for_life) {
    for (std::size_t tries = 1; tries <= 4; ++tries) {
        const std::size_t lives = all_replies / 8;  // 10^7 replies in all
        const Count result = fooled_lives(lives, tries);
        EXPECT_TRUE(result.matches()) << result.accepted << " of " << result.expected;
        const double bound = static_cast<double>(lives * tries) / 9;  // Q p_min^-kappa
        EXPECT_LE(result.accepted, bound + 6 * std::sqrt(result.variance));
    }
}

// ---- The same comparison refuses faults

bool notices(const Fault& fault) {
    bool all_match = fooled_lives(few_replies, 3, fault).matches();
    for (const Kind& kind : kinds)
        all_match = all_match && count(kind, few_replies, fault).matches();
    return !all_match;
}

TEST(FaultyChecks, INTEG_4_the_comparison_is_content_with_the_check_itself) {
    EXPECT_FALSE(notices({}));
}

TEST(FaultyChecks, INTEG_1_every_plane_has_combinations_of_its_own) {
    Fault fault;
    fault.shared_w = true;
    EXPECT_FALSE(count(kinds[2], few_replies, fault).matches()) << "errors in several primes";
    EXPECT_TRUE(notices(fault));
}

TEST(FaultyChecks, INTEG_1_zero_is_drawn_as_often_as_other_residues) {
    Fault fault;
    fault.no_zero = true;
    EXPECT_EQ(count(kinds[0], few_replies, fault).accepted, 0) << "one wrong byte never passes,";
    EXPECT_GT(count(kinds[1], few_replies, fault).accepted,
              count(kinds[1], few_replies).expected / 10);
    EXPECT_TRUE(notices(fault)) << "but others do, more often";
}

TEST(FaultyChecks, INTEG_3_a_combination_left_out) {
    Fault fault;
    fault.combinations = kappa - 1;
    for (const Kind& kind : kinds) EXPECT_FALSE(count(kind, few_replies, fault).matches());
}

TEST(FaultyChecks, INTEG_3_a_prime_left_out) {
    Fault fault;
    fault.planes = h - 1;
    EXPECT_FALSE(count(kinds[1], few_replies, fault).matches()) << "errors in one prime only";
    EXPECT_TRUE(notices(fault));
}

TEST(FaultyChecks, INTEG_3_columns_left_out_or_added_up) {
    Fault first;
    first.first_column = true;
    EXPECT_FALSE(count(kinds[0], few_replies, first).matches());
    Fault sum;
    sum.sum_of_columns = true;
    EXPECT_EQ(count(kinds[6], few_replies, sum).accepted, few_replies) << "E = [d, -d]";
}

// ---- This file against the reference

/// The M x columns or n x columns matrix mod L with the given planes.
template <class Plane>
Matrix joined(const Planes& planes, const std::array<Plane, h>& parts, std::size_t columns) {
    Matrix X(parts[0][0].size(), columns);
    for (std::size_t i = 0; i < X.rows(); ++i) {
        for (std::size_t c = 0; c < columns; ++c) {
            Vector residues;
            for (std::size_t p = 0; p < h; ++p) residues.emplace_back(parts[p][c][i]);
            X(i, c) = planes.join(residues);
        }
    }
    return X;
}

CheckSecret secret_of(const Combinations& w, const Matrix& W_D) {
    CheckSecret secret;
    for (std::size_t p = 0; p < h; ++p) {
        Matrix combinations(M, kappa);
        for (std::size_t a = 0; a < kappa; ++a) {
            for (std::size_t i = 0; i < M; ++i) combinations(i, a) = w[p][a][i];
        }
        secret.push_back({combinations, precompute_s(primes[p], combinations, W_D)});
    }
    return secret;
}

TEST(SmallCheck, INTEG_3_its_verdict_and_probability_are_those_of_the_reference) {
    const Planes planes({3, 5, 7});
    Random random(7);
    int accepted = 0;
    for (const Kind& kind : kinds) {
        const Messages messages = draw_messages(random, kind.columns);
        Exchange exchange;
        const Matrix W_D = joined(planes, messages[0].W_D, M).transpose();  // rows, not columns
        for (int repetition = 0; repetition < 150; ++repetition) {
            draw_wrong(random, kind, messages, exchange);
            const Combinations w = draw(random, {});
            const Matrix x = joined(planes, exchange.x, kind.columns);
            const Matrix reply = joined(planes, exchange.reply, kind.columns);
            const Matrix honest = joined(planes, exchange.honest, kind.columns);
            const CheckSecret secret = secret_of(w, W_D);
            ASSERT_TRUE(accepts(planes, secret, x, honest));
            const bool verdict = accepts(exchange, w, {});
            ASSERT_EQ(accepts(planes, secret, x, reply), verdict);
            const Matrix E = planes.ring().embed(reply - honest);
            ASSERT_NEAR(exact_probability(exchange),
                        acceptance_probability(planes, E, kappa).convert_to<double>(), 1e-12);
            if (verdict) ++accepted;
        }
    }
    EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace slip::reference
