#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "optimized/api/examine.hpp"
#include "optimized/api/model_files.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/base/finding.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/net/key_folders.hpp"
#include "optimized/split/hidden_matrix.hpp"
#include "optimized/split/split_checkpoint.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/plan_flags.hpp"
#include "programs/slip/support/printable.hpp"
#include "programs/slip/support/progress.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

namespace fs = std::filesystem;
namespace layout = artifact::layout;
using base::Finding;
using base::Findings;

/// What a path is found to be.
enum class Kind { checkpoint, artifact, charlies_half, davids_half, keys, unknown };

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::checkpoint:
            return "checkpoint";
        case Kind::artifact:
            return "artifact";
        case Kind::charlies_half:
            return "Charlie's half of an artifact";
        case Kind::davids_half:
            return "David's half of an artifact";
        case Kind::keys:
            return "TLS folder";
        case Kind::unknown:
            break;
    }
    return "unknown";
}

/// One path and all that was found.
struct Report {
    std::string path;
    Kind kind = Kind::unknown;
    Findings findings;
    std::optional<splitting::SplitSizes> split;  // of a checkpoint that can be split
    std::optional<double> seconds;               // for its hints, if it is hidden
};

bool has_one_of(const fs::path& folder, std::initializer_list<const char*> names) {
    std::error_code absent;
    for (const char* name : names) {
        if (fs::exists(folder / name, absent)) return true;
    }
    return false;
}

bool is_charlies_half(const fs::path& folder) {
    return has_one_of(folder, {layout::charlie_description, layout::charlie_weights});
}

bool is_davids_half(const fs::path& folder) {
    return has_one_of(folder, {layout::david_description, layout::david_weights});
}

/// By the names of the files: what is damaged is recognised too. A half has a config.json as a
/// checkpoint has, so it is asked for first.
Kind kind_of(const fs::path& path) {
    if (path.extension() == ".onnx" || path.extension() == ".gguf") return Kind::checkpoint;
    if (is_charlies_half(path)) return Kind::charlies_half;
    if (is_davids_half(path)) return Kind::davids_half;
    if (has_one_of(path, {"config.json", "model.safetensors", "model.safetensors.index.json"})) {
        return Kind::checkpoint;
    }
    if (is_charlies_half(path / layout::charlie_folder) ||
        is_davids_half(path / layout::david_folder) ||
        is_davids_half(path / layout::david_folders(2).front())) {
        return Kind::artifact;
    }
    if (net::is_key_folder(path) || net::holds_key_folders(path)) return Kind::keys;
    return Kind::unknown;
}

std::string describe(const importing::Checkpoint& checkpoint,
                     const std::vector<base::GroupShape>& groups) {
    std::size_t matrices = 0;
    std::size_t weights = 0;
    for (const base::GroupShape& group : groups) {
        matrices += group.members.size();
        weights += group.product().rows * group.n;
    }
    return checkpoint.folder().string() + ": " + std::to_string(checkpoint.tensors().size()) +
           " tensors; " + std::to_string(matrices) + " matrices of " + std::to_string(weights) +
           " weights in all can be split";
}

std::string describe(const splitting::SplitSizes& sizes) {
    return "a split takes " + std::to_string(sizes.charlie + sizes.check + sizes.masks) +
           " bytes of disk in OUT/charlie and " + std::to_string(sizes.david) +
           " in OUT/david; its largest matrix, which is in memory whole, has " +
           std::to_string(sizes.largest_matrix) + " bytes in float32";
}

/// What the paper's split with the same plan would do.
void examine_plan(const Options& options, const importing::Checkpoint& checkpoint,
                  const std::vector<base::GroupShape>& groups, Report& report) {
    std::vector<std::string> notes;
    const auto ranks =
        artifact::ranks_of(plan_of(options, checkpoint.folder()), groups, Strategy::lsc, notes);
    for (std::string& note : notes) report.findings.note(std::move(note));
    std::size_t whole = 0;
    for (const auto& group : ranks) {
        for (const std::size_t rank : group) {
            if (rank == 0) ++whole;
        }
    }
    if (whole > 0) {
        report.findings.note("under this plan David holds " + std::to_string(whole) +
                             " matrices whole, up to row scales");
    }
    const std::string set(layout::default_set(true));
    report.split = splitting::sizes_of_split(checkpoint, groups, ranks, layout::require_set(set));
    report.findings.note(describe(*report.split));
}

/// What hiding the model would take, here.
void examine_hiding(const importing::Checkpoint& checkpoint,
                    const std::vector<base::GroupShape>& groups, Report& report) {
    const auto& set = layout::require_set(std::string(layout::default_set(false)));
    const std::size_t threads = base::available_threads();
    report.split = splitting::sizes_of_split(checkpoint, groups, {}, set);
    report.seconds = report.split->products / splitting::measured_products_per_second(set, threads);
    report.findings.note("without --plan or --rank: hidden; " + describe(*report.split));
    report.findings.note("hiding takes about " + std::to_string(report.split->memory) +
                         " bytes of memory, and on this machine with " + std::to_string(threads) +
                         " threads " + std::to_string(std::lround(*report.seconds)) +
                         " s for its hints");
}

void examine_checkpoint(const Options& options, Report& report) {
    Findings& findings = report.findings;
    std::optional<importing::Checkpoint> checkpoint;
    if (!findings.examine([&] { checkpoint.emplace(report.path); })) return;
    const auto groups = api::groups_in(*checkpoint);
    findings.note(describe(*checkpoint, groups));
    api::examine_parameters(*checkpoint, groups, findings);
    api::examine_matrices(*checkpoint, groups, findings);
    findings.examine([&] {
        if (options.has("plan") || options.has("rank")) {
            examine_plan(options, *checkpoint, groups, report);
        } else if (checkpoint->network() == nullptr) {
            examine_hiding(*checkpoint, groups, report);
        } else {
            findings.note("a convolution cannot be hidden: with --rank, what its split would take");
        }
    });
}

std::size_t size_of(const fs::path& file) {
    std::error_code absent;
    const std::uintmax_t size = fs::file_size(file, absent);
    return absent ? 0 : static_cast<std::size_t>(size);
}

/// What a loader reads of the weights; those of David are also multiplied where Charlie's half can
/// tell what must come out.
std::size_t bytes_to_examine(const fs::path& path, Kind kind) {
    const auto charlies = [](const fs::path& half) {
        return size_of(half / layout::charlie_weights) + size_of(half / layout::masks);
    };
    const auto davids = [&] {
        std::size_t bytes = size_of(path / layout::david_folder / layout::david_weights);
        for (std::size_t i = 0;; ++i) {  // MODEL-22, whatever Charlie's half says
            const std::size_t of_shard =
                size_of(path / layout::david_folders(i + 2).at(i) / layout::david_weights);
            if (of_shard == 0) return bytes;
            bytes += of_shard;
        }
    };
    switch (kind) {
        case Kind::artifact:
            return charlies(path / layout::charlie_folder) + 2 * davids();
        case Kind::charlies_half:
            return charlies(path);
        case Kind::davids_half:
            return size_of(path / layout::david_weights);
        case Kind::checkpoint:
            break;
        default:
            return 0;
    }
    if (!fs::is_directory(path)) return size_of(path);
    std::size_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(path)) {
        if (entry.path().extension() == ".safetensors") bytes += size_of(entry.path());
    }
    return bytes;
}

/// Says on standard error how far it is, as soon as it has lasted a second. The sizes are known
/// before anything is read.
void show_progress(Report& report) {
    constexpr std::size_t megabyte = 1000000;
    const std::size_t total = bytes_to_examine(report.path, report.kind);
    const auto progress =
        std::make_shared<Progress>("slip check: " + printable(report.path) + ": megabytes");
    report.findings.on_progress([progress, total, done = std::size_t{0}](std::size_t more) mutable {
        done = std::min(done + more, total);
        progress->update(
            done / megabyte, total / megabyte,
            static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(total, 1)));
    });
}

Report examine(const Options& options, const std::string& path) {
    Report report;
    report.path = path;
    report.kind = kind_of(path);
    show_progress(report);
    switch (report.kind) {
        case Kind::checkpoint:
            examine_checkpoint(options, report);
            break;
        case Kind::artifact:
            api::examine_artifact(path, report.findings, options.file_or_none("seal"));
            break;
        case Kind::charlies_half:
            api::examine_charlies_half(path, report.findings, options.file_or_none("seal"));
            break;
        case Kind::davids_half:
            api::examine_davids_half(path, report.findings);
            break;
        case Kind::keys:
            net::examine_keys(path, std::time(nullptr), report.findings);
            break;
        case Kind::unknown:
            report.findings.error(path +
                                  ": expected a checkpoint, what 'slip split' wrote, or what 'slip "
                                  "keys' wrote");
    }
    report.findings.on_progress({});  // a terminal's line is empty again
    return report;
}

bool has_hints(const Report& report) {
    return report.kind == Kind::artifact || report.kind == Kind::charlies_half;
}

const char* name_of(Finding::Level level) {
    switch (level) {
        case Finding::Level::note:
            return "note";
        case Finding::Level::warning:
            return "warning";
        case Finding::Level::error:
            break;
    }
    return "error";
}

void print_table(const std::vector<Report>& reports) {
    for (const Report& report : reports) {
        std::cout << printable(report.path) << ": " << name_of(report.kind)
                  << (report.findings.has_errors() ? ": not in order\n" : ": in order\n");
        for (const Finding& finding : report.findings.all()) {
            std::cout << "  " << std::left << std::setw(8) << name_of(finding.level)
                      << printable(finding.text) << '\n';
        }
    }
}

void print_json(const std::vector<Report>& reports) {
    using Json = nlohmann::ordered_json;
    Json paths = Json::array();
    bool in_order = true;
    for (const Report& report : reports) {
        Json findings = Json::array();
        for (const Finding& finding : report.findings.all()) {
            findings.push_back({{"level", name_of(finding.level)}, {"text", finding.text}});
        }
        Json split = nullptr;
        if (report.split) {
            split = {{"charlie_bytes", report.split->charlie},
                     {"check_bytes", report.split->check},
                     {"masks_bytes", report.split->masks},
                     {"david_bytes", report.split->david},
                     {"largest_matrix_bytes", report.split->largest_matrix}};
            if (report.seconds) {
                split["memory_bytes"] = report.split->memory;
                split["seconds"] = *report.seconds;
            }
        }
        paths.push_back({{"path", report.path},
                         {"kind", name_of(report.kind)},
                         {"ok", !report.findings.has_errors()},
                         {"findings", findings},
                         {"split", split}});
        in_order = in_order && !report.findings.has_errors();
    }
    const Json json{{"ok", in_order}, {"paths", paths}};
    std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int check(const Arguments& arguments) {
    Options options("check PATH... [--plan FILE | --rank K [--blocks A]] [--seal KEYFILE] [--json]",
                    "Looks for everything that is wrong with a checkpoint, with what 'slip split' "
                    "wrote (OUT, OUT/charlie, OUT/david), or with what 'slip keys' wrote, and "
                    "changes nothing. Exit status 2 if something is wrong. Of a checkpoint it says "
                    "what a split would take: hidden, or the paper's with a plan or a rank.");
    options.example("slip check models/tinystories-llama split tls");
    options.take_words();
    options.add(
        "seal", "KEYFILE",
        "the key that 'slip split --seal' sealed an artifact's hints with: also opens them");
    options.add_switch("json", "print one JSON object instead of a table");
    options.group("Of a checkpoint: the paper's split, instead of hiding the whole model");
    add_plan_flags(options);
    if (!options.parse(arguments)) return 0;
    const std::vector<std::string> paths = options.words("PATH");
    require_plan_flags(options);
    if (!options.has("rank")) options.forbid("blocks", "without --rank");
    std::vector<Report> reports;
    std::size_t bad = 0;
    for (const std::string& path : paths) {
        reports.push_back(examine(options, path));
        if (reports.back().findings.has_errors()) ++bad;
    }
    if (std::ranges::none_of(reports, has_hints)) {
        options.forbid("seal", "where no path holds Charlie's half of an artifact");
    }
    options.has("json") ? print_json(reports) : print_table(reports);
    if (bad == 0) return 0;
    std::cout << std::flush;
    throw BadInput(std::to_string(bad) + " of " + std::to_string(paths.size()) +
                   " paths are not in order");
}

}  // namespace slip::tool
