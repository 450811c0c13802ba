// Turns a text file into token ids on standard output. A program of its own because Debian's
// sentencepiece carries a copy of protobuf that collides with libtorch's when both are loaded into
// one process.
#include "options.hpp"
#include "text.hpp"

#include <sentencepiece_processor.h>

#include <iostream>

namespace {

using namespace training;

constexpr const char* kUsage =
    "usage: tokenize --tokenizer FILE --text FILE --as whole|stories\n"
    "whole:   one line for the whole text, line breaks included\n"
    "stories: one line for each story of a text in which an empty line ends a story\n";

std::vector<std::string> split_stories(const std::string& text) {
    std::vector<std::string> stories;
    for (size_t begin = text.find_first_not_of('\n'); begin != std::string::npos;) {
        const size_t end = std::min(text.find("\n\n", begin), text.size());
        std::string story = text.substr(begin, end - begin);
        if (story.back() == '\n') story.pop_back();  // the one that ends the file
        stories.push_back(std::move(story));
        begin = text.find_first_not_of('\n', end);
    }
    return stories;
}

void run(int argc, char** argv) {
    const Options options(argc, argv, 1, {{"--tokenizer", ""}, {"--text", ""}, {"--as", ""}});
    const std::string& as = options.text("--as");
    if (as != "whole" && as != "stories")
        throw UsageError("option --as expects whole or stories, got '" + as + "'");

    const std::string& path = options.text("--tokenizer");
    sentencepiece::SentencePieceProcessor tokenizer;
    if (const auto status = tokenizer.Load(path); !status.ok()) {
        throw std::runtime_error(path + ": expected a SentencePiece model: " + status.ToString());
    }
    if (tokenizer.unk_id() != kUnk || tokenizer.bos_id() != kBos || tokenizer.eos_id() != kEos) {
        throw std::runtime_error(path + ": expected unk 0, bos 1 and eos 2");
    }

    const std::string text = read_file(options.text("--text"));
    for (const std::string& piece : as == "whole" ? std::vector{text} : split_stories(text)) {
        std::vector<int> ids;
        std::string decoded;
        if (!tokenizer.Encode(piece, &ids).ok() || !tokenizer.Decode(ids, &decoded).ok() ||
            decoded != piece) {
            // Bits per byte would be meaningless if the tokens lost anything.
            throw std::runtime_error(options.text("--text") +
                                     ": the tokens do not decode to the text");
        }
        for (size_t i = 0; i < ids.size(); ++i) std::cout << (i ? " " : "") << ids[i];
        std::cout << "\n";
    }
    if (!std::cout.flush()) throw std::runtime_error("standard output: cannot write");
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(kUsage, [&] { run(argc, argv); });
}
