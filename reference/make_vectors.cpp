// Writes the conformance vectors: make_vectors SEED FOLDER. The same seed gives the same bytes.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>

#include "reference/vectors/artifact.hpp"
#include "reference/vectors/document.hpp"

namespace {

using namespace slip::reference;

struct File {
    const char* name;
    const char* title;
    void (*write)(vectors::Document&);
};

/// In the order in which ids are given out.
constexpr File files[] = {
    {"ring", "Residues: arithmetic, embedding, lift, bytes", vectors::ring},
    {"randomness", "Keystream and sampler", vectors::randomness},
    {"masking", "Masks, cancellations, unmasking", vectors::masking},
    {"linear", "David's product and Charlie's low-rank part", vectors::linear},
    {"integrity", "The check of David's replies", vectors::integrity},
    {"encoding", "Quantisation and static bounds", vectors::encoding},
    {"decomposition", "Plans, row scales and the integer model", vectors::decomposition},
    {"attention", "Both orders of an attention layer", vectors::attention},
    {"convolution", "Convolution of a masked image", vectors::convolution},
    {"wire", "Frames", vectors::wire},
    {"session", "Sessions of both parties, good and bad", vectors::session},
    {"model", "Whole transcripts of small models", vectors::model},
    {"latency", "Formulas of compute and latency", vectors::latency},
    {"edges", "Limits, orders and refusals of several chapters", vectors::edges},
    {"artifact", "A small artifact, as it is and changed", vectors::artifact},
    {"hiding", "The hidden split: widths, David's matrix, decoding", vectors::hiding},
};

std::uint64_t parse_seed(const std::string& text) {
    const bool digits = !text.empty() && text.size() <= 18 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) throw PreconditionError("a seed is a number of at most 18 digits");
    return std::stoull(text);
}

int make(const std::string& seed_text, const std::filesystem::path& folder) {
    const std::uint64_t seed = parse_seed(seed_text);
    std::filesystem::create_directories(folder);
    vectors::Counters counters;
    int total = 0;
    for (const File& file : files) {
        vectors::Document document(file.name, file.title, seed, counters);
        file.write(document);
        document.write(folder);
        total += document.size();
    }
    vectors::write_artifact(seed, folder / "artifact");
    std::cout << total << " cases\n";
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: make_vectors SEED FOLDER\n";
        return 2;
    }
    try {
        return make(arguments[1], arguments[2]);
    } catch (const std::exception& error) {
        std::cerr << "make_vectors: error: " << error.what() << '\n';
        return 2;
    }
}
