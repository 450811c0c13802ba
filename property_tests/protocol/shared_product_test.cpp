// test: threads

#include <gtest/gtest.h>

#include "optimized/base/worker_team.hpp"
#include "property_tests/generators/protocol_fixture.hpp"

namespace slip::testing {
namespace {

using base::WorkerTeam;

void expect_the_same_product(const kernels::GroupWeights& w, std::size_t columns,
                             WorkerTeam& team) {
    Random random(columns);
    const Residues x = random_residues(columns, w.cols(), paper_planes, random);
    Residues alone(columns * paper_planes * w.rows()), shared(alone);
    w.apply(x, alone, paper_planes);
    w.apply(x, shared, paper_planes, &team);
    EXPECT_EQ(shared, alone) << columns << " columns, " << team.threads() << " threads";
}

/// LIN-1 has one answer, however many threads compute it.
TEST(SharedProduct, LIN_1_threads_share_a_product) {
    const Model model({{1, 3}, {64, 5}, {65, 7}, {700, 30}, {128, 1}}, Fill::extremes, 1);
    for (const std::size_t threads : {1U, 2U, 3U, 7U}) {
        WorkerTeam team(threads);
        for (const kernels::GroupWeights& w : model.weights()) {
            for (const std::size_t columns : {1U, 2U, 3U, 40U}) {
                expect_the_same_product(w, columns, team);
            }
        }
    }
}

}  // namespace
}  // namespace slip::testing
