// The neon backend of ring products against the portable one, which the property tests hold to the
// definition. Built for aarch64 and run under an emulator by ./run, without a test library.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "optimized/masks/leaf/tables.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Shape {
    std::size_t planes, elements, count, blocks;
    unsigned halves;
};

/// All columns of a pass over random rows with random secrets, then with noise.
Bytes columns_of(const Backend& backend, const Shape& shape, unsigned seed) {
    const auto& [planes, elements, count, blocks, halves] = shape;
    std::mt19937_64 random(seed);
    const std::uint64_t modulus = base::parameters::modulus(planes);
    Bytes rows;
    for (std::size_t i = 0; i < count * elements * degree; ++i) {
        const std::uint64_t any = seed % 2 == 0 ? random() % modulus : modulus - 1 - random() % 2;
        for (std::size_t b = 0; b < planes; ++b) {
            rows.push_back(static_cast<std::uint8_t>(any >> (8 * b)));
        }
    }
    const std::size_t bytes = backend.workspace_bytes(elements, blocks);
    const std::unique_ptr<void, decltype(&std::free)> workspace(
        std::aligned_alloc(64, (bytes + 63) / 64 * 64), &std::free);
    std::vector<std::vector<double>> secrets(blocks, std::vector<double>(elements * degree));
    Bytes all(blocks * degree * planes * count);
    std::vector<std::uint8_t*> columns;
    for (std::size_t i = 0; i < blocks * degree; ++i) {
        columns.push_back(all.data() + i * planes * count);
    }
    Pass pass{rows.data(), count, planes, elements, halves, halves == 1, 0, count, blocks, {}, {}};
    for (std::size_t b = 0; b < blocks; ++b) {
        std::vector<std::int8_t> small;
        for (std::size_t i = 0; i < elements * degree; ++i) {
            small.push_back(static_cast<std::int8_t>(static_cast<int>(random() % 5) - 2));
        }
        backend.transform_secret(roots(), small.data(), elements, workspace.get(),
                                 secrets[b].data());
        pass.secrets[b] = secrets[b].data();
        pass.columns[b] = columns.data() + b * degree;
    }
    backend.multiply(roots(), pass, workspace.get());
    Bytes stream((count + 1) / 2);
    for (std::uint8_t& byte : stream) byte = static_cast<std::uint8_t>(random());
    for (std::uint8_t* column : columns) {
        backend.add_noise(stream.data(), count, planes, column);
    }
    return all;
}

/// Exact products agree. Approximate ones of random rows err so rarely that these do as well.
int differences() {
    const std::vector<Shape> shapes = {{5, 8, 67, 2, 2}, {5, 8, 5, 4, 1}, {6, 9, 3, 1, 2}};
    int count = 0;
    for (const Shape& shape : shapes) {
        for (unsigned seed = 0; seed < 2; ++seed) {
            const bool equal = columns_of(neon::backend, shape, seed) ==
                               columns_of(portable::backend, shape, seed);
            if (equal) continue;
            std::printf("%zu planes, %zu elements, %u halves, seed %u: differs\n", shape.planes,
                        shape.elements, shape.halves, seed);
            ++count;
        }
    }
    return count;
}

}  // namespace
}  // namespace slip::masks

int main() {
    const int count = slip::masks::differences();
    std::printf("%d differences between neon and portable\n", count);
    return count == 0 ? 0 : 1;
}
