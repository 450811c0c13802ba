// The chapter offline on every input of small sizes: how often a wrong message passes when verdicts
// are ordered and when they are not, and what each view says. Each check must turn red on a mutant.
//
// Exit status: 0 every count is right and every mutant found, 1 otherwise.
#include "reference/offline.hpp"

#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reference/masking.hpp"

namespace slip::reference {
namespace {

int failures = 0;

void expect(bool condition, const std::string& what) {
    if (condition) return;
    std::cout << "FAILED " << what << '\n';
    ++failures;
}

/// Every vector of F_L^count.
std::vector<Vector> all_vectors(int L, std::size_t count) {
    std::vector<Vector> vectors = {{}};
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<Vector> longer;
        for (const Vector& v : vectors) {
            for (int entry = 0; entry < L; ++entry) {
                longer.push_back(v);
                longer.back().push_back(entry);
            }
        }
        vectors = longer;
    }
    return vectors;
}

/// What Charlie does with messages that are in flight together: whether one of them is accepted. An
/// answer is its error, because W_D = 0.
using Verdicts = std::function<bool(Pair& pair, const std::vector<Vector>& errors)>;

Matrix column(const Vector& v) { return Matrix::from_columns(v.size(), {v}); }

bool ordered(Pair& pair, const std::vector<Vector>& errors) {
    Life life(pair);
    for (std::size_t i = 0; i < errors.size(); ++i) life.draw_ticket();
    bool any = false;
    for (Life::Ticket ticket = 0; ticket < errors.size(); ++ticket) {
        any |= life.verdict(ticket, 0, Matrix(1, 1), column(errors[ticket]));
    }
    return any;
}

/// The mutant: each message is compared by itself, as if it alone were in flight.
bool unordered(const Pair& pair, const std::vector<Vector>& errors) {
    bool any = false;
    for (const Vector& error : errors) {
        Pair copy = pair;
        any |= Life(copy).accepts(0, Matrix(1, 1), column(error));
    }
    return any;
}

/// How many rho in F_L^(2 x kappa) accept some of these wrong messages.
std::size_t accepting(int L, std::size_t kappa, const std::vector<Vector>& errors,
                      const Verdicts& verdicts) {
    std::size_t count = 0;
    for (const Vector& entries : all_vectors(L, 2 * kappa)) {
        Matrix rho(2, kappa);
        for (std::size_t i = 0; i < entries.size(); ++i) rho(i / kappa, i % kappa) = entries[i];
        Pair pair(L, {{0, IntegrityKey{rho, Matrix(1, kappa)}}});
        if (verdicts(pair, errors)) ++count;
    }
    return count;
}

/// OFF-10, OFF-15. With ordered verdicts a fraction L^-kappa of all rho accepts something, whatever
/// the wrong messages of a life are; without order the count depends on them.
void check_verdicts(int L, std::size_t kappa, std::size_t messages) {
    std::set<std::size_t> in_order, without;
    std::vector<std::vector<Vector>> choices = {{}};
    for (std::size_t i = 0; i < messages; ++i) {
        std::vector<std::vector<Vector>> longer;
        for (const auto& chosen : choices) {
            for (const Vector& error : all_vectors(L, 2)) {
                if (error == Vector(2, Integer(0))) continue;
                longer.push_back(chosen);
                longer.back().push_back(error);
            }
        }
        choices = longer;
    }
    for (const auto& errors : choices) {
        in_order.insert(accepting(L, kappa, errors, ordered));
        without.insert(accepting(L, kappa, errors, unordered));
    }
    const std::size_t expected = all_vectors(L, kappa).size();  // L^(2 kappa) / L^kappa
    expect(in_order == std::set<std::size_t>{expected},
           "OFF-15: a life accepts a wrong message for L^kappa of all rho");
    expect(*without.rbegin() > expected, "the mutant is not found: verdicts without an order");
    std::cout << "verdicts: L = " << L << ", kappa = " << kappa << ", " << choices.size()
              << " choices of " << messages << " wrong messages: " << expected << " of "
              << all_vectors(L, 2 * kappa).size() << " rho in order, up to " << *without.rbegin()
              << " without\n";
}

/// OFF-12. Over all masks David's column takes every value equally often for every q, the offline
/// David's mask does not depend on q, and the two together determine q.
void check_views() {
    const Ring ring{Integer(3)};
    std::map<std::pair<Vector, Vector>, std::set<Vector>> both;
    for (const Vector& residues : all_vectors(3, 2)) {
        const Vector q = ring.lift(residues);
        std::map<Vector, int> davids;
        for (const Vector& r : all_vectors(3, 2)) {
            const Vector x_masked = mask(ring, q, r);
            ++davids[x_masked];
            both[{x_masked, r}].insert(q);
        }
        expect(davids.size() == 9, "OFF-12: David's view takes every value for every q");
    }
    expect(both.size() == 81, "OFF-12: every pair of views occurs");
    for (const auto& [views, activations] : both) {
        expect(activations.size() == 1, "OFF-12: both views determine q");
    }
    std::cout << "views: " << both.size() << " pairs of views, each of one activation\n";
}

}  // namespace
}  // namespace slip::reference

int main() {
    using namespace slip::reference;
    check_verdicts(5, 1, 2);
    check_verdicts(3, 1, 3);
    check_verdicts(2, 2, 2);
    check_views();
    std::cout << (failures == 0 ? "all as stated\n" : "FAILED\n");
    return failures == 0 ? 0 : 1;
}
