#include "reference/vectors/document.hpp"

#include <algorithm>
#include <bit>
#include <fstream>

#include "reference/error.hpp"

namespace slip::reference::vectors {

namespace {

struct Note {
    const char* bug_class;
    const char* description;
};

/// What a flag says about the cases that carry it: which defects they find.
const std::map<std::string, Note>& notes() {
    static const std::map<std::string, Note> table{
        {"SIGN", {"sign", "A negative integer is embedded or lifted wrongly."}},
        {"EDGE", {"off by one", "A value at the edge of a range, such as L - 1 or (L - 1) / 2."}},
        {"CANONICAL", {"canonical form", "A residue that is not reduced is made or accepted."}},
        {"ENDIAN", {"byte order", "Bytes of an integer in the wrong order."}},
        {"REJECTION", {"sampling", "A word of the keystream that must be discarded is used."}},
        {"TOP_BIT", {"sampling", "The bits of a word above the bit length of m - 1 are used."}},
        {"PLANE", {"planes", "Planes in another order, or one taken for another."}},
        {"BLOCK", {"keystream", "Fields of the counter block overlap or are cut."}},
        {"OVERFLOW", {"overflow", "An accumulator is too narrow for the sum."}},
        {"TAIL", {"tails", "A length that is no multiple of a vector register."}},
        {"ORDER", {"order", "Rows, columns, members or words in the wrong order."}},
        {"ZERO", {"special value", "Zeros, where a division or a maximum fails."}},
        {"ROUNDING", {"rounding", "A number half way between two integers, or a wrong precision."}},
        {"NOT_FINITE", {"special value", "A NaN or an infinity passes a comparison unnoticed."}},
        {"WRONG_REPLY", {"integrity", "A reply that is wrong is accepted."}},
        {"REPETITION", {"integrity", "Only some combinations, planes or columns are checked."}},
        {"TOO_STRICT", {"integrity", "A reply that satisfies the equation is rejected."}},
        {"WRAPPING", {"overflow", "Partial sums wrap modulo 2^64, and the total does not."}},
        {"EXPONENT", {"row exponent", "A row of A is taken with another exponent than its own."}},
        {"BOUND", {"bound", "A static bound is checked with the wrong comparison."}},
        {"LENGTH", {"framing", "The length of a frame does not fit its contents."}},
        {"UNKNOWN_CODE", {"framing", "A type, reason or magic that is not defined."}},
        {"STATE", {"session", "A frame that is not allowed in this state is acted upon."}},
        {"DOWNGRADE", {"session", "What Charlie dictates is not compared."}},
        {"REPLAY", {"session", "An old frame, or the answer to another, is taken for this one."}},
        {"AFTER_END", {"session", "Something is sent or answered after the end of the session."}},
        {"MASK_REUSE", {"masks", "One mask hides two columns."}},
        {"NEGACYCLIC", {"lattice masks", "X^N is not -1, or coefficients are in another order."}},
        {"NOISE", {"lattice masks", "Noise is left out, has another scale or does not vanish."}},
        {"BLOCK_NUMBER", {"lattice masks", "Two blocks or two masks share a secret or noise."}},
        {"WRONG_PRODUCT", {"check of products", "A product that is wrong is used."}},
        {"PADDING", {"convolution", "Zeros of the padding are masked, or positions are shifted."}},
        {"PLAN", {"plan", "A mistake of the owner exposes a layer unnoticed."}},
        {"ARTIFACT", {"files", "A file of an artifact that breaks a rule is loaded all the same."}},
        {"DERIVED", {"arithmetic", "Ordinary values; the result is compared."}},
    };
    return table;
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
    std::string result;
    for (const std::string& part : parts) {
        if (!result.empty()) result += separator;
        result += part;
    }
    return result;
}

std::string hexadecimal(std::uint64_t value, int digits) {
    std::string text(static_cast<std::size_t>(digits), '0');
    for (char& digit : text) {
        --digits;
        digit = "0123456789abcdef"[(value >> (4 * digits)) & 15];
    }
    return text;
}

Key key_of(std::uint64_t seed) {
    Key key{'s', 'l', 'i', 'p', ' ', 'v', 'e', 'c', 't', 'o', 'r', 's'};
    for (std::size_t i = 0; i < 8; ++i) {
        key[24 + i] = static_cast<std::uint8_t>(seed >> (8 * i));
    }
    return key;
}

/// The index of a file's stream: its name, at most eight letters, read as a number.
std::uint64_t index_of(const std::string& name) {
    std::uint64_t index = 0;
    for (char letter : name.substr(0, 8)) index = index << 8 | static_cast<unsigned char>(letter);
    return index;
}

}  // namespace

Json json(const Integer& value) { return {value.str()}; }

Json json(const char* value) { return json(std::string(value)); }

Json json(bool value) { return {value ? "true" : "false"}; }

Json json(const std::string& value) {
    std::string text = "\"";
    for (char c : value) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return {text + "\""};
}

Json list(const std::vector<Json>& entries) {
    std::vector<std::string> parts;
    for (const Json& entry : entries) parts.push_back(entry.text);
    return {"[" + join(parts, ",") + "]"};
}

Json object(const Fields& fields) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : fields) parts.push_back(json(name).text + ":" + value.text);
    return {"{" + join(parts, ",") + "}"};
}

Json json(const Vector& entries) {
    std::vector<Json> parts;
    for (const Integer& entry : entries) parts.push_back(json(entry));
    return list(parts);
}

Json json(const Matrix& matrix) { return columns(matrix.transpose()); }

Json columns(const Matrix& matrix) {
    std::vector<Json> parts;
    for (std::size_t j = 0; j < matrix.cols(); ++j) parts.push_back(json(matrix.column(j)));
    return list(parts);
}

Json repeated(const Integer& value, std::size_t count) { return repeated(json(value), count); }

Json repeated(const Json& value, std::size_t count) {
    return object({{"repeat", value}, {"count", json(Integer(count))}});
}

Json hex(const Bytes& bytes) {
    std::string text;
    for (std::uint8_t byte : bytes) text += hexadecimal(byte, 2);
    return json(text);
}

Json hex(const Key& key) { return hex(Bytes(key.begin(), key.end())); }

Json frames_of(const std::vector<Bytes>& frames) {
    std::vector<Json> entries;
    for (const Bytes& frame : frames) entries.push_back(hex(frame));
    return list(entries);
}

Json hex(const Bytes& head, const Bytes& unit, std::size_t count) {
    return object({{"hex", list({hex(head), repeated(hex(unit), count)})}});
}

Json bits(float value) { return json(hexadecimal(std::bit_cast<std::uint32_t>(value), 8)); }

Json bits(const std::vector<float>& values) {
    std::vector<Json> parts;
    for (float value : values) parts.push_back(bits(value));
    return list(parts);
}

Json bits(double value) { return json(hexadecimal(std::bit_cast<std::uint64_t>(value), 16)); }

Bytes bytes_of(const Planes& planes, const Vector& residues) {
    Bytes bytes;
    for (std::size_t p = 0; p < planes.count(); ++p) {
        for (const Integer& part : planes.plane(p, residues)) {
            bytes.push_back(part.convert_to<std::uint8_t>());
        }
    }
    return bytes;
}

Json column(const ParameterSet& set, const Vector& residues) {
    return hex(bytes_of(set.planes, residues));
}

Json residue_columns(const ParameterSet& set, const Matrix& residues) {
    std::vector<Json> parts;
    for (std::size_t t = 0; t < residues.cols(); ++t) {
        parts.push_back(column(set, residues.column(t)));
    }
    return list(parts);
}

Json combinations(const CheckSecret& secret, Matrix IntegrityKey::*which) {
    std::vector<Json> parts;
    for (std::size_t a = 0; a < (secret.front().*which).cols(); ++a) {
        Bytes bytes;
        for (const IntegrityKey& plane : secret) {
            for (const Integer& entry : (plane.*which).column(a)) {
                bytes.push_back(entry.convert_to<std::uint8_t>());
            }
        }
        parts.push_back(hex(bytes));
    }
    return list(parts);
}

Numbers::Numbers(std::uint64_t seed, const std::string& name)
    : stream_(key_of(seed), Purpose::mask, index_of(name)) {}

Integer Numbers::between(const Integer& lowest, const Integer& highest) {
    if (lowest == highest) return lowest;
    return lowest + Sampler(Ring(highest - lowest + 1)).draw(stream_, 1).residues.front();
}

Vector Numbers::vector(std::size_t length, const Integer& lowest, const Integer& highest) {
    Vector result;
    for (std::size_t i = 0; i < length; ++i) result.push_back(between(lowest, highest));
    return result;
}

Matrix Numbers::matrix(std::size_t rows, std::size_t cols, const Integer& lowest,
                       const Integer& highest) {
    Matrix result(rows, cols);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j) result(i, j) = between(lowest, highest);
    }
    return result;
}

Matrix Numbers::left_factor(std::size_t m, std::size_t k, unsigned largest_exponent) {
    Matrix A = matrix(m, k, -largest_significand, largest_significand);
    for (std::size_t i = 0; i < m; ++i) {
        const Integer unit = Integer(1) << between(0, largest_exponent).convert_to<unsigned>();
        for (std::size_t c = 0; c < k; ++c) A(i, c) *= unit;
    }
    return A;
}

Matrix Numbers::right_factor(std::size_t k, std::size_t n) {
    return matrix(k, n, -largest_right_factor, largest_right_factor);
}

Key Numbers::key() {
    const Bytes drawn = bytes(32);
    Key key;
    std::copy(drawn.begin(), drawn.end(), key.begin());
    return key;
}

float Numbers::activation() {
    return static_cast<float>(static_cast<std::int32_t>(between(-(1 << 19), 1 << 19))) / 65536.0F;
}

std::vector<float> Numbers::activations(std::size_t count) {
    std::vector<float> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(activation());
    return result;
}

Matrix all_entries(std::size_t rows, std::size_t cols, const Integer& entry) {
    Matrix X(rows, cols);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j) X(i, j) = entry;
    }
    return X;
}

Document::Document(std::string name, std::string title, std::uint64_t seed, Counters& counters)
    : name_(std::move(name)),
      title_(std::move(title)),
      seed_(seed),
      counters_(counters),
      numbers_(seed, name_) {}

void Document::begin_group(const std::string& operation, const std::vector<std::string>& roles,
                           const std::optional<ParameterSet>& set) {
    std::vector<Json> features;
    for (const std::string& role : roles) features.push_back(json(role));
    if (set && set->lattice) features.push_back(json("lattice"));
    std::string head = "      \"operation\": " + json(operation).text +
                       ",\n      \"features\": " + list(features).text;
    if (set) head += ",\n      \"set\": " + json(set->name).text;
    groups_.push_back({head, {}});
}

void Document::add(const Case& entry) {
    require(!groups_.empty(), "a case belongs to a group");
    require(!entry.requirement.empty() && !entry.clause.empty(),
            "a case has a clause and a requirement");
    std::vector<Json> flags;
    for (const std::string& flag : entry.flags) {
        require(notes().contains(flag), "a flag has a description");
        flags_.insert(flag);
        flags.push_back(json(flag));
    }
    const std::string id = entry.clause + "/" + std::to_string(++counters_[entry.clause]);
    Fields fields{{"tcId", json(id)},
                  {"level", json(entry.level)},
                  {"requirement", json(entry.requirement)},
                  {"comment", json(entry.comment)},
                  {"flags", list(flags)},
                  {"input", object(entry.input)},
                  {"result", json(std::string(entry.failure ? "invalid" : "valid"))}};
    if (entry.failure) {
        fields.push_back({"failure", object({{"step", json(entry.failure->step)},
                                             {"clause", json(entry.failure->clause)}})});
    }
    if (!entry.failure || !entry.output.empty()) {
        fields.push_back({"output", object(entry.output)});
    }
    if (!entry.intermediate.empty()) {
        fields.push_back({"intermediate", object(entry.intermediate)});
    }
    std::vector<std::string> lines;
    for (const auto& [name, value] : fields) {
        lines.push_back("          " + json(name).text + ": " + value.text);
    }
    groups_.back().second.push_back("        {\n" + join(lines, ",\n") + "\n        }");
    ++size_;
}

void Document::write(const std::filesystem::path& folder) const {
    std::vector<std::string> described, written;
    for (const std::string& flag : flags_) {
        const Note& note = notes().at(flag);
        described.push_back("    " + json(flag).text + ": " +
                            object({{"bugClass", json(std::string(note.bug_class))},
                                    {"description", json(std::string(note.description))}})
                                .text);
    }
    for (const auto& [head, cases] : groups_) {
        written.push_back("    {\n" + head + ",\n      \"tests\": [\n" + join(cases, ",\n") +
                          "\n      ]\n    }");
    }
    std::ofstream file(folder / (name_ + ".json"), std::ios::binary);
    file << "{\n  \"format\": \"slip-vectors\",\n  \"version\": 2,\n  \"protocol\": "
         << protocol_version << ",\n  \"title\": " << json(title_).text
         << ",\n  \"seed\": " << seed_ << ",\n  \"numberOfTests\": " << size_
         << ",\n  \"notes\": {\n"
         << join(described, ",\n") << "\n  },\n  \"testGroups\": [\n"
         << join(written, ",\n") << "\n  ]\n}\n";
    file.close();
    require(file.good(), "a vector file can be written");
}

}  // namespace slip::reference::vectors
