// Writes David's share of a split that hides the spans of Charlie's part, beside the share of LSC
// whose ranks it takes. Prints one JSON object: a run of the safety measurements.
#include "experiments/safety/restore/share_folder.hpp"
#include "experiments/safety/spans/hiding.hpp"
#include "experiments/training/options.hpp"
#include "experiments/training/text.hpp"

#include <torch/utils.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

namespace {

using namespace safety;
using training::Model, training::Options;

constexpr const char* kUsage =
    "usage: spans --model DIR --share SHARE --hiding NAME --out FOLDER [--seed N]\n"
    "Writes FOLDER, a share of the model DIR with the ranks of SHARE, which david_share wrote.\n"
    "  --hiding NAME    random-core, tilted or mixture\n"
    "  --seed N         of what is drawn (1)\n";

torch::Tensor hidden(const torch::Tensor& matrix, int64_t rank, Hiding hiding) {
    return rounded_to_8_bits(with_random_core(matrix, spans_to_hide(matrix, rank, hiding)));
}

/// Charlie's multiplications in parts of the offloaded matrices'.
double epsilon_online(const Model& model, const ShareDescription& share) {
    double work = 0, offloaded = 0;
    for (const auto& [tensor, rank] : share.ranks) {
        const auto m = model.parameter(tensor).size(0), n = model.parameter(tensor).size(1);
        work += static_cast<double>(rank * (m + n));
        offloaded += static_cast<double>(m * n);
    }
    return work / offloaded;
}

void write(const ShareDescription& share, const Model& model, const std::string& folder,
           int64_t seed) {
    std::filesystem::create_directories(folder);
    model.save(folder, torch::kFloat);
    const nlohmann::ordered_json json{{"model", share.model},
                                      {"strategy", share.strategy},
                                      {"known", "embeddings-and-norms"},
                                      {"seed", seed},
                                      {"ranks", share.ranks}};
    training::write_file_atomically(folder + "/share.json", json.dump(1) + "\n");
}

void run(const Options& options) {
    const Hiding hiding = options.parsed("--hiding", hiding_named);
    const int64_t seed = options.integer("--seed", 0, training::kMany);
    const auto model = Model::load(options.text("--model"));
    auto share = ShareDescription::load(options.text("--share"));
    if (share.strategy != "lsc" || !share.known) {
        throw std::runtime_error(options.text("--share") +
                                 ": expected a share of LSC, with embeddings and norms known");
    }
    share.strategy = name_of(hiding);
    torch::manual_seed(static_cast<uint64_t>(seed));
    for (const auto& [tensor, rank] : share.ranks) {
        if (rank == 0) continue;
        model->replace(tensor, hidden(model->parameter(tensor).detach(), rank, hiding));
    }
    write(share, *model, options.text("--out"), seed);
    const nlohmann::ordered_json json{
        {"experiment", "share"},
        {"model", share.model},
        {"settings",
         {{"known", "embeddings-and-norms"},
          {"strategy", share.strategy},
          {"rank", share.largest_rank()}}},
        {"seed", seed},
        {"result", {{"epsilon_online", epsilon_online(*model, share)}}}};
    std::cout << json.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    return training::run_program(kUsage, [&] {
        run(Options(
            argc, argv, 1,
            {{"--model", ""}, {"--share", ""}, {"--hiding", ""}, {"--out", ""}, {"--seed", "1"}}));
    });
}
