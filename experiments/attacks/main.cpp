// slip-attack NAME|all [--full] [--column C] [--seed S] [--model DIR] [--json] [--part I/N]
// [--results DIR]: each attack against a twin that lacks a rule, and against the product with the
// paper's split and with the hidden one.
#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/attacks/victim.hpp"
#include "programs/common/result_parts.hpp"
#include "slip/error.hpp"
#include "slip/version.h"

namespace slip::attacks {
namespace {

namespace po = boost::program_options;
using nlohmann::ordered_json;

using nlohmann::json;

/// What came of an attack, with its seconds; null where there is none in this column.
json outcome_of(Run run, const Setting& setting) {
    if (run == nullptr) return nullptr;
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run(setting);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return {{"succeeded", outcome.succeeded()}, {"error", outcome.error},
            {"threshold", outcome.threshold},   {"queries", outcome.queries},
            {"seconds", seconds.count()},       {"note", outcome.note}};
}

ordered_json in_order(const json& outcome) {
    if (outcome.is_null()) return nullptr;
    ordered_json ordered;
    for (const char* name : {"succeeded", "error", "threshold", "queries", "seconds"}) {
        ordered[name] = outcome.at(name);
    }
    if (outcome.at("note") != "") ordered["note"] = outcome.at("note");
    return ordered;
}

void print(const char* column, const json& outcome, const char* if_none) {
    if (outcome.is_null()) {
        std::printf("  %-8s %s\n", column, if_none);
        return;
    }
    std::printf("  %-8s %-9s error %-10.4g threshold %-8.4g %8llu queries %7.2f s\n", column,
                outcome.at("succeeded").get<bool>() ? "succeeds" : "fails",
                outcome.at("error").get<double>(), outcome.at("threshold").get<double>(),
                outcome.at("queries").get<unsigned long long>(),
                outcome.at("seconds").get<double>());
    const auto note = outcome.at("note").get<std::string>();
    if (!note.empty()) std::printf("           %s\n", note.c_str());
}

std::vector<Attack> chosen(const std::string& name) {
    std::string known = "all";
    std::vector<Attack> found;
    for (const Attack& attack : attacks()) {
        if (name == "all" || name == attack.name) found.push_back(attack);
        known.append(", ").append(attack.name);
    }
    if (found.empty()) throw BadInput("there is no attack '" + name + "': expected " + known);
    return found;
}

struct Column {
    const char* name;
    Run Attack::*run;
    const char* if_none;
};
constexpr std::array columns{
    Column{"twin", &Attack::twin, "there is no rule to switch off"},
    Column{"paper", &Attack::paper, "its rules are others"},
    Column{"hidden", &Attack::hidden, ""},
};

/// All of them if `name` is empty.
std::vector<Column> chosen_columns(const std::string& name) {
    std::vector<Column> found;
    for (const Column& column : columns) {
        if (name.empty() || name == column.name) found.push_back(column);
    }
    if (found.empty()) {
        throw BadInput("there is no column '" + name + "': expected twin, paper or hidden");
    }
    return found;
}

/// One column of one attack.
struct Item {
    const Attack* attack;
    const Column* column;
};

/// What `outcome` says of each item in turn, printed as a table, or in the end as JSON.
void report(const std::vector<Item>& items, const std::function<json(std::size_t)>& outcome,
            bool as_json) {
    ordered_json list = ordered_json::array();
    const Attack* last = nullptr;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto& [attack, column] = items[i];
        if (std::exchange(last, attack) != attack) {
            list.push_back(
                {{"name", attack->name}, {"rule", attack->rule}, {"measure", attack->measure}});
            if (!as_json) {
                std::printf("%s (%s): %s\n  error: %s\n", attack->name, attack->rule,
                            attack->summary, attack->measure);
            }
        }
        const json found = outcome(i);
        list.back()[column->name] = in_order(found);
        if (!as_json) print(column->name, found, column->if_none);
        std::fflush(stdout);
    }
    if (as_json) std::cout << list.dump(1) << '\n';
}

/// The attack on an item, which stderr names.
json tried(const Item& item, const Setting& setting) {
    std::cerr << "slip-attack: " << item.attack->name << ", " << item.column->name << '\n';
    return outcome_of(item.attack->*item.column->run, setting);
}

/// What decides the outcomes of `items`, but for the keys and masks that every attack draws.
tool::ResultParts parts_in(const std::string& folder, const std::vector<Item>& items,
                           const Setting& setting) {
    json names = json::array();
    for (const Item& item : items) {
        names.push_back(std::string(item.attack->name) + ' ' + item.column->name);
    }
    return {folder,
            {{"version", SLIP_VERSION},
             {"attacks", names},
             {"seed", setting.seed},
             {"full", setting.full},
             {"model", tool::digest_of_files(setting.model)}}};
}

/// Tries the items of a part and leaves what came of them in the folder.
void run_part(const tool::Part& part, const tool::ResultParts& parts,
              const std::vector<Item>& items, const Setting& setting) {
    parts.make_folder();
    if (!parts.has(part)) {
        const auto [first, end] = tool::items_of(part, items.size());
        victim_of(setting);
        tool::Measured measured{json::object(), items.size()};
        for (std::size_t i = first; i < end; ++i) {
            measured.values.push_back(tried(items[i], setting));
        }
        parts.write(part, measured);
    }
    std::cout << "finished part " << part.number << " of " << part.count
              << "; when all are, run the same command without --part\n";
}

void run(const std::vector<Item>& items, const Setting& setting, const po::variables_map& values) {
    const bool as_json = values.count("json") != 0;
    if (values.count("results") == 0) {
        if (values.count("part") != 0) throw BadInput("--part has no meaning without --results");
        victim_of(setting);  // the split is no part of any attack's time
        return report(
            items, [&](std::size_t i) { return tried(items[i], setting); }, as_json);
    }
    const auto parts = parts_in(values["results"].as<std::string>(), items, setting);
    if (values.count("part") != 0) {
        const tool::Part part = tool::part_named(values["part"].as<std::string>());
        return run_part(part, parts, items, setting);
    }
    const tool::Measured measured = parts.read();
    report(
        items, [&](std::size_t i) { return measured.values.at(i); }, as_json);
}

int parse_and_run(int argc, char** argv) {
    po::options_description flags(
        "usage: slip-attack NAME|all [--full] [--column C] [--seed S] [--model DIR] [--json]\n"
        "                   [--part I/N] [--results DIR]\n"
        "Runs attacks against insecure twins and against the product, with the paper's split and "
        "with "
        "the\nhidden one, on trained weights");
    flags.add_options()("help", "this text, and the names")(
        "name", po::value<std::string>(), "which attack")("full",
                                                          "the sizes of the committed results")(
        "column", po::value<std::string>()->default_value(""), "twin, paper or hidden alone")(
        "seed", po::value<std::uint64_t>()->default_value(1), "of the attackers' choices")(
        "model",
        po::value<std::string>()->default_value(SLIP_SOURCE_DIR "/models/tinystories-llama"),
        "checkpoint of the LLaMA family to attack")("json", "the results as JSON")(
        "part", po::value<std::string>(),
        "try only the I-th of N parts, given as I/N, and leave what came of it in the folder of "
        "--results")("results", po::value<std::string>(),
                     "folder of parts' results; without --part: print those of all parts, as if "
                     "one process had tried all attacks");
    po::positional_options_description words;
    words.add("name", 1);
    po::variables_map values;
    po::store(po::command_line_parser(argc, argv).options(flags).positional(words).run(), values);
    if (values.count("help") != 0) {
        std::cout << flags << '\n';
        for (const Attack& attack : attacks()) {
            std::printf("  %-22s %s\n", attack.name, attack.summary);
        }
        return 0;
    }
    if (values.count("name") == 0) {
        throw BadInput("expected the name of an attack, or 'all'; --help lists them");
    }
    const Setting setting{values["model"].as<std::string>(), values["seed"].as<std::uint64_t>(),
                          values.count("full") != 0};
    const std::vector<Attack> wanted = chosen(values["name"].as<std::string>());
    const std::vector<Column> found = chosen_columns(values["column"].as<std::string>());
    std::vector<Item> items;
    for (const Attack& attack : wanted) {
        for (const Column& column : found) items.push_back({&attack, &column});
    }
    run(items, setting, values);
    return 0;
}

}  // namespace
}  // namespace slip::attacks

int main(int argc, char** argv) {
    try {
        return slip::attacks::parse_and_run(argc, argv);
    } catch (const boost::program_options::error& error) {
        std::cerr << "slip-attack: error: " << error.what() << '\n';
    } catch (const slip::BadInput& error) {
        std::cerr << "slip-attack: error: " << error.what() << '\n';
    } catch (const std::exception& error) {
        std::cerr << "slip-attack: error: " << error.what() << '\n';
        return 1;
    }
    return 2;
}
