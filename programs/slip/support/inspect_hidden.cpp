#include "programs/slip/support/inspect_hidden.hpp"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace slip::tool {
namespace {

/// spec/hardness.md: of the two estimates for the set's problem the smaller, in bits of core-SVP.
constexpr double hardness_bits = 127.7;

std::string members_of(const api::GroupExposure& group) {
    std::string members;
    for (const std::string& tensor : group.tensors) {
        members += (members.empty() ? "" : " + ") + tensor;
    }
    return members;
}

}  // namespace

void print_json(const api::HiddenExposure& exposure) {
    nlohmann::ordered_json groups = nlohmann::ordered_json::array();
    for (const api::GroupExposure& group : exposure.groups) {
        groups.push_back({{"members", members_of(group)},
                          {"m", group.shape.rows},
                          {"n", group.shape.n},
                          {"first_column", group.first_column},
                          {"norm", group.norm},
                          {"hardness_bits", hardness_bits},
                          {"david_bytes", group.davids_bytes},
                          {"hint_bytes", group.hint_bytes},
                          {"david_factor", group.davids_factor},
                          {"pays", group.pays}});
    }
    const nlohmann::ordered_json json{
        {"set", exposure.set},
        {"attention", name_of(*exposure.attention)},
        {"groups", groups},
        {"charlie_multiplications_per_token", exposure.costs.charlie_multiplications},
        {"david_multiplications_per_token", exposure.costs.david_multiplications},
        {"charlie_share", exposure.costs.charlie_share()},
        {"warnings", exposure.warnings}};
    std::cout << json.dump() << '\n';
}

void print_table(const api::HiddenExposure& exposure) {
    std::printf("%13s %5s %8s %9s %9s %7s  %s\n", "M x n", "norm", "hardness", "David", "hints",
                "factor", "matrices");
    for (const api::GroupExposure& group : exposure.groups) {
        const std::string shape =
            std::to_string(group.shape.rows) + " x " + std::to_string(group.shape.n);
        const std::string part =
            group.first_column > 0 ? " from column " + std::to_string(group.first_column) : "";
        std::printf("%13s %5d %8.1f %6.1f MB %6.1f MB %6.1fx%s %s%s\n", shape.c_str(), group.norm,
                    hardness_bits, 1e-6 * static_cast<double>(group.davids_bytes),
                    1e-6 * static_cast<double>(group.hint_bytes), group.davids_factor,
                    group.pays ? " " : "!", members_of(group).c_str(), part.c_str());
    }
    std::printf(
        "\nnorm: the greatest 2-norm of rows and activations. hardness: bits of core-SVP "
        "(spec/hardness.md).\n"
        "David: his part of the group, with the rows of U once per width beside it. factor: "
        "products of bytes\n"
        "per weight; !: hiding adds more rows than the group has. set %s: %.2f%% of all online "
        "multiplications\n"
        "are Charlie's.\n",
        std::string(exposure.set).c_str(), 100 * exposure.costs.charlie_share());
    for (const std::string& warning : exposure.warnings)
        std::printf("warning: %s\n", warning.c_str());
}

}  // namespace slip::tool
