// The two halves of a split model on disk (MODEL-7).
//
//   OUT/charlie/ (0700, files 0600)  plan.json  charlie.safetensors  check.safetensors
//                                    config.json, and the tokenizer's files
//   OUT/david/                       manifest.json  david.safetensors
//   or OUT/david-0/, OUT/david-1/, ...  the same, of some blocks of the model each (MODEL-22)
//
// Charlie's folder also has SHA256SUMS, the digests of its other files.
//
// david.safetensors holds one I8 tensor per group, "group.0", "group.1", ...: the stacked W_D.
// charlie.safetensors holds, for every offloaded tensor T, "T.A" (I16, m x k) and "T.A_exponent"
// (I8, m), "T.B" (I16, k x n) and "T.row_scale" (F32, m), and unchanged every checkpoint tensor
// that is not offloaded. check.safetensors holds the secret of the checks: "seed" (U8, 32), for
// every group w W_D, "group.0", "group.1", ... (U8, kappa x planes x n; INTEG-2), and for those
// with lattice masks z W_D, "product.0", ... (U8, n x 8; MASK-10), and "hint.0", ..., the digests
// of their hints. Where there are such groups, charlie/masks.safetensors holds "seed" (U8, 32),
// that of T, and "group.0", ... (U8, M x d N x planes), tau^-1 H (MASK-7).
//
// Of the hidden split (HIDE-1) david.safetensors holds A (I8, planes x M x n) and manifest.json the
// seed of U; charlie.safetensors has no factors; check.safetensors also has "key.0", ... (U8, 32),
// those of V and E, and w W_t and z W' in the places of w W_D and z W_D; masks.safetensors has rows
// of 11 bytes for two entries of tau^-1 H over 16.
//
// Of a sealed split (MODEL-20) masks.safetensors also has "salt.0", ... (U8, 32) and "tag.0", ...
// (U8, one of 16 bytes per chunk), and its rows and the keys of V and E are ciphertext.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/artifact/integer_model.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/artifact/readers.hpp"
#include "optimized/artifact/seal.hpp"
#include "optimized/base/check_secret.hpp"
#include "optimized/base/cnn_config.hpp"
#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/safetensors.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "slip/plan.hpp"

namespace slip::artifact {

/// What David's manifest.json says of his weight file.
struct DavidManifest {
    const base::parameters::ParameterSet* set = nullptr;  // of parameter_sets
    std::array<std::uint8_t, 32> digest{};
    std::array<std::uint8_t, 32> seed{};     // of U (HIDE-3); zeros in other sets
    std::vector<base::ProductShape> groups;  // of W_D, or of A
};

/// Throws BadInput, naming `origin` and the field, for anything that split_checkpoint does not
/// write.
DavidManifest parse_david_manifest(std::string_view text, const std::filesystem::path& origin);

/// David's half: only what he may have.
class DavidArtifact {
public:
    /// `folder` is OUT/david itself, or that of a shard (MODEL-22). Throws BadInput for another
    /// version, a digest that does not match, shapes that lie, weights out of range, or a folder
    /// that holds Charlie's artifact.
    explicit DavidArtifact(const std::filesystem::path& folder)
        : DavidArtifact(std::vector{folder}) {}
    /// All shards, in their order, as the half that they are of.
    explicit DavidArtifact(const std::vector<std::filesystem::path>& folders);

    const base::parameters::ParameterSet& set() const { return *set_; }
    kernels::OffloadedWeights weights() const;
    /// HIDE-3: the seed of U, of a set with the hidden split.
    const std::array<std::uint8_t, 32>& public_seed() const { return seed_; }
    /// HIDE-1: U of a width, least magnitudes, planes x public_rows() x width, made anew: what
    /// weights() has of it is laid out for the processor's products alone.
    std::vector<std::int8_t> public_rows(std::size_t width) const;
    const std::array<std::uint8_t, 32>& digest() const { return digest_; }

private:
    struct Common;
    void read(const std::filesystem::path& folder, Common& common);

    std::vector<importing::SafetensorsFile> files_;
    const base::parameters::ParameterSet* set_ = nullptr;
    std::array<std::uint8_t, 32> seed_{};
    std::array<std::uint8_t, 32> digest_{};
    kernels::OffloadedWeights groups_;
};

/// Charlie's part of one offloaded matrix.
struct CharlieMember {
    base::MemberShape shape;
    std::size_t rank = 0;
    LeftFactor a;
    base::MatrixView<const std::int16_t> b;
    std::span<const float> row_scale;
};

struct CharlieGroup {
    std::size_t n = 0;
    std::int32_t activation_norm = 0;  // B_q (ENC-3)
    std::vector<CharlieMember> members;
    /// CNN-4: the one member is the kernel matrix of this convolution.
    std::optional<base::Convolution> convolution = std::nullopt;
    /// HIDE-7: as base::GroupShape's.
    std::size_t first_column = 0;
    std::size_t width = 0;

    /// Columns of the whole matrices.
    std::size_t columns() const { return width == 0 ? n : width; }
    /// The product of the stacked matrix.
    base::ProductShape product() const {
        base::ProductShape shape{0, n, convolution};
        for (const CharlieMember& member : members) shape.rows += member.shape.m;
        return shape;
    }
    /// The product of member i alone.
    base::ProductShape product(std::size_t i) const { return {members[i].shape.m, n, convolution}; }
    /// The same group without what Charlie keeps of it.
    base::GroupShape shape() const {
        base::GroupShape result;
        result.n = n;
        result.convolution = convolution;
        result.first_column = first_column;
        result.width = width;
        for (const CharlieMember& member : members) result.members.push_back(member.shape);
        return result;
    }
};

/// MODEL-22: the part of David's half that one David has: so many groups, behind those of the
/// shards before it.
struct Shard {
    std::size_t groups = 0;
    std::array<std::uint8_t, 32> digest{};  // of its david.safetensors
};

/// What Charlie's plan.json says of his half. The members' matrices are empty.
struct CharlieDescription {
    const base::parameters::ParameterSet* set = nullptr;  // of parameter_sets
    std::optional<Attention> attention;                   // of a language model
    Strategy strategy = Strategy::lsc;
    Plan plan;
    std::array<std::uint8_t, 32> david_digest{};  // layout::digest_of_half()
    std::vector<CharlieGroup> groups;
    std::vector<Shard> shards;  // at least one: where there is no other, David's half
};

/// Throws BadInput, naming `origin` and the field, for anything that split_checkpoint does not
/// write, or ranks that are not those that the plan gives.
CharlieDescription parse_charlie_description(std::string_view text,
                                             const std::filesystem::path& origin);

/// Charlie's half.
class CharlieArtifact {
public:
    /// `folder` is OUT (which holds charlie/). Throws BadInput for another version, shapes that
    /// do not match, or a file that is not the one that was written; of masks.safetensors,
    /// require_hint() finds out. Whether groups() is what config() implies is for the
    /// caller, who has the graph. `seal` is the file of the key that hints are sealed with
    /// (MODEL-20), or empty; BadInput too if nothing is sealed, or with another key, and where
    /// `readers` are refused (THREAT-2).
    explicit CharlieArtifact(const std::filesystem::path& folder,
                             const std::filesystem::path& seal = {},
                             Readers readers = Readers::owner_alone);

    /// The convolutional network that the artifact is of; null for a language model.
    const base::CnnConfig* network() const { return network_ ? &*network_ : nullptr; }
    /// A language model's. Throws BadInput, naming the folder, for a convolutional network.
    const base::ModelConfig& config() const;
    const base::parameters::ParameterSet& set() const { return *description_.set; }
    const std::vector<CharlieGroup>& groups() const { return description_.groups; }
    /// A view of the file's bytes, all of them canonical. Whether they are w W_D, or w W_t, takes
    /// David's half.
    base::CheckSecret check_secret() const;
    /// MODEL-20: whether hints, and the keys of V and E, are encrypted.
    bool sealed() const { return sealed_; }
    /// Throws BadInput, naming the file, if they are and no key was given.
    void require_seal_key() const;
    /// HIDE-3, of a set with the hidden split: the key of a group's V and E. Throws as
    /// require_seal_key().
    std::span<const std::uint8_t> hiding_key(std::size_t group) const;
    /// David's product: ell more rows than the group's where it is hidden (HIDE-1).
    base::ProductShape davids_product(std::size_t group) const;
    /// MASK-7, of a set with lattice masks: the seed of T.
    std::span<const std::uint8_t> masks_seed() const;
    /// MASK-7: the rows of tau^-1 H of a group, as they are stored; empty for a group with uniform
    /// masks. A view of the file's bytes, not examined; where they are sealed, of ciphertext.
    /// Throws as require_seal_key().
    std::span<const std::uint8_t> hint(std::size_t group) const;
    /// MODEL-20: the rows of a chunk of a sealed hint, decrypted into `rows`, which has their size.
    /// Throws BadInput, naming file, tensor and rows, unless they are what was sealed, with zeros
    /// in `rows`; and as require_seal_key(). From any number of threads.
    void open_hint(std::size_t group, std::size_t chunk, std::span<std::uint8_t> rows) const;
    /// Throws BadInput, naming the rows, unless the hint of a group with lattice masks has the
    /// digests that check.safetensors states and, where a key was given, opens. Reads all of it.
    void require_hint(std::size_t group) const;
    /// The file that it is in.
    const std::filesystem::path& check_file() const { return check_.path(); }
    const Plan& plan() const { return description_.plan; }
    Strategy strategy() const { return description_.strategy; }
    /// The tensors that stay with Charlie, by checkpoint name.
    const importing::SafetensorsFile& parameters() const { return file_; }
    /// OUT/charlie, which holds the tokenizer's files.
    const std::filesystem::path& folder() const { return folder_; }
    /// SHA-256 of the david.safetensors that was made with this half, or of the digests of its
    /// shards.
    const std::array<std::uint8_t, 32>& david_digest() const { return description_.david_digest; }
    /// MODEL-22: at least one.
    const std::vector<Shard>& shards() const { return description_.shards; }

private:
    struct HintChunk;
    HintChunk chunk_of(std::size_t group, std::size_t chunk) const;
    void require_digest(const HintChunk& chunk) const;
    void unseal(const std::filesystem::path& file);
    void open_keys();
    std::span<const std::uint8_t> tag(std::size_t group, std::size_t number) const;

    std::filesystem::path folder_;
    importing::SafetensorsFile file_;
    CharlieDescription description_;
    importing::SafetensorsFile check_;  // after the description, which knows another version
    std::optional<importing::SafetensorsFile> masks_;  // of a set with lattice masks
    base::ModelConfig config_;
    std::optional<base::CnnConfig> network_;
    bool sealed_ = false;
    std::filesystem::path seal_file_;               // of the key that was given
    std::map<std::size_t, GroupSeal> seals_;        // of groups with sealed hints, with that key
    base::SecretBuffer<std::uint8_t> opened_keys_;  // of V and E, group by group
};

/// HIDE-8: the integer model of a hidden split, for the owner's own runs without a protocol.
class AuditArtifact {
public:
    /// `folder` is what the split wrote for the audit. Throws BadInput, naming the file, unless
    /// it is of the split that `charlie` is of, and if other users may read it (THREAT-2).
    AuditArtifact(const std::filesystem::path& folder, const CharlieArtifact& charlie);

    /// The stacked W' of a group. A view of the file's bytes.
    base::MatrixView<const std::int16_t> model(std::size_t group) const {
        return models_.at(group);
    }

private:
    importing::SafetensorsFile file_;
    std::vector<base::MatrixView<const std::int16_t>> models_;
};

/// ENC-4: throws BadInput if products of a group whose W_D has this norm (largest_norm()) could
/// exceed the range in which unmasking is exact. The integrity check cannot detect that.
void require_exact_products(const CharlieArtifact& charlie, std::size_t group, std::uint64_t norm);

/// Throws BadInput unless both halves come from one split: digest, shapes, convolutions.
void require_same_split(const CharlieArtifact& charlie, const DavidArtifact& david);

}  // namespace slip::artifact
