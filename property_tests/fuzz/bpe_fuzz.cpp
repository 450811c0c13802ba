// Byte-level BPE: the files of a tokenizer and the texts it is given. An input is four parts with
// zero bytes between them: what follows the 256 byte tokens in vocab.json, merges.txt,
// added_tokens.json, and a text, which may hold zero bytes itself.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "optimized/base/error.hpp"
#include "optimized/import/byte_level_bpe.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz {
namespace {

/// A file without a disk, under a name that can be opened.
class MemoryFile {
public:
    explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, 0)) {
        expect(descriptor_ >= 0, "no file can be made in memory");
    }
    std::filesystem::path write(std::string_view contents) const {
        const auto size = static_cast<::ssize_t>(contents.size());
        expect(::ftruncate(descriptor_, 0) == 0 &&
                   ::pwrite(descriptor_, contents.data(), contents.size(), 0) == size,
               "a file in memory cannot be written");
        return "/proc/self/fd/" + std::to_string(descriptor_);
    }

private:
    int descriptor_;
};

/// vocab.json of the bytes alone, without its closing brace: ids 0 to 255.
const std::string& byte_tokens() {
    static const std::string text = [] {
        std::string json = "{";
        unsigned next = 256;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const bool printable =
                (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
            const unsigned point = printable ? byte : next++;
            json += byte == 0 ? "\"" : ",\"";
            if (point == '"' || point == '\\') json += '\\';
            if (point < 0x80) {
                json += static_cast<char>(point);
            } else {
                json += static_cast<char>(0xc0 | point >> 6);
                json += static_cast<char>(0x80 | (point & 0x3f));
            }
            json += "\":" + std::to_string(byte);
        }
        return json;
    }();
    return text;
}

std::array<std::string_view, 4> parts_of(std::string_view input) {
    std::array<std::string_view, 4> parts;
    for (std::size_t i = 0; i < 3; ++i) {
        parts[i] = input.substr(0, input.find('\0'));
        input.remove_prefix(std::min(input.size(), parts[i].size() + 1));
    }
    parts[3] = input;
    return parts;
}

/// The tokenizer of these files, or null if they are refused. The last one is kept, because most
/// inputs differ in their text only.
const ByteLevelBpe* tokenizer_of(const std::array<std::string_view, 4>& parts) {
    static const std::array<MemoryFile, 3> files{MemoryFile("vocab"), MemoryFile("merges"),
                                                 MemoryFile("added")};
    static std::array<std::string, 3> last;
    static std::unique_ptr<ByteLevelBpe> tokenizer;
    static bool known = false;
    if (known && std::equal(last.begin(), last.end(), parts.begin())) return tokenizer.get();
    std::copy_n(parts.begin(), 3, last.begin());
    known = true;
    tokenizer.reset();
    accepts<BadInput>([&] {
        const auto vocabulary = files[0].write(byte_tokens() + last[0] + "}");
        const auto merges = files[1].write(last[1]);
        const auto added = last[2].empty() ? std::filesystem::path() : files[2].write(last[2]);
        tokenizer = std::make_unique<ByteLevelBpe>(vocabulary, merges, added);
    });
    return tokenizer.get();
}

Bytes input_of(const std::string& vocabulary, const std::string& merges, const std::string& added,
               const std::string& text) {
    const std::string zero(1, '\0');
    return bytes_of(vocabulary + zero + merges + zero + added + zero + text);
}

}  // namespace

/// The vocabulary of the bytes, and what is made of it.
const std::size_t allowance = std::size_t{1} << 18;

std::vector<Bytes> seeds() {
    return {
        input_of("", "", "", "text \xff\xfe"),
        input_of(",\"ab\":256,\"abc\":257", "#version: 0.2\na b\nab c\n", "", "abcab abc  a'll"),
        input_of(",\"ab\":256", "a b", R"({"<|endoftext|>": 257})", "ab<|endoftext|>ab\n\n 12")};
}

bool check(std::span<const std::byte> input) {
    const auto parts = parts_of(text_of(input));
    const ByteLevelBpe* tokenizer = tokenizer_of(parts);
    if (tokenizer == nullptr) return false;
    const std::vector<TokenId> ids = tokenizer->encode(parts[3]);
    expect(ids.size() <= parts[3].size(), "more tokens than bytes");
    for (const TokenId id : ids) {
        expect(id >= 0 && static_cast<std::size_t>(id) < tokenizer->vocab_size(),
               "a token is outside the vocabulary");
    }
    expect(tokenizer->decode(ids) == parts[3], "a text that was encoded and decoded is another");
    const std::array<TokenId, 1> outside{static_cast<TokenId>(tokenizer->vocab_size())};
    expect(!accepts<BadInput>([&] { tokenizer->decode(outside); }), "an unknown token is decoded");
    return true;
}

}  // namespace slip::fuzz
