// A model without some of its blocks, to measure what they are worth: spec/decomposition.md,
// DECO-12.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/base/engine.hpp"

namespace slip::engines {

/// Consecutive blocks.
struct BlockWindow {
    std::size_t first = 0;
    std::size_t count = 0;

    bool contains(std::optional<std::size_t> block) const {
        return block && *block >= first && *block - first < count;
    }
};

/// Another engine whose matrices in the blocks of a window are zero. Together with
/// parameters_without_biases() the blocks add nothing to the residual stream.
class BypassEngine : public base::Engine {
public:
    /// `inner` multiplies by `groups` and outlives this engine.
    BypassEngine(base::Engine& inner, std::vector<base::GroupShape> groups, BlockWindow window)
        : inner_(inner), groups_(std::move(groups)), window_(window) {}
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

private:
    base::Engine& inner_;
    std::vector<base::GroupShape> groups_;
    BlockWindow window_;
};

/// Float values of a tensor by its name and its number of elements.
using Parameters = std::function<std::vector<float>(std::string_view, std::size_t)>;

/// `parameters`, but for the biases of the window's matrices, which are zero.
Parameters parameters_without_biases(Parameters parameters,
                                     const std::vector<base::GroupShape>& groups,
                                     BlockWindow window);

}  // namespace slip::engines
