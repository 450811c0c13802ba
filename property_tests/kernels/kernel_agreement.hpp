// Every kernel of two backends on the same numbers: where both keep the contract, they agree bit
// for bit. The fuzz target compares all backends of a machine so, neon/check.cpp those of another.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/contracts.hpp"
#include "property_tests/generators/packed_factors.hpp"

namespace slip::testing {

/// Numbers that are made of bytes first, and at random, from a seed of the same bytes, after them.
class Numbers {
public:
    explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {
        std::uint64_t seed = bytes.size();
        for (const std::byte b : bytes) seed = seed * 1099511628211U + std::to_integer<unsigned>(b);
        random_.seed(seed);
    }
    template <class T>
    T bits() {
        T value{};
        if (bytes_.size() >= sizeof value) {
            std::memcpy(&value, bytes_.data(), sizeof value);
            bytes_ = bytes_.subspan(sizeof value);
        } else {
            const std::uint64_t word = random_();
            std::memcpy(&value, &word, sizeof value);
        }
        return value;
    }
    /// One in four is one of the bounds.
    template <class T>
    T between(std::int64_t least, std::int64_t most) {
        const auto any = bits<std::uint64_t>();
        if (any % 8 == 0) return static_cast<T>(least);
        if (any % 8 == 1) return static_cast<T>(most);
        const auto width = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;
        return static_cast<T>(least + static_cast<std::int64_t>(any / 8 % width));
    }
    template <class T>
    std::vector<T> many(std::size_t count, std::int64_t least, std::int64_t most) {
        std::vector<T> values(count);
        for (T& value : values) value = between<T>(least, most);
        return values;
    }
    template <class T>
    std::vector<T> many_bits(std::size_t count) {
        std::vector<T> values(count);
        for (T& value : values) value = bits<T>();
        return values;
    }

private:
    std::span<const std::byte> bytes_;
    std::mt19937_64 random_;
};

struct Sizes3 {
    std::size_t m, n, k;
};

/// b columns of n residues.
inline std::vector<std::uint8_t> columns_of(Numbers& numbers, std::size_t b, std::size_t n,
                                            std::size_t planes) {
    std::vector<std::uint8_t> columns;
    for (std::size_t v = 0; v < b * planes; ++v) {
        const auto plane =
            numbers.many<std::uint8_t>(n, 0, base::parameters::primes[v % planes] - 1);
        columns.insert(columns.end(), plane.begin(), plane.end());
    }
    return columns;
}

inline std::size_t number_of_planes(Numbers& numbers) {
    return numbers.between<std::size_t>(1, base::parameters::primes.size());
}

/// LIN-1, INTEG-3: k columns.
inline const char* products_differ(const kernels::Backend& a, const kernels::Backend& b,
                                   const Sizes3& sizes, Numbers& numbers) {
    constexpr std::size_t kappa = base::parameters::kappa;
    const auto [m, n, columns] = sizes;
    const std::size_t planes = number_of_planes(numbers);
    const auto w = numbers.many<std::int8_t>(m * n, -127, 127);
    const auto x = columns_of(numbers, columns, n, planes);
    const auto rows = columns_of(numbers, kappa, n, planes);
    std::array<std::vector<std::uint8_t>, 2> y, s, plane;
    for (std::size_t i = 0; i < 2; ++i) {
        const kernels::Backend& backend = i == 0 ? a : b;
        base::HugeBuffer room(backend.packed_bytes(m, n));
        auto* const packed = room.as<kernels::PackedWeights>();
        backend.pack(w.data(), m, n, packed);
        y[i].resize(columns * planes * m);
        backend.gemm(packed, m, n, x.data(), columns, planes, y[i].data());
        plane[i].resize(columns * planes * m);  // all residues are below the first prime
        backend.gemm_plane(packed, m, n, x.data(), columns * planes, 0, plane[i].data());
        base::HugeBuffer combinations_room(backend.combinations_bytes(n, planes));
        auto* const combinations = combinations_room.as<kernels::PackedCombinations>();
        backend.pack_combinations(rows.data(), n, planes, combinations);
        s[i].resize(columns * planes * kappa);
        backend.combine(combinations, n, planes, x.data(), columns, s[i].data());
    }
    if (y[0] != y[1]) return "gemm";
    if (plane[0] != plane[1]) return "gemm_plane";
    return s[0] == s[1] ? nullptr : "combine";
}

/// RAND-1, RAND-2, WIRE-8.
inline const char* samples_differ(const kernels::Backend& a, const kernels::Backend& b,
                                  std::size_t blocks, Numbers& numbers) {
    const std::size_t count = blocks * 16;
    const auto prime = base::parameters::primes[number_of_planes(numbers) - 1];
    const auto keystream = numbers.many_bits<std::uint8_t>(count);
    const auto key = numbers.many_bits<std::uint8_t>(32);
    const auto field = numbers.bits<std::uint32_t>();
    const auto index = numbers.bits<std::uint64_t>();
    const auto first = numbers.between<std::uint32_t>(
        0, (std::int64_t{1} << 32) - 1 - static_cast<std::int64_t>(blocks));
    const bool both = a.aes256_schedule != nullptr && b.aes256_schedule != nullptr;
    std::array<std::vector<std::uint8_t>, 2> sampled, expanded;
    for (std::size_t i = 0; i < 2; ++i) {
        const kernels::Backend& backend = i == 0 ? a : b;
        sampled[i].resize(count);
        sampled[i].resize(backend.sample(keystream.data(), count, prime, sampled[i].data()));
        if (!both) continue;
        std::array<std::uint8_t, 240> round_keys;
        backend.aes256_schedule(key.data(), round_keys.data());
        expanded[i].resize(count);
        expanded[i].resize(backend.expand(round_keys.data(), field, index, first, blocks, prime,
                                          expanded[i].data()));
    }
    if (sampled[0] != sampled[1]) return "sample";
    if (a.below(keystream.data(), count, prime) != b.below(keystream.data(), count, prime)) {
        return "below";
    }
    return expanded[0] == expanded[1] ? nullptr : "expand";
}

/// MASK-1, MASK-4.
inline const char* masks_differ(const kernels::Backend& a, const kernels::Backend& b, std::size_t n,
                                Numbers& numbers) {
    const std::size_t planes = number_of_planes(numbers);
    const auto q = numbers.many<std::int16_t>(n, -32767, 32767);
    const auto x = columns_of(numbers, 1, n, planes);
    const auto y = columns_of(numbers, 1, n, planes);
    std::array<std::vector<std::uint8_t>, 2> masked;
    std::array<std::vector<std::int64_t>, 2> lifted;
    for (std::size_t i = 0; i < 2; ++i) {
        const kernels::Backend& backend = i == 0 ? a : b;
        masked[i].resize(planes * n);
        lifted[i].resize(n);
        backend.mask(q.data(), x.data(), n, planes, masked[i].data());
        backend.unmask(y.data(), x.data(), n, planes, lifted[i].data());
    }
    if (masked[0] != masked[1]) return "mask";
    return lifted[0] == lifted[1] ? nullptr : "unmask";
}

/// DECO-7, LIN-2: A m x k, each row 2^e times 12 bits; B k x n.
inline const char* low_rank_differs(const kernels::Backend& a, const kernels::Backend& b,
                                    const Sizes3& sizes, Numbers& numbers) {
    const auto [m, n, k] = sizes;
    constexpr std::int64_t factor = base::parameters::largest_factor;
    constexpr std::int64_t centre = (std::int64_t{1} << 55) - 1;
    const auto z_bound = std::int64_t{1} << numbers.between<unsigned>(0, 53);
    const unsigned limbs = kernels::limbs_of(static_cast<std::uint64_t>(z_bound));
    auto a_factor = numbers.many<std::int32_t>(m * k, -factor, factor);
    const auto exponents = numbers.many<unsigned>(m, 0, base::parameters::largest_row_exponent);
    for (std::size_t i = 0; i < m * k; ++i) a_factor[i] *= 1 << exponents[i / k];
    const auto b_factor = numbers.many<std::int16_t>(k * n, -factor, factor);
    const auto q = numbers.many<std::int16_t>(n, -32767, 32767);
    const auto z = numbers.many<std::int64_t>(k, -z_bound, z_bound);
    const auto y_david = numbers.many<std::int64_t>(m, -centre, centre);
    const auto inner = [&](const kernels::Backend& backend) {
        return low_rank_inner(backend, b_factor, k, q.data(), n);
    };
    if (inner(a) != inner(b)) return "low_rank_inner";
    const auto outer = [&](const kernels::Backend& backend) {
        return low_rank_outer(backend, a_factor, m, z, limbs, y_david.data());
    };
    return outer(a) == outer(b) ? nullptr : "low_rank_outer";
}

/// ENC-1, ENC-2. Any floats; scales that are finite and not negative.
inline const char* scaling_differs(const kernels::Backend& a, const kernels::Backend& b,
                                   std::size_t n, Numbers& numbers) {
    const auto x = numbers.many_bits<float>(n);
    const auto norm = numbers.between<std::int32_t>(1024, 32767);
    const auto y = numbers.many_bits<std::int64_t>(n);
    auto scales = numbers.many_bits<float>(n + 1);
    for (float& scale : scales) scale = std::isfinite(scale) ? std::abs(scale) : 1.0F;
    std::array<std::vector<std::int16_t>, 2> q;
    std::array<std::vector<std::uint32_t>, 2> out;
    std::array<float, 2> scale{};
    for (std::size_t i = 0; i < 2; ++i) {
        const kernels::Backend& backend = i == 0 ? a : b;
        q[i].resize(n);
        std::vector<float> floats(n);
        scale[i] = backend.quantise(x.data(), n, norm, q[i].data());
        if (scale[i] < 0) q[i].clear();  // unspecified
        backend.dequantise(y.data(), scales.data(), scales[n], n, floats.data());
        for (const float value : floats) out[i].push_back(std::bit_cast<std::uint32_t>(value));
    }
    if ((scale[0] < 0) != (scale[1] < 0) || q[0] != q[1]) return "quantise";
    if (scale[0] >= 0 && scale[0] != scale[1]) return "quantise: the scale";
    return out[0] == out[1] ? nullptr : "dequantise";
}

/// The same bits, or two NaNs.
inline bool same_floats(const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
        return (std::isnan(x) && std::isnan(y)) ||
               std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
}

/// MODEL-5: attention. m rows, n positions, heads of k elements; any floats.
inline const char* attention_differs(const kernels::Backend& a, const kernels::Backend& b,
                                     const Sizes3& sizes, Numbers& numbers) {
    const auto [rows, positions, width] = sizes;
    const auto q = numbers.many_bits<float>(rows * width);
    const auto keys = numbers.many_bits<float>(positions * width);
    const auto scale = numbers.bits<float>();
    std::array<std::vector<float>, 2> scores, mixed;
    for (std::size_t i = 0; i < 2; ++i) {
        const kernels::FloatKernels& floats = (i == 0 ? a : b).floats;
        scores[i].resize(rows * positions);
        mixed[i] = q;
        std::vector<const float*> queries(rows), weights(rows);
        std::vector<float*> out(rows), mixtures(rows);
        for (std::size_t r = 0; r < rows; ++r) {
            queries[r] = q.data() + r * width;
            weights[r] = out[r] = scores[i].data() + r * positions;
            mixtures[r] = mixed[i].data() + r * width;
        }
        floats.scores(queries.data(), rows, keys.data(), width, positions, width, scale, out.data(),
                      i == 0 ? nullptr : q.data());
        for (std::size_t r = 0; positions > 0 && r < rows; r += 2)
            floats.softmax(out[r], positions);
        floats.mix(weights.data(), rows, keys.data(), width, positions, width, mixtures.data(),
                   i == 0 ? nullptr : q.data());
    }
    if (!same_floats(scores[0], scores[1])) return "scores or softmax";
    return same_floats(mixed[0], mixed[1]) ? nullptr : "mix";
}

/// MODEL-5: what works on rows of n elements; any floats.
inline const char* rows_differ(const kernels::Backend& a, const kernels::Backend& b, std::size_t n,
                               Numbers& numbers) {
    const auto x = numbers.many_bits<float>(2 * n);
    const auto y = numbers.many_bits<float>(2 * n);
    const auto results = [&](const kernels::FloatKernels& floats) {
        std::array<std::vector<float>, 9> all;
        all.fill(x);
        all[0] = {floats.dot(x.data(), y.data(), 2 * n)};
        floats.rms_norm(x.data(), y.data(), n, 1e-5F, all[1].data());
        floats.layer_norm(x.data(), y.data(), y.data() + n, n, 1e-5F, all[2].data());
        floats.rotate(all[3].data(), y.data(), y.data() + n, n);
        floats.swiglu(all[4].data(), y.data(), 2 * n);
        floats.gelu(all[5].data(), 2 * n);
        floats.add(y.data(), 2 * n, all[6].data());
        if (n == 0) return all;
        all[7] = {static_cast<float>(floats.arg_max(x.data(), 2 * n))};
        const float sum = floats.sampling_weights(x.data(), n, x.front(), y.front(), all[8].data());
        all[8].push_back(sum);
        return all;
    };
    constexpr std::array names = {"dot of floats", "rms_norm", "layer_norm",
                                  "rotate",        "swiglu",   "gelu",
                                  "add",           "arg_max",  "sampling_weights"};
    const auto first = results(a.floats), second = results(b.floats);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!same_floats(first[i], second[i])) return names[i];
    }
    return nullptr;
}

/// The name of a kernel that gives something else in `b` than in `a`; null if they agree. The bytes
/// choose one chapter's kernels, and sizes.
inline const char* disagreement(const kernels::Backend& a, const kernels::Backend& b,
                                std::span<const std::byte> bytes) {
    Numbers numbers(bytes);
    const auto size = [&](std::size_t most) { return numbers.bits<std::uint8_t>() % (most + 1); };
    const Sizes3 sizes{size(80), size(160), size(5)};
    const Sizes3 factors{sizes.m, sizes.n, size(150)};  // more columns than a pass
    const std::size_t blocks = size(70);
    const std::size_t chapter = size(6);
    if (chapter == 0) return products_differ(a, b, sizes, numbers);
    if (chapter == 1) return samples_differ(a, b, blocks, numbers);
    if (chapter == 2) return masks_differ(a, b, sizes.n, numbers);
    if (chapter == 3) return low_rank_differs(a, b, factors, numbers);
    if (chapter == 4) return scaling_differs(a, b, sizes.n, numbers);
    if (chapter == 5) return attention_differs(a, b, {sizes.k, sizes.m, sizes.n}, numbers);
    return rows_differ(a, b, sizes.n, numbers);
}

}  // namespace slip::testing
