// Splits a checkpoint (or takes a split that exists) and writes what David can run. Prints one JSON
// object: a run of the safety measurements.
#include <iostream>
#include <nlohmann/json.hpp>

#include "experiments/measure/model_label.hpp"
#include "experiments/safety/share/share.hpp"
#include "experiments/training/options.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "slip/split.hpp"

namespace {

using namespace slip;
using training::Options;

constexpr const char* usage =
    "usage: david_share --model DIR --out SHARE (--artifact OUT | --rank K | --plan FILE) "
    "[options]\n"
    "Writes the folder SHARE: David's half of a split of DIR as a Hugging Face checkpoint. A "
    "share\n"
    "that is there already is replaced.\n"
    "  --artifact OUT   both halves of a split that exists; else it is made, in SHARE/split, by\n"
    "  --set NAME       paper, or hidden, which takes no plan: each call draws its secrets anew\n"
    "                   (paper)\n"
    "  --rank K         K for every linear layer of the blocks; of a hidden split the rank of the\n"
    "                   attackers, which says nothing of the split; or\n"
    "  --plan FILE      a plan as `slip split` takes it, with\n"
    "  --blocks A       with --rank: only the first and the last A blocks (all)\n"
    "  --strategy NAME  lsc, rcs, norm, random or fms (lsc)\n"
    "  --known WHAT     what David has beside his half: embeddings-and-norms, or nothing\n"
    "                   (embeddings-and-norms)\n"
    "  --rows WHAT      of a hidden split: davids, or uniform residues in their place (davids)\n"
    "  --norms WHAT     of its rows: told, the model's own, or small, those of random weights\n"
    "                   (told)\n"
    "  --seed N         of strategies that choose at random, of what David must guess, and of\n"
    "                   uniform rows (1)\n";

bool given(const Options& options, const char* name) { return options.text(name) != "none"; }

/// `seed` as the 32 bytes that a strategy draws from, little-endian.
SelectionSeed selection_seed(std::uint64_t seed) {
    SelectionSeed bytes{};
    for (std::size_t i = 0; i < sizeof seed; ++i) {
        bytes[i] = static_cast<std::uint8_t>(seed >> (8 * i));
    }
    return bytes;
}

Plan plan_of(const Options& options, const std::filesystem::path& model) {
    if (given(options, "--plan")) return read_plan(options.text("--plan"));
    std::optional<std::size_t> first_and_last;
    if (given(options, "--blocks")) {
        first_and_last = static_cast<std::size_t>(options.integer("--blocks", 1, 1 << 16));
    }
    const auto rank = static_cast<std::size_t>(options.integer("--rank", 0, 1 << 20));
    return uniform_plan(model, rank, first_and_last);
}

/// Where both halves are: those that --artifact names, or new ones in `out`.
std::filesystem::path split_of(const Options& options, const std::filesystem::path& model,
                               const std::filesystem::path& out, std::uint64_t seed) {
    if (given(options, "--artifact")) return options.text("--artifact");
    const auto strategy = strategy_named(options.text("--strategy"));
    if (!strategy) throw BadInput("--strategy is one of lsc, rcs, norm, random, fms");
    SplitOptions split;
    split.out = out;
    split.set = options.text("--set");
    if (split.set != "paper" && split.set != "hidden") {
        throw BadInput("--set is paper or hidden");
    }
    if (split.set == "hidden" && (given(options, "--plan") || given(options, "--blocks"))) {
        throw BadInput("--set hidden: all of every matrix is hidden: expected no plan or blocks");
    }
    if (split.set == "paper") split.plan = plan_of(options, model);
    split.strategy = *strategy;
    if (*strategy == Strategy::rcs || *strategy == Strategy::random) {
        split.seed = selection_seed(seed);
    }
    for (const std::string& note : split_checkpoint(model, split)) {
        std::cerr << "david_share: " << note << '\n';
    }
    return out;
}

/// `is_hidden`: no rank says what a split costs Charlie.
nlohmann::ordered_json result_of(const std::vector<safety::SharedMatrix>& matrices,
                                 bool is_hidden) {
    std::size_t split = 0, offloaded = 0, work = 0;
    for (const safety::SharedMatrix& matrix : matrices) {
        if (matrix.rank > 0) ++split;
        offloaded += matrix.m * matrix.n;
        work += matrix.rank * (matrix.m + matrix.n);
    }
    nlohmann::ordered_json result{
        {"matrices", matrices.size()}, {"matrices_split", split}, {"offloaded_weights", offloaded}};
    if (!is_hidden) {
        result["epsilon_online"] = static_cast<double>(work) / static_cast<double>(offloaded);
    }
    return result;
}

void run(const Options& options) {
    const std::filesystem::path model = options.text("--model");
    const auto seed = static_cast<std::uint64_t>(options.integer("--seed", 0, 1L << 31));
    safety::ShareOptions made{safety::known_named(options.text("--known")), seed,
                              safety::rows_named(options.text("--rows"))};
    const std::string norms = options.text("--norms");
    if (norms != "told" && norms != "small") throw BadInput("--norms is told or small");
    made.small_rows = norms == "small";
    if (given(options, "--rank")) {
        made.rank = static_cast<std::size_t>(options.integer("--rank", 0, 1 << 20));
    }
    const std::filesystem::path out = options.text("--out");
    if (std::filesystem::exists(out / "share.json")) std::filesystem::remove_all(out);
    base::StagedFolder folder(out);
    const std::filesystem::path split = split_of(options, model, folder.path() / "split", seed);
    const std::vector<safety::SharedMatrix> matrices =
        safety::write_share(model, split, folder.path(), made);
    const artifact::CharlieArtifact charlie(split);
    folder.commit();

    nlohmann::ordered_json settings{{"known", name_of(made.known)},
                                    {"strategy", safety::strategy_of(charlie, made)}};
    for (const char* name : {"--rank", "--blocks"}) {
        if (given(options, name)) settings[name + 2] = options.integer(name, 0, 1 << 20);
    }
    for (const char* name : {"--artifact", "--plan"}) {
        const std::filesystem::path path = options.text(name);
        if (given(options, name)) settings[name + 2] = path.stem();
    }
    const nlohmann::ordered_json json{{"experiment", "share"},
                                      {"model", measure::label_of(importing::Checkpoint(model))},
                                      {"settings", settings},
                                      {"seed", seed},
                                      {"result", result_of(matrices, charlie.set().hides_weights)}};
    std::cout << json.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    return training::run_program(usage, [&] {
        run(Options(argc, argv, 1,
                    {{"--model", ""},
                     {"--out", ""},
                     {"--artifact", "none"},
                     {"--rank", "none"},
                     {"--plan", "none"},
                     {"--blocks", "none"},
                     {"--strategy", "lsc"},
                     {"--set", "paper"},
                     {"--rows", "davids"},
                     {"--norms", "told"},
                     {"--known", "embeddings-and-norms"},
                     {"--seed", "1"}}));
    });
}
