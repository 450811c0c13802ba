// Sessions are threads, which share the GPU and the weights.
// test: threads, alone
// links: slip_gpu
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <thread>
#include <vector>

#include "property_tests/gpu/gpu_fixture.hpp"

namespace slip::gpu {
namespace {

void products_of_many_threads(Gpu& gpu) {
    constexpr std::size_t threads = 6, rounds = 12;
    std::mt19937_64 random(3);
    const Shape shape{300, 500, 1, 5};
    const Weights w = weights(Fill::random, shape.m * shape.n, random);
    const kernels::WeightMatrix held = held_by(gpu, shape, w);
    std::array<std::size_t, threads> wrong{};
    std::vector<std::thread> sessions;
    for (std::size_t t = 0; t < threads; ++t) {
        sessions.emplace_back([&, t] {
            std::mt19937_64 of_session(t);
            for (std::size_t i = 0; i < rounds; ++i) {
                const Shape message{shape.m, shape.n, 1 + (t + i) % 9, shape.planes};
                const Bytes x =
                    residues(Fill::random, message.b, message.n, message.planes, of_session);
                if (multiplied(held, message, x) != on_the_processor(message, w, x)) ++wrong[t];
            }
        });
    }
    for (std::thread& session : sessions) session.join();
    EXPECT_EQ(wrong, (std::array<std::size_t, threads>{}));
}

TEST_F(ThisGpu, LIN_1_many_threads) { products_of_many_threads(*gpu_); }
TEST_F(FakeGpu, LIN_1_many_threads) { products_of_many_threads(*open()); }

}  // namespace
}  // namespace slip::gpu
