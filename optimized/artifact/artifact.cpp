// Reading the two halves (MODEL-7). What is not exactly what split_checkpoint writes is refused.
#include "optimized/artifact/artifact.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/hint_digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/pages.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/cnn_json.hpp"
#include "optimized/import/json.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/public_matrix.hpp"

namespace slip::artifact {
namespace {

namespace parameters = base::parameters;
using base::GroupShape;
using base::read_file;
using importing::DType;
using importing::JsonObject;
using importing::SafetensorsFile;
using nlohmann::json;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
    throw BadInput(path.string() + ": " + what);
}

void require_text(JsonObject& object, const std::string& name, const std::string& expected) {
    if (object.text(name) != expected) object.refuse(name, "\"" + expected + "\"");
}

/// PARAM-4.
void require_version(JsonObject& object, const std::filesystem::path& path) {
    constexpr std::size_t own = parameters::artifact_version;
    const std::size_t found =
        object.integer("version", 0, std::numeric_limits<std::uint32_t>::max());
    if (found == own) return;
    fail(path, "is of an artifact of version " + std::to_string(found) +
                   "; this program reads version " + std::to_string(own) +
                   ": split the model again with this version's 'slip split'");
}

/// The fields that both descriptions begin with. The version comes first: a file of another version
/// may differ in everything else (PARAM-4).
const parameters::ParameterSet* read_header(JsonObject& object, const char* format,
                                            const std::filesystem::path& path) {
    require_text(object, "format", format);
    require_version(object, path);
    const parameters::ParameterSet* const set = parameters::set_named(object.text("set"));
    if (set == nullptr) object.refuse("set", "one of " + layout::names_of_sets());
    return set;
}

/// 32 bytes in hexadecimal.
layout::Sha256 digest_field(JsonObject& object, const std::string& name) {
    const auto digest = layout::from_hex(object.text(name));
    if (!digest) object.refuse(name, "64 lower-case hexadecimal digits");
    return *digest;
}

/// DECO-10: strategies that choose at random have a seed, the others have none.
Strategy strategy_field(JsonObject& object) {
    const auto strategy = strategy_named(object.text("strategy"));
    if (!strategy) object.refuse("strategy", "one of lsc, rcs, norm, random, fms");
    if (uses_randomness(*strategy)) digest_field(object, "seed");
    return *strategy;
}

/// A tensor's elements in place, after its type, shape and alignment have been checked.
template <class T>
const T* elements_of(const SafetensorsFile& file, const std::string& name, DType dtype,
                     const std::vector<std::size_t>& shape) {
    const importing::Tensor& tensor = file.tensor(name);
    if (tensor.dtype != dtype || tensor.shape != shape) {
        fail(file.path(), "tensor " + name + " does not have the type and shape that " +
                              "the description beside it implies");
    }
    if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(T) != 0) {
        fail(file.path(), "tensor " + name + " is not aligned to its type");
    }
    return reinterpret_cast<const T*>(tensor.bytes.data());
}

/// CNN-6: the convolution whose kernel matrix a group of rows x cols is, if it has one.
std::optional<base::Convolution> read_convolution(JsonObject& group, std::size_t rows,
                                                  std::size_t cols) {
    if (!group.has("convolution")) return std::nullopt;
    JsonObject object = group.object("convolution");
    const auto size = [&](const char* name) {
        return object.integer(name, 1, parameters::largest_extent);
    };
    const base::Convolution shape{
        .H = size("height"),
        .W = size("width"),
        .C = size("channels"),
        .kH = size("kernel_height"),
        .kW = size("kernel_width"),
        .N = rows,
        .stride = size("stride"),
        .padding = object.integer("padding", 0, parameters::largest_extent)};
    object.refuse_unknown_fields();
    if (!base::within_limits(shape)) {
        group.refuse("convolution",
                     "a window that fits the image, and at most 2^20 entries of "
                     "an image, a patch and an output (PARAM-3)");
    }
    if (shape.patch() != cols) group.refuse("convolution", "patches as long as the matrix is wide");
    return shape;
}

// --- David ---------------------------------------------------------------------------------------

/// David must not be handed Charlie's half, not even in a folder beside his own files.
void refuse_charlies_files(const std::filesystem::path& directory) {
    for (const char* name : {layout::charlie_folder, layout::charlie_weights,
                             layout::charlie_description, layout::check_secret, layout::masks}) {
        if (std::filesystem::exists(directory / name)) {
            fail(directory, std::string("holds Charlie's artifact (") + name +
                                "); David must be given his own folder only");
        }
    }
}

/// David's weight file, once the folder is known to be his alone.
SafetensorsFile open_david_weights(const std::filesystem::path& directory) {
    refuse_charlies_files(directory);
    return SafetensorsFile(directory / layout::david_weights);
}

/// HIDE-1: U of a width, from its seed, laid out as products read it.
kernels::PlanarMatrix public_rows(const DavidManifest& manifest, std::size_t width) {
    const parameters::ParameterSet& set = *manifest.set;
    const std::size_t rows = set.public_rows();
    const auto planes = masks::public_rows_by_plane(set, manifest.seed, width);
    std::vector<kernels::WeightMatrix> matrices;
    for (std::size_t p = 0; p < set.planes; ++p) {
        matrices.emplace_back(planes.data() + p * rows * width, rows, width);
    }
    kernels::PlanarMatrix result(std::move(matrices));
    result.prepare();  // the bytes go
    return result;
}

/// Plane p of the A of a group, least magnitudes modulo its prime.
kernels::WeightMatrix plane_of_a(const SafetensorsFile& file, const std::string& name,
                                 const std::int8_t* planes, std::size_t p,
                                 const base::ProductShape& shape) {
    const std::size_t size = shape.rows * shape.n;
    const std::span<const std::int8_t> own(planes + p * size, size);
    const int largest = parameters::primes[p] / 2;
    const auto [least, most] = std::ranges::minmax(own);
    if (least < -largest || most > largest) {
        fail(file.path(), "tensor " + name + ", plane " + std::to_string(p) +
                              ": expected integers of magnitude at most " +
                              std::to_string(largest));
    }
    return {own.data(), shape.rows, shape.n};
}

/// HIDE-1: [A ; U] of every group; those of one width share U.
kernels::OffloadedWeights hidden_groups(const SafetensorsFile& file,
                                        const DavidManifest& manifest) {
    const std::size_t h = manifest.set->planes;
    std::map<std::size_t, kernels::PlanarMatrix> common;
    kernels::OffloadedWeights groups;
    for (std::size_t g = 0; g < manifest.groups.size(); ++g) {
        const std::string name = layout::group_tensor(g);
        const base::ProductShape& shape = manifest.groups[g];
        const auto* data =
            elements_of<std::int8_t>(file, name, DType::i8, {h, shape.rows, shape.n});
        std::vector<kernels::WeightMatrix> planes;
        for (std::size_t p = 0; p < h; ++p) {
            planes.push_back(plane_of_a(file, name, data, p, shape));
        }
        if (!common.contains(shape.n)) common[shape.n] = public_rows(manifest, shape.n);
        groups.emplace_back(kernels::PlanarMatrix(std::move(planes)), common[shape.n]);
    }
    return groups;
}

// --- Charlie -------------------------------------------------------------------------------------

Attention attention_field(JsonObject& object) {
    const auto order = attention_named(object.text("attention"));
    if (!order) object.refuse("attention", "\"fused\" or \"paper\"");
    return *order;
}

/// Without the tensors.
CharlieMember read_member(const json& value, std::size_t n, const CharlieDescription& of,
                          const std::filesystem::path& path, const std::string& where) {
    JsonObject object(value, path, where);
    CharlieMember member;
    member.shape.tensor = object.text("tensor");
    member.shape.layer_type = object.text("layer_type");
    if (!object.field("block").is_null()) {
        member.shape.block = object.integer("block", 0, parameters::largest_group_count);
    }
    const std::size_t m = object.integer("m", 1, parameters::largest_extent);
    if (!of.set->hides_weights) {
        member.rank = object.integer("rank", 0, largest_rank(of.strategy, m, n));
    }
    member.shape.m = member.shape.tensor_rows = m;
    if (object.has("first_row")) {
        member.shape.tensor_rows = object.integer("tensor_rows", m + 1, parameters::largest_extent);
        member.shape.first_row = object.integer("first_row", 0, member.shape.tensor_rows - m);
    }
    object.refuse_unknown_fields();
    return member;
}

GroupShape shape_of(const CharlieGroup& group) {
    GroupShape shape;
    shape.n = group.n;
    shape.convolution = group.convolution;
    shape.first_column = group.first_column;
    shape.width = group.width;
    for (const CharlieMember& member : group.members) shape.members.push_back(member.shape);
    return shape;
}

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
    const std::string name = shape_of(group).name(member.shape);
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

/// HIDE-7: where a part of matrices lies in them.
void read_part(JsonObject& object, CharlieGroup& group) {
    if (!object.has("width")) return;
    group.width = object.integer("width", group.n + 1, parameters::largest_extent);
    group.first_column = object.integer("first_column", 0, group.width - group.n);
}

/// ENC-3, or the norm of the width (HIDE-2).
std::int32_t norm_field(JsonObject& object, const parameters::ParameterSet& set, std::size_t n) {
    std::size_t least = parameters::smallest_activation_norm;
    std::size_t most = parameters::largest_activation_norm;
    if (set.hides_weights) {
        if (n > base::widest_hidden) object.refuse("n", "at most 6144 columns of a hidden matrix");
        least = most = static_cast<std::size_t>(base::hidden_width(n).norm);
    }
    return static_cast<std::int32_t>(object.integer("activation_norm", least, most));
}

CharlieGroup read_group(const json& value, const CharlieDescription& of,
                        const std::filesystem::path& path, const std::string& where) {
    JsonObject object(value, path, where);
    CharlieGroup group;
    group.n = object.integer("n", 1, parameters::largest_extent);
    group.activation_norm = norm_field(object, *of.set, group.n);
    if (of.set->hides_weights) read_part(object, group);
    for (const json& element : object.array("members")) {
        const std::string place = where + ".members[" + std::to_string(group.members.size()) + "]";
        group.members.push_back(read_member(element, group.n, of, path, place));
    }
    if (group.members.empty()) object.refuse("members", "at least one member");
    if (!of.set->hides_weights) {
        group.convolution = read_convolution(object, group.product().rows, group.n);
    }
    if (group.convolution && group.members.size() != 1) {
        object.refuse("members", "the kernel matrix alone");
    }
    object.refuse_unknown_fields();
    return group;
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
        elements_of<std::uint8_t>(
            file, layout::hint_tensor(g), DType::u8,
            {layout::hint_chunks(group.product().rows), sizeof(layout::Sha256)});
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

/// The ranks must be those that the plan gives.
void require_planned_ranks(const Plan& plan, Strategy strategy,
                           const std::vector<CharlieGroup>& groups,
                           const std::filesystem::path& path) {
    std::vector<GroupShape> shapes;
    shapes.reserve(groups.size());
    for (const CharlieGroup& group : groups) shapes.push_back(shape_of(group));
    std::vector<std::string> notes;  // were given when the model was split
    const auto ranks = ranks_of(plan, shapes, strategy, notes);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
            if (groups[g].members[i].rank != ranks[g][i]) {
                fail(path, "the rank of " + groups[g].members[i].shape.tensor +
                               " is not the one that its plan gives");
            }
        }
    }
}

}  // namespace

DavidManifest parse_david_manifest(std::string_view text, const std::filesystem::path& origin) {
    const json value = importing::parse_json(text, origin);
    JsonObject object(value, origin, "manifest");
    DavidManifest manifest;
    manifest.set = read_header(object, layout::david_format, origin);
    manifest.digest = digest_field(object, "sha256");
    if (manifest.set->hides_weights) manifest.seed = digest_field(object, "seed");
    for (const json& element : object.array("groups")) {
        const std::string where = "groups[" + std::to_string(manifest.groups.size()) + "]";
        JsonObject group(element, origin, where);
        base::ProductShape& shape = manifest.groups.emplace_back();
        shape.rows = group.integer("rows", 1, parameters::largest_extent);
        shape.n = group.integer("cols", 1, parameters::largest_extent);
        if (!manifest.set->hides_weights) {
            shape.convolution = read_convolution(group, shape.rows, shape.n);
        } else if (shape.n > base::widest_hidden) {
            group.refuse("cols", "at most 6144 columns of a hidden matrix");
        }
        group.refuse_unknown_fields();
    }
    object.refuse_unknown_fields();
    if (manifest.groups.empty() || manifest.groups.size() > parameters::largest_group_count) {
        object.refuse("groups", "1 to 2^16 groups");
    }
    return manifest;
}

DavidArtifact::DavidArtifact(const std::filesystem::path& directory)
    : file_(open_david_weights(directory)) {
    const std::filesystem::path manifest = directory / layout::david_description;
    manifest_ = parse_david_manifest(read_file(manifest), manifest);
    if (layout::sha256(file_.bytes()) != manifest_.digest) {
        fail(file_.path(), "does not have the SHA-256 that " + manifest.string() + " states");
    }
    const auto& shapes = manifest_.groups;
    if (file_.tensors().size() != shapes.size()) {
        fail(file_.path(), "holds other tensors than the groups of " + manifest.string());
    }
    if (set().hides_weights) {
        groups_ = hidden_groups(file_, manifest_);
        return;
    }
    for (std::size_t g = 0; g < shapes.size(); ++g) {
        const std::string name = layout::group_tensor(g);
        const auto& [rows, cols, convolution] = shapes[g];
        const auto* data = elements_of<std::int8_t>(file_, name, DType::i8, {rows, cols});
        const base::MatrixView<const std::int8_t> weights(data, rows, cols);
        const auto elements = weights.elements();
        if (std::find(elements.begin(), elements.end(), -128) != elements.end()) {
            fail(file_.path(), "tensor " + name +
                                   " holds -128, expected weights of magnitude at most " +
                                   std::to_string(parameters::largest_weight));
        }
        groups_.push_back(convolution ? kernels::GroupWeights(weights, *convolution)
                                      : kernels::GroupWeights(weights));
    }
}

kernels::OffloadedWeights DavidArtifact::weights() const { return groups_; }

std::vector<std::int8_t> DavidArtifact::public_rows(std::size_t width) const {
    return masks::public_rows_by_plane(set(), public_seed(), width);
}

CharlieDescription parse_charlie_description(std::string_view text,
                                             const std::filesystem::path& origin) {
    const json value = importing::parse_json(text, origin);
    JsonObject object(value, origin, "description");
    CharlieDescription description;
    description.set = read_header(object, layout::charlie_format, origin);
    if (object.has("attention")) description.attention = attention_field(object);
    if (!description.set->hides_weights) {
        description.strategy = strategy_field(object);
        object.integer("t", parameters::residual_shift, parameters::residual_shift);
        description.plan = plan_from_json(object.array("plan"), origin);
    }
    description.david_digest = digest_field(object, "david_sha256");
    std::vector<CharlieGroup>& groups = description.groups;
    for (const json& element : object.array("groups")) {
        const std::string where = "groups[" + std::to_string(groups.size()) + "]";
        groups.push_back(read_group(element, description, origin, where));
    }
    object.refuse_unknown_fields();
    if (groups.empty() || groups.size() > parameters::largest_group_count) {
        object.refuse("groups", "1 to 2^16 groups");
    }
    if (!description.set->hides_weights) {
        require_planned_ranks(description.plan, description.strategy, groups, origin);
    }
    return description;
}

namespace {

/// The folder, before anything in it is opened.
std::filesystem::path examined(std::filesystem::path folder, Readers readers) {
    if (readers == Readers::owner_alone) require_owner_alone(folder);
    return folder;
}

}  // namespace

CharlieArtifact::CharlieArtifact(const std::filesystem::path& directory,
                                 const std::filesystem::path& seal, Readers readers)
    : directory_(examined(directory / layout::charlie_folder, readers)),
      file_(directory_ / layout::charlie_weights),
      description_(read_description(directory_ / layout::charlie_description)),
      check_(directory_ / layout::check_secret) {
    const std::string config = read_file(directory_ / layout::config);
    if (importing::describes_cnn(config, directory_ / layout::config)) {
        network_ = importing::parse_cnn_config(config, directory_ / layout::config);
    } else {
        config_ = importing::parse_config(config, directory_ / layout::config);
    }
    if (description_.attention.has_value() == network_.has_value()) {
        fail(directory_ / layout::charlie_description,
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
        masks_.emplace(directory_ / layout::masks);
        base::prefer_huge_pages(masks_->bytes().data(), masks_->bytes().size());
        require_hints(*masks_, description_);
        sealed_ = holds_seals(*masks_);
    }
    require_digests(directory_, description_.set->lattice
                                    ? layout::masks
                                    : "");  // last: what is wrong in itself has a better message
    if (!seal.empty()) unseal(seal);
}

const base::ModelConfig& CharlieArtifact::config() const {
    if (!network_) return config_;
    throw BadInput(directory_.string() + ": is of a convolutional network, not a language model");
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
    const auto own = stated.subspan(chunk.number * sizeof(layout::Sha256), sizeof(layout::Sha256));
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
    if (!sealed_) fail(directory_, "the hints are not sealed: expected no key (--seal)");
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

AuditArtifact::AuditArtifact(const std::filesystem::path& directory, const CharlieArtifact& charlie)
    : file_(examined(directory, Readers::owner_alone) / layout::audit) {
    const auto* digest = elements_of<std::uint8_t>(file_, layout::audit_digest, DType::u8,
                                                   {charlie.david_digest().size()});
    if (!std::ranges::equal(std::span(digest, charlie.david_digest().size()),
                            charlie.david_digest())) {
        fail(file_.path(), "is of another split than " + charlie.directory().string());
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
