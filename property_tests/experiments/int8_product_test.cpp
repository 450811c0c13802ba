// The yardstick of slip-bench multiplies: with every backend's instructions, for sizes about its
// panels.
// test: alone
// links: slip_kernels
#include "experiments/bench/int8_product.hpp"
#include "optimized/kernels/registry.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace slip::bench {
namespace {

struct Operands {
    std::vector<std::int8_t> w;
    std::vector<std::uint8_t> x;
};

void expect_exact(const Operands& of, std::size_t m, std::size_t n, std::size_t tokens,
                  const kernels::Backend& backend) {
    const std::size_t stride = (n + 3) / 4 * 4;
    std::vector<std::int32_t> y(tokens * m);
    Int8Matrix(of.w.data(), m, n, backend).multiply(of.x.data(), tokens, y.data());
    for (std::size_t t = 0; t < tokens; ++t) {
        for (std::size_t i = 0; i < m; ++i) {
            std::int32_t sum = 0;
            for (std::size_t j = 0; j < n; ++j) {
                sum += of.w[i * n + j] * (of.x[t * stride + j] - 128);
            }
            ASSERT_EQ(y[t * m + i], sum)
                << backend.name << ", " << m << " x " << n << ", column " << t;
        }
    }
}

TEST(Int8Matrix, products_are_exact) {
    std::mt19937 random(1);
    for (const std::size_t m : {1U, 64U, 65U, 200U}) {
        for (const std::size_t n : {1U, 4U, 7U, 100U, 2048U}) {
            for (const std::size_t tokens : {1U, 2U, 3U, 9U}) {
                Operands any, largest;
                for (std::size_t i = 0; i < m * n; ++i) {
                    any.w.push_back(
                        static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127));
                    largest.w.push_back(random() % 2 == 0 ? std::int8_t{127} : std::int8_t{-127});
                }
                for (std::size_t i = 0; i < tokens * (n + 3); ++i) {
                    any.x.push_back(static_cast<std::uint8_t>(1 + random() % 255));
                    largest.x.push_back(random() % 2 == 0 ? std::uint8_t{255} : std::uint8_t{1});
                }
                for (const kernels::Backend* backend : kernels::available()) {
                    expect_exact(any, m, n, tokens, *backend);
                    expect_exact(largest, m, n, tokens, *backend);
                }
            }
        }
    }
}

}  // namespace
}  // namespace slip::bench
