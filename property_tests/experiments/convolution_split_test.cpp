// What is left of a network without the top components of its matrices (CNN-5), against the network
// itself and against the product's own split.
// test: alone
// links: slip_convolution_split slip_reference
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "experiments/convolution/residuals.hpp"
#include "experiments/tasks/share.hpp"
#include "optimized/base/files.hpp"
#include "property_tests/generators/onnx_encoder.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/model.hpp"
#include "slip/split.hpp"

namespace slip::testing {
namespace {

using convolution::Form;
using convolution::Layers;

std::vector<float> normal_numbers(std::size_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<float> numbers(count);
    for (float& number : numbers) number = normal(random);
    return numbers;
}

/// 6 x 6 x 2 -> 4 filters of 3 x 3, padding 1, with a bias -> relu -> 5 classes.
std::string network() {
    using namespace onnx_encoder;
    std::mt19937 random(5);
    return model(node("Conv", {"x", "K", "b"}, "c", attribute("pads", {1, 1, 1, 1})) +
                 node("Relu", {"c"}, "r") + node("Flatten", {"r"}, "f") +
                 node("MatMul", {"f", "W"}, "y") +
                 floats("K", {4, 2, 3, 3}, normal_numbers(4 * 2 * 3 * 3, random)) +
                 floats("b", {4}, normal_numbers(4, random)) +
                 floats("W", {144, 5}, normal_numbers(144 * 5, random)) +
                 value_info(11, "x", {1, 2, 6, 6}) + value_info(12, "y", {1, 5}));
}

class ConvolutionSplit : public ::testing::Test {
protected:
    ConvolutionSplit() : file_(folder_.path() / "network.onnx") {
        base::write_file(file_, network(), 0600);
        std::mt19937 random(6);
        images_ = normal_numbers(7 * 6 * 6 * 2, random);
    }

    std::vector<float> logits(ImageClassifier&& model) const { return model.classify(images_); }
    std::vector<float> without(Form form, const std::vector<std::size_t>& ranks) const {
        const importing::Checkpoint checkpoint(file_);
        return logits(Layers(checkpoint, form).without(ranks, file_));
    }

    TemporaryFolder folder_;
    std::filesystem::path file_;
    std::vector<float> images_;
};

/// The largest distance, in parts of the largest of `expected`.
double distance(const std::vector<float>& found, const std::vector<float>& expected) {
    double largest = 0;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        largest = std::max(largest, std::abs(double{expected[i]}));
        worst = std::max(worst, std::abs(double{expected[i]} - double{found.at(i)}));
    }
    return worst / largest;
}

TEST_F(ConvolutionSplit, CNN_2_both_forms_are_the_network_if_nothing_is_taken) {
    const std::vector<float> whole = logits(open_checkpoint<ImageClassifier>(file_));
    EXPECT_LT(distance(without(Form::kernel, {0, 0}), whole), 1e-5);
    EXPECT_LT(distance(without(Form::dense, {0, 0}), whole), 1e-5);
}

TEST_F(ConvolutionSplit, CNN_5_the_kernel_form_is_the_products_share) {
    SplitOptions options;
    options.plan = uniform_plan(file_, 2);
    options.out = folder_.path() / "split";
    split_checkpoint(file_, options);
    const std::vector<float> share = logits(tasks::open_share<ImageClassifier>(options.out));
    // The product rounds to 8 bits.
    EXPECT_LT(distance(without(Form::kernel, {2, 2}), share), 0.02);
    EXPECT_GT(distance(without(Form::kernel, {1, 2}), share), 0.05);
    EXPECT_GT(distance(without(Form::dense, {2, 2}), share), 0.05);
}

TEST_F(ConvolutionSplit, CNN_5_all_components_are_the_whole_matrix) {
    const importing::Checkpoint checkpoint(file_);
    for (const Form form : {Form::kernel, Form::dense}) {
        const Layers layers(checkpoint, form);
        EXPECT_EQ(layers.ranks(0, false), (std::vector<std::size_t>{0, 0}));
        EXPECT_EQ(layers.ranks(1, true)[1], 0U);
        const std::vector<std::size_t> all = layers.ranks(1, false);
        const std::vector<float> nothing = logits(layers.without(all, file_));
        for (const float logit : nothing) EXPECT_NEAR(logit, 0, 1e-4);
        // Nothing is left of an image once the convolution is gone.
        const std::vector<float> constant = logits(layers.without({all[0], 0}, file_));
        for (std::size_t i = 5; i < constant.size(); ++i) {
            EXPECT_NEAR(constant[i], constant[i - 5], 1e-3);
        }
    }
}

TEST_F(ConvolutionSplit, CNN_5_what_charlie_computes_is_what_a_hand_counts) {
    const importing::Checkpoint checkpoint(file_);
    // 36 positions; kernel 4 x 18, dense 144 x 72, linear 5 x 144.
    EXPECT_EQ(Layers(checkpoint, Form::kernel).charlie_multiplications({3, 2}),
              36U * 3 * (4 + 18) + 2 * (5 + 144));
    EXPECT_EQ(Layers(checkpoint, Form::dense).charlie_multiplications({3, 2}),
              3U * (144 + 72) + 2 * (5 + 144));
}

}  // namespace
}  // namespace slip::testing
