// What the programs that print one JSON object share: command line and errors.
#pragma once

#include <boost/program_options.hpp>
#include <exception>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace slip::tasks {

namespace po = boost::program_options;

/// A program of the measurements.
struct Program {
    std::string name;
    std::string usage;  // what follows the name, and a sentence that says what is printed
    po::options_description flags;
    /// The object to print. Throws BadInput for what the user has to mend.
    std::function<nlohmann::ordered_json(const po::variables_map& values)> measure;
};

/// Runs the program and returns its exit status: 0, or 2 after a message that begins with its name.
/// A flag is given in full.
inline int run(const Program& program, int argc, char** argv) {
    try {
        const int style =
            po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
        const po::positional_options_description no_words;
        po::command_line_parser parser(argc, argv);
        po::variables_map values;
        po::store(parser.options(program.flags).positional(no_words).style(style).run(), values);
        if (values.contains("help")) {
            std::cout << "usage: " << program.name << ' ' << program.usage << "\n\n"
                      << program.flags;
        } else {
            std::cout << program.measure(values).dump() << '\n';
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << program.name << ": error: " << error.what() << '\n';
        return 2;
    }
}

}  // namespace slip::tasks
