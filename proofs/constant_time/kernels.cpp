// Runs the kernels on secrets that a tool watches: Valgrind's memcheck, or MemorySanitizer, takes
// them for uninitialised memory and reports every branch and every address that depends on them.
// `check` beside this file runs it. With the argument "leak" it does what it must not, to be found.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#ifdef SLIP_MEMORY_SANITIZER
#include <sanitizer/msan_interface.h>

#include "optimized/kernels/leaf/prototypes.hpp"
#else
#include <valgrind/memcheck.h>

#include "optimized/kernels/registry.hpp"
#include "optimized/masks/registry.hpp"
#include "optimized/secrets/weight_secrets.hpp"
#include "optimized/split/hidden_matrix.hpp"
#endif
#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::kernels {
namespace {

using base::HugeBuffer;

#ifdef SLIP_MEMORY_SANITIZER
const Backend& backend() { return avx512::backend; }
template <class T>
void hide(std::vector<T>& values) {
    __msan_poison(values.data(), values.size() * sizeof(T));
}
#else
const Backend& backend() { return active(); }
template <class T>
void hide(std::vector<T>& values) {
    (void)VALGRIND_MAKE_MEM_UNDEFINED(values.data(), values.size() * sizeof(T));
}
#endif

// Whole registers, a remainder, a padded panel, two passes of columns.
constexpr std::size_t m = 67;
constexpr std::size_t n = 77;
constexpr std::size_t k = 131;

/// `count` secrets below 2^bits; their values are of no matter.
template <class T>
std::vector<T> secrets(std::size_t count, unsigned bits) {
    std::vector<T> values(count);
    std::uint64_t state = count;
    for (T& value : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<T>(state >> 3 >> (61 - bits));
    }
    hide(values);
    return values;
}

std::vector<std::int8_t> weights() {
    std::vector<std::int8_t> w(m * n);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::int8_t>(i % 255 - 127);
    return w;
}

/// Activations, masks, cancellations, replies before the check and combinations are secret. W_D is
/// David's and so is not: what he holds may show.
void run_residues() {
    const Backend& kernels = backend();
    const auto residues = [](std::size_t count) { return secrets<std::uint8_t>(count, 7); };
    const auto w = weights();
    HugeBuffer room(kernels.packed_bytes(m, n));
    auto* const packed = room.as<PackedWeights>();
    kernels.pack(w.data(), m, n, packed);
    for (const std::size_t planes : {std::size_t{1}, std::size_t{4}, std::size_t{7}}) {
        std::vector<std::uint8_t> out(3 * planes * (m + n));
        kernels.mask(secrets<std::int16_t>(n, 14).data(), residues(planes * n).data(), n, planes,
                     out.data());
        std::vector<std::int64_t> products(m);
        kernels.unmask(residues(planes * m).data(), residues(planes * m).data(), m, planes,
                       products.data());
        kernels.below(residues(n).data(), n, 251);
        kernels.gemm(packed, m, n, residues(planes * n).data(), 1, planes, out.data());
        kernels.gemm(packed, m, n, residues(3 * planes * n).data(), 3, planes, out.data());
        HugeBuffer rows_room(kernels.combinations_bytes(n, planes));
        auto* const rows = rows_room.as<PackedCombinations>();
        kernels.pack_combinations(residues(base::parameters::kappa * planes * n).data(), n, planes,
                                  rows);
        kernels.combine(rows, n, planes, residues(3 * planes * n).data(), 3, out.data());
    }
}

/// What works over the integers and with floats.
void run_integers() {
    std::vector<std::int64_t> y(m);
    HugeBuffer left_room(backend().left_bytes(m, k));
    auto* const left = left_room.as<PackedLeft>();
    backend().pack_left(secrets<std::int32_t>(m * k, 11).data(), m, k, left);
    for (const unsigned limbs : {3U, 4U}) {
        backend().low_rank_outer(left, m, k, limbs, secrets<std::int64_t>(k, 40).data(),
                                 secrets<std::int64_t>(m, 54).data(), y.data());
    }
    std::vector<std::int64_t> z(k);
    HugeBuffer room(backend().right_bytes(k, n));
    auto* const right = room.as<PackedRight>();
    backend().pack_right(secrets<std::int16_t>(k * n, 11).data(), k, n, right);
    backend().low_rank_inner(right, k, n, secrets<std::int16_t>(n, 14).data(), z.data());
#ifndef SLIP_MEMORY_SANITIZER  // it reports a conversion to floating point as if it were a branch
    std::vector<float> scales(m, 0.5f);
    std::vector<float> out(m);
    backend().dequantise(secrets<std::int64_t>(m, 50).data(), scales.data(), 0.25f, m, out.data());
#endif
}

#ifndef SLIP_MEMORY_SANITIZER  // which takes what is made of doubles by instructions for branches
/// Small integers, of magnitudes up to `largest`.
std::vector<std::int8_t> small_secrets(std::size_t count, int largest) {
    std::vector<std::int8_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const int value = static_cast<int>(i % static_cast<std::size_t>(2 * largest + 1));
        values[i] = static_cast<std::int8_t>(value - largest);
    }
    hide(values);
    return values;
}

/// Ring products of lattice masks: a secret's transform, products in both halves and in one, with
/// whole tiles of rows and a rest, and noise. Rows are secret where they are hints. Then those of
/// the hidden split: rounded rows, and a small matrix.
void run_ring_products() {
    using masks::degree;
    const masks::Backend& ring = masks::active();
    constexpr std::size_t elements = masks::most_elements_centred, blocks = 2;
    HugeBuffer workspace(ring.workspace_bytes(elements, blocks));
    std::vector<double> spectra[blocks];
    for (auto& spectrum : spectra) {
        spectrum.resize(elements * degree);
        ring.transform_secret(masks::roots(), small_secrets(spectrum.size(), 1).data(), elements,
                              workspace.data(), spectrum.data());
    }
    using masks::Coding;
    const std::uint8_t tau[masks::most_planes] = {1, 2, 3, 4, 5, 6};
    for (const Coding coding : {Coding::centred, Coding::residues, Coding::rounded}) {
        const std::size_t planes =
            coding == Coding::centred ? masks::least_planes : masks::most_planes;
        auto rows = secrets<std::uint8_t>(m * elements * degree * planes, 7);
        std::vector<std::uint8_t> residues(blocks * degree * planes * m);
        std::uint8_t* columns[blocks][degree];
        for (std::size_t c = 0; c < blocks * degree; ++c) {
            columns[c / degree][c % degree] = residues.data() + c * planes * m;
        }
        masks::Pass pass{};
        pass.rows = rows.data();
        pass.count = pass.total = m;
        pass.planes = planes;
        pass.elements = elements;
        pass.blocks = blocks;
        for (std::size_t b = 0; b < blocks; ++b) {
            pass.secrets[b] = spectra[b].data();
            pass.columns[b] = columns[b];
        }
        pass.coding = coding;
        std::copy_n(tau, masks::most_planes, pass.factor);
        ring.multiply(masks::roots(), pass, workspace.data());
        ring.add_noise(secrets<std::uint8_t>((m + 1) / 2, 8).data(), m, planes, tau, columns[0][0]);
    }
    constexpr std::size_t rows = 3, outputs = 2 * degree + 7;
    base::SecretBuffer<double> matrix(ring.small_matrix_doubles(rows, elements));
    ring.transform_small_matrix(masks::roots(), small_secrets(rows * elements * degree, 1).data(),
                                rows, elements, workspace.data(), matrix.data());
    std::vector<std::uint8_t> products(masks::most_planes * outputs);
    ring.multiply_small_matrix(masks::roots(), matrix.data(), elements,
                               secrets<std::int64_t>(elements * degree, 9).data(), outputs,
                               masks::most_planes, workspace.data(), products.data());
}

/// What Charlie makes of a hidden matrix's reply, and what the owner does with V and E, which
/// follow from the key (HIDE-3). Two rows of V, and widths of one class and of a part of the next.
void run_hidden_split() {
    const base::parameters::ParameterSet& set = *base::parameters::set_named("hidden");
    const std::size_t rows = masks::degree + 7, columns = 77;
    const std::vector<std::uint8_t> known(32, 5);
    const std::vector<std::span<const std::uint8_t>> keys{known};
    const std::vector<base::ProductShape> shapes{{.rows = rows, .n = columns}};
    const secrets::WeightSecrets weights(set, keys, shapes);
    auto workspace = weights.workspace();
    std::vector<std::int64_t> products(rows);
    weights.products({}, secrets<std::uint8_t>(set.planes * (rows + set.public_rows()), 7),
                     secrets<std::uint8_t>(set.planes * rows, 7), workspace, products);

    splitting::HiddenModel model{.n = columns, .entries = {}, .row_scale = {}};
    const std::vector<float> matrix(rows * columns, 0.5f);
    model.append({matrix.data(), rows, columns});
    const splitting::PublicOfWidth common(set, {}, columns);
    splitting::hide(common, model, secrets<std::uint8_t>(32, 8), known, 1,
                    [](const splitting::HiddenRows&) {});
}
#endif

/// What no kernel may do: a branch on a secret.
int leak() {
    const auto secret = secrets<std::int16_t>(1, 14);
    if (secret[0] > 100) std::puts("a branch on a secret");
    return 0;
}

}  // namespace
}  // namespace slip::kernels

int main(int count, char** arguments) {
    using namespace slip::kernels;
    if (count > 1 && std::strcmp(arguments[1], "leak") == 0) return leak();
    run_residues();
    run_integers();
#ifndef SLIP_MEMORY_SANITIZER
    run_ring_products();
    run_hidden_split();
#endif
    std::printf("%s: done\n", backend().name);
    return 0;
}
