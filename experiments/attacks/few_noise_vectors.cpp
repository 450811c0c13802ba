// Masks that are combinations of few fixed noise vectors (the paper's latency appendix, "L_v =
// 50"). A prompt that is repeated gives the span of the noise; what is orthogonal to it gives
// equations for the activation, whose small size makes it the shortest vector of a lattice.
#include <NTL/LLL.h>
#include <NTL/mat_lzz_p.h>

#include <cmath>
#include <map>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::MatrixXd;

/// How many noise vectors, which layer's activation, and how many of its entries the lattice has.
struct Size {
    long noise_vectors;
    const char* layer;
    long coordinates;
    long repeats() const { return noise_vectors + 8; }
};

Size size_of(const Setting& setting) {
    return setting.full ? Size{50, "down_proj", 120} : Size{12, "o_proj", 40};
}

/// N g with a fixed N of `count` columns and a fresh g each time.
class FewNoiseVectors {
public:
    FewNoiseVectors(long count, std::uint64_t seed)
        : count_(static_cast<std::size_t>(count)), random_(seed) {}

    void operator()(base::GroupId group, std::span<std::uint64_t> mask) {
        auto& noise = noise_[group];
        if (noise.empty()) noise = uniform_residues(count_ * mask.size(), random_);
        const std::vector<std::uint64_t> g = uniform_residues(count_, random_);
        for (std::size_t j = 0; j < mask.size(); ++j) {
            long sum = 0;
            for (std::size_t v = 0; v < count_; ++v) {
                const long product = NTL::MulMod(static_cast<long>(g[v]),
                                                 static_cast<long>(noise[v * mask.size() + j]), L);
                sum = NTL::AddMod(sum, product, L);
            }
            mask[j] = static_cast<std::uint64_t>(sum);
        }
    }

private:
    static constexpr auto L = static_cast<long>(modulus);
    std::size_t count_;
    std::mt19937_64 random_;
    std::map<base::GroupId, std::vector<std::uint64_t>> noise_;
};

/// The messages of one activation as columns mod L, the product of `h` primes.
class NoiseAttack {
public:
    /// `norm`: of the activation, which is public.
    NoiseAttack(const MatrixXd& messages, const Size& size, std::size_t h, double norm)
        : size_(size),
          n_(messages.rows()),
          h_(h),
          modulus_(static_cast<long>(base::parameters::modulus(h))),
          weight_(std::lround(norm / std::sqrt(static_cast<double>(n_)))) {
        std::vector<std::uint8_t> basis(h * static_cast<std::size_t>(n_ * size.noise_vectors));
        // One choice of differences may be dependent modulo one of the primes.
        bool found = false;
        for (long from = 1; !found && from + size.noise_vectors <= size.repeats(); ++from) {
            found = true;
            for (std::size_t p = 0; found && p < h; ++p) {
                found = find_basis(messages, from, p, basis);
            }
        }
        NTL::zz_p::init(modulus_);
        first_.SetLength(n_);
        for (long i = 0; i < n_; ++i) first_[i] = residue(messages(i, 0));
        if (found) keep_basis(residues_of(basis, h));
    }

    /// q; an empty vector if there is no short one.
    std::vector<std::int64_t> recover() const {
        if (basis_.NumRows() == 0) return {};
        const long v = size_.noise_vectors, m = size_.coordinates;
        NTL::mat_ZZ lattice = with_target();
        NTL::G_LLL_FP(lattice);
        for (long row = 0; row <= m; ++row) {
            if (abs(lattice[row][m]) != weight_) continue;
            const long sign = lattice[row][m] > 0 ? 1 : -1;
            NTL::vec_zz_p g;  // x~ - q = basis g
            g.SetLength(v);
            for (long c = 0; c < v; ++c) {
                g[c] = first_[c] - NTL::conv<NTL::zz_p>(sign * lattice[row][c]);
            }
            const NTL::vec_zz_p q = first_ - basis_ * g;
            std::vector<std::int64_t> found;
            for (long i = 0; i < n_; ++i) {
                found.push_back(lift(static_cast<std::uint64_t>(NTL::rep(q[i])), h_));
            }
            return found;
        }
        return {};
    }

private:
    /// Differences of messages are combinations of the noise: those of columns `from` on, divided
    /// by their first rows, so that those are the identity. Plane p of `basis`; false if there is
    /// none.
    bool find_basis(const MatrixXd& messages, long from, std::size_t p,
                    std::vector<std::uint8_t>& basis) const {
        NTL::zz_p::init(base::parameters::primes[p]);
        const long v = size_.noise_vectors;
        NTL::mat_zz_p top, all, inverse;
        top.SetDims(v, v);
        all.SetDims(n_, v);
        for (long i = 0; i < n_; ++i) {
            for (long c = 0; c < v; ++c) {
                all[i][c] = residue(messages(i, from + c)) - residue(messages(i, 0));
            }
            if (i < v) top[i] = all[i];
        }
        NTL::zz_p determinant;
        NTL::inv(determinant, inverse, top);
        if (determinant == 0) return false;
        all = all * inverse;
        std::size_t next = p * static_cast<std::size_t>(n_ * v);
        for (long i = 0; i < n_; ++i) {
            for (long c = 0; c < v; ++c) {
                basis[next++] = static_cast<std::uint8_t>(NTL::rep(all[i][c]));
            }
        }
        return true;
    }
    void keep_basis(const std::vector<std::uint64_t>& residues) {
        basis_.SetDims(n_, size_.noise_vectors);
        std::size_t next = 0;
        for (long i = 0; i < n_; ++i) {
            for (long c = 0; c < size_.noise_vectors; ++c)
                basis_[i][c] = static_cast<long>(residues[next++]);
        }
    }

    NTL::zz_p residue(double lifted) const {
        return NTL::conv<NTL::zz_p>(
            static_cast<long>(embed(static_cast<std::int64_t>(lifted), h_)));
    }

    /// Kannan's embedding: the noise and L Z^m on the first m coordinates, and x~.
    NTL::mat_ZZ with_target() const {
        const long v = size_.noise_vectors, m = size_.coordinates;
        NTL::mat_ZZ lattice;
        lattice.SetDims(m + 1, m + 1);
        for (long row = 0; row < v; ++row) {
            for (long j = 0; j < m; ++j) lattice[row][j] = NTL::rep(basis_[j][row]);
        }
        for (long row = v; row < m; ++row) lattice[row][row] = modulus_;
        for (long j = 0; j < m; ++j) lattice[m][j] = NTL::rep(first_[j]);
        lattice[m][m] = weight_;
        return lattice;
    }

    Size size_;
    long n_;
    std::size_t h_;
    long modulus_, weight_;  // L, and about the size of an entry of q
    NTL::vec_zz_p first_;    // a message
    NTL::mat_zz_p basis_;    // of the span of the noise, n x v
};

Outcome attack(const Victim& victim, const Setting& setting, base::Engine& engine,
               const View& view) {
    const Size size = size_of(setting);
    std::mt19937_64 random(setting.seed);
    const std::vector<TokenId> prompt = random_prompt(victim.config(), 1, random);
    for (long i = 1; i < size.repeats(); ++i) victim.logits(engine, prompt);
    TrueInputs inputs(victim, engine);
    victim.logits(inputs, prompt);

    const base::GroupId group = victim.find(size.layer, 0).group;
    const MatrixXd q = columns_seen(inputs.view(), group);
    const double norm = victim.charlie().groups()[group].activation_norm;
    const auto found =
        NoiseAttack(columns_seen(view, group), size, victim.planes(), norm).recover();
    MatrixXd read = MatrixXd::Constant(q.rows(), 1, NAN);
    for (std::size_t i = 0; i < found.size(); ++i) {
        read(static_cast<Eigen::Index>(i), 0) = static_cast<double>(found[i]);
    }
    return {share_that_differs(read, q), 0, static_cast<std::uint64_t>(size.repeats()),
            std::to_string(size.noise_vectors) + " noise vectors, n = " + std::to_string(q.rows()) +
                ", lattice of dimension " + std::to_string(size.coordinates + 1)};
}

Outcome in_session(const Victim& victim, const Setting& setting) {
    ProductSession session(victim);
    return attack(victim, setting, session.engine(), session.view());
}

}  // namespace

Outcome few_noise_vectors_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    FewNoiseVectors noise(size_of(setting).noise_vectors, setting.seed + 1);
    WeakenedEngine engine(victim, {.mask = [&](base::GroupId group, std::span<std::uint64_t> mask) {
                              noise(group, mask);
                          }});
    return attack(victim, setting, engine, engine.view());
}

Outcome few_noise_vectors_product(const Setting& setting) {
    return in_session(victim_of(setting), setting);
}
Outcome few_noise_vectors_hidden(const Setting& setting) {
    return in_session(hidden_victim_of(setting), setting);
}

}  // namespace slip::attacks
