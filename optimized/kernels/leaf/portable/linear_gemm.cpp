// Y = W X mod L (LIN-1, MASK-3): two planes of a column are a vector of 16-bit numbers
// (plane_pairs.hpp), whose products with the rows of W are summed and reduced once per panel.
#include <algorithm>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/plane_pairs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

/// Columns of W whose vectors lie on the stack at a time, at most 64 KiB; longer rows take several
/// panels.
constexpr std::size_t panel = 8192;
static_assert(panel % pair_pass == 0);

/// The operands of a product. Vector v has pair v mod pairs of column v / pairs; the primes of its
/// planes begin with that of number `offset`.
struct Product {
    const std::int8_t* w;
    std::size_t m, n, planes, offset;
    const std::uint8_t* x;
    std::uint8_t* y;
};

/// Joins elements first .. first + width - 1 of a vector.
void join_planes(const Product& product, std::size_t vector, std::size_t first, std::size_t width,
                 std::int16_t* joined) {
    const std::size_t pairs = pairs_of_planes(product.planes);
    const std::size_t q = vector % pairs;
    const std::uint8_t* const x =
        product.x + (vector / pairs * product.planes + 2 * q) * product.n + first;
    if (2 * q + 1 == product.planes) {
        std::copy_n(x, width, joined);
    } else {
        for (std::size_t j = 0; j < width; ++j) joined[j] = join(x[j], x[product.n + j], q);
    }
}

/// Element i of the planes of a vector of Y: sum, and what earlier panels left, modulo each prime.
void finish(const Product& product, std::size_t vector, std::size_t i, bool first_panel,
            std::int64_t sum) {
    const std::size_t pairs = pairs_of_planes(product.planes);
    const std::size_t plane = 2 * (vector % pairs);
    std::uint8_t* y = product.y + (vector / pairs * product.planes + plane) * product.m + i;
    for (std::size_t p = plane; p < std::min(plane + 2, product.planes); ++p, y += product.m) {
        *y = reduce(first_panel ? sum : sum + *y, moduli[product.offset + p]);
    }
}

/// sums[r][v] += w[r][j] x[v][j], summed over j < n, for R rows of W that are `stride` apart.
/// Requires n <= pair_pass, so that the 32-bit sums are exact.
template <std::size_t R, std::size_t V>
void add_products(const std::int8_t* w, std::size_t stride, const std::int16_t (*x)[panel],
                  std::size_t first, std::size_t n, std::int64_t (&sums)[R][V]) {
    std::int32_t partial[R][V] = {};
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t r = 0; r < R; ++r) {
            const std::int16_t weight = w[r * stride + j];
            for (std::size_t v = 0; v < V; ++v) partial[r][v] += weight * x[v][first + j];
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t v = 0; v < V; ++v) sums[r][v] += partial[r][v];
    }
}

/// R rows of V vectors of Y from one panel, columns first .. first + width - 1 of W.
template <std::size_t R, std::size_t V>
void multiply_rows(const Product& product, std::size_t i, std::size_t vector, std::size_t first,
                   std::size_t width, const std::int16_t (*x)[panel]) {
    std::int64_t sums[R][V] = {};
    const std::int8_t* const w = product.w + i * product.n + first;
    for (std::size_t j = 0; j < width; j += pair_pass) {
        add_products<R, V>(w + j, product.n, x, j, std::min(pair_pass, width - j), sums);
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t v = 0; v < V; ++v) {
            finish(product, vector + v, i + r, first == 0, sums[r][v]);
        }
    }
    base::wipe(sums, sizeof sums);
}

/// V vectors of Y, R rows at a time.
template <std::size_t R, std::size_t V>
void multiply_vectors(const Product& product, std::size_t vector) {
    alignas(64) std::int16_t joined[V][panel];
    for (std::size_t first = 0; first == 0 || first < product.n; first += panel) {
        const std::size_t width = std::min(panel, product.n - first);
        for (std::size_t v = 0; v < V; ++v) {
            join_planes(product, vector + v, first, width, joined[v]);
        }
        std::size_t i = 0;
        for (; i + R <= product.m; i += R) {
            multiply_rows<R, V>(product, i, vector, first, width, joined);
        }
        for (; i < product.m; ++i) {
            multiply_rows<1, V>(product, i, vector, first, width, joined);
        }
    }
    // The columns may be masks (MASK-3), which leave no trace (MASK-6).
    for (auto& vectors : joined) base::wipe(vectors, std::min(panel, product.n) * sizeof *vectors);
}

/// b columns. Two rows and four vectors share their operands; so do four rows and two vectors.
[[gnu::always_inline]] inline void multiply(const Product& product, std::size_t b) {
    const std::size_t vectors = b * pairs_of_planes(product.planes);
    std::size_t v = 0;
    for (; v + 4 <= vectors; v += 4) multiply_vectors<2, 4>(product, v);
    for (; v + 2 <= vectors; v += 2) multiply_vectors<4, 2>(product, v);
    if (v < vectors) multiply_vectors<4, 1>(product, v);
}

}  // namespace

void gemm(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
          std::size_t b, std::size_t planes, std::uint8_t* y) {
    multiply({raw(packed), m, n, planes, 0, x, y}, b);
}

void gemm_plane(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
                std::size_t b, std::size_t plane, std::uint8_t* y) {
    multiply({raw(packed), m, n, 1, plane, x, y}, b);
}

}  // namespace slip::kernels::portable
