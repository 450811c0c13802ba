#include "options.hpp"

#include <iostream>
#include <sstream>

namespace training {

Options::Options(int argc, char** argv, int first, std::map<std::string, std::string> defaults)
    : values_(std::move(defaults)) {
    for (int i = first; i < argc; i += 2) {
        const std::string name = argv[i];
        if (values_.find(name) == values_.end()) throw UsageError("unknown option '" + name + "'");
        if (i + 1 == argc) throw UsageError("option " + name + " needs a value");
        values_[name] = argv[i + 1];
    }
    for (const auto& [name, value] : values_) {
        if (value.empty()) throw UsageError("option " + name + " is required");
    }
}

const std::string& Options::text(const std::string& name) const { return values_.at(name); }

long Options::integer(const std::string& name, long lowest, long highest) const {
    const double value = real(name, static_cast<double>(lowest), static_cast<double>(highest));
    if (value != static_cast<double>(static_cast<long>(value))) {
        throw UsageError("option " + name + " expects a whole number, got '" + text(name) + "'");
    }
    return static_cast<long>(value);
}

double Options::real(const std::string& name, double lowest, double highest) const {
    const std::string& given = text(name);
    double value = 0;
    size_t used = 0;
    try {
        value = std::stod(given, &used);
    } catch (const std::logic_error&) {
        used = 0;
    }
    // Written so that NaN fails too.
    if (used != given.size() || !(value >= lowest && value <= highest)) {
        std::ostringstream message;
        message << "option " << name << " expects a number from " << lowest << " to " << highest
                << ", got '" << given << "'";
        throw UsageError(message.str());
    }
    return value;
}

int run_program(const char* usage, const std::function<void()>& body) {
    try {
        body();
        return 0;
    } catch (const UsageError& error) {
        std::cerr << "error: " << error.what() << "\n" << usage;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 2;
    }
}

}  // namespace training
