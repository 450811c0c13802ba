// Charlie's half, the owner's integer model beside it, and whether David's half is of the same
// split.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/hint_digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/reading.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/pages.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/cnn_json.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::artifact {
namespace {

namespace parameters = base::parameters;
using base::read_file;
using importing::DType;
using importing::SafetensorsFile;
using reading::elements_of;
using reading::fail;

void require_factors(const CharlieMember& member, const SafetensorsFile& file) {
    const std::string name = member.shape.name();
    for (std::size_t i = 0; i < member.shape.m; ++i) {
        if (!is_valid_row(member.a.significands.row(i), member.a.exponents[i])) {
            fail(file.path(), "tensors " + name + ".A and " + name + ".A_exponent, row " +
                                  std::to_string(i) +
                                  ": expected integers from -2047 to 2047 and an exponent from 0 "
                                  "to 20, the least that the row allows");
        }
    }
    for (const std::int32_t b : member.b.elements()) {
        if (std::abs(b) > parameters::largest_factor) {
            fail(file.path(), "tensor " + name + ".B must hold integers of magnitude at most " +
                                  std::to_string(parameters::largest_factor));
        }
    }
}

/// Finds the tensors of a member of a group.
void attach(CharlieMember& member, const CharlieGroup& group, bool is_hidden,
            const SafetensorsFile& file) {
    const std::string name = group.shape().name(member.shape);
    const std::size_t m = member.shape.m;
    const std::size_t k = member.rank;
    const std::size_t n = group.n;
    if (!is_hidden) {
        member.a.significands = {elements_of<std::int16_t>(file, name + ".A", DType::i16, {m, k}),
                                 m, k};
        member.a.exponents = {elements_of<std::int8_t>(file, name + ".A_exponent", DType::i8, {m}),
                              m};
        member.b = {elements_of<std::int16_t>(file, name + ".B", DType::i16, {k, n}), k, n};
    }
    member.row_scale = {elements_of<float>(file, name + ".row_scale", DType::f32, {m}), m};
    for (const float scale : member.row_scale) {
        if (!std::isfinite(scale) || scale <= 0) {
            fail(file.path(), "tensor " + name + ".row_scale must hold positive numbers");
        }
    }
    if (!is_hidden) require_factors(member, file);
}

/// INTEG-2: the tensor of a group, with every byte below the prime of its plane.
void require_companion(const SafetensorsFile& file, std::size_t group, std::size_t n,
                       std::size_t planes) {
    const std::string name = layout::group_tensor(group);
    const auto* bytes =
        elements_of<std::uint8_t>(file, name, DType::u8, {parameters::kappa, planes, n});
    for (std::size_t row = 0; row < parameters::kappa * planes; ++row) {
        const std::uint8_t prime = parameters::primes[row % planes];
        if (kernels::active().below(bytes + row * n, n, prime)) continue;
        fail(file.path(), "tensor " + name + ", combination " + std::to_string(row / planes) +
                              ", plane " + std::to_string(row % planes) +
                              ": expected bytes below " + std::to_string(prime));
    }
}

/// MASK-10: the tensor of a group, with every entry below 2^61 - 1.
void require_product_companion(const SafetensorsFile& file, std::size_t group, std::size_t n) {
    const std::string name = layout::product_tensor(group);
    const auto* bytes =
        elements_of<std::uint8_t>(file, name, DType::u8, {n, sizeof(std::uint64_t)});
    for (std::size_t j = 0; j < n; ++j) {
        std::uint64_t entry = 0;
        std::memcpy(&entry, bytes + j * sizeof entry, sizeof entry);
        if (entry < parameters::product_modulus) continue;
        fail(file.path(), "tensor " + name + ", entry " + std::to_string(j) +
                              ": expected an integer below 2^61 - 1");
    }
}

/// check.safetensors: what split_checkpoint writes for these groups, and nothing else.
void require_check_secret(const SafetensorsFile& file, const CharlieDescription& description) {
    elements_of<std::uint8_t>(file, layout::check_seed, DType::u8, {parameters::check_seed_bytes});
    const std::size_t groups = description.groups.size();
    std::size_t tensors = 1 + groups;
    for (std::size_t g = 0; g < groups; ++g) {
        const CharlieGroup& group = description.groups[g];
        require_companion(file, g, group.n, description.set->planes);
        if (!layout::has_lattice_masks(*description.set, group)) continue;
        require_product_companion(file, g, group.n);
        elements_of<std::uint8_t>(file, layout::hint_tensor(g), DType::u8,
                                  {layout::hint_chunks(group.product().rows), sizeof(Sha256)});
        tensors += 2;
        if (!description.set->hides_weights) continue;
        elements_of<std::uint8_t>(file, layout::key_tensor(g), DType::u8, {layout::key_bytes});
        tensors += 1;
    }
    if (file.tensors().size() != tensors || !file.metadata().empty()) {
        fail(file.path(),
             "holds more than the seed and the tensors of " + std::to_string(groups) + " groups");
    }
}

/// MODEL-20: whether a masks.safetensors is sealed. All of its groups are, or none.
bool holds_seals(const SafetensorsFile& file) {
    return std::ranges::any_of(file.tensors(), [](const auto& tensor) {
        return std::string_view(tensor.first).starts_with("salt.");
    });
}

/// masks.safetensors: what split_checkpoint writes for these groups, and nothing else.
void require_hints(const SafetensorsFile& file, const CharlieDescription& description) {
    const parameters::ParameterSet& set = *description.set;
    const bool sealed = holds_seals(file);
    elements_of<std::uint8_t>(file, layout::masks_seed, DType::u8, {parameters::public_seed_bytes});
    std::size_t tensors = 1;
    for (std::size_t g = 0; g < description.groups.size(); ++g) {
        const CharlieGroup& group = description.groups[g];
        if (!layout::has_lattice_masks(set, group)) continue;
        const std::size_t rows = group.product().rows;
        elements_of<std::uint8_t>(file, layout::group_tensor(g), DType::u8,
                                  layout::hint_shape(set, rows));
        ++tensors;
        if (!sealed) continue;
        elements_of<std::uint8_t>(file, layout::salt_tensor(g), DType::u8, {layout::salt_bytes});
        elements_of<std::uint8_t>(file, layout::tag_tensor(g), DType::u8,
                                  {layout::tags(set, rows), layout::tag_bytes});
        tensors += 2;
    }
    if (file.tensors().size() != tensors || !file.metadata().empty()) {
        fail(file.path(),
             "holds more than the seed and a tensor for each group with lattice masks");
    }
}

std::span<const std::uint8_t> bytes_in(const SafetensorsFile& file, const std::string& name) {
    const std::span<const std::byte> bytes = file.tensor(name).bytes;
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

CharlieDescription read_description(const std::filesystem::path& path) {
    return parse_charlie_description(read_file(path), path);
}

/// The folder, before anything in it is opened.
std::filesystem::path examined(std::filesystem::path folder, Readers readers) {
    if (readers == Readers::owner_alone) require_owner_alone(folder);
    return folder;
}

}  // namespace

CharlieArtifact::CharlieArtifact(const std::filesystem::path& folder,
                                 const std::filesystem::path& seal, Readers readers)
    : folder_(examined(folder / layout::charlie_folder, readers)),
      file_(folder_ / layout::charlie_weights),
      description_(read_description(folder_ / layout::charlie_description)),
      check_(folder_ / layout::check_secret) {
    const std::string config = read_file(folder_ / layout::config);
    if (importing::describes_cnn(config, folder_ / layout::config)) {
        network_ = importing::parse_cnn_config(config, folder_ / layout::config);
    } else {
        config_ = importing::parse_config(config, folder_ / layout::config);
    }
    if (description_.attention.has_value() == network_.has_value()) {
        fail(folder_ / layout::charlie_description,
             network_ ? "field \"attention\" is unknown in a convolutional network"
                      : "field \"attention\" is missing");
    }
    if (!network_) config_.attention = *description_.attention;
    config_.separate_query_key_value =
        config_.family == base::Family::gpt2 &&
        names_parts_of_c_attn(description_.groups.front().members.front().shape.layer_type);
    for (CharlieGroup& group : description_.groups) {
        for (CharlieMember& member : group.members) {
            attach(member, group, set().hides_weights, file_);
        }
    }
    require_check_secret(check_, description_);
    if (description_.set->lattice) {
        masks_.emplace(folder_ / layout::masks);
        base::prefer_huge_pages(masks_->bytes().data(), masks_->bytes().size());
        require_hints(*masks_, description_);
        sealed_ = holds_seals(*masks_);
    }
    require_digests(folder_, description_.set->lattice
                                 ? layout::masks
                                 : "");  // last: what is wrong in itself has a better message
    if (!seal.empty()) unseal(seal);
}

const base::ModelConfig& CharlieArtifact::config() const {
    if (!network_) return config_;
    throw BadInput(folder_.string() + ": is of a convolutional network, not a language model");
}

base::CheckSecret CharlieArtifact::check_secret() const {
    base::CheckSecret secret{bytes_in(check_, layout::check_seed), {}, {}};
    for (std::size_t g = 0; g < groups().size(); ++g) {
        secret.companions.push_back(bytes_in(check_, layout::group_tensor(g)));
        secret.product_companions.push_back(layout::has_lattice_masks(set(), groups()[g])
                                                ? bytes_in(check_, layout::product_tensor(g))
                                                : std::span<const std::uint8_t>{});
    }
    return secret;
}

std::span<const std::uint8_t> CharlieArtifact::hiding_key(std::size_t group) const {
    require_seal_key();
    if (!sealed_) return bytes_in(check_, layout::key_tensor(group));
    return opened_keys_.span().subspan(group * layout::key_bytes, layout::key_bytes);
}

base::ProductShape CharlieArtifact::davids_product(std::size_t group) const {
    base::ProductShape shape = groups().at(group).product();
    shape.rows += set().public_rows();
    return shape;
}

std::span<const std::uint8_t> CharlieArtifact::masks_seed() const {
    base::require(masks_.has_value(), "masks_seed: the set has no lattice masks");
    return bytes_in(*masks_, layout::masks_seed);
}

std::span<const std::uint8_t> CharlieArtifact::hint(std::size_t group) const {
    if (!layout::has_lattice_masks(set(), groups().at(group))) return {};
    require_seal_key();
    return bytes_in(*masks_, layout::group_tensor(group));
}

/// Some rows of a hint, as they are stored.
struct CharlieArtifact::HintChunk {
    std::size_t group = 0;
    std::size_t number = 0;
    std::size_t first = 0, count = 0;  // rows
    std::span<const std::uint8_t> bytes;

    /// For messages.
    std::string name() const {
        return "tensor " + layout::group_tensor(group) + ", rows " + std::to_string(first) +
               " to " + std::to_string(first + count - 1);
    }
};

CharlieArtifact::HintChunk CharlieArtifact::chunk_of(std::size_t group, std::size_t chunk) const {
    const auto rows = bytes_in(*masks_, layout::group_tensor(group));
    const std::size_t total = groups().at(group).product().rows, row_bytes = rows.size() / total;
    const std::size_t first = chunk * layout::hint_chunk_rows;
    base::require(first < total, "CharlieArtifact: a chunk beyond the hint");
    const std::size_t count = std::min(layout::hint_chunk_rows, total - first);
    return {group, chunk, first, count, rows.subspan(first * row_bytes, count * row_bytes)};
}

void CharlieArtifact::require_digest(const HintChunk& chunk) const {
    HintDigests digest(std::as_bytes(masks_seed()), chunk.bytes.size() / chunk.count);
    digest.append(std::as_bytes(chunk.bytes));
    const std::span<const std::byte> stated = check_.tensor(layout::hint_tensor(chunk.group)).bytes;
    const auto own = stated.subspan(chunk.number * sizeof(Sha256), sizeof(Sha256));
    if (std::ranges::equal(digest.finish(), own)) return;
    fail(masks_->path(),
         chunk.name() + ": do not have the SHA-256 that " + check_.path().string() + " states");
}

void CharlieArtifact::require_hint(std::size_t group) const {
    const std::size_t chunks = layout::hint_chunks(groups().at(group).product().rows);
    base::SecretBuffer<std::uint8_t> opened;
    if (seals_.contains(group)) {
        opened = base::SecretBuffer<std::uint8_t>(chunk_of(group, 0).bytes.size());
    }
    for (std::size_t c = 0; c < chunks; ++c) {
        const HintChunk chunk = chunk_of(group, c);
        require_digest(chunk);
        if (opened.size() > 0) open_hint(group, c, opened.span().first(chunk.bytes.size()));
    }
}

std::span<const std::uint8_t> CharlieArtifact::tag(std::size_t group, std::size_t number) const {
    return bytes_in(*masks_, layout::tag_tensor(group))
        .subspan(number * layout::tag_bytes, layout::tag_bytes);
}

void CharlieArtifact::require_seal_key() const {
    if (!sealed_ || !seals_.empty()) return;
    fail(masks_->path(),
         "the hints are sealed: expected the file of their key (--seal KEYFILE, "
         "CharlieOptions::seal)");
}

void CharlieArtifact::open_hint(std::size_t group, std::size_t number,
                                std::span<std::uint8_t> rows) const {
    require_seal_key();
    const HintChunk chunk = chunk_of(group, number);
    const auto own_tag = tag(group, number).first<layout::tag_bytes>();
    if (seals_.at(group).open(number, chunk.bytes, own_tag, rows)) return;
    require_digest(chunk);  // what the disk has done to the rows has a message of its own
    fail(masks_->path(), chunk.name() + ": " + seal_file_.string() +
                             " does not open them: it is another split's key, or their salt or "
                             "tag is damaged");
}

void CharlieArtifact::unseal(const std::filesystem::path& file) {
    if (!sealed_) fail(folder_, "the hints are not sealed: expected no key (--seal)");
    const SealKey key(file);
    seal_file_ = file;
    for (std::size_t g = 0; g < groups().size(); ++g) {
        if (!layout::has_lattice_masks(set(), groups()[g])) continue;
        const base::ProductShape shape = groups()[g].product();
        seals_.emplace(g, GroupSeal(key, {&set(), g, shape.rows, shape.n, masks_seed(),
                                          bytes_in(*masks_, layout::salt_tensor(g))}));
    }
    const std::size_t first = seals_.begin()->first;
    base::SecretBuffer<std::uint8_t> rows(chunk_of(first, 0).bytes.size());
    open_hint(first, 0, rows.span());  // another key is noticed before anything is asked of it
    if (set().hides_weights) open_keys();
}

/// HIDE-3: the keys of V and E. The tag of a key follows those of the chunks.
void CharlieArtifact::open_keys() {
    opened_keys_ = base::SecretBuffer<std::uint8_t>(groups().size() * layout::key_bytes);
    for (const auto& [group, seal] : seals_) {
        const std::size_t number = layout::hint_chunks(groups()[group].product().rows);
        const auto own_tag = tag(group, number).first<layout::tag_bytes>();
        if (seal.open(number, bytes_in(check_, layout::key_tensor(group)), own_tag,
                      opened_keys_.span().subspan(group * layout::key_bytes, layout::key_bytes))) {
            continue;
        }
        fail(check_.path(), "tensor " + layout::key_tensor(group) + ": " + seal_file_.string() +
                                " does not open it: it, its salt or its tag is damaged");
    }
}

AuditArtifact::AuditArtifact(const std::filesystem::path& folder, const CharlieArtifact& charlie)
    : file_(examined(folder, Readers::owner_alone) / layout::audit) {
    const auto* digest = elements_of<std::uint8_t>(file_, layout::audit_digest, DType::u8,
                                                   {charlie.david_digest().size()});
    if (!std::ranges::equal(std::span(digest, charlie.david_digest().size()),
                            charlie.david_digest())) {
        fail(file_.path(), "is of another split than " + charlie.folder().string());
    }
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const base::ProductShape shape = charlie.groups()[g].product();
        models_.emplace_back(elements_of<std::int16_t>(file_, layout::group_tensor(g), DType::i16,
                                                       {shape.rows, shape.n}),
                             shape.rows, shape.n);
    }
}

void require_exact_products(const CharlieArtifact& charlie, std::size_t group, std::uint64_t norm) {
    const std::int32_t largest = charlie.groups()[group].activation_norm;
    const parameters::ParameterSet& set = charlie.set();
    const bool exact =
        layout::has_lattice_masks(set, charlie.groups()[group])
            ? within_lattice_bounds(*set.lattice, norm, largest)
            : norm * static_cast<std::uint64_t>(largest) <= largest_product(set.planes);
    if (exact) return;
    throw BadInput("group " + std::to_string(group) +
                   ": the activations of Charlie's artifact are too wide for David's");
}

void require_same_split(const CharlieArtifact& charlie, const DavidArtifact& david) {
    if (charlie.david_digest() != david.digest()) {
        throw BadInput("Charlie's and David's artifacts come from different splits");
    }
    const auto weights = david.weights();
    bool same = weights.size() == charlie.groups().size();
    for (std::size_t g = 0; same && g < weights.size(); ++g) {
        same = weights[g].shape() == charlie.davids_product(g);
        if (same && !charlie.set().hides_weights) {
            require_exact_products(charlie, g, largest_norm(weights[g]));
        }
    }
    if (!same) throw BadInput("Charlie's and David's artifacts have different shapes");
}

}  // namespace slip::artifact
