#include "optimized/masks/products.hpp"

#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/masks/stack.hpp"

namespace slip::masks {

using base::require;

RingProducts::RingProducts(std::size_t planes, std::size_t elements, std::size_t blocks,
                           const Backend& backend)
    : backend_(&backend), planes_(planes), elements_(elements), blocks_(blocks) {
    require(least_planes <= planes && planes <= most_planes && 1 <= elements &&
                elements <= most_elements && 1 <= blocks && blocks <= most_blocks,
            "RingProducts: sizes that no set has");
    workspace_ = base::SecretBuffer<std::byte>(backend.workspace_bytes(elements, blocks));
}

void RingProducts::exact(const StoredRows& rows, std::span<const Block> blocks) {
    multiply(rows, blocks, Coding::residues, residues_of(1));
}

void RingProducts::approximate(const StoredRows& rows, const Tau& tau,
                               std::span<const Block> blocks) {
    const bool one_half = planes_ == 5 && elements_ <= most_elements_centred;
    multiply(rows, blocks, one_half ? Coding::centred : Coding::residues, tau);
}

void RingProducts::rounded(const StoredRows& rows, const Tau& tau, std::span<const Block> blocks) {
    require(elements_ <= most_elements_rounded, "RingProducts: too many elements for rounded rows");
    for (const Block& block : blocks) {
        require(block.secret->largest() == 1, "RingProducts: secrets too large for rounded rows");
    }
    Tau factor = tau;
    for (std::size_t p = 0; p < most_planes; ++p) {
        factor[p] = static_cast<std::uint8_t>(tau[p] * rounding % base::parameters::primes[p]);
    }
    multiply(rows, blocks, Coding::rounded, factor);
}

void RingProducts::multiply(const StoredRows& rows, std::span<const Block> blocks, Coding coding,
                            const Tau& factor) {
    const std::size_t bytes = row_bytes(planes_, elements_, coding == Coding::rounded);
    const std::size_t count = rows.bytes.size() / bytes;
    require(rows.bytes.size() % bytes == 0 && rows.first <= rows.total &&
                count <= rows.total - rows.first,
            "RingProducts: rows outside the matrix");
    require(blocks.size() <= blocks_, "RingProducts: more blocks than announced");
    Pass pass{.rows = rows.bytes.data(),
              .count = count,
              .planes = planes_,
              .elements = elements_,
              .coding = coding,
              .factor = {},
              .first = rows.first,
              .total = rows.total,
              .blocks = blocks.size(),
              .secrets = {},
              .columns = {}};
    std::ranges::copy(factor, pass.factor);
    std::array<std::array<std::uint8_t*, degree>, most_blocks> columns{};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const Block& block = blocks[b];
        require(block.secret->elements() == elements_ && block.columns.size() == degree,
                "RingProducts: a block of other sizes");
        for (std::size_t i = 0; i < degree; ++i) {
            require(block.columns[i].size() == planes_ * rows.total,
                    "RingProducts: a column of another size");
            columns[b][i] = block.columns[i].data();
        }
        pass.secrets[b] = block.secret->spectrum();
        pass.columns[b] = columns[b].data();
    }
    backend_->multiply(roots(), pass, workspace_.data());
    wipe_used_stack();
}

}  // namespace slip::masks
