#include "experiments/bench/kernels.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "experiments/bench/contest.hpp"
#include "experiments/bench/int8_product.hpp"
#include "experiments/bench/machine.hpp"
#include "experiments/bench/medians.hpp"
#include "experiments/bench/peers.hpp"
#include "experiments/bench/rings.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/kernels/weight_matrix.hpp"

namespace slip::bench {
namespace {

namespace parameters = base::parameters;
using base::require;
using base::SecretBuffer;
using kernels::WeightMatrix;

template <class T>
std::vector<T> random_numbers(std::size_t count, std::int64_t least, std::int64_t most) {
    std::mt19937_64 random(count);
    std::uniform_int_distribution<std::int64_t> any(least, most);
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(any(random));
    return values;
}

/// Planes of the set `paper`, whose residues are measured.
constexpr std::size_t planes = parameters::parameter_sets.front().planes;

/// `columns` columns of n residues in h planes; combinations of as many entries are laid out the
/// same.
std::vector<std::uint8_t> random_residues(std::size_t n, std::size_t columns = 1,
                                          std::size_t h = planes) {
    std::vector<std::uint8_t> residues;
    for (std::size_t row = 0; row < columns * h; ++row) {
        const auto plane = random_numbers<std::uint8_t>(n, 0, parameters::primes[row % h] - 1);
        residues.insert(residues.end(), plane.begin(), plane.end());
    }
    return residues;
}

/// The residues mod L whose bytes are columns of n: the one number below L with these remainders.
std::vector<std::uint32_t> residues_of(const std::vector<std::uint8_t>& columns, std::size_t n) {
    static_assert(parameters::modulus(planes) == modulus);
    std::vector<std::uint32_t> residues;
    for (std::size_t c = 0; c < columns.size(); c += planes * n) {
        for (std::size_t j = 0; j < n; ++j) {
            std::uint64_t residue = columns[c + j];
            std::uint64_t product = parameters::primes[0];
            for (std::size_t p = 1; p < planes; ++p) {
                const std::uint64_t prime = parameters::primes[p];
                while (residue % prime != columns[c + p * n + j]) residue += product;
                product *= prime;
            }
            residues.push_back(static_cast<std::uint32_t>(residue));
        }
    }
    return residues;
}

// --- figures -------------------------------------------------------------------------------------

/// Larger than any cache: 256 MiB.
constexpr std::size_t large_rows = 65536;
constexpr std::size_t width = 4096;
constexpr std::size_t cached_rows = 64;

/// A product with one column streams W from memory, with one plane of inputs and with five, and
/// with five has 64 rows in the cache, where arithmetic alone takes time: against a plain read of
/// the same bytes.
void measure_reads(const WeightMatrix& w, std::size_t repetitions, Report& report) {
    constexpr std::size_t five = 5;
    const kernels::Backend& backend = kernels::active();
    const auto x = random_residues(width, 1, five);
    std::vector<std::uint8_t> y(five * large_rows);
    const auto bytes = w.packed();
    const auto* const packed = reinterpret_cast<const kernels::PackedWeights*>(bytes.data());
    const auto amount = static_cast<double>(bytes.size());
    const auto one_plane = [&] {
        backend.gemm_plane(packed, large_rows, width, x.data(), 1, 0, y.data());
    };
    const WeightMatrix cached(random_numbers<std::int8_t>(cached_rows * width, -127, 127).data(),
                              cached_rows, width);
    const auto from_cache = [&] {
        for (std::size_t i = 0; i < large_rows; i += cached_rows) {
            cached.multiply(x, std::span(y).first(five * cached_rows), five);
        }
    };
    const Contest contest(
        {{"1 plane, 65536 x 4096", one_plane, amount, "B/s"},
         {"5 planes, 65536 x 4096", [&] { w.multiply(x, y, five); }, amount, "B/s"},
         {"read 256 MiB", [&] { read_all(bytes); }, amount, "B/s"},
         {"5 planes, 64 x 4096 in the cache", from_cache, amount, "B/s"}},
        10 * repetitions, report);
    report.add_figure("plane_read_1", contest.ratio(0, 2));
    report.add_figure("plane_read_h5", contest.ratio(1, 2));
    report.add_figure("plane_cached_h5", contest.ratio(3, 2));
}

/// Products with 128 columns: with four planes against a quarter of the machine's products of bytes
/// and against peers, and with five against as many int8 products in the open. Throws InternalError
/// if an exact peer disagrees.
void measure_gemm(std::size_t repetitions, Report& report) {
    constexpr std::size_t m = 4096, n = 4096, b = 128, five = 5, loops = 4'000'000;
    const auto w = random_numbers<std::int8_t>(m * n, -127, 127);
    const auto x = random_residues(n, b), x_of_five = random_residues(n, b, five);
    std::vector<std::uint8_t> y(b * planes * m), y_of_five(b * five * m);
    const WeightMatrix packed(w.data(), m, n);
    const Int8Matrix in_the_open(w.data(), m, n);
    const auto activations = random_numbers<std::uint8_t>(n * b, 1, 255);
    std::vector<std::int32_t> sums(m * b);
    constexpr double products = double{m} * n * b;
    std::vector<Contestant> contestants{
        {"4 planes, 4096 x 4096 x 128", [&] { packed.multiply(x, y, planes); }, products,
         "products/s"},
        {"5 planes, 4096 x 4096 x 128", [&] { packed.multiply(x_of_five, y_of_five, five); },
         five * products, "products of bytes/s"},
        {"unprotected int8, 4096 x 4096 x 128",
         [&] { in_the_open.multiply(activations.data(), b, sums.data()); }, products,
         "products/s"}};
    if (has_vnni()) {
        contestants.push_back({"vnni peak / 4", [] { multiply_bytes(loops); },
                               double{loops} * 12 * 64 / planes, "products/s"});
    }
    const std::size_t first_peer = contestants.size();
    const std::vector<std::uint32_t> whole = residues_of(x, n);
    const std::vector<Peer> peers = make_peers({w, m, n, whole, b});
    for (const Peer& peer : peers) {
        contestants.push_back({peer.library, peer.multiply, products, "products/s"});
    }
    const Contest contest(contestants, repetitions, report);
    report.add_figure("plane_int8", contest.ratio(1, 2));
    if (has_vnni()) report.add_figure("plane_vnni", contest.ratio(0, 3));
    for (std::size_t i = 0; i < peers.size(); ++i) {
        const auto result = peers[i].result();
        require(result.empty() || result == residues_of(y, m), "a peer's product differs");
        report.add_figure("plane_" + peers[i].figure, contest.ratio(0, first_peer + i));
    }
}

/// 64 masks of 4096 residues or slightly fewer: the backend's kernel, and OpenSSL's keystream with
/// rejection.
void measure_masks(std::size_t repetitions, Report& report) {
    const kernels::Backend& backend = kernels::active();
    if (backend.aes256_schedule == nullptr) return;
    constexpr std::size_t masks = 64;
    const std::array<std::uint8_t, 32> key{1, 2, 3};
    std::array<std::uint8_t, 240> round_keys;
    backend.aes256_schedule(key.data(), round_keys.data());
    std::vector<std::uint8_t> residues(masks * planes * width), by_openssl(residues.size());
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(
        EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
    EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ctr(), nullptr, key.data(), nullptr);
    std::size_t accepted = 0;
    const auto with_kernel = [&] {
        accepted = 0;
        for (std::size_t i = 0; i < masks * planes; ++i) {
            const std::size_t p = i % planes;
            accepted += backend.expand(
                round_keys.data(), parameters::stream_field(p, parameters::mask_purpose),
                i / planes, 0, width / 16, parameters::primes[p], residues.data() + accepted);
        }
    };
    const auto with_openssl = [&] {
        std::uint8_t* out = by_openssl.data();
        for (std::size_t i = 0; i < masks * planes; ++i) {
            const auto p = static_cast<std::uint8_t>(i % planes);
            std::array<std::uint8_t, 16> block{0, 0, p, parameters::mask_purpose};
            block[11] = static_cast<std::uint8_t>(i / planes);
            std::fill_n(out, width, 0);
            int written = 0;
            EVP_EncryptInit_ex(cipher.get(), nullptr, nullptr, nullptr, block.data());
            EVP_EncryptUpdate(cipher.get(), out, &written, out, static_cast<int>(width));
            out += kernels::portable::backend.sample(out, width, parameters::primes[p], out);
        }
    };
    constexpr double bytes = double{masks} * planes * width;
    const Contest contest({{"masks 64 x 4096", with_kernel, bytes, "B/s"},
                           {"masks 64 x 4096, OpenSSL", with_openssl, bytes, "B/s"}},
                          10 * repetitions, report);
    require(std::equal(residues.begin(), residues.begin() + static_cast<std::ptrdiff_t>(accepted),
                       by_openssl.begin()),
            "OpenSSL's masks differ");
    report.add_figure("masks_openssl", contest.ratio(0, 1));
}

/// In memory like that of the product's buffers.
template <class T>
SecretBuffer<T> aligned(const std::vector<T>& values) {
    SecretBuffer<T> buffer(values.size());
    std::copy(values.begin(), values.end(), buffer.data());
    return buffer;
}

/// Combinations of a check, as the kernel reads them.
SecretBuffer<kernels::PackedCombinations> packed_combinations(std::size_t n) {
    const kernels::Backend& backend = kernels::active();
    SecretBuffer<kernels::PackedCombinations> packed(backend.combinations_bytes(n, planes));
    backend.pack_combinations(random_residues(n, parameters::kappa).data(), n, planes,
                              packed.data());
    return packed;
}

/// The check of one column of a 4096 x 4096 matrix: of the message and of the reply.
class Check {
public:
    bool accepts(const std::uint8_t* masked, const std::uint8_t* reply) {
        const kernels::Backend& backend = kernels::active();
        backend.combine(s_.data(), width, planes, masked, 1, expected_.data());
        backend.combine(w_.data(), width, planes, reply, 1, found_.data());
        return expected_ == found_;
    }

private:
    SecretBuffer<kernels::PackedCombinations> w_ = packed_combinations(width);
    SecretBuffer<kernels::PackedCombinations> s_ = packed_combinations(width);
    std::array<std::uint8_t, planes * parameters::kappa> expected_, found_;
};

/// Charlie's online work for one token through a 4096 x 4096 matrix of rank 64, against David's
/// product, whose weights come from memory. Charlie's part is quantise, mask, B q, check, unmask, A
/// z and scales; masks are expanded ahead of use. His machine is not David's, so his repetitions
/// follow one another and what he reads, 1 MB, stays in his caches; charlie_share_cold is the same
/// right after 256 MiB were read, as where one processor does all the work of a large model. A is
/// as DECO-3 makes it, entries of 12 bits and exponents of rows from 0 to 3: at rank 64 the mean of
/// |A| is 560 to 3,400 in the matrices of the bundled model. check_share is the check alone against
/// the product of bytes in the open.
void measure_charlie(const WeightMatrix& w, std::size_t repetitions, Report& report) {
    constexpr std::size_t m = width, n = width, k = 64;
    const kernels::Backend& backend = kernels::active();
    constexpr std::int32_t largest = parameters::largest_factor, norm = 32767;
    constexpr unsigned limbs = kernels::limbs_of(std::uint64_t{n} * largest * norm);
    const auto b_factor = random_numbers<std::int16_t>(k * n, -largest, largest);
    auto a_factor = random_numbers<std::int32_t>(m * k, -largest, largest);
    for (std::size_t i = 0; i < m * k; ++i) a_factor[i] *= 1 << i / k % 4;
    base::HugeBuffer factors(backend.right_bytes(k, n) + backend.left_bytes(m, k));
    auto* const right = factors.as<kernels::PackedRight>();
    auto* const left = factors.as<kernels::PackedLeft>() + backend.right_bytes(k, n);
    backend.pack_right(b_factor.data(), k, n, right);
    backend.pack_left(a_factor.data(), m, k, left);
    const auto activations = aligned(random_numbers<float>(n, -1000, 1000));
    const auto mask = aligned(random_residues(n));
    const auto cancellation = aligned(random_residues(m));
    const auto row_scale = aligned(std::vector<float>(m, 1e-9f));
    Check check;
    SecretBuffer<std::int16_t> q(n);
    SecretBuffer<std::uint8_t> masked(planes * n), y(planes * m);
    SecretBuffer<std::int64_t> product(m), z(k), integers(m);
    SecretBuffer<float> out(m);
    const auto charlie = [&] {
        const float scale = backend.quantise(activations.data(), n, norm, q.data());
        backend.mask(q.data(), mask.data(), n, planes, masked.data());
        backend.low_rank_inner(right, k, n, q.data(), z.data());
        check.accepts(masked.data(), y.data());
        backend.unmask(y.data(), cancellation.data(), m, planes, product.data());
        backend.low_rank_outer(left, m, k, limbs, z.data(), product.data(), integers.data());
        backend.dequantise(integers.data(), row_scale.data(), scale, m, out.data());
    };
    std::size_t next = 0;  // another 16 MiB of W every time
    const auto* const packed = reinterpret_cast<const kernels::PackedWeights*>(w.packed().data());
    const auto david = [&] {
        const std::size_t rows = next++ * m % large_rows;
        const std::size_t bytes = backend.packed_bytes(m, n);
        backend.gemm(packed + rows / m * bytes, m, n, masked.data(), 1, planes, y.data());
    };
    const Int8Matrix in_the_open(w.data(), large_rows, width);
    std::vector<std::int32_t> sums(large_rows);
    constexpr std::size_t together = 1024;
    const auto often = [](const auto& work) {
        return [&work] {
            for (std::size_t i = 0; i < together; ++i) work();
        };
    };
    const auto check_alone = [&] { check.accepts(masked.data(), y.data()); };
    const Contest contest(
        {{"Charlie online 4096 x 4096, k = 64", often(charlie), together, "columns/s"},
         {"David 4096 x 4096", david, 1, "columns/s"},
         {"read 256 MiB", [&] { read_all(w.packed()); }, 1, "times/s"},
         {"Charlie online, cold", charlie, 1, "columns/s"},
         {"check 4096 x 4096", often(check_alone), together, "columns/s"},
         {"unprotected int8 4096 x 4096",
          [&] { in_the_open.multiply(masked.data(), 1, sums.data()); },
          static_cast<double>(large_rows / m), "columns/s"}},
        2 * repetitions, report);
    report.add_figure("charlie_share", 1 / contest.ratio(0, 1));
    report.add_figure("charlie_share_cold", 1 / contest.ratio(3, 1));
    report.add_figure("check_share", 1 / contest.ratio(4, 5));
}

/// The portable product with one column, against the loop that one would write first.
void measure_portable(std::size_t repetitions, Report& report) {
    constexpr std::size_t m = 1024, n = 4096;
    const auto w = random_numbers<std::int8_t>(m * n, -127, 127);
    const auto x = random_residues(n);
    std::vector<std::uint8_t> y(planes * m), by_loop(planes * m);
    const kernels::Backend& portable = kernels::portable::backend;
    base::HugeBuffer room(portable.packed_bytes(m, n));
    auto* const packed = room.as<kernels::PackedWeights>();
    portable.pack(w.data(), m, n, packed);
    const auto naive = [&] {
        for (std::size_t p = 0; p < planes; ++p) {
            const int prime = parameters::primes[p];
            for (std::size_t i = 0; i < m; ++i) {
                int sum = 0;
                for (std::size_t j = 0; j < n; ++j) sum += w[i * n + j] * x[p * n + j];
                by_loop[p * m + i] = static_cast<std::uint8_t>((sum % prime + prime) % prime);
            }
        }
    };
    constexpr double products = double{m} * n;
    const Contest contest({{"portable gemv 1024 x 4096",
                            [&] { portable.gemm(packed, m, n, x.data(), 1, planes, y.data()); },
                            products, "products/s"},
                           {"naive loop 1024 x 4096", naive, products, "products/s"}},
                          10 * repetitions, report);
    require(y == by_loop, "the naive loop's product differs");
    report.add_figure("portable_naive", contest.ratio(0, 1));
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
        measure_reads(w, options.repetitions, report);
        measure_charlie(w, options.repetitions, report);
    }
    measure_masks(options.repetitions, report);
    measure_portable(options.repetitions, report);
    measure_gemm(options.repetitions, report);
    measure_rings(options.repetitions, report);
    return report;
}

}  // namespace slip::bench
