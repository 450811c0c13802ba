// Dimensions of models of the LLaMA-2 family.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace slip::synthetic {

struct Shape {
    std::size_t hidden;
    std::size_t intermediate;
    std::size_t blocks;
    std::size_t heads;
    std::size_t key_value_heads;
    std::size_t vocabulary;
    std::size_t positions;

    std::size_t head_width() const { return hidden / heads; }
    std::size_t key_value_width() const { return head_width() * key_value_heads; }
};

inline const std::map<std::string, Shape> shapes = {
    {"small", {96, 256, 2, 4, 2, 320, 128}},
    {"tinyllama", {2048, 5632, 22, 32, 4, 32000, 2048}},
    {"llama2-7b", {4096, 11008, 32, 32, 32, 32000, 4096}},
    {"llama2-70b", {8192, 28672, 80, 64, 8, 32000, 4096}},
};

}  // namespace slip::synthetic
