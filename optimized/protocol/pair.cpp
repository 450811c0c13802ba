#include "optimized/protocol/pair.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::protocol {
namespace {

using base::GroupId;
using base::require;
using base::SecretBuffer;

// Integers and residues are little-endian in the file, and so is this machine.
static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> magic{'S', 'L', 'I', 'P', 'P', 'A', 'I', 'R'};
constexpr std::uint16_t version = 1;
constexpr std::size_t digest_bytes = 32;

/// Offsets of the fields.
constexpr std::size_t version_at = 8;
constexpr std::size_t profile_at = 10;
constexpr std::size_t zero_at = 11;
constexpr std::size_t groups_at = 12;
constexpr std::size_t digest_at = 16;
constexpr std::size_t key_at = 48;
constexpr std::size_t shapes_at = 80;
constexpr std::size_t shape_bytes = 8;

template <class T>
T load(std::span<const std::byte> file, std::size_t at) {
    T value;
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

template <class T>
void store(std::span<std::byte> file, std::size_t at, T value) {
    std::memcpy(file.data() + at, &value, sizeof value);
}

std::size_t residue_bytes_of(Profile profile) {
    return with_profile(profile, [](auto p) { return sizeof(typename decltype(p)::Residue); });
}

std::size_t s_bytes_of(const PairSubject& subject, GroupId group) {
    return kappa_of(subject.profile) * subject.groups[group].n * residue_bytes_of(subject.profile);
}

/// The offset of the s of `group`; for the group after the last, that of the SHA-256.
std::size_t s_at(const PairSubject& subject, GroupId group) {
    std::size_t at = shapes_at + shape_bytes * subject.groups.size();
    for (GroupId g = 0; g < group; ++g) at += s_bytes_of(subject, g);
    return at;
}

GroupId end_of(const PairSubject& subject) { return static_cast<GroupId>(subject.groups.size()); }

std::array<std::byte, digest_bytes> sha256(std::span<const std::byte> bytes) {
    std::array<std::byte, digest_bytes> digest{};
    require(EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                       nullptr, EVP_sha256(), nullptr) == 1,
            "SHA-256 is not available in this build of OpenSSL");
    return digest;
}

/// Everything before s, except the key.
void write_header(std::span<std::byte> file, const PairSubject& subject) {
    std::memcpy(file.data(), magic.data(), magic.size());
    store(file, version_at, version);
    store(file, profile_at, static_cast<std::uint8_t>(subject.profile));
    store(file, groups_at, static_cast<std::uint32_t>(subject.groups.size()));
    std::memcpy(file.data() + digest_at, subject.digest.data(), digest_bytes);
    for (std::size_t g = 0; g < subject.groups.size(); ++g) {
        const std::size_t at = shapes_at + shape_bytes * g;
        store(file, at, static_cast<std::uint32_t>(subject.groups[g].rows));
        store(file, at + 4, static_cast<std::uint32_t>(subject.groups[g].n));
    }
}

/// Checks the fields of a file in turn; an error names the field.
class Reader {
public:
    Reader(std::span<const std::byte> file, const PairSubject& subject,
           const std::filesystem::path& origin)
        : file_(file), subject_(subject), origin_(origin) {}

    void require_header() const {
        expect(file_.size() >= shapes_at + digest_bytes, "length", "a whole header");
        expect(std::memcmp(file_.data(), magic.data(), magic.size()) == 0, "magic", "SLIPPAIR");
        expect(load<std::uint16_t>(file_, version_at) == version, "version", "1");
        const auto profile = static_cast<std::uint8_t>(subject_.profile);
        expect(load<std::uint8_t>(file_, profile_at) == profile, "profile",
               std::string(name_of(subject_.profile)) + ", the artifact's");
        expect(load<std::uint8_t>(file_, zero_at) == 0, "byte 11", "0");
        expect(std::memcmp(file_.data() + digest_at, subject_.digest.data(), digest_bytes) == 0,
               "digest", "the SHA-256 of the weight file of this artifact's David");
        expect(load<std::uint32_t>(file_, groups_at) == subject_.groups.size(), "groups",
               std::to_string(subject_.groups.size()));
        expect(file_.size() == Pair::file_bytes(subject_), "length",
               std::to_string(Pair::file_bytes(subject_)) + " bytes");
    }
    void require_shapes() const {
        for (std::size_t g = 0; g < subject_.groups.size(); ++g) {
            const std::size_t at = shapes_at + shape_bytes * g;
            const base::ProductShape& shape = subject_.groups[g];
            expect(load<std::uint32_t>(file_, at) == shape.rows &&
                       load<std::uint32_t>(file_, at + 4) == shape.n,
                   "shape of group " + std::to_string(g),
                   std::to_string(shape.rows) + " x " + std::to_string(shape.n));
        }
    }
    void require_digest() const {
        const auto digest = sha256(file_.first(file_.size() - digest_bytes));
        expect(std::equal(digest.begin(), digest.end(), file_.end() - digest_bytes), "SHA-256",
               "that of the bytes before it");
    }
    template <class P>
    void require_residues() const {
        using Residue = typename P::Residue;
        const std::size_t end = s_at(subject_, end_of(subject_));
        bool canonical = true;
        for (std::size_t at = s_at(subject_, 0); at < end; at += sizeof(Residue)) {
            canonical &= load<Residue>(file_, at) < P::p;
        }
        expect(canonical, "s", "residues below the modulus");
    }

private:
    void expect(bool fulfilled, const std::string& field, const std::string& expected) const {
        if (fulfilled) return;
        throw BadInput(origin_.string() + ": " + field + ": expected " + expected);
    }

    std::span<const std::byte> file_;
    const PairSubject& subject_;
    const std::filesystem::path& origin_;
};

KeyStream keys_of(std::span<const std::byte> file) {
    constexpr std::size_t bytes = base::parameters::session_key_bytes;
    const auto* key = reinterpret_cast<const std::uint8_t*>(file.data() + key_at);
    return {std::span<const std::uint8_t, bytes>(key, bytes), base::parameters::blocks_per_key};
}

SecretBuffer<std::byte> empty_file(const PairSubject& subject,
                                   std::span<const std::uint8_t> test_key) {
    constexpr std::size_t key_bytes = base::parameters::session_key_bytes;
    SecretBuffer<std::byte> file(Pair::file_bytes(subject));
    write_header(file.span(), subject);
    const std::span<std::uint8_t, key_bytes> key(
        reinterpret_cast<std::uint8_t*>(file.data() + key_at), key_bytes);
    if (test_key.empty()) {
        draw_key(key);
    } else {
        require(test_key.size() == key_bytes, "Pair: a test key has 32 bytes");
        std::copy(test_key.begin(), test_key.end(), key.begin());
    }
    return file;
}

}  // namespace

bool Pair::is_of_other_profile(std::span<const std::byte> file, const PairSubject& subject) {
    const bool p61 = subject.profile == Profile::p61;
    const auto other = static_cast<std::uint8_t>(p61 ? Profile::p31 : Profile::p61);
    return file.size() >= shapes_at && std::memcmp(file.data(), magic.data(), magic.size()) == 0 &&
           load<std::uint8_t>(file, profile_at) == other;
}

std::size_t Pair::file_bytes(const PairSubject& subject) {
    return s_at(subject, end_of(subject)) + digest_bytes;
}

Pair::Pair(SecretBuffer<std::byte> file, const PairSubject& subject,
           const std::filesystem::path& origin)
    : Pair(std::move(file), subject) {
    const Reader reader(file_.span(), subject_, origin);
    reader.require_header();
    reader.require_shapes();
    reader.require_digest();
    with_profile(subject.profile, [&](auto p) { reader.require_residues<decltype(p)>(); });
}

Pair Pair::draw(const PairSubject& subject, const kernels::OffloadedWeights& weights,
                std::span<const std::uint8_t> test_key) {
    PairBuilder builder(subject, test_key);
    for (const kernels::GroupWeights& group : weights) builder.append(group);
    return std::move(builder).finish();
}

template <class P>
std::vector<CheckVectors<P>> Pair::vectors() const {
    require(profile_of<P> == subject_.profile, "Pair: another profile");
    KeyStream keys = keys_of(file_.span());
    SecretBuffer<typename P::Residue> scratch;
    std::vector<CheckVectors<P>> vectors;
    std::size_t at = s_at(subject_, 0);
    for (GroupId group = 0; group < end_of(subject_); ++group) {
        const base::ProductShape& shape = subject_.groups[group];
        SecretBuffer<typename P::Residue> s(kappa<P> * shape.n);
        std::memcpy(s.data(), file_.data() + at, s.span().size_bytes());
        at += s.span().size_bytes();
        vectors.push_back({draw_rho<P>(keys, group, shape.rows, scratch), std::move(s)});
    }
    return vectors;
}

PairBuilder::PairBuilder(const PairSubject& subject, std::span<const std::uint8_t> test_key)
    : pair_(empty_file(subject, test_key), subject),
      keys_(keys_of(pair_.file())),
      place_(s_at(subject, 0)) {}

template <class P>
void PairBuilder::begin_group() {
    SecretBuffer<typename P::Residue> scratch;
    const auto rho = draw_rho<P>(keys_, group_, pair_.subject_.groups[group_].rows, scratch);
    rho_ = SecretBuffer<std::byte>(rho.span().size_bytes());
    std::memcpy(rho_.data(), rho.data(), rho_.size());
}

/// INTEG-2 for some rows: s^T += rho[rows]^T W_D[rows] mod p.
template <class P>
void PairBuilder::append_to_group(const kernels::WeightMatrix& rows) {
    using Residue = typename P::Residue;
    const base::ProductShape& shape = pair_.subject_.groups[group_];
    if (row_ == 0) begin_group<P>();
    SecretBuffer<Residue> rho(rows.rows());
    SecretBuffer<Residue> part(shape.n);
    for (std::size_t k = 0; k < kappa<P>; ++k) {
        std::memcpy(rho.data(), rho_.data() + (k * shape.rows + row_) * sizeof(Residue),
                    rho.span().size_bytes());
        rows.check_vector<P>(rho.span(), part.span());
        for (std::size_t j = 0; j < shape.n; ++j) {
            const std::size_t at = place_ + (k * shape.n + j) * sizeof(Residue);
            const Residue sum = load<Residue>(pair_.file(), at) + part[j];  // below 2 p
            store(pair_.file_.span(), at, sum >= P::p ? static_cast<Residue>(sum - P::p) : sum);
        }
    }
}

void PairBuilder::append(const kernels::WeightMatrix& rows) {
    const PairSubject& subject = pair_.subject_;
    require(group_ < subject.groups.size(), "PairBuilder: all groups are whole");
    const base::ProductShape& shape = subject.groups[group_];
    require(rows.cols() == shape.n && rows.rows() > 0 && rows.rows() <= shape.rows - row_,
            "PairBuilder: rows of another group");
    with_profile(subject.profile, [&](auto p) { append_to_group<decltype(p)>(rows); });
    row_ += rows.rows();
    if (row_ < shape.rows) return;
    place_ += s_bytes_of(subject, group_);
    ++group_;
    row_ = 0;
}

Pair PairBuilder::finish() && {
    require(group_ == pair_.subject_.groups.size(), "PairBuilder: a group is missing");
    rho_.release();
    const std::size_t end = pair_.file_.size() - digest_bytes;
    const auto digest = sha256(pair_.file().first(end));
    std::memcpy(pair_.file_.data() + end, digest.data(), digest_bytes);
    return std::move(pair_);
}

template std::vector<CheckVectors<P31>> Pair::vectors<P31>() const;
template std::vector<CheckVectors<P61>> Pair::vectors<P61>() const;

}  // namespace slip::protocol
