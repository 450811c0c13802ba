// The reference's definitions on every input of small sizes: samplers, transcripts, the integrity
// check over the life of a split, David's state machine. Each count is compared with the one that
// the specification states, and each check must turn red on a mutant of what it counts.
//
// Exit status: 0 every count is right and every mutant found, 1 otherwise.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/insecure/composite_modulus.hpp"
#include "reference/integrity.hpp"
#include "reference/masking.hpp"
#include "reference/randomness.hpp"
#include "reference/session.hpp"
#include "reference/wire.hpp"

namespace slip::reference {
namespace {

int failures = 0;

void expect(bool condition, const std::string& what) {
    if (condition) return;
    std::cout << "FAILED " << what << '\n';
    ++failures;
}

/// A check of a mutant: it has to fail.
void expect_caught(bool holds, const std::string& mutant) {
    expect(!holds, "the mutant is not found: " + mutant);
}

// --- samplers (RAND-2, RAND-3) -------------------------------------------------------------------

/// What a sampler makes of one word: a residue, or nothing.
using OneWord = std::function<std::optional<unsigned>(unsigned word, std::size_t bytes)>;

Bytes little_endian_bytes(unsigned word, std::size_t bytes) {
    Bytes result;
    for (std::size_t i = 0; i < bytes; ++i) {
        result.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
    }
    return result;
}

/// The reference's sampler on one word. A word 0, which every modulus accepts, follows it.
OneWord reference_sampler(const Sampler& sampler) {
    return [&sampler](unsigned word, std::size_t bytes) -> std::optional<unsigned> {
        Bytes stream = little_endian_bytes(word, bytes);
        stream.resize(2 * bytes);
        FixedBytes source(stream);
        const Sample sample = sampler.draw(source, 1);
        if (!sample.rejected.empty()) return std::nullopt;
        return static_cast<unsigned>(sample.residues[0]);
    };
}

/// Whether each residue modulo L is the image of equally many words, 2^(8 w - e).
bool each_residue_equally_often(unsigned L, std::size_t bytes, std::size_t bits,
                                const OneWord& sample) {
    std::vector<unsigned> counts(L);
    for (unsigned word = 0; word < 1U << (8 * bytes); ++word) {
        const auto residue = sample(word, bytes);
        if (residue) ++counts.at(*residue);
    }
    const unsigned expected = 1U << (8 * bytes - bits);
    return std::all_of(counts.begin(), counts.end(),
                       [&](unsigned count) { return count == expected; });
}

std::vector<unsigned> small_moduli() {
    std::vector<unsigned> moduli;
    for (unsigned L = 2; L <= 256; ++L) moduli.push_back(L);
    for (unsigned L : {257U, 511U, 512U, 513U, 1000U, 2047U, 2048U, 2049U, 4093U, 4095U, 4096U}) {
        moduli.push_back(L);
    }
    return moduli;
}

void check_samplers() {
    std::size_t words = 0;
    for (unsigned L : small_moduli()) {
        const Sampler sampler{Ring(L)};
        words += std::size_t{1} << (8 * sampler.word_bytes());
        expect(each_residue_equally_often(L, sampler.word_bytes(), sampler.bits(),
                                          reference_sampler(sampler)),
               "RAND-2: residues modulo " + std::to_string(L) + " are not equally often");
    }
    const Sampler seven{Ring(7)};
    const OneWord reduces = [](unsigned word, std::size_t) {
        return std::optional((word & 7) % 7);
    };
    expect_caught(each_residue_equally_often(7, seven.word_bytes(), seven.bits(), reduces),
                  "RAND-3: reduction in place of rejection");
    std::cout << "samplers: " << words << " words, " << small_moduli().size()
              << " moduli of at most 12 bits\n";
}

/// RAND-3: of two accepted words all pairs of residues are equally often.
void check_sampler_pairs() {
    for (unsigned L : {2U, 3U, 5U, 129U, 200U, 255U}) {
        const Sampler sampler{Ring(L)};
        std::map<std::pair<Integer, Integer>, unsigned> counts;
        for (unsigned words = 0; words < 1U << 16; ++words) {
            Bytes stream = little_endian_bytes(words, 2);
            stream.resize(4);
            FixedBytes source(stream);
            const Sample sample = sampler.draw(source, 2);
            if (sample.rejected.empty()) ++counts[{sample.residues[0], sample.residues[1]}];
        }
        const unsigned each = 1U << (16 - 2 * sampler.bits());
        const bool uniform = std::all_of(counts.begin(), counts.end(),
                                         [&](const auto& c) { return c.second == each; });
        expect(uniform && counts.size() == std::size_t{L} * L,
               "RAND-3: pairs modulo " + std::to_string(L) + " are not equally often");
    }
}

// --- transcripts (MASK-2, THREAT-1) --------------------------------------------------------------

constexpr unsigned tiny = 3;  // L

/// The reference's operations modulo 3 on single elements, as tables.
struct Tables {
    unsigned masked[tiny][tiny];    ///< [q][r]
    unsigned product[tiny][tiny];   ///< [W_D][x]
    unsigned unmasked[tiny][tiny];  ///< [y][c], modulo 3
};

Tables tables() {
    const Ring ring(tiny);
    Tables result{};
    for (unsigned a = 0; a < tiny; ++a) {
        for (unsigned b = 0; b < tiny; ++b) {
            result.masked[a][b] = static_cast<unsigned>(mask(ring, {a}, {b})[0]);
            result.product[a][b] = static_cast<unsigned>(cancellation(ring, Matrix{{a}}, {b})[0]);
            const Integer lifted = unmask(ring, {a}, {b})[0];
            result.unmasked[a][b] = static_cast<unsigned>((lifted + tiny) % tiny);
        }
    }
    return result;
}

/// Charlie's program: what he does with an output, before the next message.
using Activation = std::array<unsigned, tiny>;

/// David's strategy: what he adds to his first two answers, given all he has seen.
struct Strategy {
    std::array<unsigned, tiny> first;
    std::array<unsigned, tiny * tiny> second;
};

struct Party {
    unsigned weight;
    unsigned secret;
    Activation activation;
};

/// The three messages that David sees, as one number below 27, for three masks.
unsigned view(const Tables& t, const Party& charlie, const Strategy& david,
              const std::array<unsigned, 3>& r) {
    const unsigned x1 = t.masked[charlie.secret][r[0]];
    const unsigned y1 = (t.product[charlie.weight][x1] + david.first[x1]) % tiny;
    const unsigned q2 = charlie.activation[t.unmasked[y1][t.product[charlie.weight][r[0]]]];
    const unsigned x2 = t.masked[q2][r[1]];
    const unsigned y2 = (t.product[charlie.weight][x2] + david.second[x1 * tiny + x2]) % tiny;
    const unsigned q3 = charlie.activation[t.unmasked[y2][t.product[charlie.weight][r[1]]]];
    const unsigned x3 = t.masked[q3][r[2]];
    return (x1 * tiny + x2) * tiny + x3;
}

/// Whether every view occurs for exactly one choice of the three masks.
bool view_uniform(const Tables& t, const Party& charlie, const Strategy& david, bool repeat) {
    std::uint32_t seen = 0;
    for (unsigned r = 0; r < 27; ++r) {
        const unsigned third = repeat ? r / 3 % 3 : r % 3;  // the mutant takes a mask twice
        seen |= 1U << view(t, charlie, david, {r / 9, r / 3 % 3, third});
    }
    return seen == (1U << 27) - 1;
}

template <std::size_t N>
std::array<unsigned, N> digits(unsigned number) {
    std::array<unsigned, N> result{};
    for (unsigned& digit : result) {
        digit = number % tiny;
        number /= tiny;
    }
    return result;
}

void check_transcripts() {
    const Tables t = tables();
    const std::vector<Activation> activations = {{0, 1, 2}, {0, 2, 1}, {1, 1, 0}, {2, 0, 0}};
    std::size_t runs = 0;
    bool uniform = true;
    for (unsigned first = 0; first < 27; ++first) {
        for (unsigned second = 0; second < 19683; ++second) {
            const Strategy david{digits<3>(first), digits<9>(second)};
            // Secrets and weights all; of Charlie's programs one a strategy, in turn.
            const Activation& activation = activations[(first + second) % activations.size()];
            for (unsigned secret = 0; secret < tiny; ++secret) {
                for (unsigned weight = 0; weight < tiny; ++weight) {
                    uniform &= view_uniform(t, {weight, secret, activation}, david, false);
                    ++runs;
                }
            }
        }
    }
    expect(uniform, "THREAT-1: David's view of three messages is not uniform");
    const Strategy honest{};
    expect_caught(view_uniform(t, {1, 2, activations[0]}, honest, true),
                  "MASK-5: a mask that is used twice");
    std::cout << "transcripts: " << runs
              << " runs of all 27 triples of masks, all strategies of an "
              << "adaptive David, modulo 3\n";
}

// --- soundness (INTEG-2, INTEG-3, INTEG-4) -------------------------------------------------------

/// All vectors of Z_L^n.
std::vector<Vector> all_vectors(const Integer& L, std::size_t n) {
    std::vector<Vector> result = {{}};
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<Vector> longer;
        for (const Vector& v : result) {
            for (Integer a = 0; a < L; ++a) {
                longer.push_back(v);
                longer.back().push_back(a);
            }
        }
        result = std::move(longer);
    }
    return result;
}

/// All matrices over Z_L of a shape.
std::vector<Matrix> all_matrices(const Integer& L, std::size_t rows, std::size_t columns) {
    std::vector<Matrix> result;
    for (const Vector& entries : all_vectors(L, rows * columns)) {
        Matrix matrix(rows, columns);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            matrix(i / columns, i % columns) = entries[i];
        }
        result.push_back(std::move(matrix));
    }
    return result;
}

/// w, by planes: M x kappa in each.
using Combinations = std::vector<Matrix>;

/// Every w.
std::vector<Combinations> all_combinations(const Planes& planes, std::size_t M, std::size_t kappa) {
    std::vector<Combinations> result = {{}};
    for (const Integer& p : planes.primes()) {
        std::vector<Combinations> longer;
        for (const Combinations& before : result) {
            for (const Matrix& w : all_matrices(p, M, kappa)) {
                longer.push_back(before);
                longer.back().push_back(w);
            }
        }
        result = std::move(longer);
    }
    return result;
}

/// INTEG-2. The secret of a group with the weights W, which uses the first rows of w.
CheckSecret secret_of(const Planes& planes, const Combinations& w, const Matrix& W) {
    CheckSecret secret;
    for (std::size_t p = 0; p < planes.count(); ++p) {
        Matrix first_rows(W.rows(), w[p].cols());
        for (std::size_t i = 0; i < W.rows(); ++i) {
            for (std::size_t a = 0; a < w[p].cols(); ++a) first_rows(i, a) = w[p](i, a);
        }
        secret.push_back({first_rows, precompute_s(planes.primes()[p], first_rows, W)});
    }
    return secret;
}

/// A check of a reply y to a message x.
using Check =
    std::function<bool(const Planes&, const CheckSecret&, const Matrix& x, const Matrix& y)>;

bool reference_check(const Planes& planes, const CheckSecret& secret, const Matrix& x,
                     const Matrix& y) {
    return accepts(planes, secret, x, y);
}

/// A mutant: it looks at the first plane only.
bool one_plane_check(const Planes& planes, const CheckSecret& secret, const Matrix& x,
                     const Matrix& y) {
    return accepts(planes.primes()[0], secret[0], planes.plane(0, x), planes.plane(0, y));
}

/// Whether each error of b columns is accepted by just as many w as INTEG-4 says; adds the number
/// of errors.
bool accepted_exactly(const Planes& planes, std::size_t kappa, std::size_t b, const Check& check,
                      std::size_t& errors) {
    const Ring& ring = planes.ring();
    const Matrix W{{1, -2, 3}, {0, 4, 1}};
    const Matrix x = Matrix::from_columns(3, std::vector<Vector>(b, {1, 0, ring.modulus() - 1}));
    const std::vector<Combinations> all = all_combinations(planes, W.rows(), kappa);
    std::vector<CheckSecret> secrets;
    for (const Combinations& w : all) secrets.push_back(secret_of(planes, w, W));
    bool exact = true;
    for (const Matrix& E : all_matrices(ring.modulus(), W.rows(), b)) {
        const Matrix y = ring.embed(W * x + E);
        const auto count =
            std::count_if(secrets.begin(), secrets.end(),
                          [&](const CheckSecret& secret) { return check(planes, secret, x, y); });
        exact &= Rational(count) == acceptance_probability(planes, E, kappa) * secrets.size();
        ++errors;
    }
    return exact;
}

void check_soundness() {
    struct Size {
        std::vector<Integer> primes;
        std::size_t kappa;
        std::size_t columns;
    };
    const std::vector<Size> sizes = {{{2}, 1, 1},    {{2}, 2, 2},    {{3}, 1, 1},
                                     {{3}, 2, 1},    {{5}, 1, 1},    {{2, 3}, 1, 1},
                                     {{2, 3}, 2, 1}, {{2, 3}, 1, 2}, {{3, 5}, 1, 1}};
    std::size_t errors = 0;
    for (const Size& size : sizes) {
        const Planes planes(size.primes);
        expect(accepted_exactly(planes, size.kappa, size.columns, reference_check, errors),
               "INTEG-4: secrets that accept, modulo " + planes.ring().modulus().str());
    }
    std::size_t ignored = 0;
    expect_caught(accepted_exactly(Planes({2, 3}), 1, 1, one_plane_check, ignored),
                  "INTEG-3: a check of one plane");
    std::cout << "soundness: " << errors << " errors modulo 2, 3, 5, 6 and 15, accepted by "
              << "exactly the product of p^-(kappa rank)\n";
}

/// E-2: over Z_2^e the worst error is accepted by exactly half of all rho.
void check_powers_of_two() {
    const Matrix W{{1, -2, 3}, {0, 4, 1}};
    for (unsigned e = 1; e <= 5; ++e) {
        const Integer L = 1U << e;
        const Ring ring(L);
        const Vector x = {1, 0, L - 1};
        const Vector y = ring.add(ring.multiply(W, x), insecure::most_accepted_error(L, 2));
        unsigned count = 0;
        for (const Vector& rho : all_vectors(L, 2)) {
            count += insecure::accepts_mod_any(L, rho, W, x, y);
        }
        expect(2 * count == L * L, "E-2: acceptance modulo 2^" + std::to_string(e));
    }
    std::cout << "powers of two: acceptance exactly 1/2 for e = 1 to 5\n";
}

// --- the life of a split (INTEG-10) --------------------------------------------------------------

/// Planes of 3 and 5, one combination in each, two groups of two rows and one row.
const ParameterSet small_set{"small", 9, Planes({3, 5}), 1};
const std::vector<Matrix> small_weights = {Matrix{{1, -2}, {0, 4}}, Matrix{{3, 1}}};
constexpr std::size_t secrets_of_small_set = 225;  // (3 * 5)^2

/// The w that accept an error, one bit each.
using Accepting = std::bitset<secrets_of_small_set>;

/// The sets of w that accept some nonzero error of the first group, each with one of its errors.
/// Fails unless they depend on the error alone, whatever the message is.
std::map<std::string, Matrix> accepting_sets(const std::vector<Combinations>& all,
                                             const Check& check) {
    const Ring& ring = small_set.ring();
    const Matrix& W = small_weights[0];
    std::map<std::string, Matrix> result;
    for (const Matrix& E : all_matrices(ring.modulus(), 2, 1)) {
        if (E == Matrix(2, 1)) continue;
        std::array<Accepting, 2> accepting;
        for (std::size_t message = 0; message < 2; ++message) {
            const Matrix x{{7 * message}, {14}};
            const Matrix y = ring.embed(W * x + E);
            for (std::size_t i = 0; i < all.size(); ++i) {
                accepting[message][i] =
                    check(small_set.planes, secret_of(small_set.planes, all[i], W), x, y);
            }
        }
        expect(accepting[0] == accepting[1], "INTEG-10: a verdict depends on the message");
        result.emplace(accepting[0].to_string(), E);
    }
    return result;
}

/// The most w that accept one of `wrong` wrong replies: over all that David may answer after so
/// many rejects.
std::size_t most_deceived(const std::map<std::string, Matrix>& sets, unsigned wrong,
                          const Accepting& before) {
    if (wrong == 0) return before.count();
    std::size_t most = 0;
    for (const auto& [accepting, error] : sets) {
        most = std::max(most, most_deceived(sets, wrong - 1, before | Accepting(accepting)));
    }
    return most;
}

bool within_the_bound(const std::map<std::string, Matrix>& sets) {
    for (unsigned wrong = 1; wrong <= 3; ++wrong) {
        // At most Q / 3 of all w; exactly Q lines through 0 in F_3^2: 2 Q + 1 of its 9 points.
        const std::size_t most = most_deceived(sets, wrong, {});
        if (3 * most > wrong * secrets_of_small_set) return false;
        if (9 * most != (2 * wrong + 1) * secrets_of_small_set) return false;
    }
    return true;
}

/// A session with a David whose replies for the first group are off by `error`; 0: he is right.
struct Peer {
    DavidSession david{small_set, {}, small_weights};
    InProcessChannel channel;
    CharlieSession charlie;

    Peer(const Combinations& w, const Matrix& error)
        : channel(david, [error](Bytes answer) { return tampered(answer, error); }),
          charlie(shapes_of(small_set, small_weights), {}, checks(w), masks(), channel) {
        charlie.hello();
    }

    static Bytes tampered(const Bytes& answer, const Matrix& error) {
        static const Shapes shapes = shapes_of(small_set, small_weights);
        Frame frame = decode(answer, shapes);
        auto* reply = std::get_if<Reply>(&frame);
        if (!reply || reply->group != 0) return answer;
        reply->residues = small_set.ring().embed(reply->residues + error);
        return encode(frame, shapes);
    }

    static std::vector<CheckSecret> checks(const Combinations& w) {
        std::vector<CheckSecret> result;
        for (const Matrix& W : small_weights) result.push_back(secret_of(small_set.planes, w, W));
        return result;
    }

    static Masks masks() {
        return prepare_masks(small_set, Key{1}, small_weights, {{1, 1}, {0, 1}, {1, 1}});
    }

    /// Whether Charlie accepts the answer for a group.
    bool accepted(std::uint32_t group) {
        try {
            charlie.apply(group, Matrix{{1}, {-1}});
            return true;
        } catch (const IntegrityError&) {
            return false;
        }
    }
};

/// Two sessions that are open at the same time with one w: a wrong reply in one of them changes
/// nothing in the other, and its verdict is that of the table.
void check_open_sessions(const std::vector<Combinations>& all,
                         const std::map<std::string, Matrix>& sets) {
    for (const auto& [accepting, error] : sets) {
        const Accepting expected(accepting);
        for (std::size_t i = 0; i < all.size(); ++i) {
            Peer wrong(all[i], error);
            Peer right(all[i], Matrix(2, 1));
            const bool before = wrong.accepted(1) && right.accepted(1);
            expect(before && wrong.accepted(0) == expected[i] && right.accepted(0),
                   "INTEG-10: a verdict of two sessions with one w");
            expect(wrong.charlie.dead() != expected[i], "INTEG-6: a session outlives a reject");
        }
    }
}

void check_life_of_a_split() {
    const std::vector<Combinations> all = all_combinations(small_set.planes, 2, 1);
    const auto sets = accepting_sets(all, reference_check);
    expect(sets.size() == 34, "INTEG-4: lines of F_3^2 and F_5^2 that accept some error");
    expect(within_the_bound(sets), "INTEG-10: more than Q p_min^-kappa of all w are deceived");
    expect_caught(within_the_bound(accepting_sets(all, one_plane_check)),
                  "INTEG-10: a check of one plane");
    check_open_sessions(all, sets);
    std::cout << "the life of a split: every w, every sequence of 3 wrong replies modulo 15; "
              << 2 * all.size() * sets.size() << " sessions, two at a time\n";
}

// --- David's states (SESS-1 to SESS-4) -----------------------------------------------------------

enum class Kind {
    hello,
    hello_version,
    hello_set,
    hello_digest,
    ready,
    apply_0,
    apply_1,
    apply_unknown_group,
    reply,
    refuse,
    abort,
    close,
    malformed,
};
constexpr unsigned kinds = 13;

const Digest digest = {1, 2, 3};
const std::vector<Matrix> weights = {Matrix{{1, -2}, {0, 127}}};

Bytes frame_of(Kind kind) {
    static const Shapes shapes = shapes_of(paper(), weights);
    const Matrix x{{6}, {7}};
    switch (kind) {
        case Kind::hello:
            return encode(Hello{protocol_version, 1, digest}, shapes);
        case Kind::hello_version:
            return encode(Hello{protocol_version + 1, 1, digest}, shapes);
        case Kind::hello_set:
            return encode(Hello{protocol_version, 2, digest}, shapes);
        case Kind::hello_digest:
            return encode(Hello{protocol_version, 1, {9}}, shapes);
        case Kind::ready:
            return encode(Ready{}, shapes);
        case Kind::apply_0:
            return encode(Apply{0, 0, x}, shapes);
        case Kind::apply_1:
            return encode(Apply{1, 0, x}, shapes);
        case Kind::apply_unknown_group: {
            Shapes wider = shapes;
            wider.groups[7] = wider.groups[0];
            return encode(Apply{0, 7, x}, wider);
        }
        case Kind::reply:
            return encode(Reply{0, 0, x}, shapes);
        case Kind::refuse:
            return encode(Refuse{RefuseReason::busy}, shapes);
        case Kind::abort:
            return encode(Abort{}, shapes);
        case Kind::close:
            return encode(Close{}, shapes);
        case Kind::malformed:
            break;
    }
    Bytes bytes = encode(Ready{}, shapes);
    bytes.push_back(0);
    return bytes;
}

/// What David sends: 'R' READY, 'Y' REPLY, '1' to '6' REFUSE with that reason, '-' nothing.
using Answer = char;

/// The table of spec/session.md, written a second time.
struct TableDavid {
    bool serving = false;
    bool dead = false;
    unsigned next = 0;

    Answer die(Answer answer) {
        dead = true;
        return answer;
    }

    Answer receive(Kind kind) {
        if (kind == Kind::malformed) return die('4');
        if (!serving) {
            switch (kind) {
                case Kind::hello:
                    serving = true;
                    return 'R';
                case Kind::hello_version:
                    return die('1');
                case Kind::hello_set:
                    return die('2');
                case Kind::hello_digest:
                    return die('3');
                default:
                    return die('5');
            }
        }
        switch (kind) {
            case Kind::close:
            case Kind::abort:
                return die('-');
            case Kind::apply_0:
            case Kind::apply_1: {
                const unsigned sequence = kind == Kind::apply_0 ? 0 : 1;
                if (sequence != next) return die('5');
                ++next;
                return 'Y';
            }
            case Kind::apply_unknown_group:
                return die(next == 0 ? '6' : '5');
            default:
                return die('5');
        }
    }
};

Answer answer_of(DavidSession& david, Kind kind) {
    static const Shapes shapes = shapes_of(paper(), weights);
    const auto bytes = david.receive(frame_of(kind));
    if (!bytes) return '-';
    const Frame frame = decode(*bytes, shapes);
    if (std::holds_alternative<Ready>(frame)) return 'R';
    if (std::holds_alternative<Reply>(frame)) return 'Y';
    return static_cast<char>('0' + static_cast<int>(std::get<Refuse>(frame).reason));
}

/// Plays every sequence of `length` more frames; the number of sequences on which David and the
/// table differ.
unsigned differences(const std::vector<Kind>& before, unsigned length, bool mutant,
                     std::size_t& sequences) {
    DavidSession david(paper(), digest, weights);
    TableDavid table;
    if (mutant) table.next = 1;  // the table of a David who counts from 1
    unsigned differ = 0;
    for (Kind kind : before) {
        if (david.dead() != table.dead) return 1;
        if (david.dead()) return 0;  // SESS-4: no later frame is received
        differ += answer_of(david, kind) != table.receive(kind);
    }
    ++sequences;
    differ += david.dead() != table.dead;
    if (differ > 0 || length == 0 || david.dead()) return differ;
    for (unsigned kind = 0; kind < kinds; ++kind) {
        std::vector<Kind> longer = before;
        longer.push_back(static_cast<Kind>(kind));
        differ += differences(longer, length - 1, mutant, sequences);
    }
    return differ;
}

void check_session() {
    std::size_t sequences = 0;
    expect(differences({}, 4, false, sequences) == 0,
           "SESS-1: the reference's David differs from the table of states");
    std::size_t ignored = 0;
    expect_caught(differences({}, 3, true, ignored) == 0, "SESS-3: a David who counts from 1");
    DavidSession dead(paper(), digest, weights);
    dead.receive(frame_of(Kind::malformed));
    for (unsigned kind = 0; kind < kinds; ++kind) {
        bool threw = false;
        try {
            dead.receive(frame_of(static_cast<Kind>(kind)));
        } catch (const SessionDeadError&) {
            threw = true;
        }
        expect(threw, "SESS-4: a dead session received a frame");
    }
    std::cout
        << "David's states: " << sequences
        << " sequences of at most 4 frames out of 13 (those that a dead session ends, once)\n";
}

}  // namespace
}  // namespace slip::reference

int main() {
    using namespace slip::reference;
    check_samplers();
    check_sampler_pairs();
    check_transcripts();
    check_soundness();
    check_powers_of_two();
    check_life_of_a_split();
    check_session();
    std::cout << failures << " failures\n";
    return failures == 0 ? 0 : 1;
}
