// Whether the time of what computes with V, S, e or w depends on them: secrets of zeros against
// random ones, in random order, compared by Welch's t-test on all times and on the shorter ones
// ("dudect": Reparaz, Balasch and Verbauwhede, DATE 2017). The twin skips noise that is zero.
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/hidden_matrix.hpp"
#include "experiments/attacks/runs.hpp"
#include "optimized/kernels/combinations.hpp"
#include "optimized/masks/noise.hpp"
#include "optimized/masks/products.hpp"
#include "optimized/masks/small_matrix.hpp"

namespace slip::attacks {
namespace {

using Bytes = std::vector<std::uint8_t>;
using masks::degree;

/// What computes with a secret, and how one is drawn.
struct Subject {
    std::string name;
    std::size_t bytes;
    std::function<void(std::span<const std::uint8_t>)> run;
    std::function<std::uint8_t(std::size_t at, std::mt19937_64&)> draw;
};

std::uint8_t any_small(std::size_t, std::mt19937_64& random) {
    return static_cast<std::uint8_t>(static_cast<int>(random() % 3) - 1);
}

std::span<const std::int8_t> as_small(std::span<const std::uint8_t> secret) {
    return {reinterpret_cast<const std::int8_t*>(secret.data()), secret.size()};
}

/// HIDE-4: V^T y, V's transform included.
Subject secret_of_weights() {
    const std::size_t planes = hidden_set().planes, elements = hidden_set().lattice->rank;
    constexpr std::size_t rows = 2;
    auto run = [=, y = std::vector<std::int64_t>(elements * degree, 123456789012345),
                out = Bytes(planes * rows * degree)](std::span<const std::uint8_t> V) mutable {
        const masks::SmallMatrix matrix(as_small(V), elements);
        auto workspace = matrix.workspace();
        matrix.multiply(y, planes, workspace, out);
    };
    return {"V", rows * elements * degree, run, any_small};
}

/// MASK-7: T S for 16 rows of T, S's transform included.
Subject secret_of_block() {
    const std::size_t planes = hidden_set().planes, elements = hidden_set().lattice->rank;
    constexpr std::size_t rows = 16;
    auto run = [=, T = Bytes(rows * masks::row_bytes(planes, elements, false), 77),
                room = Bytes(degree * planes * rows),
                products = std::make_shared<masks::RingProducts>(planes, elements, 1)](
                   std::span<const std::uint8_t> S) mutable {
        const masks::BlockSecret secret(as_small(S), 1);
        std::vector<std::span<std::uint8_t>> columns;
        for (std::size_t i = 0; i < degree; ++i) {
            columns.push_back(std::span(room).subspan(i * planes * rows, planes * rows));
        }
        const masks::Block block{&secret, columns};
        products->exact({T, 0, rows}, {&block, 1});
    };
    return {"S", elements * degree, run, any_small};
}

constexpr std::size_t width = 2048;  // of a column

/// MASK-7: tau e, added to a column. The bytes of a stream where eta is 2 give any e.
Subject noise_of_message(bool branching) {
    const std::size_t planes = hidden_set().planes;
    auto run = [=, tau = masks::residues_of(12345), column = Bytes(planes * width),
                e = std::vector<std::int8_t>(width)](std::span<const std::uint8_t> stream) mutable {
        if (!branching) return masks::add_noise(stream, tau, planes, column);
        masks::decode_small(stream, 2, e);
        for (std::size_t j = 0; j < width; ++j) {
            if (e[j] == 0) continue;
            for (std::size_t p = 0; p < planes; ++p) {
                const int prime = base::parameters::primes[p];
                std::uint8_t& residue = column[p * width + j];
                residue = static_cast<std::uint8_t>((residue + tau[p] * (e[j] + prime)) % prime);
            }
        }
    };
    const auto any = [](std::size_t, std::mt19937_64& random) {
        return static_cast<std::uint8_t>(random());
    };
    return {"e", masks::noise_bytes(width, 2), run, any};
}

/// INTEG-3: w y, the layout of w included.
Subject combinations_of_check() {
    const std::size_t planes = hidden_set().planes;
    auto run = [=, y = Bytes(planes * width, 99), out = Bytes(planes * base::parameters::kappa)](
                   std::span<const std::uint8_t> w) mutable {
        kernels::Combinations(w, width, planes).combine(y, 1, out);
    };
    const auto residue = [=](std::size_t at, std::mt19937_64& random) {
        return static_cast<std::uint8_t>(random() % base::parameters::primes[at / width % planes]);
    };
    return {"w", base::parameters::kappa * planes * width, run, residue};
}

/// Times with a secret of zeros, and with random ones.
using Times = std::array<std::vector<double>, 2>;

/// Each secret is copied to the same place before the time is taken, and both kinds from as many
/// places.
Times measure(const Subject& subject, std::size_t count, std::mt19937_64& random) {
    constexpr std::size_t different = 64;
    std::array<std::vector<Bytes>, 2> secrets;
    secrets[0].assign(different, Bytes(subject.bytes));
    secrets[1] = secrets[0];
    for (Bytes& secret : secrets[1]) {
        for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = subject.draw(i, random);
    }
    Bytes place(subject.bytes);
    Times times;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t kind = random() % 2;
        std::ranges::copy(secrets[kind][random() % different], place.begin());
        const auto before = std::chrono::steady_clock::now();
        subject.run(place);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
        times[kind].push_back(taken.count());
    }
    return times;
}

/// |t| of Welch's test of the times up to `limit`; 0 where too few are left.
double welch(const Times& times, double limit) {
    std::array<double, 2> mean{}, error{};
    for (std::size_t kind = 0; kind < 2; ++kind) {
        double count = 0, sum = 0, squares = 0;
        for (const double time : times[kind]) {
            if (time > limit) continue;
            count += 1;
            sum += time;
            squares += time * time;
        }
        if (count < 100) return 0;
        mean[kind] = sum / count;
        error[kind] = (squares / count - mean[kind] * mean[kind]) / (count - 1);
    }
    return error[0] + error[1] > 0 ? std::abs(mean[0] - mean[1]) / std::sqrt(error[0] + error[1])
                                   : 0;
}

constexpr std::array<double, 4> kept = {1, 0.95, 0.75, 0.5};  // shares of the times, the shortest

double greatest_t(const Times& times) {
    std::vector<double> all = times[0];
    all.insert(all.end(), times[1].begin(), times[1].end());
    std::ranges::sort(all);
    double greatest = 0;
    for (const double share : kept) {
        const auto last = static_cast<std::size_t>(share * static_cast<double>(all.size() - 1));
        greatest = std::max(greatest, welch(times, all[last]));
    }
    return greatest;
}

/// |t| that constant time reaches in 7 of a million tests.
constexpr double alarm = 4.5;

Outcome tell_by_time(const Setting& setting, const std::vector<Subject>& subjects) {
    const std::size_t count = setting.full ? 100000 : 2000;
    std::mt19937_64 random(setting.seed);
    double greatest = 0;
    std::string note = "greatest t";
    for (const Subject& subject : subjects) {
        measure(subject, count / 20, random);  // slower than all later ones
        const double t = greatest_t(measure(subject, count, random));
        note += " of " + subject.name + " " + figure(t) + ",";
        greatest = std::max(greatest, t);
    }
    note += " in " + std::to_string(kept.size() * subjects.size()) + " tests, " +
            std::to_string(count) + " times each";
    return {alarm / std::max(greatest, 1e-9), 1, count * subjects.size(), note};
}

}  // namespace

Outcome secret_times_twin(const Setting& setting) {
    return tell_by_time(setting, {noise_of_message(true)});
}
Outcome secret_times_hidden(const Setting& setting) {
    return tell_by_time(setting, {secret_of_weights(), secret_of_block(), noise_of_message(false),
                                  combinations_of_check()});
}

}  // namespace slip::attacks
