// What a decode step costs without protection: the yardstick for the hybrid engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "experiments/bench/int8_product.hpp"
#include "optimized/base/engine.hpp"

namespace slip::bench {

/// The same graph with int8 weights and int8 activations in the open: one scale per row, one a
/// token.
class Int8Engine : public base::Engine {
public:
    /// `weights(name, elements)` gives the float values of the tensor `name` (with ".weight").
    Int8Engine(std::vector<base::GroupShape> groups,
               const std::function<std::vector<float>(std::string_view, std::size_t)>& weights);
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

    /// Bytes of the weights that one token meets.
    std::size_t bytes() const;
    /// Reads every weight once.
    void read() const;

private:
    struct Member {
        Int8Matrix values;
        std::vector<float> row_scale;
    };
    std::vector<base::GroupShape> shapes_;
    std::vector<std::vector<Member>> groups_;
    // As large as the largest message so far.
    std::vector<std::int16_t> quantised_;    // one token
    std::vector<std::uint8_t> activations_;  // the tokens, plus 128
    std::vector<float> scales_;
    std::vector<std::int32_t> products_;
};

}  // namespace slip::bench
