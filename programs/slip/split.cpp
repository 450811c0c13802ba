#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/chat_template.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/tokenizer.hpp"
#include "programs/common/result_parts.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/plan_flags.hpp"
#include "programs/slip/support/printable.hpp"
#include "programs/slip/support/progress.hpp"
#include "slip/error.hpp"
#include "slip/split.hpp"

namespace slip::tool {
namespace {

void declare_split(Options& options) {
    options.add("model", "DIR",
                "Hugging Face checkpoint: config.json, model.safetensors; or FILE.gguf; or "
                "FILE.onnx, a convolutional network that is a chain of layers");
    options.add("out", "OUT", "folder to make; it must not exist");
    const std::string sets = "of parameters: one of " + artifact::layout::names_of_sets() +
                             "; the default is hidden, or paper-lattice with --plan or --rank";
    options.add("set", "NAME", sets.c_str());
    options.group("The paper's split, instead of hiding the whole model");
    add_plan_flags(options);
    options.add("strategy", "NAME",
                "lsc (the default), rcs, norm, random or fms: what Charlie keeps of a matrix");
    options.add("seed", "HEX", "with rcs and random: 64 digits; drawn afresh if absent");
    options.add_switch("accept-grid",
                       "also split matrices of a few bits per weight, although David's half then "
                       "determines what is hidden of them");
    options.group("What is written, and how");
    options.add("attention", "NAME",
                "fused (the default): one round for Q, K and V; paper: the order of the "
                "paper's figure");
    options.add("audit", "DIR",
                "with a hidden split: a folder to make for the owner's own copy of the integer "
                "model, which --engine unsplit runs");
    options.add(
        "seal", "KEYFILE",
        "32 random bytes that nobody else may use, mode 0600: encrypts Charlie's hints, and "
        "the keys of the hidden split, on the disk; every command that reads them takes it");
    options.add("shards", "N",
                "divide David's half among N Davids, whole blocks each: OUT/david-0, OUT/david-1, "
                "... in the place of OUT/david (default 1)");
    options.add("part", "I/N",
                "make only the I-th of N parts, on this machine or another one that has the same "
                "folders; the same command without --part then checks and completes the split");
    options.add("threads", "N", "at most N threads; all of the machine's if absent");
}

Strategy strategy_of(const Options& options) {
    const auto strategy = strategy_named(options.text_or("strategy", "lsc"));
    if (!strategy) throw BadInput("--strategy is one of lsc, rcs, norm, random, fms");
    return *strategy;
}

std::optional<SelectionSeed> seed_of(const Options& options, Strategy strategy) {
    if (!options.has("seed")) return std::nullopt;
    if (!artifact::uses_randomness(strategy)) {
        options.forbid("seed", "without --strategy rcs or random");
    }
    const auto seed = artifact::from_hex(options.required("seed"));
    if (!seed) throw BadInput("--seed needs 64 lower-case hexadecimal digits");
    return seed;
}

Attention chosen_attention(const Options& options) {
    const std::string name = options.text_or("attention", name_of(Attention::fused));
    const auto attention = attention_named(name);
    if (!attention) throw BadInput("--attention '" + name + "': expected fused or paper");
    return *attention;
}

/// --part I/N.
std::optional<SplitPart> part_of(const Options& options) {
    if (!options.has("part")) return std::nullopt;
    const Part part = part_named(options.required("part"));
    return SplitPart{part.number, part.count};
}

/// What one token costs in the order of `config`: residues that Charlie sends, and David's
/// multiplications.
struct OrderCost {
    std::uint64_t residues = 0;
    std::uint64_t multiplications = 0;
};

OrderCost cost_of_order(const base::ModelConfig& config) {
    OrderCost cost;
    for (const base::GroupShape& group : graph::groups_of(config)) {
        cost.residues += group.columns_per_token * group.product().inputs();
        cost.multiplications += group.columns_per_token * group.product().multiplications();
    }
    return cost;
}

/// The order of the figure is faithful, not efficient: every head sends a mixture of its own.
void note_cost_of_papers_order(base::ModelConfig config) {
    config.attention = Attention::fused;
    const OrderCost fused = cost_of_order(config);
    config.attention = Attention::paper;
    const OrderCost paper = cost_of_order(config);
    std::cerr << "slip split: note: attention in the paper's order sends " << paper.residues
              << " residues per token instead of " << fused.residues << ", in "
              << graph::groups_of(config).size() << " messages, and David multiplies "
              << paper.multiplications << " times instead of " << fused.multiplications << '\n';
}

/// Which matrices David holds as they are, up to row scales: those of rank 0.
void tell_what_is_exposed(const std::filesystem::path& out) {
    const auto plan = nlohmann::json::parse(base::read_file(out / "charlie" / "plan.json"));
    std::map<std::string, std::size_t> whole;
    std::size_t matrices = 0;
    std::size_t exposed = 0;
    for (const auto& group : plan.at("groups")) {
        for (const auto& member : group.at("members")) {
            ++matrices;
            if (member.at("rank") != 0) continue;
            ++exposed;
            ++whole[member.at("layer_type").get<std::string>()];
        }
    }
    std::cerr << "slip split: note: David holds " << exposed << " of " << matrices
              << " matrices whole, up to row scales";
    const char* before = ": ";
    for (const auto& [layer_type, count] : whole) {
        std::cerr << std::exchange(before, ", ") << count << ' ' << printable(layer_type);
    }
    std::cerr << '\n';
}

/// HIDE-1: hiding adds ell rows to each product, and does not pay where a group has fewer.
void tell_what_does_not_pay(const std::vector<std::filesystem::path>& davids,
                            const base::parameters::ParameterSet& set) {
    std::size_t small = 0, groups = 0;
    for (const std::filesystem::path& folder : davids) {
        const auto manifest = nlohmann::json::parse(base::read_file(folder / "manifest.json"));
        for (const auto& group : manifest.at("groups")) {
            if (group.at("rows") < set.public_rows()) ++small;
            ++groups;
        }
    }
    if (small == 0) return;
    std::cerr << "slip split: note: " << small << " of " << groups << " groups have fewer than the "
              << set.public_rows()
              << " rows that hiding adds to a product: there it costs more than it offloads\n";
}

/// Files of a checkpoint's folder that are in no half, such as a README.
void tell_what_is_unused(const std::filesystem::path& model) {
    if (!std::filesystem::is_directory(model)) return;
    std::vector<std::filesystem::path> tokenizer = importing::tokenizer_files(model);
    const auto chat = importing::chat_template_files(model);
    tokenizer.insert(tokenizer.end(), chat.begin(), chat.end());
    std::set<std::string> unused;
    for (const auto& entry : std::filesystem::directory_iterator(model)) {
        const std::filesystem::path& file = entry.path();
        const bool used = file.filename() == "config.json" || file.extension() == ".safetensors" ||
                          file.filename() == "model.safetensors.index.json" ||
                          std::find(tokenizer.begin(), tokenizer.end(), file) != tokenizer.end();
        if (!used) unused.insert(file.filename().string());
    }
    const char* before = "slip split: note: not used: ";
    for (const std::string& name : unused) {
        std::cerr << std::exchange(before, ", ") << printable(name);
    }
    if (!unused.empty()) std::cerr << '\n';
}

/// Splits into options.out, with progress, and says what the user should know.
void write_split(const std::filesystem::path& model, SplitOptions options) {
    std::vector<std::string> notes;
    {
        Progress progress("slip split: matrices");
        options.progress = [&](const SplitProgress& now) {
            if (now.skipped > 0 && now.finished == now.skipped) {
                std::cerr << "slip split: going on after " << now.skipped << " of " << now.matrices
                          << " matrices\n";
            }
            progress.update(
                now.finished, now.matrices,
                static_cast<double>(now.finished_weights) / static_cast<double>(now.weights));
        };
        notes = split_checkpoint(model, options);
    }
    for (const std::string& note : notes) std::cerr << "slip split: note: " << note << '\n';
    if (options.part) {
        std::cout << "finished part " << options.part->number << " of " << options.part->count
                  << "; when all are, run the same command without --part\n";
        return;
    }
    const auto& set = artifact::layout::require_set(options.set);
    std::vector<std::filesystem::path> davids;
    for (const std::string& name : artifact::layout::david_folders(options.shards)) {
        davids.push_back(options.out / name);
    }
    if (set.hides_weights) {
        tell_what_does_not_pay(davids, set);
    } else {
        std::cerr << "slip split: note: split a model once in its life: two artifacts of one "
                     "checkpoint give away their difference\n";
        tell_what_is_exposed(options.out);
    }
    tell_what_is_unused(model);
    std::cerr << "slip split: next: slip inspect --artifact " << options.out.string() << '\n';
    std::cout << "wrote " << (options.out / "charlie").string()
              << " (secret, for the trusted machine, Charlie) and " << davids.front().string();
    if (davids.size() == 1) {
        std::cout << " (for the untrusted one, David)\n";
    } else {
        std::cout << " to " << davids.back().filename().string()
                  << " (for untrusted ones, a David each)\n";
    }
}

}  // namespace

int split(const Arguments& arguments) {
    Options options(
        "split --model DIR|FILE --out OUT [--plan FILE | --rank K [--blocks A]] [--set NAME]",
        "Splits a checkpoint into OUT/charlie, which stays secret on the trusted machine "
        "(Charlie), "
        "and OUT/david, which the untrusted one (David) may have. By default the whole model is "
        "hidden from him; with a plan or a rank it is the "
        "paper's split, of which Charlie keeps a part. Nothing is left behind if it fails; if it "
        "is killed, the same command goes on where it was.");
    options.example("slip split --model models/tinystories-llama --out split");
    declare_split(options);
    if (!options.parse(arguments)) return 0;
    const std::filesystem::path model = options.required("model");
    const std::filesystem::path out = options.required("out");
    const bool has_plan = options.has("plan") || options.has("rank");
    const std::string name =
        options.text_or("set", std::string(artifact::layout::default_set(has_plan)));
    const auto& set = artifact::layout::require_set(name);
    if (set.hides_weights) {
        const std::string reason = "with --set " + name + ", which keeps no part of a matrix";
        for (const char* flag : {"plan", "rank", "blocks", "strategy", "seed", "accept-grid"}) {
            options.forbid(flag, reason);
        }
    } else {
        require_plan_flags(options);
        options.forbid("audit", "with --set " + name + ", whose halves show the integer model");
    }
    const Attention attention = chosen_attention(options);
    const Strategy strategy = strategy_of(options);
    seed_of(options, strategy);
    const std::size_t threads = options.number_or("threads", base::available_threads(), 1, 1024);

    const importing::Checkpoint checkpoint(model, attention);
    if (checkpoint.network()) {
        options.forbid("attention", "with a convolutional network, which has none");
    } else if (checkpoint.config().attention == Attention::paper) {
        note_cost_of_papers_order(checkpoint.config());
    }
    write_split(model, {.plan = set.hides_weights ? Plan{} : plan_of(options, model),
                        .out = out,
                        .progress = {},
                        .strategy = strategy,
                        .seed = seed_of(options, strategy),
                        .threads = threads,
                        .attention = attention,
                        .accept_grid = options.has("accept-grid"),
                        .set = name,
                        .audit = options.text_or("audit", ""),
                        .seal = options.file_or_none("seal"),
                        .shards = options.number_or("shards", 1, 1, 1024),
                        .part = part_of(options)});
    return 0;
}

}  // namespace slip::tool
