// What several processes have measured of one list, of windows, questions, images or attacks: a
// JSON file per process, and how they are put together.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace slip::tool {

/// One of several processes that share a piece of work: `number` is from 1 to `count`.
struct Part {
    std::size_t number = 1;
    std::size_t count = 1;
};

/// Reads "I/N". Throws BadInput, naming --part.
Part part_named(const std::string& text);

/// Entries of a list from `first` on, up to `end`.
struct ItemRange {
    std::size_t first = 0;
    std::size_t end = 0;
};

/// Those of one part of a list of `total`, or all: parts differ by one entry at most. Throws
/// BadInput if there are more parts than entries.
ItemRange items_of(const std::optional<Part>& part, std::size_t total);

/// The SHA-256 of a file, or of all files of a folder with their names. Throws BadInput.
std::string digest_of_files(const std::filesystem::path& path);

/// What was measured of a list, or of one part of it.
struct Measured {
    nlohmann::json common;                            ///< an object: what every part says alike
    std::size_t total = 0;                            ///< the length of the whole list
    nlohmann::json values = nlohmann::json::array();  ///< one per entry, in the order of the list
};

/// The folder in which parts leave their results, part-I-of-N.json, which only its owner reads.
class ResultParts {
public:
    /// `request` is an object with everything that decides what is measured.
    ResultParts(std::filesystem::path folder, nlohmann::json request);

    /// Whether the part has left a whole file for this request.
    bool has(const Part& part) const;
    /// Makes the folder if need be, before long work. Throws BadInput.
    void make_folder() const;
    /// Writes the part's file into the folder, whole or not at all. Throws BadInput.
    void write(const Part& part, const Measured& measured) const;
    /// All parts' values, in order. Throws BadInput, naming the file that is missing, cut off or
    /// changed, in the place of another part, or of another request.
    Measured read() const;

private:
    nlohmann::json read_part(const Part& part) const;

    std::filesystem::path folder_;
    nlohmann::json request_;
};

}  // namespace slip::tool
