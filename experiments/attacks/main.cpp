// slip-attack NAME|all [--full] [--column C] [--seed S] [--model DIR] [--json]: each attack against
// a twin that lacks a rule, and against the product with the paper's split and with the hidden one.
#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/attacks/victim.hpp"
#include "slip/error.hpp"

namespace slip::attacks {
namespace {

namespace po = boost::program_options;
using nlohmann::ordered_json;

struct Measured {
    Outcome outcome;
    double seconds = 0;
};

std::optional<Measured> measured(Run run, const Setting& setting) {
    if (run == nullptr) return std::nullopt;
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run(setting);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return Measured{outcome, seconds.count()};
}

ordered_json to_json(const std::optional<Measured>& measured) {
    if (!measured) return nullptr;
    const Outcome& outcome = measured->outcome;
    ordered_json json{{"succeeded", outcome.succeeded()},
                      {"error", outcome.error},
                      {"threshold", outcome.threshold},
                      {"queries", outcome.queries},
                      {"seconds", measured->seconds}};
    if (!outcome.note.empty()) json["note"] = outcome.note;
    return json;
}

void print(const char* column, const std::optional<Measured>& measured, const char* if_none) {
    if (!measured) {
        std::printf("  %-8s %s\n", column, if_none);
        return;
    }
    const Outcome& outcome = measured->outcome;
    std::printf("  %-8s %-9s error %-10.4g threshold %-8.4g %8llu queries %7.2f s\n", column,
                outcome.succeeded() ? "succeeds" : "fails", outcome.error, outcome.threshold,
                static_cast<unsigned long long>(outcome.queries), measured->seconds);
    if (!outcome.note.empty()) std::printf("           %s\n", outcome.note.c_str());
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

void run(const std::vector<Attack>& chosen, const std::vector<Column>& wanted,
         const Setting& setting, bool as_json) {
    victim_of(setting);  // the split is no part of any attack's time
    ordered_json list = ordered_json::array();
    for (const Attack& attack : chosen) {
        std::cerr << "slip-attack: " << attack.name << '\n';
        if (!as_json) {
            std::printf("%s (%s): %s\n  error: %s\n", attack.name, attack.rule, attack.summary,
                        attack.measure);
        }
        ordered_json found{
            {"name", attack.name}, {"rule", attack.rule}, {"measure", attack.measure}};
        for (const Column& column : wanted) {
            const auto outcome = measured(attack.*column.run, setting);
            found[column.name] = to_json(outcome);
            if (!as_json) print(column.name, outcome, column.if_none);
            std::fflush(stdout);
        }
        list.push_back(std::move(found));
    }
    if (as_json) std::cout << list.dump(1) << '\n';
}

int parse_and_run(int argc, char** argv) {
    po::options_description flags(
        "usage: slip-attack NAME|all [--full] [--column C] [--seed S] [--model DIR] [--json]\n"
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
        "checkpoint of the LLaMA family to attack")("json", "the results as JSON");
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
    run(chosen(values["name"].as<std::string>()),
        chosen_columns(values["column"].as<std::string>()), setting, values.count("json") != 0);
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
