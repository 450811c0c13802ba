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
    Coding coding;
};

/// All columns of a pass over random rows with random secrets, then with noise.
Bytes columns_of(const Backend& backend, const Shape& shape, unsigned seed) {
    const auto& [planes, elements, count, blocks, coding] = shape;
    std::mt19937_64 random(seed);
    const std::uint64_t modulus = base::parameters::modulus(planes);
    Bytes rows;
    const std::size_t pairs = count * elements * points;
    if (coding == Coding::rounded) {
        for (std::size_t i = 0; i < pairs * rounded_pair_bytes; ++i) {
            const bool is_high = i % rounded_pair_bytes == 5 || i % rounded_pair_bytes == 10;
            rows.push_back(static_cast<std::uint8_t>(random() & (is_high ? 0x7f : 0xff)));
        }
    }
    for (std::size_t i = 0; i < 2 * pairs && coding != Coding::rounded; ++i) {
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
    Pass pass{rows.data(), count, planes, elements, coding, {}, 0, count, blocks, {}, {}};
    std::uint8_t tau[most_planes];
    for (std::size_t p = 0; p < most_planes; ++p) {
        tau[p] = static_cast<std::uint8_t>(random() % base::parameters::primes[p]);
        pass.factor[p] = coding == Coding::residues ? std::uint8_t{1} : tau[p];
    }
    for (std::size_t b = 0; b < blocks; ++b) {
        std::vector<std::int8_t> small;
        for (std::size_t i = 0; i < elements * degree; ++i) {
            const int largest = coding == Coding::rounded ? 1 : 2;
            small.push_back(static_cast<std::int8_t>(
                static_cast<int>(random() % static_cast<unsigned>(2 * largest + 1)) - largest));
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
        backend.add_noise(stream.data(), count, planes, tau, column);
    }
    return all;
}

/// HIDE-4: products of a small matrix with a column.
Bytes small_products(const Backend& backend) {
    constexpr std::size_t elements = 9, rows = 3, m = 2 * degree + 5, planes = 6;
    std::mt19937_64 random(9);
    std::vector<std::int8_t> small(rows * elements * degree);
    for (std::int8_t& v : small) v = static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1);
    std::vector<std::int64_t> y(elements * degree);
    for (std::int64_t& v : y)
        v = static_cast<std::int64_t>(random() >> 17) - (std::int64_t{1} << 46);
    const std::size_t bytes = backend.workspace_bytes(elements, 1);
    const std::unique_ptr<void, decltype(&std::free)> workspace(
        std::aligned_alloc(64, (bytes + 63) / 64 * 64), &std::free);
    const std::size_t doubles = backend.small_matrix_doubles(rows, elements);
    const std::unique_ptr<void, decltype(&std::free)> matrix(
        std::aligned_alloc(64, (doubles * sizeof(double) + 63) / 64 * 64), &std::free);
    auto* const transformed = static_cast<double*>(matrix.get());
    backend.transform_small_matrix(roots(), small.data(), rows, elements, workspace.get(),
                                   transformed);
    Bytes out(planes * m);
    backend.multiply_small_matrix(roots(), transformed, elements, y.data(), m, planes,
                                  workspace.get(), out.data());
    return out;
}
/// HIDE-5, with numbers of the width of 4096.
std::vector<std::int64_t> decoded_products(const Backend& backend) {
    constexpr auto modulus = static_cast<std::int64_t>(base::parameters::modulus(6));
    constexpr double s = 1583868;
    const Decoding by{
        {113357, -286}, {-1544731855.0 / modulus, -6314816.0 / modulus}, s, 1 / s, -s / 2};
    std::mt19937_64 random(10);
    std::vector<std::int64_t> y(1001);
    for (std::int64_t& v : y) {
        v = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(modulus)) - modulus / 2;
    }
    backend.decode(by, y.size(), y.data());
    return y;
}

int small_matrix_differences() {
    if (small_products(neon::backend) == small_products(portable::backend)) return 0;
    std::printf("products of a small matrix differ\n");
    return 1;
}

/// Exact products agree. Approximate ones of random rows err so rarely that these do as well.
int differences() {
    const std::vector<Shape> shapes = {{5, 8, 67, 2, Coding::residues},
                                       {5, 8, 5, 4, Coding::centred},
                                       {6, 9, 3, 1, Coding::residues},
                                       {6, 9, 5, 2, Coding::rounded}};
    int count = 0;
    for (const Shape& shape : shapes) {
        for (unsigned seed = 0; seed < 2; ++seed) {
            const bool equal = columns_of(neon::backend, shape, seed) ==
                               columns_of(portable::backend, shape, seed);
            if (equal) continue;
            std::printf("%zu planes, %zu elements, coding %d, seed %u: differs\n", shape.planes,
                        shape.elements, static_cast<int>(shape.coding), seed);
            ++count;
        }
    }
    if (decoded_products(neon::backend) != decoded_products(portable::backend)) {
        std::printf("decoded products differ\n");
        ++count;
    }
    return count + small_matrix_differences();
}

}  // namespace
}  // namespace slip::masks

int main() {
    const int count = slip::masks::differences();
    std::printf("%d differences between neon and portable\n", count);
    return count == 0 ? 0 : 1;
}
