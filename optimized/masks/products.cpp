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
    multiply(rows, blocks, 2, false);
}

void RingProducts::approximate(const StoredRows& rows, std::span<const Block> blocks) {
    const bool one_half = planes_ == 5 && elements_ <= most_elements_centred;
    multiply(rows, blocks, one_half ? 1 : 2, true);
}

void RingProducts::multiply(const StoredRows& rows, std::span<const Block> blocks, unsigned halves,
                            bool times_tau) {
    const std::size_t count = rows.bytes.size() / row_bytes();
    require(rows.bytes.size() % row_bytes() == 0 && rows.first <= rows.total &&
                count <= rows.total - rows.first,
            "RingProducts: rows outside the matrix");
    require(blocks.size() <= blocks_, "RingProducts: more blocks than announced");
    Pass pass{.rows = rows.bytes.data(),
              .count = count,
              .planes = planes_,
              .elements = elements_,
              .halves = halves,
              .times_tau = times_tau,
              .first = rows.first,
              .total = rows.total,
              .blocks = blocks.size(),
              .secrets = {},
              .columns = {}};
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
