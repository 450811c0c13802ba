// Files, and token ids as text: one line of ids a piece of text, as `tokenize` writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace training {

// The LLaMA convention, which `tokenize` checks.
constexpr int64_t kUnk = 0, kBos = 1, kEos = 2;

std::string read_file(const std::string& path);

/// Writes to a temporary neighbour and renames it, so that a reader never sees half a file.
void write_file_atomically(const std::string& path, const std::string& bytes);

/// The ids of each line; every id is below `vocabulary`.
std::vector<std::vector<int64_t>> read_token_lines(const std::string& path, int64_t vocabulary);

/// The ids of a file that has one line.
std::vector<int64_t> read_tokens(const std::string& path, int64_t vocabulary);

}  // namespace training
