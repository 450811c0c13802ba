// Writing the two halves (MODEL-7): one group after the other, so that a model need not fit in
// memory, and a killed split goes on where it was (DECO-11).
#include "optimized/split/split_checkpoint.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/artifact/seal.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/secrets/check_secret.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/split/coarse_grid.hpp"
#include "optimized/split/decomposition.hpp"
#include "optimized/split/partial_split.hpp"
#include "optimized/split/parts.hpp"
#include "optimized/split/shards.hpp"
#include "optimized/split/weight_files.hpp"

namespace slip::splitting {
namespace {

namespace layout = artifact::layout;
namespace parameters = base::parameters;
using base::GroupShape;
using base::MemberShape;
using base::parameters::ParameterSet;
using importing::Checkpoint;
using importing::DType;
using importing::SafetensorsAssembly;
using importing::size_of;
using importing::Tensor;
using nlohmann::ordered_json;

/// PARAM-3.
void require_limits(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups) {
    const std::string model = checkpoint.folder().string() + ": ";
    if (groups.size() > parameters::largest_group_count) {
        throw BadInput(model + "has " + std::to_string(groups.size()) +
                       " groups of matrices: expected at most " +
                       std::to_string(parameters::largest_group_count));
    }
    for (const GroupShape& group : groups) {
        if (group.n > parameters::largest_extent ||
            group.product().rows > parameters::largest_extent) {
            throw BadInput(model + group.members.front().tensor +
                           ": its group has more than 2^20 rows or columns");
        }
        if (group.convolution && !base::within_limits(*group.convolution)) {
            throw BadInput(model + group.members.front().tensor +
                           ": its image, patches or output have more than 2^20 entries");
        }
    }
}

/// ENC-3 to ENC-5 for the members of one group.
std::int32_t activation_norm_of(const GroupShape& group, const std::vector<IntegerMatrix>& members,
                                const ParameterSet& set) {
    const std::string name = "the group of " + group.members.front().name();
    std::uint64_t norm = 0;
    for (const IntegerMatrix& member : members) {
        norm = std::max(norm, artifact::largest_norm({member.residual.data(), member.m, member.n}));
    }
    if (layout::has_lattice_masks(set, group)) {
        base::require(norm <= static_cast<std::uint64_t>(set.lattice->weight_norm),
                      "a row of W_D is longer than lattice masks allow");  // DECO-3 has scaled it
    }
    const std::int32_t activation_norm = layout::has_lattice_masks(set, group)
                                             ? set.lattice->activation_norm
                                             : artifact::activation_norm(norm, set.planes);
    if (activation_norm < parameters::smallest_activation_norm) {
        throw BadInput(name + ": set " + std::string(set.name) +
                       " leaves its activations a norm of " + std::to_string(activation_norm) +
                       "; at least " + std::to_string(parameters::smallest_activation_norm) +
                       " is needed");
    }
    for (const IntegerMatrix& member : members) {
        if (!fits_64_bits(member, activation_norm)) {
            throw BadInput(name + ": products of the integer model do not fit 64 bits");
        }
    }
    return activation_norm;
}

/// `rank`: null where nothing of the matrix is kept apart (HIDE-1).
ordered_json describe_member(const MemberShape& member, const std::size_t* rank) {
    ordered_json description{
        {"tensor", member.tensor},
        {"layer_type", member.layer_type},
        {"block", member.block ? ordered_json(*member.block) : ordered_json(nullptr)},
        {"m", member.m}};
    if (rank != nullptr) description["rank"] = *rank;
    if (member.m != member.tensor_rows) {  // some rows of a tensor: those of a head
        description["first_row"] = member.first_row;
        description["tensor_rows"] = member.tensor_rows;
    }
    return description;
}

/// CNN-6.
void describe_convolution(const GroupShape& group, ordered_json& description) {
    if (!group.convolution) return;
    const base::Convolution& shape = *group.convolution;
    description["convolution"] = {{"height", shape.H},        {"width", shape.W},
                                  {"channels", shape.C},      {"kernel_height", shape.kH},
                                  {"kernel_width", shape.kW}, {"stride", shape.stride},
                                  {"padding", shape.padding}};
}

/// `ranks` are empty where there are none.
ordered_json describe_group(const GroupShape& group, std::int32_t activation_norm,
                            const std::vector<std::size_t>& ranks) {
    ordered_json members = ordered_json::array();
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        members.push_back(describe_member(group.members[i], ranks.empty() ? nullptr : &ranks[i]));
    }
    ordered_json description{{"n", group.n}, {"activation_norm", activation_norm}};
    if (group.width != 0) {  // HIDE-7
        description["first_column"] = group.first_column;
        description["width"] = group.width;
    }
    description["members"] = members;
    describe_convolution(group, description);
    return description;
}

layout::Sha256 digest_of_half(const std::vector<artifact::Shard>& shards) {
    std::vector<layout::Sha256> digests;
    digests.reserve(shards.size());
    for (const artifact::Shard& shard : shards) digests.push_back(shard.digest);
    return layout::digest_of_half(digests);
}

/// plan.json. `shards`: of David's half, its only one or several (MODEL-22).
std::string charlie_description(const Checkpoint& checkpoint, const SplitOptions& options,
                                const SelectionSeed& seed,
                                const std::vector<artifact::Shard>& shards,
                                const ordered_json& groups) {
    ordered_json description({{"format", layout::charlie_format},
                              {"version", parameters::artifact_version},
                              {"set", options.set}});
    if (!checkpoint.network()) description["attention"] = name_of(checkpoint.config().attention);
    if (!layout::require_set(options.set).hides_weights) {
        description["strategy"] = name_of(options.strategy);
        if (artifact::uses_randomness(options.strategy)) {  // DECO-10
            description["seed"] = layout::to_hex(seed);
        }
        description["t"] = parameters::residual_shift;
        description["plan"] = artifact::plan_as_json(options.plan);
    }
    description["david_sha256"] = layout::to_hex(digest_of_half(shards));
    if (shards.size() > 1) {
        for (const artifact::Shard& shard : shards) {
            description["shards"].push_back(
                {{"groups", shard.groups}, {"sha256", layout::to_hex(shard.digest)}});
        }
    }
    description["groups"] = groups;
    return description.dump(1) + "\n";
}

/// manifest.json: what David needs to check his own file, and nothing of Charlie's.
std::string david_description(std::span<const GroupShape> groups, const ParameterSet& set,
                              const Seeds& seeds, const layout::Sha256& david_digest) {
    ordered_json shapes = ordered_json::array();
    for (const GroupShape& group : groups) {
        shapes.push_back({{"rows", group.product().rows}, {"cols", group.n}});
        describe_convolution(group, shapes.back());
    }
    ordered_json description{{"format", layout::david_format},
                             {"version", parameters::artifact_version},
                             {"set", set.name},
                             {"sha256", layout::to_hex(david_digest)}};
    if (set.hides_weights) description["seed"] = layout::to_hex(seeds.masks);  // of U
    description["groups"] = shapes;
    return description.dump(1) + "\n";
}

/// Where a split stands, for those who watch it.
class ProgressReport {
public:
    /// Begins with the groups that earlier runs have finished.
    ProgressReport(const std::vector<GroupShape>& groups, const GroupRange& range,
                   const PartialSplit& partial, const SplitOptions& options)
        : report_(options.progress) {
        for (std::size_t g = range.first; g < range.end; ++g) {
            progress_.matrices += groups[g].members.size();
            progress_.weights += weights_in(groups[g]);
            if (!partial.finished()[g]) continue;
            progress_.finished += groups[g].members.size();
            progress_.finished_weights += weights_in(groups[g]);
        }
        progress_.skipped = progress_.finished;
        show_progress();
    }
    void finish(const MemberShape& member, std::size_t n) {
        ++progress_.finished;
        progress_.finished_weights += member.m * n;
        progress_.name = member.name();
        show_progress();
    }

private:
    void show_progress() const {
        if (report_) report_(progress_);
    }
    std::function<void(const SplitProgress&)> report_;
    SplitProgress progress_;
};

/// DECO-11: what an earlier run says it has finished counts as far as its bytes are still there.
void keep_what_is_whole(const std::vector<GroupShape>& groups, WeightFiles& files,
                        const GroupRange& range, PartialSplit& partial,
                        std::vector<std::string>& notes) {
    for (std::size_t g = range.first; g < range.end; ++g) {
        const std::optional<FinishedGroup>& finished = partial.finished()[g];
        if (!finished || files.digest_of(g, finished->activation_norm) == finished->digest)
            continue;
        notes.push_back("in the unfinished split " + groups[g].members.front().name() +
                        " was damaged; it was made again");
        partial.forget(g);
    }
}

/// DECO-13: a file that says itself that its weights lie on a grid of 8 bits.
void require_accepted_grid(const Checkpoint& checkpoint, const SplitOptions& options) {
    if (checkpoint.quantised_tensor().empty() || options.accept_grid) return;
    throw BadInput(checkpoint.folder().string() + ": tensor " + checkpoint.quantised_tensor() +
                   ": its weights lie on a grid of 8 bits (Q8_0), and nobody has measured what "
                   "David's half then shows: expected F32, F16 or BF16, or --accept-grid "
                   "(SplitOptions::accept_grid)");
}

/// INTEG-2: w W_D of the stacked members of a group.
base::SecretBuffer<std::uint8_t> companion_of(const std::vector<IntegerMatrix>& members,
                                              const SelectionSeed& check_seed, std::size_t planes) {
    std::vector<std::int8_t> stacked;
    for (const IntegerMatrix& member : members) {
        stacked.insert(stacked.end(), member.residual.begin(), member.residual.end());
    }
    const std::size_t n = members.front().n;
    const std::size_t rows = stacked.size() / n;
    const auto w = secrets::draw_combinations(check_seed, planes, rows);
    return secrets::companion(w, {stacked.data(), rows, n}, planes);
}

/// MASK-10: z W_D of the stacked members of a group.
base::SecretBuffer<std::uint64_t> product_companion_of(const std::vector<IntegerMatrix>& members,
                                                       const SelectionSeed& check_seed) {
    std::vector<std::int8_t> stacked;
    for (const IntegerMatrix& member : members) {
        stacked.insert(stacked.end(), member.residual.begin(), member.residual.end());
    }
    const std::size_t n = members.front().n;
    const std::size_t rows = stacked.size() / n;
    return secrets::product_companion(secrets::draw_product_secret(check_seed, rows),
                                      {stacked.data(), rows, n});
}

/// Decomposes the groups of the range that are not finished yet and writes them, one group in
/// memory at a time.
void split_matrices(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                    const GroupRange& range, const Ranks& ranks, const ParameterSet& set,
                    const Seeds& seeds, const SplitOptions& options, PartialSplit& partial,
                    WeightFiles& files) {
    ProgressReport progress(groups, range, partial, options);
    std::size_t number = 0;  // DECO-10: of the first matrix of a group, counted through all groups
    for (std::size_t g = 0; g < range.end; number += groups[g].members.size(), ++g) {
        if (g < range.first || partial.finished()[g]) continue;
        const GroupShape& group = groups[g];
        std::vector<IntegerMatrix> members;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const MemberShape& member = group.members[i];
            const std::vector<float> weights = checkpoint.matrix(member, group.n);
            checkpoint.forget_pages();
            if (ranks[g][i] > 0 && artifact::exposes_span(options.strategy) &&
                !options.accept_grid) {
                require_fine_grid({weights.data(), member.m, group.n}, checkpoint_name(member));
            }
            Method method{options.strategy, selection_stream(seeds.selection, number + i)};
            if (layout::has_lattice_masks(set, group))
                method.weight_norm = set.lattice->weight_norm;
            members.push_back(decompose({weights.data(), member.m, group.n}, ranks[g][i],
                                        checkpoint_name(member), method, options.threads));
            progress.finish(member, group.n);
        }
        const std::int32_t activation_norm = activation_norm_of(group, members, set);
        EncodedGroup encoded{activation_norm, std::move(members), {}, {}};
        encoded.companion = companion_of(encoded.members, seeds.check, set.planes);
        if (layout::has_lattice_masks(set, group)) {
            encoded.product_companion = product_companion_of(encoded.members, seeds.check);
        }
        partial.record(g, {activation_norm, files.write(g, encoded)});
    }
}

/// HIDE-8: the integer model of a group, from the columns of its matrices that are its own.
HiddenModel hidden_model(const Checkpoint& checkpoint, const GroupShape& group) {
    HiddenModel model{group.n, {}, {}};
    for (const MemberShape& member : group.members) {
        const std::vector<float> weights = checkpoint.matrix(member, group.columns());
        checkpoint.forget_pages();
        std::vector<float> own(member.m * group.n);
        for (std::size_t i = 0; i < member.m; ++i) {
            std::copy_n(weights.data() + i * group.columns() + group.first_column, group.n,
                        own.data() + i * group.n);
        }
        model.append({own.data(), member.m, group.n});
    }
    return model;
}

/// Hides the groups of the range that are not finished yet and writes them.
void hide_matrices(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                   const GroupRange& range, const SplitOptions& options, PartialSplit& partial,
                   WeightFiles& files) {
    ProgressReport progress(groups, range, partial, options);
    for (std::size_t g = range.first; g < range.end; ++g) {
        if (partial.finished()[g]) continue;
        const GroupShape& group = groups[g];
        const HiddenModel model = hidden_model(checkpoint, group);
        partial.record(g, {base::hidden_width(group.n).norm, files.write(g, model)});
        for (const MemberShape& member : group.members) progress.finish(member, group.n);
    }
}

/// HIDE-8: what the owner runs unsplit, in a folder of its own that nobody else may enter.
void write_audit(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                 const layout::Sha256& david_digest, const std::filesystem::path& folder) {
    std::vector<Tensor> tensors;
    tensors.reserve(groups.size() + 1);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        tensors.push_back(
            {layout::group_tensor(g), DType::i16, {groups[g].product().rows, groups[g].n}, {}});
    }
    tensors.push_back({layout::audit_digest, DType::u8, {david_digest.size()}, {}});
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    SafetensorsAssembly file(folder / layout::audit, tensors, parameters::secret_file_mode);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const HiddenModel model = hidden_model(checkpoint, groups[g]);
        file.write(layout::group_tensor(g), std::as_bytes(std::span(model.entries)));
    }
    file.write(layout::audit_digest, std::as_bytes(std::span(david_digest)));
    file.flush();
}

/// HIDE-1: what the hidden split can do. Throws BadInput for what it cannot.
void require_hideable(const Checkpoint& checkpoint, const SplitOptions& options) {
    const std::string set = "set " + options.set + ": ";
    if (checkpoint.network() != nullptr) {
        throw BadInput(checkpoint.folder().string() + ": " + set +
                       "a convolution cannot be hidden: expected a language model, a plan or a "
                       "rank, or another set (" +
                       layout::names_of_sets() + ")");
    }
    if (!options.plan.empty() || options.strategy != Strategy::lsc || options.seed ||
        options.accept_grid) {
        throw BadInput(set +
                       "all of a matrix is hidden, and nothing of it is kept apart: expected no "
                       "rank, plan or strategy, no seed of one and no accepted grid, or another "
                       "set (" +
                       layout::names_of_sets() + ")");
    }
}

/// Throws BadInput where the folder for the audit cannot be made, before any long work.
void require_audit(const SplitOptions& options) {
    if (options.audit.empty()) return;
    if (!layout::require_set(options.set).hides_weights) {
        throw BadInput("set " + options.set +
                       ": both halves make up the integer model: expected no audit");
    }
    if (std::filesystem::exists(std::filesystem::symlink_status(options.audit))) {
        throw BadInput(options.audit.string() + ": exists already");
    }
}

/// The key of --seal; nothing where none is asked for. Throws BadInput too where nothing would be
/// sealed.
std::optional<artifact::SealKey> seal_key_of(const std::vector<GroupShape>& groups,
                                             const SplitOptions& options,
                                             std::vector<std::string>& notes) {
    if (options.seal.empty()) return std::nullopt;
    const ParameterSet& set = layout::require_set(options.set);
    if (std::ranges::none_of(
            groups, [&](const auto& group) { return layout::has_lattice_masks(set, group); })) {
        throw BadInput("set " + options.set +
                       ": no group of this model has hints: expected no key to seal them with");
    }
    if (!options.audit.empty()) {
        notes.push_back(options.audit.string() +
                        ": the integer model in it is not sealed: keep it off Charlie's disk");
    }
    return std::optional<artifact::SealKey>(std::in_place, options.seal);
}

/// All that the model is, in one digest.
std::string checkpoint_digest(const Checkpoint& checkpoint) {
    layout::Sha256Stream stream;
    const auto append_text = [&](std::string_view text) {
        stream.append(std::as_bytes(std::span(text)));
    };
    append_text(checkpoint.config_text());
    for (const auto& [name, tensor] : checkpoint.tensors()) {
        append_text("\n");
        append_text(name);
        append_text("\n");
        append_text(importing::name_of(tensor.dtype));
        for (const std::size_t extent : tensor.shape) {
            append_text(" ");
            append_text(std::to_string(extent));
        }
        append_text("\n");
        stream.append(tensor.bytes);
        checkpoint.forget_pages();
    }
    return layout::to_hex(stream.finish());
}

/// Two commands with the same request make the same artifact, but for what is drawn at random.
ordered_json request_of(const Checkpoint& checkpoint, const SplitOptions& options,
                        const artifact::SealKey* seal) {
    ordered_json request = {{"version", parameters::artifact_version},
                            {"set", options.set},
                            {"checkpoint_sha256", checkpoint_digest(checkpoint)},
                            {"strategy", name_of(options.strategy)},
                            {"plan", artifact::plan_as_json(options.plan)}};
    if (!checkpoint.network()) request["attention"] = name_of(checkpoint.config().attention);
    if (options.shards > 1) request["shards"] = options.shards;
    if (seal != nullptr) request["seal"] = seal->id();
    if (options.seed) request["seed"] = layout::to_hex(*options.seed);
    return request;
}

/// DECO-10, INTEG-1.
ordered_json choices_of(const SplitOptions& options) {
    ordered_json choices{{"check_seed", layout::to_hex(new_seed())}};
    if (layout::require_set(options.set).lattice)
        choices["masks_seed"] = layout::to_hex(new_seed());
    if (layout::require_set(options.set).hides_weights) {  // HIDE-3
        choices["hiding_secret"] = layout::to_hex(new_seed());
    }
    if (artifact::uses_randomness(options.strategy)) {
        choices["seed"] = layout::to_hex(options.seed ? *options.seed : new_seed());
    }
    return choices;
}

/// The seeds that a split began with. Throws BadInput, naming the file and the field, for text that
/// is none.
Seeds seeds_of(const PartialSplit& partial) {
    const nlohmann::json& choices = partial.choices();
    const auto seed_in = [&](const char* name) {
        const auto text = choices.find(name);
        const bool is_text = text != choices.end() && text->is_string();
        const auto seed = is_text ? layout::from_hex(text->get<std::string>()) : std::nullopt;
        if (seed) return *seed;
        throw BadInput(partial.state_file().string() + ": " + name +
                       ": expected 64 lower-case hexadecimal digits");
    };
    const auto seed_or_zeros = [&](const char* name) {
        return choices.contains(name) ? seed_in(name) : SelectionSeed{};
    };
    return {seed_in("check_seed"), seed_or_zeros("masks_seed"), seed_or_zeros("seed"),
            seed_or_zeros("hiding_secret")};
}

/// Also replaces what a killed split has left.
void write_description(const std::filesystem::path& path, std::string_view text, mode_t mode) {
    std::filesystem::remove(path);
    base::write_file(path, text, mode);
}

/// The manifest of every shard, `sizes` of which are known. Returns the digests of their weights.
std::vector<artifact::Shard> write_manifests(const std::vector<GroupShape>& groups,
                                             const std::vector<std::size_t>& sizes,
                                             const Seeds& seeds, const ParameterSet& set,
                                             const std::filesystem::path& out) {
    const std::vector<std::string> folders = layout::david_folders(sizes.size());
    std::vector<artifact::Shard> shards;
    std::size_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::filesystem::path david = out / folders[i];
        const auto digest = layout::sha256_of_file(david / layout::david_weights);
        write_description(
            david / layout::david_description,
            david_description(std::span(groups).subspan(first, sizes[i]), set, seeds, digest),
            base::public_file_mode);
        shards.push_back({sizes[i], digest});
        first += sizes[i];
    }
    return shards;
}

/// All files but the weights. Returns the digest of David's half.
layout::Sha256 write_descriptions(const Checkpoint& checkpoint,
                                  const std::vector<GroupShape>& groups,
                                  const std::vector<std::size_t>& shard_sizes, const Ranks& ranks,
                                  const Seeds& seeds, const SplitOptions& options,
                                  const PartialSplit& partial) {
    const std::filesystem::path charlie = partial.folder() / layout::charlie_folder;
    ordered_json descriptions = ordered_json::array();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        descriptions.push_back(
            describe_group(groups[g], partial.finished()[g].value().activation_norm,
                           ranks.empty() ? std::vector<std::size_t>{} : ranks[g]));
    }
    const auto shards = write_manifests(groups, shard_sizes, seeds,
                                        layout::require_set(options.set), partial.folder());
    write_description(
        charlie / layout::charlie_description,
        charlie_description(checkpoint, options, seeds.selection, shards, descriptions),
        parameters::secret_file_mode);
    write_description(charlie / layout::config, checkpoint.config_text(),
                      parameters::secret_file_mode);
    for (const auto& [name, text] : importing::read_tokenizer_files(checkpoint.folder())) {
        write_description(charlie / name, text, parameters::secret_file_mode);
    }
    std::filesystem::remove(charlie / layout::digests);
    artifact::write_digests(charlie, parameters::secret_file_mode);
    return digest_of_half(shards);
}

void note_tied_heads(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                     std::vector<std::string>& notes) {
    for (const GroupShape& group : groups) {
        for (const MemberShape& member : group.members) {
            if (stays_with_charlie(member, checkpoint)) {
                notes.push_back(member.layer_type + " is tied to " + member.tensor +
                                ": David holds the quantised embedding");
            }
        }
    }
}

void create_folders(const std::filesystem::path& out, std::size_t shards) {
    using std::filesystem::perms;
    std::filesystem::create_directory(out / layout::charlie_folder);
    for (const std::string& name : layout::david_folders(shards)) {
        std::filesystem::create_directory(out / name);
    }
    std::filesystem::permissions(out / layout::charlie_folder, perms::owner_all);
}

}  // namespace

SplitSizes sizes_of_split(const Checkpoint& checkpoint,
                          const std::vector<GroupShape>& groups_of_graph,
                          const std::vector<std::vector<std::size_t>>& ranks,
                          const ParameterSet& set) {
    require_limits(checkpoint, groups_of_graph);
    const auto groups = base::parts_of(set, groups_of_graph);
    const auto bytes_in = [](const std::vector<Tensor>& tensors) {
        std::size_t bytes = importing::encode_safetensors_header(tensors, {}).size();
        for (const Tensor& tensor : tensors) bytes += tensor.elements() * size_of(tensor.dtype);
        return bytes;
    };
    SplitSizes sizes;
    sizes.charlie =
        bytes_in(charlie_tensors(parameters_of(checkpoint, groups), groups, ranks, set));
    sizes.check = bytes_in(check_tensors(groups, set));
    if (set.lattice) sizes.masks = bytes_in(mask_tensors(groups, set, false));
    sizes.david = bytes_in(david_tensors(groups, set));
    for (const GroupShape& group : groups) {
        if (set.hides_weights) {
            const std::size_t entries = set.public_rows();
            sizes.products += static_cast<double>(group.product().rows * group.n) *
                              static_cast<double>(entries * set.planes);
            sizes.memory = std::max(sizes.memory, memory_to_hide(set, group));
        }
        for (const MemberShape& member : group.members) {
            sizes.largest_matrix =
                std::max(sizes.largest_matrix, member.m * group.columns() * sizeof(float));
        }
    }
    return sizes;
}

std::vector<std::string> split_checkpoint(const Checkpoint& checkpoint,
                                          const std::vector<GroupShape>& groups_of_graph,
                                          const SplitOptions& given) {
    SplitOptions options = given;
    if (options.set.empty()) {
        options.set = layout::default_set(!given.plan.empty());
    }
    base::require(checkpoint.network() || options.attention == checkpoint.config().attention,
                  "split_checkpoint: the checkpoint was opened in another order of attention");
    const ParameterSet& set = layout::require_set(options.set);
    const std::vector<GroupShape> groups = base::parts_of(set, groups_of_graph);
    std::vector<std::string> notes;
    Ranks ranks;  // none where all is hidden
    if (set.hides_weights) {
        require_hideable(checkpoint, options);
    } else {
        require_accepted_grid(checkpoint, options);
        ranks = artifact::ranks_of(options.plan, groups, options.strategy, notes);
    }
    require_audit(options);
    require_part(groups, options.part);
    require_limits(checkpoint, groups_of_graph);
    for (const GroupShape& group : groups_of_graph) {  // before any long work
        for (const MemberShape& member : group.members) {
            checkpoint.require_matrix(member, group.n);
        }
    }
    const std::vector<std::size_t> shards = groups_of_shards(groups, set, options.shards);
    const auto seal_key = seal_key_of(groups, options, notes);
    const artifact::SealKey* const seal = seal_key ? &*seal_key : nullptr;
    PartialSplit partial(options.out, groups.size(), request_of(checkpoint, options, seal),
                         choices_of(options), options.part);
    const Seeds seeds = seeds_of(partial);
    create_folders(partial.folder(), shards.size());
    WeightFiles files(checkpoint, groups, shards, ranks, set, seeds, options.threads,
                      partial.folder(), seal);
    const GroupRange range = range_of(groups, options.part);
    if (options.part) partial.let_others_in();
    keep_what_is_whole(groups, files, range, partial, notes);
    if (!options.part) {
        for (std::string& note : unfinished_parts(groups, partial))
            notes.push_back(std::move(note));
    }
    if (set.hides_weights) {
        hide_matrices(checkpoint, groups, range, options, partial, files);
    } else {
        split_matrices(checkpoint, groups, range, ranks, set, seeds, options, partial, files);
    }
    if (options.part) return notes;
    const auto digest =
        write_descriptions(checkpoint, groups, shards, ranks, seeds, options, partial);
    if (!options.audit.empty()) write_audit(checkpoint, groups, digest, options.audit);
    partial.commit();
    if (!set.hides_weights) note_tied_heads(checkpoint, groups, notes);
    return notes;
}

}  // namespace slip::splitting
