#include "optimized/split/shards.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "optimized/base/error.hpp"

namespace slip::splitting {
namespace {

using base::GroupShape;

/// Groups that no border comes between.
struct Block {
    std::size_t groups = 0;
    std::uint64_t bytes = 0;
};

/// Whether a group is of the block of the one before it, or a part of the same matrices (HIDE-7).
bool continues(const GroupShape& group, const GroupShape& before) {
    const auto block = group.members.front().block;
    return group.first_column > 0 || (block && block == before.members.front().block);
}

std::vector<Block> blocks_of(const std::vector<GroupShape>& groups, std::size_t bytes_per_weight) {
    std::vector<Block> blocks;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (g == 0 || !continues(groups[g], groups[g - 1])) blocks.emplace_back();
        blocks.back().groups += 1;
        blocks.back().bytes += bytes_per_weight * groups[g].product().rows * groups[g].n;
    }
    return blocks;
}

/// Groups per shard if no shard may have more than `most` bytes, but for its last block: each takes
/// as many blocks as fit, and leaves one for every shard behind it.
std::vector<std::size_t> filled(const std::vector<Block>& blocks, std::size_t shards,
                                std::uint64_t most) {
    std::vector<std::size_t> groups;
    std::size_t next = 0;
    for (std::size_t left = shards; left > 0; --left) {
        groups.push_back(0);
        std::uint64_t bytes = 0;
        while (next + left <= blocks.size() &&
               (groups.back() == 0 || bytes + blocks[next].bytes <= most)) {
            bytes += blocks[next].bytes;
            groups.back() += blocks[next++].groups;
        }
    }
    return next == blocks.size() ? groups : std::vector<std::size_t>{};
}

}  // namespace

std::vector<std::size_t> groups_of_shards(const std::vector<GroupShape>& groups,
                                          const base::parameters::ParameterSet& set,
                                          std::size_t shards) {
    const auto blocks = blocks_of(groups, set.hides_weights ? set.planes : 1);
    if (shards < 1 || shards > blocks.size()) {
        throw BadInput("a model of " + std::to_string(blocks.size()) +
                       " blocks, its head counted as one, cannot be divided into " +
                       std::to_string(shards) + " shards");
    }
    std::uint64_t all = 0, least = 0;  // no shard can have fewer than the largest block
    for (const Block& block : blocks) {
        all += block.bytes;
        least = std::max(least, block.bytes);
    }
    while (least < all) {
        const std::uint64_t middle = least + (all - least) / 2;
        if (filled(blocks, shards, middle).empty()) {
            least = middle + 1;
        } else {
            all = middle;
        }
    }
    return filled(blocks, shards, all);
}

}  // namespace slip::splitting
