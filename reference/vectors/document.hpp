// How conformance vectors are written: cases, the files that hold them, and where their numbers
// come from. The form of the files is described in conformance/README.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reference/integer.hpp"
#include "reference/integrity.hpp"
#include "reference/parameters.hpp"
#include "reference/randomness.hpp"

namespace slip::reference::vectors {

/// A JSON value, already written.
struct Json {
    std::string text;
};

using Fields = std::vector<std::pair<std::string, Json>>;

Json json(const Integer& value);
Json json(const std::string& value);
Json json(const char* value);
Json json(bool value);
Json json(const Vector& entries);
/// A list of rows.
Json json(const Matrix& matrix);
Json list(const std::vector<Json>& entries);
Json object(const Fields& fields);
/// A list of columns of integers.
Json columns(const Matrix& matrix);
/// RING-5. The residues mod L of a column, plane after plane, a byte for each.
Bytes bytes_of(const Planes& planes, const Vector& residues);
Json column(const ParameterSet& set, const Vector& residues);
/// A list of such columns, as a message has them.
Json residue_columns(const ParameterSet& set, const Matrix& residues);
/// Combination after combination of w or s, each as a column.
Json combinations(const CheckSecret& secret, Matrix IntegrityKey::*which);
/// A number that stands `count` times in a row.
Json repeated(const Integer& value, std::size_t count);
/// A value that stands `count` times in a row.
Json repeated(const Json& value, std::size_t count);
/// Two hexadecimal digits a byte.
Json hex(const Bytes& bytes);
Json hex(const Key& key);
/// A list of frames.
Json frames_of(const std::vector<Bytes>& frames);
/// The bytes `head`, then `count` times the bytes `unit`.
Json hex(const Bytes& head, const Bytes& unit, std::size_t count);
/// The bit pattern of a binary32 number, eight digits, the most significant first.
Json bits(float value);
Json bits(const std::vector<float>& values);
/// The bit pattern of a binary64 number, sixteen digits.
Json bits(double value);

/// The step that fails in an invalid case, and the clause that says so.
struct Failure {
    std::string step;
    std::string clause;
};

/// One case. With a failure it is invalid, otherwise valid.
struct Case {
    std::string clause = {};
    std::string requirement = {};
    std::string comment = {};
    std::vector<std::string> flags = {};
    Fields input = {};
    Fields output = {};
    Fields intermediate = {};
    std::optional<Failure> failure = {};
    std::string level = "MUST";
};

/// Random numbers that depend on the seed and on the name of the file only, so that a new case in
/// one file changes no other.
class Numbers {
public:
    Numbers(std::uint64_t seed, const std::string& name);

    /// Uniform in lowest..highest.
    Integer between(const Integer& lowest, const Integer& highest);
    Vector vector(std::size_t length, const Integer& lowest, const Integer& highest);
    Matrix matrix(std::size_t rows, std::size_t cols, const Integer& lowest,
                  const Integer& highest);
    /// PARAM-2. m x k, A(i, c) = 2^e_i a with |a| <= 2047; e_i is uniform in 0..largest_exponent.
    Matrix left_factor(std::size_t m, std::size_t k, unsigned largest_exponent);
    /// PARAM-2. k x n, |B(c, j)| <= 2047.
    Matrix right_factor(std::size_t k, std::size_t n);
    Bytes bytes(std::size_t count) { return stream_.take(count); }
    Key key();
    /// A multiple of 2^-16 in -8..8.
    float activation();
    std::vector<float> activations(std::size_t count);

private:
    Keystream stream_;
};

/// A matrix whose entries are all the same.
Matrix all_entries(std::size_t rows, std::size_t cols, const Integer& entry);

/// The number of cases that each clause has so far: an id is a clause and a number.
using Counters = std::map<std::string, int>;

/// One file of vectors.
class Document {
public:
    Document(std::string name, std::string title, std::uint64_t seed, Counters& counters);

    Numbers& numbers() { return numbers_; }

    /// The cases added from now on are of one operation. `roles` are the features that an
    /// implementation needs for them, besides "lattice" for a set with lattice masks.
    void begin_group(const std::string& operation, const std::vector<std::string>& roles,
                     const std::optional<ParameterSet>& set = std::nullopt);

    /// Errors: no group, no requirement, an unknown flag.
    void add(const Case& entry);

    int size() const { return size_; }
    const std::string& name() const { return name_; }
    void write(const std::filesystem::path& folder) const;

private:
    std::string name_, title_;
    std::uint64_t seed_;
    Counters& counters_;
    Numbers numbers_;
    std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
    std::set<std::string> flags_;
    int size_ = 0;
};

// One function a file, each named after its chapter.
void ring(Document& document);
void randomness(Document& document);
void masking(Document& document);
void linear(Document& document);
void integrity(Document& document);
void encoding(Document& document);
void decomposition(Document& document);
void attention(Document& document);
void convolution(Document& document);
void wire(Document& document);
void session(Document& document);
void model(Document& document);
void latency(Document& document);
void hiding(Document& document);
/// Whole sessions of the hidden split, behind its operations.
void hidden_sessions(Document& document);

// What the chapters say of lattice masks (lattice.cpp).
void lattice_randomness(Document& document, const ParameterSet& set);
void lattice_masking(Document& document, const ParameterSet& set);
void lattice_encoding(Document& document, const ParameterSet& set);
void lattice_decomposition(Document& document, const ParameterSet& set);

/// The artifact that artifact.hpp writes (MODEL-7), as it is and changed.
void artifact(Document& document);
/// What was added later, after all ids of the files above: limits, orders, canonical input.
void edges(Document& document);
// Its parts, each beside the chapter that it belongs to.
void ring_edges(Document& document, const ParameterSet& set);
void integrity_edges(Document& document, const ParameterSet& set);
void encoding_edges(Document& document);
void wire_edges(Document& document, const ParameterSet& set);
void session_edges(Document& document, const ParameterSet& set);

}  // namespace slip::reference::vectors
