#include "experiments/bench/kernels.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "experiments/bench/machine.hpp"
#include "experiments/bench/measure.hpp"
#include "experiments/bench/peers.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/kernels/weight_matrix.hpp"
#include "optimized/protocol/thread_clock.hpp"

namespace slip::bench {
namespace {

using base::require;
using base::SecretBuffer;
using kernels::P31;
using kernels::WeightMatrix;

/// One side of a comparison.
struct Contestant {
    std::string name;
    std::function<void()> run;
    double amount = 0;  // of `unit`, in one run
    std::string unit;
};

/// Seconds of every contestant in every repetition; in a repetition each runs once, in turn.
class Contest {
public:
    Contest(std::vector<Contestant> contestants, std::size_t repetitions, Report& report)
        : contestants_(std::move(contestants)), seconds_(contestants_.size()) {
        for (const Contestant& contestant : contestants_) contestant.run();  // warm
        for (std::size_t r = 0; r < repetitions; ++r) {
            for (std::size_t i = 0; i < contestants_.size(); ++i) {
                // Processor time of this thread: another process' turn is no part of it.
                const double start = protocol::thread_seconds();
                contestants_[i].run();
                seconds_[i].push_back(protocol::thread_seconds() - start);
            }
        }
        for (std::size_t i = 0; i < contestants_.size(); ++i) {
            const double seconds = median(seconds_[i]);
            report.rows.push_back({contestants_[i].name, seconds, contestants_[i].amount / seconds,
                                   contestants_[i].unit});
        }
    }

    /// How many times as fast `a` works as `b`, by amount.
    double ratio(std::size_t a, std::size_t b) const {
        std::vector<double> ratios;
        for (std::size_t r = 0; r < seconds_[a].size(); ++r) {
            ratios.push_back(contestants_[a].amount / seconds_[a][r] /
                             (contestants_[b].amount / seconds_[b][r]));
        }
        return median(ratios);
    }

private:
    std::vector<Contestant> contestants_;
    std::vector<std::vector<double>> seconds_;
};

template <class T>
std::vector<T> random_numbers(std::size_t count, std::int64_t least, std::int64_t most) {
    std::mt19937_64 random(count);
    std::uniform_int_distribution<std::int64_t> any(least, most);
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(any(random));
    return values;
}

template <class P>
std::vector<typename P::Residue> random_residues(std::size_t count) {
    return random_numbers<typename P::Residue>(count, 0, P::p - 1);
}

// --- figures -------------------------------------------------------------------------------------

/// Larger than any cache: 256 MiB.
constexpr std::size_t large_rows = 65536;
constexpr std::size_t width = 4096;

/// A product with one column streams W from memory: against a plain read of the same bytes.
void measure_gemv(const WeightMatrix& w, std::size_t repetitions, Report& report) {
    const auto x = random_residues<P31>(width);
    std::vector<std::uint32_t> y(large_rows);
    const auto bytes = w.packed<P31>();
    const auto amount = static_cast<double>(bytes.size());
    const Contest contest({{"gemv_p31 65536 x 4096",
                            [&] { w.multiply<P31>(std::span(x), std::span(y)); }, amount, "B/s"},
                           {"read 256 MiB", [&] { read_all(bytes); }, amount, "B/s"}},
                          10 * repetitions, report);
    report.figures.push_back({"gemv_p31_read", contest.ratio(0, 1)});
}

/// A product with 128 columns, against a quarter of the machine's products of bytes and against
/// peers. Throws InternalError if an exact peer disagrees.
void measure_gemm(std::size_t repetitions, Report& report) {
    constexpr std::size_t m = 4096, n = 4096, b = 128, loops = 4'000'000;
    const auto w = random_numbers<std::int8_t>(m * n, -127, 127);
    const auto x = random_residues<P31>(b * n);
    std::vector<std::uint32_t> y(b * m);
    const WeightMatrix packed(w.data(), m, n);
    constexpr double products = double{m} * n * b;
    std::vector<Contestant> contestants{
        {"gemm_p31 4096 x 4096 x 128",
         [&] { packed.multiply<P31>(std::span(std::as_const(x)), std::span(y)); }, products,
         "products/s"}};
    if (has_vnni()) {
        contestants.push_back({"vnni peak / 4", [] { multiply_bytes(loops); },
                               double{loops} * 12 * 64 / 4, "products/s"});
    }
    const std::size_t first_peer = contestants.size();
    const std::vector<Peer> peers = make_peers({w, m, n, x, b});
    for (const Peer& peer : peers) {
        contestants.push_back({peer.library, peer.multiply, products, "products/s"});
    }
    const Contest contest(contestants, repetitions, report);
    if (has_vnni()) report.figures.push_back({"gemm_p31_vnni", contest.ratio(0, 1)});
    for (std::size_t i = 0; i < peers.size(); ++i) {
        const auto result = peers[i].result();
        require(result.empty() || result == y, "a peer's product differs");
        report.figures.push_back({"gemm_p31_" + peers[i].figure, contest.ratio(0, first_peer + i)});
    }
}

/// 64 masks of 4096 residues: the backend's kernel, and OpenSSL's keystream with rejection.
void measure_masks(std::size_t repetitions, Report& report) {
    const kernels::Backend& backend = kernels::active();
    if (backend.aes256_schedule == nullptr) return;
    constexpr std::size_t masks = 64;
    const std::array<std::uint8_t, 32> key{1, 2, 3};
    std::array<std::uint8_t, 240> round_keys;
    backend.aes256_schedule(key.data(), round_keys.data());
    std::vector<std::uint32_t> residues(masks * width), by_openssl(residues.size());
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(
        EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
    EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ctr(), nullptr, key.data(), nullptr);
    const auto with_kernel = [&] {
        for (std::size_t i = 0; i < masks; ++i) {
            backend.p31.expand(round_keys.data(), 1, i, 0, width / 4, residues.data() + i * width);
        }
    };
    const auto with_openssl = [&] {
        for (std::size_t i = 0; i < masks; ++i) {
            const std::array<std::uint8_t, 16> block{0, 0, 0, 1, 0, 0,
                                                     0, 0, 0, 0, 0, static_cast<std::uint8_t>(i)};
            std::uint32_t* const out = by_openssl.data() + i * width;
            auto* const bytes = reinterpret_cast<unsigned char*>(out);
            std::fill_n(out, width, 0);
            int written = 0;
            EVP_EncryptInit_ex(cipher.get(), nullptr, nullptr, nullptr, block.data());
            EVP_EncryptUpdate(cipher.get(), bytes, &written, bytes, static_cast<int>(4 * width));
            kernels::portable::backend.p31.sample(out, width, out);
        }
    };
    constexpr double bytes = double{masks} * width * 4;
    const Contest contest({{"masks 64 x 4096", with_kernel, bytes, "B/s"},
                           {"masks 64 x 4096, OpenSSL", with_openssl, bytes, "B/s"}},
                          10 * repetitions, report);
    require(residues == by_openssl, "OpenSSL's masks differ");
    report.figures.push_back({"masks_openssl", contest.ratio(0, 1)});
}

/// In memory like that of the product's buffers.
template <class T>
SecretBuffer<T> aligned(const std::vector<T>& values) {
    SecretBuffer<T> buffer(values.size());
    std::copy(values.begin(), values.end(), buffer.data());
    return buffer;
}

/// Charlie's online work for one token through a 4096 x 4096 matrix of rank 64, against David's
/// product, whose weights come from memory. Charlie's part is quantise, mask, B q, check, unmask, A
/// z and scales; expanding the mask is offline. His machine is not David's, so his repetitions
/// follow one another and what he reads, 1 MB, stays in his caches; charlie_share_cold is the same
/// right after 256 MiB were read, as where one processor does all the work of a large model. A is
/// as DECO-3 makes it, entries of 12 bits and exponents of rows from 0 to 3: at rank 64 the mean of
/// |A| is 560 to 3,400 in the matrices of the bundled model.
void measure_charlie(const WeightMatrix& w, std::size_t repetitions, Report& report) {
    constexpr std::size_t m = 4096, n = width, k = 64;
    const kernels::Backend& backend = kernels::active();
    constexpr std::int32_t largest = base::parameters::largest_factor, qa_max = 8000;
    constexpr unsigned limbs = kernels::limbs_of(std::uint64_t{n} * largest * qa_max);
    const auto b_factor = random_numbers<std::int16_t>(k * n, -largest, largest);
    auto a_factor = random_numbers<std::int32_t>(m * k, -largest, largest);
    for (std::size_t i = 0; i < m * k; ++i) a_factor[i] *= 1 << i / k % 4;
    base::HugeBuffer factors(backend.right_bytes(k, n) + backend.left_bytes(m, k));
    auto* const right = factors.as<kernels::PackedRight>();
    auto* const left = factors.as<kernels::PackedLeft>() + backend.right_bytes(k, n);
    backend.pack_right(b_factor.data(), k, n, right);
    backend.pack_left(a_factor.data(), m, k, left);
    const auto activations = aligned(random_numbers<float>(n, -1000, 1000));
    const auto mask = aligned(random_residues<P31>(n));
    const auto cancellation = aligned(random_residues<P31>(m));
    const auto rho = aligned(random_residues<P31>(2 * m)), s = aligned(random_residues<P31>(2 * n));
    const auto row_scale = aligned(std::vector<float>(m, 1e-9f));
    SecretBuffer<std::int16_t> q(n);
    SecretBuffer<std::uint32_t> masked(n), y(m);
    SecretBuffer<std::int32_t> product(m);
    SecretBuffer<std::int64_t> z(k), integers(m);
    SecretBuffer<float> out(m);
    std::uint32_t difference = 0;
    const auto charlie = [&] {
        const float scale = backend.quantise(activations.data(), n, qa_max, q.data());
        backend.p31.mask(q.data(), mask.data(), n, masked.data());
        backend.low_rank_inner(right, k, n, q.data(), z.data());
        std::array<std::uint32_t, 2> expected;
        for (std::size_t i = 0; i < 2; ++i) {
            expected[i] = backend.p31.dot(s.data() + i * n, masked.data(), n);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            difference |= expected[i] ^ backend.p31.dot(rho.data() + i * m, y.data(), m);
        }
        backend.p31.unmask(y.data(), cancellation.data(), m, product.data());
        backend.p31.low_rank_outer(left, m, k, limbs, z.data(), product.data(), integers.data());
        backend.dequantise(integers.data(), row_scale.data(), scale, m, out.data());
    };
    std::size_t next = 0;  // another 16 MiB of W every time
    const auto* const packed =
        reinterpret_cast<const kernels::PackedWeights*>(w.packed<P31>().data());
    const auto david = [&] {
        const std::size_t rows = next++ * m % large_rows;
        const std::size_t bytes = backend.p31.packed_bytes(m, n);
        backend.p31.gemm(packed + rows / m * bytes, m, n, masked.data(), 1, y.data());
    };
    constexpr std::size_t together = 1024;
    const Contest contest({{"Charlie online 4096 x 4096, k = 64",
                            [&] {
                                for (std::size_t i = 0; i < together; ++i) charlie();
                            },
                            together, "columns/s"},
                           {"David 4096 x 4096", david, 1, "columns/s"},
                           {"read 256 MiB", [&] { read_all(w.packed<P31>()); }, 1, "times/s"},
                           {"Charlie online, cold", charlie, 1, "columns/s"}},
                          2 * repetitions, report);
    report.figures.push_back({"charlie_share", 1 / contest.ratio(0, 1)});
    report.figures.push_back({"charlie_share_cold", 1 / contest.ratio(3, 1)});
}

/// The portable product with one column, against the loop that one would write first.
void measure_portable(std::size_t repetitions, Report& report) {
    constexpr std::size_t m = 1024, n = 4096;
    const auto w = random_numbers<std::int8_t>(m * n, -127, 127);
    const auto x = random_residues<P31>(n);
    std::vector<std::uint32_t> y(m), by_loop(m);
    const kernels::ResidueKernels<P31>& portable = kernels::portable::backend.p31;
    base::HugeBuffer room(portable.packed_bytes(m, n));
    auto* const packed = room.as<kernels::PackedWeights>();
    portable.pack(w.data(), m, n, packed);
    const auto naive = [&] {
        for (std::size_t i = 0; i < m; ++i) {
            std::int64_t sum = 0;
            for (std::size_t j = 0; j < n; ++j) sum += std::int64_t{w[i * n + j]} * x[j];
            const std::int64_t remainder = sum % std::int64_t{P31::p};
            by_loop[i] = static_cast<std::uint32_t>(remainder < 0 ? remainder + P31::p : remainder);
        }
    };
    constexpr double products = double{m} * n;
    const Contest contest(
        {{"portable gemv 1024 x 4096", [&] { portable.gemm(packed, m, n, x.data(), 1, y.data()); },
          products, "products/s"},
         {"naive loop 1024 x 4096", naive, products, "products/s"}},
        10 * repetitions, report);
    require(y == by_loop, "the naive loop's product differs");
    report.figures.push_back({"portable_naive", contest.ratio(0, 1)});
}

}  // namespace

Report measure_kernels(const KernelOptions& options) {
    bind_to_processor(this_processor());
    Report report;
    {
        // The same 4 MiB again and again: what the weights are does not change the work.
        std::vector<std::int8_t> bytes = random_numbers<std::int8_t>(1024 * width, -127, 127);
        bytes.reserve(large_rows * width);
        while (bytes.size() < large_rows * width) {
            bytes.insert(bytes.end(), bytes.begin(), bytes.begin() + 1024 * width);
        }
        const WeightMatrix w(bytes.data(), large_rows, width);
        measure_gemv(w, options.repetitions, report);
        measure_charlie(w, options.repetitions, report);
    }
    measure_masks(options.repetitions, report);
    measure_portable(options.repetitions, report);
    measure_gemm(options.repetitions, report);
    return report;
}

}  // namespace slip::bench
