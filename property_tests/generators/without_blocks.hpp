// The model that is left when blocks are taken out of another.
#pragma once

#include <optional>
#include <string>

#include "property_tests/generators/synthetic_model.hpp"

namespace slip::testing {

/// Where the block's number stands in a tensor's name, and which it is.
struct BlockNumber {
    std::size_t at = 0;
    std::size_t digits = 0;
    std::size_t number = 0;
};

inline std::optional<BlockNumber> block_number_in(const std::string& tensor) {
    for (const std::string prefix : {"model.layers.", "transformer.h."}) {
        if (tensor.rfind(prefix, 0) != 0) continue;
        const std::size_t digits = tensor.find('.', prefix.size()) - prefix.size();
        return BlockNumber{prefix.size(), digits, std::stoul(tensor.substr(prefix.size(), digits))};
    }
    return std::nullopt;
}

/// `model` without blocks first, ..., first + count - 1; later ones move up.
inline SyntheticModel without_blocks(const SyntheticModel& model, std::size_t first,
                                     std::size_t count) {
    SyntheticModel rest;
    rest.config = model.config;
    rest.config.num_hidden_layers -= count;
    for (const auto& [name, values] : model.tensors) {
        std::string renamed = name;
        if (const auto block = block_number_in(name); block && block->number >= first) {
            if (block->number < first + count) continue;
            renamed.replace(block->at, block->digits, std::to_string(block->number - count));
        }
        rest.tensors[renamed] = values;
        rest.shapes[renamed] = model.shapes.at(name);
    }
    return rest;
}

}  // namespace slip::testing
