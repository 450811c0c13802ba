// The float kernels, written once for registers of any width: each leaf compiles them for its own
// instructions. Element by element, the operations and their order are those of the contract, so
// the bits do not depend on the width.
//
// `Leaf` is a type in an unnamed namespace of the file that includes this one, so that no code that
// is compiled for one leaf can stand in for another's. Leaf::width is the number of floats in a
// register: 4, 8 or 16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/contracts.hpp"
#include "optimized/kernels/exponential.hpp"

namespace slip::kernels::floats {

template <std::size_t width>
using Vector = typename Lanes<width>::Floats;

template <std::size_t width>
[[gnu::always_inline]] inline Vector<width> load(const float* from) {
    Vector<width> v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}
template <std::size_t width>
[[gnu::always_inline]] inline void store(float* to, Vector<width> v) {
    __builtin_memcpy(to, &v, sizeof v);
}

/// The bytes that are prefetched in each of `times` times `passes` steps, so that all of them
/// together prefetch `elements` from `first` on; none if `first` is null. At most `most`, which no
/// caller needs.
template <class Leaf>
[[gnu::noinline, gnu::used]] std::size_t prefetched_in_step(const float* first,
                                                            std::size_t elements, std::size_t times,
                                                            std::size_t passes) {
    constexpr std::size_t most = 1 << 16;
    const std::size_t steps = times * passes;
    if (first == nullptr || steps == 0) return 0;
    const std::size_t bytes = (elements * sizeof(float) + steps - 1) / steps;
    return bytes < most ? bytes : most;
}

/// Memory that is prefetched while a kernel works on something else, evenly spread over its steps:
/// in a burst the prefetches would take the line fill buffers that its own loads need.
class Ahead {
public:
    [[gnu::always_inline]] Ahead(const float* first, std::size_t bytes_per_step)
        : at_(reinterpret_cast<std::uintptr_t>(first)), per_step_(bytes_per_step) {}

    [[gnu::always_inline]] void step() {
        constexpr std::size_t line = 64;
        for (std::size_t i = 0; i < per_step_; i += line) {
            // An integer, since it may lie beyond the array.
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            __builtin_prefetch(reinterpret_cast<const void*>(at_ + i), 0, second_level);
        }
        at_ += per_step_;
    }

    /// Goes on where a copy is.
    [[gnu::always_inline]] void go_on(const Ahead& copy) { at_ = copy.at_; }

private:
    static constexpr int second_level = 2;  // the first one is full of what the kernel works on
    std::uintptr_t at_;     // no pointer: the last step may go beyond the memory's end
    std::size_t per_step_;  // bytes
};

/// Calls step(width, j) for elements first .. n - 1, of which there are fewer than 2 * width, or
/// fewer than four if width is 1: at most once per width above 1, at most three times for 1.
template <std::size_t width, class Step>
[[gnu::always_inline]] inline void for_the_rest(std::size_t first, std::size_t n,
                                                const Step& step) {
    std::size_t j = first;
    if constexpr (width == 1) {
#if defined(__clang__)  // no vector under a mask, which proofs/asm does not follow
#pragma clang loop vectorize(disable)
#endif
        for (int k = 0; k < 3 && j < n; ++k, ++j) {
            step(std::integral_constant<std::size_t, width>{}, j);
        }
    } else {
        if (j + width <= n) {
            step(std::integral_constant<std::size_t, width>{}, j);
            j += width;
        }
        for_the_rest<(width > 4 ? width / 2 : 1)>(j, n, step);
    }
}

/// Calls step(width, j) with a std::integral_constant for whole vectors of elements first .. n - 1,
/// then for the narrower ones that are left.
template <std::size_t width, class Step>
[[gnu::always_inline]] inline void for_each_vector(std::size_t first, std::size_t n,
                                                   const Step& step) {
    std::size_t j = first;
    for (; j + width <= n; j += width) step(std::integral_constant<std::size_t, width>{}, j);
    for_the_rest<(width > 4 ? width / 2 : 1)>(j, n, step);
}

/// The sum of the contract: lane l has the terms j with j mod 8 = l.
template <class Leaf>
struct EightLanes {
    static constexpr std::size_t width = Leaf::width < float_lanes ? Leaf::width : float_lanes;
    Vector<width> part[float_lanes / width] = {};

    [[gnu::always_inline]] void add(const float* x) {
        for (std::size_t i = 0; i < float_lanes / width; ++i) part[i] += load<width>(x + i * width);
    }
    [[gnu::always_inline]] void add_products(const float* x, const float* y) {
        for (std::size_t i = 0; i < float_lanes / width; ++i) {
            part[i] += load<width>(x + i * width) * load<width>(y + i * width);
        }
    }
    /// Adds term(l) to each lane l < rest, of which there are fewer than all. Without a loop, of
    /// which compilers make vector code for counts that do not occur.
    template <std::size_t l = 0, class Term>
    [[gnu::always_inline]] static void add_rest(float (&lane)[float_lanes], std::size_t rest,
                                                const Term& term) {
        if constexpr (l + 1 < float_lanes) {
            if (l < rest) {
                lane[l] += term(l);
                add_rest<l + 1>(lane, rest, term);
            }
        }
    }
    /// The sum with term(l) added to each lane l < rest.
    template <class Term>
    [[gnu::always_inline]] float total(std::size_t rest, const Term& term) const {
        float lane[float_lanes];
        __builtin_memcpy(lane, part, sizeof lane);
        add_rest(lane, rest, term);
        const float half[4] = {lane[0] + lane[4], lane[1] + lane[5], lane[2] + lane[6],
                               lane[3] + lane[7]};
        return half[0] + half[1] + half[2] + half[3];
    }
};

// As each step waits for the one before, loops over more than two at a time are no faster.

template <class Leaf>
float dot(const float* a, const float* b, std::size_t n) {
    EightLanes<Leaf> lanes;
    std::size_t j = 0;
#pragma GCC unroll 2
    for (; j + float_lanes <= n; j += float_lanes) lanes.add_products(a + j, b + j);
    return lanes.total(n - j, [&](std::size_t l) { return a[j + l] * b[j + l]; });
}

template <class Leaf>
[[gnu::always_inline]] inline float sum(const float* x, std::size_t n) {
    EightLanes<Leaf> lanes;
    std::size_t j = 0;
#pragma GCC unroll 2
    for (; j + float_lanes <= n; j += float_lanes) lanes.add(x + j);
    return lanes.total(n - j, [&](std::size_t l) { return x[j + l]; });
}

// What softmax and sampling_weights do in turn, each a function of its own that is proved by
// itself.

/// v if it is greater than `most`, else `most`. One number in a vector of four, so that no branch
/// depends on it.
[[gnu::always_inline]] inline float greater(float v, float most) {
    const Vector<4> a{v}, b{most};
    return (a > b ? a : b)[0];
}

/// The greatest element that is a number; minus infinity if there is none. Four maxima, as each
/// comparison waits for the one before.
template <class Leaf>
[[gnu::noinline]] float greatest(const float* x, std::size_t n) {
    constexpr std::size_t width = Leaf::width, maxima = 4;
    Vector<width> most[maxima];
    for (Vector<width>& m : most) m = Vector<width>{} - __builtin_inff();
    std::size_t j = 0;
    for (; n - j >= maxima * width; j += maxima * width) {
        for (std::size_t i = 0; i < maxima; ++i) {
            const Vector<width> v = load<width>(x + j + i * width);
            most[i] = v > most[i] ? v : most[i];
        }
    }
    for (std::size_t i = 1; i < maxima; ++i) most[0] = most[i] > most[0] ? most[i] : most[0];
    for (; n - j >= width; j += width) {
        const Vector<width> v = load<width>(x + j);
        most[0] = v > most[0] ? v : most[0];
    }
    float lane[width];
    __builtin_memcpy(lane, most, sizeof lane);
    float result = lane[0];
    for (std::size_t l = 1; l < width; ++l) result = greater(lane[l], result);
    for (; j < n; ++j) result = greater(x[j], result);
    return result;
}

/// x[j] = exp(x[j] - largest).
template <class Leaf>
[[gnu::noinline]] void raise(float* x, std::size_t n, float largest) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        store<w>(x + j, exponential<w>(load<w>(x + j) - largest));
    });
}

template <class Leaf>
[[gnu::noinline]] float add_up(const float* x, std::size_t n) {
    return sum<Leaf>(x, n);
}

/// x[j] = x[j] * factor.
template <class Leaf>
[[gnu::noinline]] void multiply(float* x, std::size_t n, float factor) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        store<w>(x + j, load<w>(x + j) * factor);
    });
}

/// Where an element is NaN the sum is, and with it every result, whatever the greatest is.
template <class Leaf>
void softmax(float* x, std::size_t n) {
    raise<Leaf>(x, n, greatest<Leaf>(x, n));
    multiply<Leaf>(x, n, 1.0F / add_up<Leaf>(x, n));
}

// What the norms do in turn, each a function of its own that is proved by itself.

/// Signed numbers are converted by one instruction on every processor.
[[gnu::always_inline]] inline float number_of(std::size_t n) {
    return static_cast<float>(static_cast<std::int64_t>(n));
}

template <class Leaf>
[[gnu::noinline]] float mean(const float* x, std::size_t n) {
    return sum<Leaf>(x, n) / number_of(n);
}

/// 1 / sqrt(dot(x, x) / n + epsilon).
template <class Leaf>
[[gnu::noinline]] float inverse_deviation(const float* x, std::size_t n, float epsilon) {
    return 1.0F / __builtin_sqrtf(dot<Leaf>(x, x, n) / number_of(n) + epsilon);
}

/// out[j] = weight[j] * (x[j] * factor). `out` may be `x`.
template <class Leaf>
[[gnu::noinline]] void scale(const float* x, const float* weight, std::size_t n, float factor,
                             float* out) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        store<w>(out + j, load<w>(weight + j) * (load<w>(x + j) * factor));
    });
}

/// out[j] = x[j] - middle. `out` may be `x`.
template <class Leaf>
[[gnu::noinline]] void centre(const float* x, std::size_t n, float middle, float* out) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        store<w>(out + j, load<w>(x + j) - middle);
    });
}

/// In place: x[j] = x[j] * factor * weight[j] + bias[j].
template <class Leaf>
[[gnu::noinline]] void scale_and_shift(float* x, const float* weight, const float* bias,
                                       std::size_t n, float factor) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        store<w>(x + j, load<w>(x + j) * factor * load<w>(weight + j) + load<w>(bias + j));
    });
}

template <class Leaf>
void rms_norm(const float* x, const float* weight, std::size_t n, float epsilon, float* out) {
    scale<Leaf>(x, weight, n, inverse_deviation<Leaf>(x, n, epsilon), out);
}

template <class Leaf>
void layer_norm(const float* x, const float* weight, const float* bias, std::size_t n,
                float epsilon, float* out) {
    centre<Leaf>(x, n, mean<Leaf>(x, n), out);
    scale_and_shift<Leaf>(out, weight, bias, n, inverse_deviation<Leaf>(out, n, epsilon));
}

template <class Leaf>
void rotate(float* head, const float* cosines, const float* sines, std::size_t half) {
    for_each_vector<Leaf::width>(0, half, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        const Vector<w> first = load<w>(head + j);
        const Vector<w> second = load<w>(head + j + half);
        const Vector<w> cosine = load<w>(cosines + j);
        const Vector<w> sine = load<w>(sines + j);
        store<w>(head + j, first * cosine - second * sine);
        store<w>(head + j + half, second * cosine + first * sine);
    });
}

template <class Leaf>
void swiglu(float* gate, const float* up, std::size_t n) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        const Vector<w> g = load<w>(gate + j);
        store<w>(gate + j, g / (1.0F + exponential<w>(-g)) * load<w>(up + j));
    });
}

template <class Leaf>
void gelu(float* x, std::size_t n) {
    constexpr float two_root = 1.59576912F;  // 2 sqrt(2 / pi)
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        const Vector<w> v = load<w>(x + j);
        const Vector<w> doubled = two_root * (v + base::parameters::gelu_cubic * (v * v * v));
        store<w>(x + j, v / (1.0F + exponential<w>(-doubled)));
    });
}

template <class Leaf>
void add(const float* x, std::size_t n, float* target) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        store<w>(target + j, load<w>(target + j) + load<w>(x + j));
    });
}

// What arg_max does in turn, likewise.

constexpr std::size_t arg_max_block = 256;

/// The first of the blocks of elements whose greatest number is the greatest of all: the upper half
/// tells the number, in an integer that is ordered as numbers are, +0 for -0; the lower half is the
/// block's number, subtracted from 2^32 - 1. The greatest of these integers takes no branch.
template <class Leaf>
[[gnu::noinline]] std::uint64_t best_block(const float* x, std::size_t n) {
    const std::size_t blocks = (n + arg_max_block - 1) / arg_max_block;
    std::uint64_t best = 0;
    for (std::size_t k = 0; k < blocks; ++k) {
        const std::size_t j = k * arg_max_block;
        const float here = greatest<Leaf>(x + j, n - j < arg_max_block ? n - j : arg_max_block);
        const auto bits = __builtin_bit_cast(std::uint32_t, here + 0.0F);
        const std::uint32_t ordered = bits ^ ((0U - (bits >> 31)) | std::uint32_t{1} << 31);
        const std::uint64_t own = std::uint64_t{ordered} << 32 | (0xffffffff - k);
        best = own > best ? own : best;
    }
    return best;
}

/// The first element that equals a number; the last one if no other does.
template <class Leaf>
[[gnu::noinline]] std::size_t first_equal(const float* x, std::size_t n, float number) {
    const std::size_t last = n - 1;
    std::size_t j = 0;
    while (j != last && x[j] != number) ++j;
    return j;
}

template <class Leaf>
std::size_t arg_max(const float* x, std::size_t n) {
    if (x[0] != x[0]) return 0;
    const std::size_t at = (0xffffffff - (best_block<Leaf>(x, n) & 0xffffffff)) * arg_max_block;
    const std::size_t count = n - at < arg_max_block ? n - at : arg_max_block;
    return at + first_equal<Leaf>(x + at, count, greatest<Leaf>(x + at, count));
}

/// exp(t), but 0 for t < -87. One number in a vector of four, so that no branch depends on it.
template <std::size_t width>
[[gnu::always_inline]] inline Vector<width> weight(Vector<width> t) {
    if constexpr (width == 1) {
        return weight<4>(Vector<4>{t})[0];
    } else {
        return t < -87.0F ? Vector<width>{} : exponential<width>(t);
    }
}

template <class Leaf>
float sampling_weights(const float* x, std::size_t n, float largest, float temperature,
                       float* weights) {
    for_each_vector<Leaf::width>(0, n, [&](auto width, std::size_t j) {
        constexpr std::size_t w = decltype(width)::value;
        store<w>(weights + j, weight<w>((load<w>(x + j) - largest) / temperature));
    });
    return add_up<Leaf>(weights, n);
}

// mix in steps, each a function of its own that is proved by itself.

/// What mix adds up: `count` values, `stride` elements apart.
struct Values {
    const float* first;
    std::size_t stride, count;
};

/// One tile of mix: `rows` outputs by `vectors` times `width` columns, whose sums stay in
/// registers.
template <class Leaf, std::size_t rows, std::size_t width, std::size_t vectors>
[[gnu::noinline, gnu::used]] void mix_tile(const float* const* weights, const Values& values,
                                           float* const* out, std::size_t column, Ahead& ahead) {
    const auto [first, stride, count] = values;
    Ahead own = ahead;  // in registers
    Vector<width> sums[rows][vectors];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < vectors; ++v) {
            sums[r][v] = load<width>(out[r] + column + v * width);
        }
    }
#pragma GCC unroll 1
    for (std::size_t p = 0; p < count; ++p) {
        const float* value = first + p * stride + column;
        own.step();
#pragma GCC unroll 4
        for (std::size_t v = 0; v < vectors; ++v) {
            const Vector<width> loaded = load<width>(value + v * width);
#pragma GCC unroll 4
            for (std::size_t r = 0; r < rows; ++r) sums[r][v] += weights[r][p] * loaded;
        }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < vectors; ++v) {
            store<width>(out[r] + column + v * width, sums[r][v]);
        }
    }
    ahead.go_on(own);
}

/// Tiles of columns from `column` on: of one register, then of narrower ones.
template <class Leaf, std::size_t rows, std::size_t width>
[[gnu::always_inline]] inline void mix_the_rest(const float* const* weights, const Values& values,
                                                std::size_t column, std::size_t end,
                                                float* const* out, Ahead& ahead) {
    for (; column + width <= end; column += width) {
        mix_tile<Leaf, rows, width, 1>(weights, values, out, column, ahead);
    }
    if constexpr (width > 1) {
        mix_the_rest<Leaf, rows, (width > 4 ? width / 2 : 1)>(weights, values, column, end, out,
                                                              ahead);
    }
}

/// So many rows of mix, in tiles of four registers, then of one, then of narrower ones.
template <class Leaf, std::size_t rows>
[[gnu::noinline, gnu::used]] void mix_rows(const float* const* weights, const Values& values,
                                           std::size_t width, float* const* out, Ahead& ahead) {
    constexpr std::size_t tile = 4 * Leaf::width;
    std::size_t column = 0;
    for (; column + tile <= width; column += tile) {
        mix_tile<Leaf, rows, Leaf::width, 4>(weights, values, out, column, ahead);
    }
    mix_the_rest<Leaf, rows, Leaf::width>(weights, values, column, width, out, ahead);
}

template <class Leaf>
void mix(const float* const* weights, std::size_t rows, const float* values, std::size_t stride,
         std::size_t positions, std::size_t width, float* const* out, const float* next) {
    constexpr std::size_t tile = 4 * Leaf::width;
    const std::size_t passes = ((rows + Leaf::mixed_rows - 1) / Leaf::mixed_rows) *
                               ((width + tile - 1) / tile);  // over all positions, at least
    Ahead ahead(next, prefetched_in_step<Leaf>(next, positions * stride, positions, passes));
    const Values all{values, stride, positions};
    std::size_t r = 0;
    const auto mix_next = [&](auto count) {
        constexpr std::size_t c = decltype(count)::value;
        mix_rows<Leaf, c>(weights + r, all, width, out + r, ahead);
        r += c;
    };
    // NOLINTNEXTLINE(bugprone-infinite-loop): mix_next() moves r on
    while (rows - r >= Leaf::mixed_rows) {
        mix_next(std::integral_constant<std::size_t, Leaf::mixed_rows>{});
    }
    if constexpr (Leaf::mixed_rows > 2) {
        if (rows - r >= 2) mix_next(std::integral_constant<std::size_t, 2>{});
    }
    if (rows - r >= 1) mix_next(std::integral_constant<std::size_t, 1>{});
}

// scores, one dot product after the other, in steps that are functions of their own like mix's.

template <class Leaf>
[[gnu::noinline, gnu::used]] float scaled_dot(const float* a, const float* b, std::size_t n,
                                              float scale) {
    return dot<Leaf>(a, b, n) * scale;
}

/// A row of scores: its products with `keys`, of d elements each.
template <class Leaf>
[[gnu::noinline, gnu::used]] void score_row(const float* q, const Values& keys, std::size_t d,
                                            float scale, float* out, Ahead& ahead) {
    for (std::size_t p = 0; p < keys.count; ++p) {
        ahead.step();
        out[p] = scaled_dot<Leaf>(q, keys.first + p * keys.stride, d, scale);
    }
}

template <class Leaf>
void scores_one_by_one(const float* const* q, std::size_t rows, const float* keys,
                       std::size_t stride, std::size_t positions, std::size_t d, float scale,
                       float* const* out, const float* next) {
    Ahead ahead(next, prefetched_in_step<Leaf>(next, positions * stride, positions, rows));
    const Values all{keys, stride, positions};
    for (std::size_t r = 0; r < rows; ++r) score_row<Leaf>(q[r], all, d, scale, out[r], ahead);
}

}  // namespace slip::kernels::floats
