// What the reference computes, for proofs/oracle/check to compare with what Coq defines.
//   proofs_oracle COUNT
// One vector a line, "function arguments = result": numbers in hexadecimal, "," between numbers,
// ";" between lists. The functions are those of `compute` in proofs/coq/Executable.v.
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "reference/integrity.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/parameters.hpp"
#include "reference/planes.hpp"
#include "reference/randomness.hpp"
#include "reference/ring.hpp"

namespace slip::reference {
namespace {

std::mt19937_64 generator(20240501);

/// A number in least .. greatest; an end of the range in one case of four.
Integer number(const Integer& least, const Integer& greatest) {
    switch (generator() % 8) {
        case 0:
            return least;
        case 1:
            return greatest;
        default:
            const Integer wide = (Integer(generator()) << 64) + generator();
            return least + wide % (greatest - least + 1);
    }
}

std::size_t size(std::size_t most) { return 1 + generator() % most; }

Vector numbers(std::size_t count, const Integer& least, const Integer& greatest) {
    Vector result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(number(least, greatest));
    return result;
}

Matrix matrix(std::size_t m, std::size_t n, const Integer& least, const Integer& greatest) {
    Matrix result(m, n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) result(i, j) = number(least, greatest);
    }
    return result;
}

const Integer wide_prime = (Integer(1) << 56) - 5;

/// The set's modulus, a plane's, small and wide ones, powers of two.
Integer modulus() {
    const std::vector<Integer> choices = {
        paper().ring().modulus(), 251, wide_prime, 2, 3, 255, 256, Integer(1) << 32, 1000003};
    return choices[generator() % choices.size()];
}

Integer prime() {
    const std::vector<Integer> choices = {251, 241, 239, 233, wide_prime, 2, 3, 5, 257};
    return choices[generator() % choices.size()];
}

/// RING-5. The first h primes for some h in 1..7, or small ones in another order.
Planes some_planes() {
    if (generator() % 4 == 0) return Planes({5, 2, 3});
    const std::size_t h = size(all_primes.size());
    return Planes({all_primes.begin(), all_primes.begin() + static_cast<std::ptrdiff_t>(h)});
}

Vector entries(const Matrix& A) {
    Vector result;
    for (std::size_t i = 0; i < A.rows(); ++i) {
        for (std::size_t j = 0; j < A.cols(); ++j) result.push_back(A(i, j));
    }
    return result;
}

Matrix one_column(const Vector& v) { return Matrix::from_columns(v.size(), {v}); }

void print(const Vector& v) {
    const char* between = "";
    for (const Integer& entry : v) {
        std::cout << between << (entry < 0 ? "-" : "") << std::hex << Integer(abs(entry))
                  << std::dec;
        between = ",";
    }
}

void print_vector(unsigned function, const std::vector<Vector>& arguments, const Vector& result) {
    std::cout << function << ' ';
    const char* between = "";
    for (const Vector& argument : arguments) {
        std::cout << between;
        print(argument);
        between = ";";
    }
    std::cout << " = ";
    print(result);
    std::cout << '\n';
}

void lift() {  // RING-3
    const Ring ring(modulus());
    const Vector r = numbers(size(4), 0, ring.modulus() - 1);
    print_vector(0, {{ring.modulus()}, r}, ring.lift(r));
}

void masking() {  // MASK-2
    const Ring ring(modulus());
    const Vector q = numbers(size(4), -32767, 32767);
    const Vector r = numbers(q.size(), 0, ring.modulus() - 1);
    print_vector(1, {{ring.modulus()}, q, r}, mask(ring, q, r));
}

void unmasking() {  // MASK-4
    const Ring ring(modulus());
    const Vector y = numbers(size(4), 0, ring.modulus() - 1);
    const Vector c = numbers(y.size(), 0, ring.modulus() - 1);
    print_vector(2, {{ring.modulus()}, y, c}, unmask(ring, y, c));
}

void plane() {  // RING-5
    const Planes planes = some_planes();
    const std::size_t p = generator() % planes.count();
    const Vector x = numbers(size(4), 0, planes.ring().modulus() - 1);
    print_vector(3, {{planes.primes()[p]}, x}, planes.plane(p, x));
}

void sampling() {  // RAND-2
    const Integer L = modulus();
    const Sampler sampler{Ring(L)};
    Bytes stream;
    for (std::size_t i = 0; i < 64 * sampler.word_bytes(); ++i) {
        stream.push_back(static_cast<std::uint8_t>(generator() % 3 == 0 ? 255 : generator()));
    }
    FixedBytes source(stream);
    const Sample sample = sampler.draw(source, size(4));
    FixedBytes again(stream);
    Vector words;
    for (std::size_t i = 0; i < sample.residues.size() + sample.rejected.size(); ++i) {
        words.push_back(little_endian(again.take(sampler.word_bytes())));
    }
    print_vector(4, {{sampler.bits(), L}, words}, sample.residues);
}

void product() {  // LIN-1
    const Ring ring(modulus());
    const Matrix W = matrix(size(3), size(4), -127, 127);
    const Vector x = numbers(W.cols(), 0, ring.modulus() - 1);
    print_vector(5, {{ring.modulus(), W.rows(), W.cols()}, entries(W), x},
                 davids_product(ring, W, one_column(x)).column(0));
}

void product_by_planes() {  // LIN-1, RING-5
    const Planes planes = some_planes();
    const Matrix W = matrix(size(3), size(4), -127, 127);
    const Vector x = numbers(W.cols(), 0, planes.ring().modulus() - 1);
    Vector inverses;
    std::vector<Vector> products;
    for (std::size_t p = 0; p < planes.count(); ++p) {
        inverses.push_back(planes.inverse(p));
        const Matrix x_plane = one_column(planes.plane(p, x));
        products.push_back(davids_product(Ring(planes.primes()[p]), W, x_plane).column(0));
    }
    print_vector(
        6,
        {{planes.ring().modulus(), W.rows(), W.cols()}, planes.primes(), inverses, entries(W), x},
        planes.join(products));
}

void check() {  // INTEG-2, INTEG-3
    const Integer L = prime();
    const std::size_t m = size(3);
    const std::size_t n = size(3);
    const std::size_t kappa = size(2);
    const Matrix W = matrix(m, n, -127, 127);
    const Vector x = numbers(n, 0, L - 1);
    Vector y = Ring(L).multiply(W, x);
    if (generator() % 2 == 0) y[generator() % m] = number(0, L - 1);
    const Matrix w = matrix(m, kappa, 0, L - 1);
    const IntegrityKey key{w, precompute_s(L, w, W)};
    const bool accepted = accepts(L, key, one_column(x), one_column(y));
    print_vector(7, {{L, m, n, kappa}, entries(w.transpose()), entries(W), x, y},
                 {accepted ? 1 : 0});
}

/// PARAM-2: 12 bits, and an exponent per row.
Matrix left_factor(std::size_t m, std::size_t k) {
    Matrix A = matrix(m, k, -2047, 2047);
    for (std::size_t i = 0; i < m; ++i) {
        const Integer unit = Integer(1) << generator() % 21;
        for (std::size_t c = 0; c < k; ++c) A(i, c) *= unit;
    }
    return A;
}

void layer() {  // LIN-2, LIN-4
    const Ring ring = generator() % 2 == 0 ? paper().ring() : Ring(wide_prime);
    const std::size_t m = size(3);
    const std::size_t n = size(3);
    const std::size_t k = size(2);
    const Matrix W = matrix(m, n, -127, 127);
    const Matrix A = left_factor(m, k);
    const Matrix B = matrix(k, n, -2047, 2047);
    const Vector q = numbers(n, -32767, 32767);
    const Vector r = numbers(n, 0, ring.modulus() - 1);
    const Vector reply = ring.multiply(W, mask(ring, q, r));
    const Vector y = charlies_output(A, B, q, unmask(ring, reply, cancellation(ring, W, r)));
    print_vector(
        8, {{ring.modulus(), fraction_bits, m, n, k}, entries(W), entries(A), entries(B), q, r}, y);
}

void print_one(unsigned function) {
    switch (function) {
        case 0:
            return lift();
        case 1:
            return masking();
        case 2:
            return unmasking();
        case 3:
            return plane();
        case 4:
            return sampling();
        case 5:
            return product();
        case 6:
            return product_by_planes();
        case 7:
            return check();
        default:
            return layer();
    }
}

}  // namespace
}  // namespace slip::reference

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: proofs_oracle COUNT\n";
        return 2;
    }
    const long vectors = std::strtol(arguments[1], nullptr, 10);
    for (long i = 0; i < vectors; ++i) slip::reference::print_one(static_cast<unsigned>(i % 9));
    return 0;
}
