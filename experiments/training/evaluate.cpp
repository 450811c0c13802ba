// Measures a trained model folder: bits per byte of a text, sample text, or agreement with recorded
// logits.
#include "likelihood.hpp"
#include "model.hpp"
#include "options.hpp"
#include "text.hpp"

#include <torch/utils.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

namespace {

using namespace training;

constexpr const char* kUsage =
    "usage: evaluate bpb --model FOLDER --tokens TOKENS --text FILE [--window 512] [--stride 512]\n"
    "       evaluate sample --model FOLDER --prompt TOKENS [--count 400] [--temperature 0] [--seed "
    "1]\n"
    "       evaluate golden --model FOLDER [--tolerance 0.001]\n"
    "TOKENS is a file written by `tokenize --as whole`.\n"
    "bpb:    bits for all tokens over the bytes of the text; windows that advance by --stride, "
    "each behind a BOS (see likelihood.hpp)\n"
    "sample: writes ids, the prompt's first; temperature 0 is greedy; ends at EOS or when the "
    "context is full\n"
    "golden: compares with FOLDER/golden_logits.json ({\"ids\": [...], \"logits\": [[...], "
    "...]})\n";

void bits_per_byte(const Options& options) {
    const auto model = Model::load(options.text("--model"));
    const long longest = model->config().max_position_embeddings;
    const long window = options.integer("--window", 1, longest);
    const long stride = options.integer("--stride", 1, window);
    const std::string text = read_file(options.text("--text"));
    const auto ids = read_tokens(options.text("--tokens"), model->config().vocab_size);
    const double nll = total_nll(*model, ids, window, stride);
    std::printf(
        "%zu bytes, %zu tokens, window %ld, stride %ld: %.4f nats per token, %.4f bits per byte\n",
        text.size(), ids.size(), window, stride, nll / static_cast<double>(ids.size()),
        nll / std::log(2.0) / static_cast<double>(text.size()));
}

void sample(const Options& options) {
    const auto model = Model::load(options.text("--model"));
    const double temperature = options.real("--temperature", 0.0, 10.0);
    const auto count = static_cast<size_t>(options.integer("--count", 1, 1'000'000));
    torch::manual_seed(static_cast<uint64_t>(options.integer("--seed", 0, 1L << 31)));

    torch::InferenceMode inference;
    std::vector<int64_t> ids = read_tokens(options.text("--prompt"), model->config().vocab_size);
    ids.insert(ids.begin(), kBos);
    const auto room = static_cast<size_t>(model->config().max_position_embeddings);
    for (size_t i = 0; i < count && ids.size() < room; ++i) {
        const torch::Tensor logits =
            model->forward(torch::tensor(ids, torch::kLong).unsqueeze(0))[0][-1];
        const torch::Tensor next =
            temperature == 0.0 ? logits.argmax()
                               : torch::multinomial(torch::softmax(logits / temperature, -1), 1);
        ids.push_back(next.item<int64_t>());
        if (ids.back() == kEos) break;
    }
    for (size_t i = 1; i < ids.size(); ++i)
        std::cout << ids[i] << (i + 1 < ids.size() ? " " : "\n");
}

void golden(const Options& options) {
    const std::string path = options.text("--model") + "/golden_logits.json";
    const auto model = Model::load(options.text("--model"));
    std::vector<int64_t> ids;
    std::vector<double> expected;
    try {
        const auto json = nlohmann::json::parse(read_file(path));
        json.at("ids").get_to(ids);
        for (const auto& row : json.at("logits")) {
            for (const double value : row) expected.push_back(value);
        }
    } catch (const nlohmann::json::exception& error) {
        throw std::runtime_error(path + ": not the expected JSON: " + error.what());
    }
    torch::InferenceMode inference;
    const torch::Tensor logits =
        model->forward(torch::tensor(ids, torch::kLong).unsqueeze(0)).to(torch::kDouble);
    if (static_cast<size_t>(logits.numel()) != expected.size()) {
        throw std::runtime_error(path + ": expected " + std::to_string(logits.numel()) +
                                 " logits, found " + std::to_string(expected.size()));
    }
    const double difference =
        (logits.view({-1}) - torch::tensor(expected, torch::kDouble)).abs().max().item<double>();
    const double tolerance = options.real("--tolerance", 0.0, 1e9);
    std::printf("largest difference of %zu logits: %.2e\n", expected.size(), difference);
    if (!(difference <= tolerance))
        throw std::runtime_error(path + ": the logits differ by more than the tolerance");
}

void evaluate(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "bpb") {
        bits_per_byte({argc,
                       argv,
                       2,
                       {{"--model", ""},
                        {"--tokens", ""},
                        {"--text", ""},
                        {"--window", "512"},
                        {"--stride", "512"}}});
    } else if (mode == "sample") {
        sample({argc,
                argv,
                2,
                {{"--model", ""},
                 {"--prompt", ""},
                 {"--count", "400"},
                 {"--temperature", "0"},
                 {"--seed", "1"}}});
    } else if (mode == "golden") {
        golden({argc, argv, 2, {{"--model", ""}, {"--tolerance", "0.001"}}});
    } else {
        throw UsageError("expected bpb, sample or golden, got '" + mode + "'");
    }
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(kUsage, [&] { evaluate(argc, argv); });
}
