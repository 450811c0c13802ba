#include "programs/slip/inspect_hidden.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/artifact/layout.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "slip/run_statistics.hpp"

namespace slip::tool {
namespace {

using artifact::CharlieArtifact;
using artifact::CharlieGroup;

/// spec/hardness.md: of the two estimates for the set's problem the smaller, in bits of core-SVP.
constexpr double hardness_bits = 127.7;

struct GroupReport {
    std::string members;
    base::ProductShape shape;
    std::size_t first_column = 0;
    std::int32_t norm = 0;
    std::uint64_t davids_bytes = 0;  // of A
    std::uint64_t hint_bytes = 0;
    double davids_factor = 0;  // multiplications of bytes per weight
    bool pays = false;         // whether hiding adds fewer rows than the group has
};

struct HiddenReport {
    std::vector<GroupReport> groups;
    OnlineCosts costs;  // per token, checks, scales and decoding included: multiplications
    std::vector<std::string> warnings;
};

GroupReport report_on(const CharlieGroup& group, const base::parameters::ParameterSet& set) {
    GroupReport report;
    for (const artifact::CharlieMember& member : group.members) {
        report.members += (report.members.empty() ? "" : " + ") + member.shape.tensor;
    }
    report.shape = group.product();
    report.first_column = group.first_column;
    report.norm = group.activation_norm;
    const std::uint64_t rows = report.shape.rows, weights = rows * group.n;
    report.davids_bytes = set.planes * weights;
    report.hint_bytes = 1;
    for (const std::size_t extent : artifact::layout::hint_shape(set, rows)) {
        report.hint_bytes *= extent;
    }
    const auto ell = static_cast<double>(set.public_rows());
    report.davids_factor = static_cast<double>(set.planes) * (1 + ell / static_cast<double>(rows));
    report.pays = rows >= set.public_rows();
    return report;
}

HiddenReport report_on(const CharlieArtifact& charlie) {
    const base::parameters::ParameterSet& set = charlie.set();
    HiddenReport report;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const CharlieGroup& group = charlie.groups()[g];
        report.groups.push_back(report_on(group, set));
        report.costs.add(
            {.charlie_multiplications = engines::charlie_multiplications_per_column(group, set),
             .david_multiplications = charlie.davids_product(g).multiplications()});
    }
    const auto small = std::ranges::count_if(report.groups, [](const auto& g) { return !g.pays; });
    if (small > 0) {
        report.warnings.push_back(
            std::to_string(small) + " of " + std::to_string(report.groups.size()) +
            " groups have fewer than the " + std::to_string(set.public_rows()) +
            " rows that hiding adds: there it costs more than it offloads");
    }
    report.warnings.emplace_back(
        "logits, shapes and the schedule of messages tell of the model whatever David holds: show "
        "users text");
    return report;
}

void print_json(const CharlieArtifact& charlie, const HiddenReport& report) {
    nlohmann::ordered_json groups = nlohmann::ordered_json::array();
    for (const GroupReport& group : report.groups) {
        groups.push_back({{"members", group.members},
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
        {"set", charlie.set().name},
        {"attention", name_of(charlie.config().attention)},
        {"groups", groups},
        {"charlie_multiplications_per_token", report.costs.charlie_multiplications},
        {"david_multiplications_per_token", report.costs.david_multiplications},
        {"charlie_share", report.costs.charlie_share()},
        {"warnings", report.warnings}};
    std::cout << json.dump() << '\n';
}

void print_table(const CharlieArtifact& charlie, const HiddenReport& report) {
    std::printf("%13s %5s %8s %9s %9s %7s  %s\n", "M x n", "norm", "hardness", "David", "hints",
                "factor", "matrices");
    for (const GroupReport& group : report.groups) {
        const std::string shape =
            std::to_string(group.shape.rows) + " x " + std::to_string(group.shape.n);
        const std::string part =
            group.first_column > 0 ? " from column " + std::to_string(group.first_column) : "";
        std::printf("%13s %5d %8.1f %6.1f MB %6.1f MB %6.1fx%s %s%s\n", shape.c_str(), group.norm,
                    hardness_bits, 1e-6 * static_cast<double>(group.davids_bytes),
                    1e-6 * static_cast<double>(group.hint_bytes), group.davids_factor,
                    group.pays ? " " : "!", group.members.c_str(), part.c_str());
    }
    std::printf(
        "\nnorm: the greatest 2-norm of rows and activations. hardness: bits of core-SVP "
        "(spec/hardness.md).\n"
        "David: his part of the group, with the rows of U once per width beside it. factor: "
        "products of bytes\n"
        "per weight; !: hiding adds more rows than the group has. set %s: %.2f%% of all online "
        "multiplications\n"
        "are Charlie's.\n",
        std::string(charlie.set().name).c_str(), 100 * report.costs.charlie_share());
    for (const std::string& warning : report.warnings)
        std::printf("warning: %s\n", warning.c_str());
}

}  // namespace

void inspect_hidden(const CharlieArtifact& charlie, bool as_json) {
    const HiddenReport report = report_on(charlie);
    as_json ? print_json(charlie, report) : print_table(charlie, report);
}

}  // namespace slip::tool
