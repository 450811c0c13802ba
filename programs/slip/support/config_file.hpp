// The file of --config: lines of NAME = VALUE.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace slip::tool {

/// An option that no command line has given, and where it stands.
struct Setting {
    std::string name;
    std::string value;
    std::string origin;  ///< as messages have it: "serve.conf:7", or a variable's name
};

/// The file's settings in their order. Empty lines say nothing, nor does what follows a # at the
/// beginning of a line or behind a blank. Throws BadInput, naming the file and the line, for a line
/// of another form and for what is no text.
std::vector<Setting> read_config_file(const std::filesystem::path& path);

}  // namespace slip::tool
