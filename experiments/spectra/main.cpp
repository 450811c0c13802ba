// spectra: what a checkpoint shows of itself, without training. One JSON object on standard output,
// progress on standard error.
#include <algorithm>
#include <boost/program_options.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

#include "experiments/spectra/commands.hpp"
#include "optimized/base/error.hpp"

namespace slip::spectra {
namespace {

namespace po = boost::program_options;

constexpr const char* usage =
    "usage: spectra decay --model DIR\n"
    "       spectra bypass --model DIR --text FILE --tokens N [--widths W,W,...]\n"
    "       spectra removal --model DIR --text FILE --tokens N --components K,K,... [--type "
    "NAME]\n\n"
    "decay:   singular values by layer type, over the blocks.\n"
    "bypass:  perplexity without windows of W blocks (default: the paper's 1,3,5,7), at every\n"
    "         position.\n"
    "removal: perplexity without the K largest singular components of one matrix, by layer type,\n"
    "         in every block.\n";

/// The value of the flag `name`.
std::vector<std::size_t> numbers(const char* name, const std::string& text) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string word = text.substr(at, end - at);
        if (word.empty() || word.size() > 6 ||
            word.find_first_not_of("0123456789") != std::string::npos) {
            throw BadInput(std::string("--") + name + ": expected numbers such as 1,2,4, not '" +
                           text + "'");
        }
        found.push_back(std::stoul(word));
        at = end + 1;
    }
    return found;
}

po::options_description flags() {
    po::options_description description("Options");
    description.add_options()("help", "this text")(
        "model", po::value<std::string>()->value_name("DIR"), "the checkpoint")(
        "text", po::value<std::string>()->value_name("FILE"), "UTF-8 text")(
        "tokens", po::value<std::string>()->value_name("N"), "the first N of the text are read")(
        "components", po::value<std::string>()->value_name("K,K,..."), "how many are removed")(
        "widths", po::value<std::string>()->value_name("W,W,..."), "blocks of a window, odd")(
        "type", po::value<std::string>()->value_name("NAME"), "one layer type, such as q");
    return description;
}

class Flags {
public:
    explicit Flags(po::variables_map values) : values_(std::move(values)) {}
    std::string required(const char* name) const {
        if (values_.count(name) == 0) throw BadInput(std::string("--") + name + " is missing");
        return values_[name].as<std::string>();
    }
    std::string text_or(const char* name, const char* otherwise) const {
        return values_.count(name) == 0 ? otherwise : required(name);
    }
    Text text() const {
        const std::vector<std::size_t> tokens = numbers("tokens", required("tokens"));
        if (tokens.size() != 1 || tokens[0] == 0) {
            throw BadInput("--tokens: expected a number from 1");
        }
        return {required("text"), tokens[0]};
    }

private:
    po::variables_map values_;
};

Measurement measure(const std::string& command, const Model& model, const Flags& flags) {
    if (command == "decay") return decay(model);
    if (command == "bypass") {
        return bypass(model, flags.text(), numbers("widths", flags.text_or("widths", "1,3,5,7")));
    }
    return removal(model, flags.text(), numbers("components", flags.required("components")),
                   flags.text_or("type", ""));
}

int run(int argc, char** argv) {
    const std::string command = argc < 2 ? "" : argv[1];
    if (command == "--help") {
        std::cout << usage << '\n' << flags() << '\n';
        return 0;
    }
    if (command != "decay" && command != "bypass" && command != "removal") {
        throw BadInput("expected decay, bypass or removal, not '" + command + "'");
    }
    po::variables_map values;
    po::store(po::command_line_parser(argc - 1, argv + 1).options(flags()).positional({}).run(),
              values);
    const Flags given(values);
    const Model model(given.required("model"));
    const Measurement found = measure(command, model, given);
    const nlohmann::ordered_json json{{"experiment", command},
                                      {"model", model.description()},
                                      {"settings", found.settings},
                                      {"result", found.result}};
    std::cout << json.dump() << std::endl;
    return std::cout ? 0 : 1;
}

}  // namespace
}  // namespace slip::spectra

int main(int argc, char** argv) {
    try {
        return slip::spectra::run(argc, argv);
    } catch (const boost::program_options::error& error) {
        std::cerr << "spectra: error: " << error.what() << '\n';
    } catch (const slip::BadInput& error) {
        std::cerr << "spectra: error: " << error.what() << '\n';
    } catch (const std::exception& error) {
        std::cerr << "spectra: error: " << error.what() << '\n';
        return 1;
    }
    return 2;
}
