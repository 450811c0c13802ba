// The neon backend against the portable one, which the property tests hold to plain sums: its
// products with W on shapes of their own, then every kernel on many small ones. Built for aarch64
// and run under an emulator by ./run, without a test library.
#include <cstdio>
#include <random>
#include <vector>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/kernels/kernel_agreement.hpp"

namespace slip::kernels {
namespace {

using Bytes = std::vector<std::uint8_t>;
using base::parameters::kappa;
using base::parameters::primes;

struct Shape {
    std::size_t m, n, b, planes;
};

/// Columns of n residues that are random, all as large as they get, or as far from zero as a lift
/// gets.
Bytes residues(unsigned kind, std::size_t columns, const Shape& shape, std::mt19937_64& random) {
    Bytes values;
    for (std::size_t v = 0; v < columns * shape.planes; ++v) {
        const unsigned prime = primes[v % shape.planes];
        for (std::size_t j = 0; j < shape.n; ++j) {
            const auto any = static_cast<unsigned>(random() % prime);
            const unsigned value[] = {any, prime - 1, prime / 2, prime / 2 + 1};
            values.push_back(static_cast<std::uint8_t>(value[kind]));
        }
    }
    return values;
}

/// Y, its last plane by itself (HIDE-1) and the inner products of the check (INTEG-3), of one
/// backend.
std::vector<Bytes> products(const Backend& backend, const Shape& shape,
                            const std::vector<std::int8_t>& w, const Bytes& x, const Bytes& rows) {
    const auto& [m, n, b, planes] = shape;
    Bytes y(b * planes * m), last(b * m), out(b * planes * kappa);
    base::SecretBuffer<PackedWeights> packed(backend.packed_bytes(m, n));
    backend.pack(w.data(), m, n, packed.data());
    backend.gemm(packed.data(), m, n, x.data(), b, planes, y.data());
    Bytes last_of_x;
    for (std::size_t c = 0; c < b; ++c) {
        const auto* const plane = x.data() + (c * planes + planes - 1) * n;
        last_of_x.insert(last_of_x.end(), plane, plane + n);
    }
    backend.gemm_plane(packed.data(), m, n, last_of_x.data(), b, planes - 1, last.data());
    base::SecretBuffer<PackedCombinations> packed_rows(backend.combinations_bytes(n, planes));
    backend.pack_combinations(rows.data(), n, planes, packed_rows.data());
    backend.combine(packed_rows.data(), n, planes, x.data(), b, out.data());
    return {y, last, out};
}

/// LIN-1 and INTEG-3 on every shape; the number of differences.
int differences() {
    const std::vector<Shape> shapes = {{1, 1, 1, 1},      {7, 5, 2, 4},     {8, 4, 1, 7},
                                       {9, 17, 3, 5},     {16, 8193, 2, 4}, {3, 20'000, 1, 4},
                                       {2, 70'000, 1, 7}, {0, 3, 1, 4},     {3, 0, 1, 4}};
    std::mt19937_64 random(1);
    int count = 0;
    for (const Shape& shape : shapes) {
        for (unsigned kind = 0; kind < 4; ++kind) {
            std::vector<std::int8_t> w(shape.m * shape.n);
            for (auto& value : w) {
                const int any = static_cast<int>(random() % 255) - 127;
                value = static_cast<std::int8_t>(kind == 0 ? any : kind == 1 ? 127 : -127);
            }
            const Bytes x = residues(kind, shape.b, shape, random);
            const Bytes rows = residues(kind, kappa, shape, random);
            if (products(*available().back(), shape, w, x, rows) ==
                products(*available().front(), shape, w, x, rows)) {
                continue;
            }
            std::printf("%zu x %zu, b = %zu, planes = %zu, kind %u: differs\n", shape.m, shape.n,
                        shape.b, shape.planes, kind);
            ++count;
        }
    }
    return count;
}

/// Every kernel; the number of inputs that one of them disagrees on.
int disagreements() {
    std::mt19937_64 random(2);
    int count = 0;
    for (int i = 0; i < 1000; ++i) {
        std::vector<std::byte> input(random() % 40);
        for (std::byte& byte : input) byte = static_cast<std::byte>(random() % 256);
        const char* kernel =
            testing::disagreement(*available().front(), *available().back(), input);
        if (kernel == nullptr) continue;
        std::printf("input %d: %s differs\n", i, kernel);
        ++count;
    }
    return count;
}

}  // namespace
}  // namespace slip::kernels

int main() {
    using namespace slip::kernels;
    std::printf("%s against %s\n", available().back()->name, available().front()->name);
    if (available().size() < 2) return 1;
    const int count = differences() + disagreements();
    return count == 0 ? 0 : 1;
}
