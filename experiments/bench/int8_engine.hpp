// What a decode step costs without protection: the yardstick for the hybrid engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "optimized/graph/engine.hpp"

namespace slip::bench {

/// The same graph with int8 weights in the open: one scale a row, one a token, the activations as
/// wide as the protocol has them in P31 (ENC-3). Plain C++, as the portable kernels are.
class Int8Engine : public Engine {
public:
    /// `weights(name, elements)` gives the float values of the tensor `name` (with ".weight").
    Int8Engine(std::vector<GroupShape> groups,
               const std::function<std::vector<float>(std::string_view, std::size_t)>& weights);
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override;

private:
    struct Member {
        std::vector<std::int8_t> values;  // m x n
        std::vector<float> row_scale;     // m
    };
    struct Group {
        std::int32_t qa_max = 0;
        std::vector<Member> members;
    };
    std::vector<GroupShape> shapes_;
    std::vector<Group> groups_;
    std::vector<std::int16_t> quantised_;
};

}  // namespace slip::bench
