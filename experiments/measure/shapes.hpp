// Dimensions of models of the LLaMA-2 family.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "slip/error.hpp"

namespace slip::measure {

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

/// Throws BadInput for a name that is none of them.
inline const Shape& shape_named(const std::string& name) {
    const auto found = shapes.find(name);
    if (found != shapes.end()) return found->second;
    std::string names;
    for (const auto& [known, shape] : shapes) names.append(" ").append(known);
    throw BadInput("--shape '" + name + "': expected one of" + names);
}

}  // namespace slip::measure
