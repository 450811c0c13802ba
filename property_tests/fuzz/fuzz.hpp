// What a fuzz target is. STEM_fuzz.cpp defines one, in a namespace of its own; search.cpp drives it
// with libFuzzer, replay.cpp with the files of the corpus.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slip::fuzz {

using Bytes = std::vector<std::byte>;

struct Target {
    const char* name;
    /// No single allocation of check() may exceed this many bytes plus 32 for each byte of the
    /// input.
    std::size_t allowance;
    /// Inputs that the target accepts, made by the product's own encoders.
    std::vector<Bytes> (*seeds)();
    /// Handles one input and checks what must hold of it; returns whether the code under test
    /// accepted it. Whatever escapes, and whatever expect() finds, is a defect.
    bool (*check)(std::span<const std::byte> input);

    Target(const char* own_name, std::size_t own_allowance, decltype(seeds) own_seeds,
           decltype(check) own_check);
};

/// Every target of this program: their constructors put them here.
inline std::vector<const Target*>& targets() {
    static std::vector<const Target*> all;
    return all;
}

inline Target::Target(const char* own_name, std::size_t own_allowance, decltype(seeds) own_seeds,
                      decltype(check) own_check)
    : name(own_name), allowance(own_allowance), seeds(own_seeds), check(own_check) {
    targets().push_back(this);
}

/// Ends the program, so that the input is kept, unless `condition` holds.
inline void expect(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

inline Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether `action` returns; it may throw `Error` and nothing else.
template <class Error, class Action>
bool accepts(const Action& action) {
    try {
        action();
        return true;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace slip::fuzz
