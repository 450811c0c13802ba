// What `slip inspect` shows of an artifact (THREAT-4), against the artifact's files.
#include "optimized/api/exposure.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/split.hpp"

namespace slip::testing {
namespace {

namespace fs = std::filesystem;

/// A split of a model with at least two blocks.
class SplitOnDisk {
public:
    explicit SplitOnDisk(const Plan& plan = {}) {
        std::uint64_t seed = 1;
        SyntheticModel model = random_llama(seed);
        while (model.config.num_hidden_layers < 2) model = random_llama(++seed);
        write_checkpoint(model, checkpoint());
        SplitOptions options;
        options.out = out();
        options.plan = plan;
        split_checkpoint(checkpoint(), options);
    }
    fs::path checkpoint() const { return folder_ / "model"; }
    fs::path out() const { return folder_ / "out"; }

private:
    TemporaryFolder folder_;
};

TEST(Exposure, THREAT_4_a_hidden_group_takes_the_bytes_that_its_files_have) {
    const SplitOnDisk split;
    const api::SplitFiles files(split.out());
    ASSERT_TRUE(files.hides_weights());
    const api::HiddenExposure exposure = api::hidden_exposure_of(files);
    const auto& groups = files.charlie().groups();
    ASSERT_EQ(exposure.groups.size(), groups.size());
    std::uint64_t rows = 0, multiplications = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const api::GroupExposure& own = exposure.groups[g];
        EXPECT_EQ(own.hint_bytes, files.charlie().hint(g).size());
        EXPECT_EQ(own.tensors.size(), groups[g].members.size());
        EXPECT_EQ(own.norm, groups[g].activation_norm);
        EXPECT_FALSE(own.pays) << "fewer rows than hiding adds";
        rows += own.davids_bytes;
        multiplications += files.charlie().davids_product(g).multiplications();
    }
    EXPECT_EQ(exposure.costs.david_multiplications, multiplications);
    const fs::path davids = split.out() / "david/david.safetensors";
    EXPECT_LE(rows, fs::file_size(davids));
    EXPECT_GT(rows + 8192, fs::file_size(davids)) << "beside A there is a header";
    EXPECT_NE(exposure.warnings.front().find("have fewer than the 2304 rows"), std::string::npos);
}

TEST(Exposure, THREAT_4_what_is_split_in_one_block_and_whole_in_the_next_is_shown) {
    const SplitOnDisk split({{0, "q_proj", 2}, {0, "k_proj", 1}, {1, "k_proj", 1}});
    const api::SplitFiles files(split.out());
    ASSERT_FALSE(files.hides_weights());
    const api::SplitExposure exposure = api::exposure_of(files, {});
    std::size_t split_matrices = 0;
    std::uint64_t weights = 0;
    for (const api::MatrixExposure& matrix : exposure.matrices) {
        const bool is_query = matrix.shape.layer_type == "q_proj" && matrix.shape.block == 0U;
        EXPECT_EQ(matrix.whole_neighbours,
                  is_query ? std::vector<std::size_t>{1} : std::vector<std::size_t>{});
        EXPECT_EQ(matrix.head, matrix.shape.layer_type == "lm_head");
        EXPECT_FALSE(matrix.grid_share.has_value()) << "without a checkpoint";
        EXPECT_GE(matrix.margin_bits, 0);
        split_matrices += matrix.rank > 0 ? 1 : 0;
        weights += matrix.shape.m * matrix.n;
        if (matrix.rank == 0) {
            EXPECT_EQ(matrix.charlie_share, 0);
        }
        const std::size_t apart =
            std::max(matrix.shape.m, matrix.n) - std::min(matrix.shape.m, matrix.n);
        if (is_query) {
            EXPECT_EQ(matrix.unknowns_left, 2 * (apart + 2));
        }
    }
    EXPECT_EQ(split_matrices, 3U);
    EXPECT_EQ(exposure.costs.david_multiplications, weights);
}

TEST(Exposure, DECO_13_the_checkpoint_tells_the_grid_and_another_one_is_refused) {
    const SplitOnDisk split({{0, "q_proj", 2}});
    const api::SplitFiles files(split.out());
    for (const auto& matrix : api::exposure_of(files, split.checkpoint()).matrices) {
        ASSERT_TRUE(matrix.grid_share.has_value());
        EXPECT_GT(*matrix.grid_share, 0);
        EXPECT_LE(*matrix.grid_share, 1);
    }
    SyntheticModel other = random_llama(77);
    const TemporaryFolder folder;
    write_checkpoint(other, folder / "other");
    EXPECT_THROW(api::exposure_of(files, folder / "other"), BadInput);
}

}  // namespace
}  // namespace slip::testing
