// The neon backend against the portable one, which the property tests hold to the reference: its
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

template <class P>
using Residues = std::vector<typename P::Residue>;

struct Shape {
    std::size_t m, n, b;
};

/// W for a backend, and its products.
template <class P>
struct Products {
    Products(const Backend& backend, const Shape& shape, const std::vector<std::int8_t>& w,
             const Residues<P>& x, const Residues<P>& rho)
        : y(shape.b * shape.m), s(shape.n) {
        const auto& kernels = backend.of<P>();
        base::SecretBuffer<PackedWeights> packed(kernels.packed_bytes(shape.m, shape.n));
        kernels.pack(w.data(), shape.m, shape.n, packed.data());
        kernels.gemm(packed.data(), shape.m, shape.n, x.data(), shape.b, y.data());
        kernels.check_vector(packed.data(), shape.m, shape.n, rho.data(), s.data());
    }
    Residues<P> y, s;
};

/// Residues that are random, all p - 1, or as far from zero as a lift gets.
template <class P>
Residues<P> residues(unsigned kind, std::size_t count, std::mt19937_64& random) {
    Residues<P> values(count);
    for (auto& value : values) {
        const typename P::Residue extremes[] = {P::p - 1, (P::p - 1) / 2, (P::p + 1) / 2};
        value = static_cast<typename P::Residue>(kind == 0 ? random() % P::p : extremes[kind - 1]);
    }
    return values;
}

/// LIN-1 and INTEG-2 on every shape; the number of differences.
template <class P>
int differences() {
    const std::vector<Shape> shapes = {{1, 1, 1},      {7, 5, 2},     {8, 4, 1},
                                       {9, 17, 3},     {16, 8193, 2}, {3, 20'000, 1},
                                       {66'000, 3, 1}, {0, 3, 1},     {3, 0, 1}};
    std::mt19937_64 random(1);
    int count = 0;
    for (const Shape& shape : shapes) {
        for (unsigned kind = 0; kind < 4; ++kind) {
            std::vector<std::int8_t> w(shape.m * shape.n);
            for (auto& value : w) {
                const int any = static_cast<int>(random() % 255) - 127;
                value = static_cast<std::int8_t>(kind == 0 ? any : kind == 1 ? 127 : -127);
            }
            const auto x = residues<P>(kind, shape.b * shape.n, random);
            const auto rho = residues<P>(kind, shape.m, random);
            const Products<P> expected(*available().front(), shape, w, x, rho);
            const Products<P> found(*available().back(), shape, w, x, rho);
            if (found.y == expected.y && found.s == expected.s) continue;
            std::printf("P%u, %zu x %zu, b = %zu, kind %u: differs\n", P::bits, shape.m, shape.n,
                        shape.b, kind);
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
            kernel_tests::disagreement(*available().front(), *available().back(), input);
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
    const int count = differences<P31>() + disagreements();
    return count == 0 ? 0 : 1;
}
