// Writing the two halves (MODEL-7): one group after the other, so that a model need not fit in
// memory, and a killed split goes on where it was (DECO-11).
#include "optimized/split/split_checkpoint.hpp"

#include <algorithm>
#include <optional>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/seal.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/import/safetensors.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/split/coarse_grid.hpp"
#include "optimized/split/decomposition.hpp"
#include "optimized/split/descriptions.hpp"
#include "optimized/split/partial_split.hpp"
#include "optimized/split/parts.hpp"
#include "optimized/split/requirements.hpp"
#include "optimized/split/resumption.hpp"
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

/// W_D of a group: the rows of its members, one below the other.
std::vector<std::int8_t> stacked(const std::vector<IntegerMatrix>& members) {
    std::vector<std::int8_t> W_D;
    for (const IntegerMatrix& member : members) {
        W_D.insert(W_D.end(), member.residual.begin(), member.residual.end());
    }
    return W_D;
}

/// What the files hold of a group of `members`, with w W_D (INTEG-2) and z W_D (MASK-10).
EncodedGroup encoded(const GroupShape& group, std::vector<IntegerMatrix> members,
                     const ParameterSet& set, const SelectionSeed& check_seed) {
    const std::vector<std::int8_t> stack = stacked(members);
    const std::size_t n = members.front().n, rows = stack.size() / n;
    const base::MatrixView<const std::int8_t> W_D(stack.data(), rows, n);
    EncodedGroup made{activation_norm_of(group, members, set), std::move(members), {}, {}};
    made.companion = secrets::companion(secrets::draw_combinations(check_seed, set.planes, rows),
                                        W_D, set.planes);
    if (layout::has_lattice_masks(set, group)) {
        made.product_companion =
            secrets::product_companion(secrets::draw_product_secret(check_seed, rows), W_D);
    }
    return made;
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
        const EncodedGroup whole = encoded(group, std::move(members), set, seeds.check);
        partial.record(g, {whole.activation_norm, files.write(g, whole)});
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
                 const artifact::Sha256& david_digest, const std::filesystem::path& folder) {
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
