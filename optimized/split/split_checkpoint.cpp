// Writing the two halves (MODEL-7): one group after the other, so that a model need not fit in
// memory, and a killed split goes on where it was (DECO-11).
#include "optimized/split/split_checkpoint.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/hint_digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/protocol/check_secret.hpp"
#include "optimized/protocol/product_check.hpp"
#include "optimized/split/coarse_grid.hpp"
#include "optimized/split/decomposition.hpp"
#include "optimized/split/hint.hpp"
#include "optimized/split/partial_split.hpp"

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

constexpr mode_t public_file = 0644;
using Ranks = std::vector<std::vector<std::size_t>>;

std::string checkpoint_name(const MemberShape& member) { return member.tensor + ".weight"; }

/// A tied head multiplies by the embedding, which Charlie needs as well, to look tokens up.
bool stays_with_charlie(const MemberShape& member, const Checkpoint& checkpoint) {
    return checkpoint.network() == nullptr && checkpoint.config().tie_word_embeddings &&
           !member.block;
}

void require_limits(const std::vector<GroupShape>& groups) {  // PARAM-3
    if (groups.size() > parameters::largest_group_count) {
        throw BadInput("the model has more than 2^16 groups of matrices");
    }
    for (const GroupShape& group : groups) {
        if (group.n > parameters::largest_extent ||
            group.product().rows > parameters::largest_extent) {
            throw BadInput(group.members.front().tensor +
                           ": its group has more than 2^20 rows or columns");
        }
        if (group.convolution && !base::within_limits(*group.convolution)) {
            throw BadInput(group.members.front().tensor +
                           ": its image, patches or output have more than 2^20 entries");
        }
    }
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

/// The tensors that are not offloaded, and those that stay although they are.
std::vector<Tensor> parameters_of(const Checkpoint& checkpoint,
                                  const std::vector<GroupShape>& groups) {
    std::set<std::string> offloaded;
    for (const GroupShape& group : groups) {
        for (const MemberShape& member : group.members) {
            if (!stays_with_charlie(member, checkpoint)) {
                offloaded.insert(checkpoint_name(member));
            }
        }
    }
    std::vector<Tensor> parameters;
    for (const auto& [name, tensor] : checkpoint.tensors()) {
        if (offloaded.count(name) == 0) parameters.push_back(tensor);
    }
    std::stable_sort(parameters.begin(), parameters.end(), [](const Tensor& a, const Tensor& b) {
        return size_of(a.dtype) > size_of(b.dtype);
    });
    return parameters;
}

/// Wide elements first, so that every tensor is aligned: parameters in F32, row_scale matrix by
/// matrix, A and B matrix by matrix, parameters of narrower types, and the exponents of A.
std::vector<Tensor> charlie_tensors(const std::vector<Tensor>& parameters,
                                    const std::vector<GroupShape>& groups, const Ranks& ranks) {
    std::vector<Tensor> wide;
    std::vector<Tensor> narrow;
    for (const Tensor& parameter : parameters) {
        (size_of(parameter.dtype) == 4 ? wide : narrow).push_back(parameter);
    }
    std::vector<Tensor> factors;
    std::vector<Tensor> exponents;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
            const MemberShape& member = groups[g].members[i];
            const std::size_t rank = ranks[g][i];
            wide.push_back({member.name() + ".row_scale", DType::f32, {member.m}, {}});
            factors.push_back({member.name() + ".A", DType::i16, {member.m, rank}, {}});
            factors.push_back({member.name() + ".B", DType::i16, {rank, groups[g].n}, {}});
            exponents.push_back({member.name() + ".A_exponent", DType::i8, {member.m}, {}});
        }
    }
    for (const auto* tensors : {&factors, &narrow, &exponents}) {
        wide.insert(wide.end(), tensors->begin(), tensors->end());
    }
    std::set<std::string> names;
    for (const Tensor& tensor : wide) {
        if (!names.insert(tensor.name).second) {
            throw BadInput("the checkpoint has a tensor " + tensor.name +
                           ", which is the name of a factor in the artifact");
        }
    }
    return wide;
}

std::vector<Tensor> david_tensors(const std::vector<GroupShape>& groups) {
    std::vector<Tensor> tensors;
    tensors.reserve(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        tensors.push_back(
            {layout::group_tensor(g), DType::i8, {groups[g].product().rows, groups[g].n}, {}});
    }
    return tensors;
}

std::vector<Tensor> check_tensors(const std::vector<GroupShape>& groups, const ParameterSet& set) {
    std::vector<Tensor> tensors = {
        {layout::check_seed, DType::u8, {parameters::check_seed_bytes}, {}}};
    for (std::size_t g = 0; g < groups.size(); ++g) {
        tensors.push_back(
            {layout::group_tensor(g), DType::u8, {parameters::kappa, set.planes, groups[g].n}, {}});
        if (!layout::has_lattice_masks(set, groups[g])) continue;
        tensors.push_back(
            {layout::product_tensor(g), DType::u8, {groups[g].n, sizeof(std::uint64_t)}, {}});
        tensors.push_back({layout::hint_tensor(g),
                           DType::u8,
                           {layout::hint_chunks(groups[g].product().rows), sizeof(layout::Sha256)},
                           {}});
    }
    return tensors;
}

/// Empty for a set without lattice masks.
std::vector<Tensor> mask_tensors(const std::vector<GroupShape>& groups, const ParameterSet& set) {
    if (!set.lattice) return {};
    std::vector<Tensor> tensors = {
        {layout::masks_seed, DType::u8, {parameters::public_seed_bytes}, {}}};
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (!layout::has_lattice_masks(set, groups[g])) continue;
        tensors.push_back(
            {layout::group_tensor(g),
             DType::u8,
             {groups[g].product().rows, set.lattice->rank * set.lattice->degree, set.planes},
             {}});
    }
    return tensors;
}

/// A group as the files hold it.
struct EncodedGroup {
    std::int32_t activation_norm = 0;
    std::vector<IntegerMatrix> members;
    base::SecretBuffer<std::uint8_t> companion;           // w W_D (INTEG-2): kappa x planes x n
    base::SecretBuffer<std::uint64_t> product_companion;  // z W_D (MASK-10): n, or none
};

/// What a split draws at random, once.
struct Seeds {
    SelectionSeed check{};      // INTEG-1, MASK-10
    SelectionSeed masks{};      // of T (MASK-7); zeros if the set has no lattice masks
    SelectionSeed selection{};  // DECO-10; zeros if the strategy draws nothing
};

/// All files of tensors.
class WeightFiles {
public:
    WeightFiles(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                const Ranks& ranks, const ParameterSet& set, const Seeds& seeds,
                std::size_t threads, const std::filesystem::path& out)
        : set_(set),
          masks_seed_(seeds.masks),
          threads_(threads),
          parameters_(parameters_of(checkpoint, groups)),
          charlie_(out / layout::charlie_folder / layout::charlie_weights,
                   charlie_tensors(parameters_, groups, ranks), parameters::secret_file_mode),
          check_(out / layout::charlie_folder / layout::check_secret, check_tensors(groups, set),
                 parameters::secret_file_mode),
          david_(out / layout::david_folder / layout::david_weights, david_tensors(groups),
                 public_file) {
        for (const Tensor& parameter : parameters_) {
            charlie_.write(parameter.name, parameter.bytes);
        }
        check_.write(layout::check_seed, std::as_bytes(std::span(seeds.check)));
        if (!set.lattice) return;
        masks_.emplace(out / layout::charlie_folder / layout::masks, mask_tensors(groups, set),
                       parameters::secret_file_mode);
        masks_->write(layout::masks_seed, std::as_bytes(std::span(seeds.masks)));
    }

    /// Returns the digest of the group's bytes, which are on the disk then.
    layout::Sha256 write(std::size_t g, const GroupShape& group, const EncodedGroup& encoded) {
        layout::Sha256Stream digest = begin_digest(encoded.activation_norm);
        const std::vector<IntegerMatrix>& members = encoded.members;
        const auto put = [&](SafetensorsAssembly& file, const std::string& name,
                             std::span<const std::byte> bytes, std::size_t offset) {
            file.write(name, bytes, offset);
            digest.append(bytes);
        };
        std::size_t position = 0;
        for (std::size_t i = 0; i < members.size(); ++i) {
            const std::string name = group.members[i].name();
            put(charlie_, name + ".A", bytes_of(members[i].a), 0);
            put(charlie_, name + ".A_exponent", bytes_of(members[i].exponent), 0);
            put(charlie_, name + ".row_scale", bytes_of(members[i].row_scale), 0);
            put(charlie_, name + ".B", bytes_of(members[i].b), 0);
            put(david_, layout::group_tensor(g), bytes_of(members[i].residual), position);
            position += members[i].residual.size();
        }
        put(check_, layout::group_tensor(g),
            std::as_bytes(std::span(encoded.companion.data(), encoded.companion.size())), 0);
        if (layout::has_lattice_masks(set_, group)) {
            put(check_, layout::product_tensor(g), std::as_bytes(encoded.product_companion.span()),
                0);
            artifact::HintDigests chunks(std::as_bytes(std::span(masks_seed_)),
                                         hint_row_bytes(set_));
            std::size_t offset = 0;
            for (const IntegerMatrix& member : members) {
                for_each_hint_piece(member, [&](std::span<const std::byte> bytes) {
                    put(*masks_, layout::group_tensor(g), bytes, offset);
                    chunks.append(bytes);
                    offset += bytes.size();
                });
            }
            put(check_, layout::hint_tensor(g), chunks.finish(), 0);
            masks_->flush();
        }
        charlie_.flush();
        check_.flush();
        david_.flush();
        return digest.finish();
    }

    /// The digest of what the files hold of a group that an earlier run has written.
    layout::Sha256 digest_of(std::size_t g, const GroupShape& group, std::int32_t activation_norm,
                             const std::vector<std::size_t>& ranks) const {
        layout::Sha256Stream digest = begin_digest(activation_norm);
        std::vector<std::byte> piece(std::size_t{1} << 20);
        const auto get = [&](const SafetensorsAssembly& file, const std::string& name,
                             std::size_t size, std::size_t offset) {
            for (const std::size_t end = offset + size; offset < end; offset += piece.size()) {
                const auto bytes = std::span(piece).first(std::min(piece.size(), end - offset));
                file.read(name, bytes, offset);
                digest.append(bytes);
            }
        };
        std::size_t position = 0;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const MemberShape& member = group.members[i];
            get(charlie_, member.name() + ".A", member.m * ranks[i] * sizeof(std::int16_t), 0);
            get(charlie_, member.name() + ".A_exponent", member.m, 0);
            get(charlie_, member.name() + ".row_scale", member.m * sizeof(float), 0);
            get(charlie_, member.name() + ".B", ranks[i] * group.n * sizeof(std::int16_t), 0);
            get(david_, layout::group_tensor(g), member.m * group.n, position);
            position += member.m * group.n;
        }
        get(check_, layout::group_tensor(g), parameters::kappa * set_.planes * group.n, 0);
        if (layout::has_lattice_masks(set_, group)) {
            get(check_, layout::product_tensor(g), sizeof(std::uint64_t) * group.n, 0);
            get(*masks_, layout::group_tensor(g), hint_row_bytes(set_) * group.product().rows, 0);
            get(check_, layout::hint_tensor(g),
                layout::hint_chunks(group.product().rows) * sizeof(layout::Sha256), 0);
        }
        return digest.finish();
    }

private:
    static layout::Sha256Stream begin_digest(std::int32_t activation_norm) {
        layout::Sha256Stream digest;
        digest.append(std::as_bytes(std::span(&activation_norm, 1)));
        return digest;
    }

    /// Calls use(bytes) with the rows of a member's hint, some at a time, so that memory is
    /// bounded.
    template <class Use>
    void for_each_hint_piece(const IntegerMatrix& member, const Use& use) {
        if (!columns_ || columns_->width() != member.n) {
            columns_.reset();  // before the next is made
            columns_.emplace(set_, masks_seed_, member.n);
        }
        constexpr std::size_t rows_at_once = 1024;
        base::SecretBuffer<std::uint8_t> hint(std::min(rows_at_once, member.m) *
                                              hint_row_bytes(set_));
        for (std::size_t first = 0; first < member.m; first += rows_at_once) {
            const std::size_t rows = std::min(rows_at_once, member.m - first);
            const auto piece = hint.span().first(rows * hint_row_bytes(set_));
            compute_hint(*columns_, {member.residual.data() + first * member.n, rows, member.n},
                         threads_, piece);
            use(std::as_bytes(piece));
        }
    }

    const ParameterSet& set_;
    const SelectionSeed masks_seed_;
    const std::size_t threads_;
    std::optional<PublicColumns> columns_;  // of the last width
    std::vector<Tensor> parameters_;
    SafetensorsAssembly charlie_;
    SafetensorsAssembly check_;
    SafetensorsAssembly david_;
    std::optional<SafetensorsAssembly> masks_;  // of a set with lattice masks
};

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

ordered_json describe_member(const MemberShape& member, std::size_t rank) {
    ordered_json description{
        {"tensor", member.tensor},
        {"layer_type", member.layer_type},
        {"block", member.block ? ordered_json(*member.block) : ordered_json(nullptr)},
        {"m", member.m},
        {"rank", rank}};
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

ordered_json describe_group(const GroupShape& group, std::int32_t activation_norm,
                            const std::vector<std::size_t>& ranks) {
    ordered_json members = ordered_json::array();
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        members.push_back(describe_member(group.members[i], ranks[i]));
    }
    ordered_json description{
        {"n", group.n}, {"activation_norm", activation_norm}, {"members", members}};
    describe_convolution(group, description);
    return description;
}

/// plan.json.
std::string charlie_description(const Checkpoint& checkpoint, const SplitOptions& options,
                                const SelectionSeed& seed, const layout::Sha256& david_digest,
                                const ordered_json& groups) {
    ordered_json description({{"format", layout::charlie_format},
                              {"version", parameters::artifact_version},
                              {"set", options.set}});
    if (!checkpoint.network()) description["attention"] = name_of(checkpoint.config().attention);
    description["strategy"] = name_of(options.strategy);
    if (artifact::uses_randomness(options.strategy)) {  // DECO-10
        description["seed"] = layout::to_hex(seed);
    }
    description["t"] = parameters::residual_shift;
    description["plan"] = artifact::plan_as_json(options.plan);
    description["david_sha256"] = layout::to_hex(david_digest);
    description["groups"] = groups;
    return description.dump(1) + "\n";
}

/// manifest.json: what David needs to check his own file, and nothing of Charlie's.
std::string david_description(const std::vector<GroupShape>& groups, const std::string& set,
                              const layout::Sha256& david_digest) {
    ordered_json shapes = ordered_json::array();
    for (const GroupShape& group : groups) {
        shapes.push_back({{"rows", group.product().rows}, {"cols", group.n}});
        describe_convolution(group, shapes.back());
    }
    return ordered_json({{"format", layout::david_format},
                         {"version", parameters::artifact_version},
                         {"set", set},
                         {"sha256", layout::to_hex(david_digest)},
                         {"groups", shapes}})
               .dump(1) +
           "\n";
}

std::size_t weights_in(const GroupShape& group) { return group.product().rows * group.n; }

/// Where a split stands, for those who watch it.
class ProgressReport {
public:
    ProgressReport(const std::vector<GroupShape>& groups, const SplitOptions& options)
        : report_(options.progress) {
        for (const GroupShape& group : groups) {
            progress_.matrices += group.members.size();
            progress_.weights += weights_in(group);
        }
    }
    /// A group that an earlier run has finished.
    void skip(const GroupShape& group) {
        progress_.finished += group.members.size();
        progress_.finished_weights += weights_in(group);
        progress_.skipped = progress_.finished;
    }
    void begin() const { tell(); }
    void finish(const MemberShape& member, std::size_t n) {
        ++progress_.finished;
        progress_.finished_weights += member.m * n;
        progress_.name = member.name();
        tell();
    }
    std::size_t finished() const { return progress_.finished; }

private:
    void tell() const {
        if (report_) report_(progress_);
    }
    std::function<void(const SplitProgress&)> report_;
    SplitProgress progress_;
};

/// DECO-11: what an earlier run says it has finished counts as far as its bytes are still there.
void keep_what_is_whole(const std::vector<GroupShape>& groups, const Ranks& ranks,
                        const WeightFiles& files, PartialSplit& partial,
                        std::vector<std::string>& notes) {
    for (std::size_t g = 0; g < partial.finished().size(); ++g) {
        const FinishedGroup& finished = partial.finished()[g];
        if (files.digest_of(g, groups[g], finished.activation_norm, ranks[g]) == finished.digest)
            continue;
        notes.push_back("the unfinished split was damaged from " +
                        groups[g].members.front().name() + " on; it was made again from there");
        partial.keep(g);
        return;
    }
}

/// DECO-13: a file that says itself that its weights lie on a grid of 8 bits.
void require_accepted_grid(const Checkpoint& checkpoint, const SplitOptions& options) {
    if (checkpoint.quantised_tensor().empty() || options.accept_grid) return;
    throw BadInput(checkpoint.directory().string() + ": tensor " + checkpoint.quantised_tensor() +
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
    const auto w = protocol::draw_combinations(check_seed, planes, rows);
    return protocol::companion(w, {stacked.data(), rows, n}, planes);
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
    return protocol::product_companion(protocol::draw_product_secret(check_seed, rows),
                                       {stacked.data(), rows, n});
}

/// Decomposes the groups that are not finished yet and writes them, one group in memory at a
/// time.
void split_matrices(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                    const Ranks& ranks, const ParameterSet& set, const Seeds& seeds,
                    const SplitOptions& options, PartialSplit& partial, WeightFiles& files) {
    ProgressReport progress(groups, options);
    for (std::size_t g = 0; g < partial.finished().size(); ++g) progress.skip(groups[g]);
    progress.begin();
    for (std::size_t g = partial.finished().size(); g < groups.size(); ++g) {
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
            // DECO-10: the matrix's number, counted through all groups.
            Method method{options.strategy, selection_stream(seeds.selection, progress.finished())};
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
        partial.record({activation_norm, files.write(g, group, encoded)});
    }
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
ordered_json request_of(const Checkpoint& checkpoint, const SplitOptions& options) {
    ordered_json request = {{"version", parameters::artifact_version},
                            {"set", options.set},
                            {"checkpoint_sha256", checkpoint_digest(checkpoint)},
                            {"strategy", name_of(options.strategy)},
                            {"plan", artifact::plan_as_json(options.plan)}};
    if (!checkpoint.network()) request["attention"] = name_of(checkpoint.config().attention);
    if (options.seed) request["seed"] = layout::to_hex(*options.seed);
    return request;
}

/// DECO-10, INTEG-1.
ordered_json choices_of(const SplitOptions& options) {
    ordered_json choices{{"check_seed", layout::to_hex(new_seed())}};
    if (layout::require_set(options.set).lattice)
        choices["masks_seed"] = layout::to_hex(new_seed());
    if (artifact::uses_randomness(options.strategy)) {
        choices["seed"] = layout::to_hex(options.seed ? *options.seed : new_seed());
    }
    return choices;
}

Seeds seeds_in(const nlohmann::json& choices) {
    const auto seed_in = [&](const char* name) {
        const auto seed = layout::from_hex(choices.at(name).get<std::string>());
        if (!seed) throw BadInput("a seed of the unfinished split is damaged");
        return *seed;
    };
    const auto seed_or_zeros = [&](const char* name) {
        return choices.contains(name) ? seed_in(name) : SelectionSeed{};
    };
    return {seed_in("check_seed"), seed_or_zeros("masks_seed"), seed_or_zeros("seed")};
}

/// Also replaces what a killed split has left.
void write_description(const std::filesystem::path& path, std::string_view text, mode_t mode) {
    std::filesystem::remove(path);
    base::write_file(path, text, mode);
}

/// All files but the weights.
void write_descriptions(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                        const Ranks& ranks, const SelectionSeed& seed, const SplitOptions& options,
                        const PartialSplit& partial) {
    const std::filesystem::path charlie = partial.folder() / layout::charlie_folder;
    const std::filesystem::path david = partial.folder() / layout::david_folder;
    ordered_json descriptions = ordered_json::array();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        descriptions.push_back(
            describe_group(groups[g], partial.finished()[g].activation_norm, ranks[g]));
    }
    const auto digest = layout::sha256_of_file(david / layout::david_weights);
    write_description(david / layout::david_description,
                      david_description(groups, options.set, digest), public_file);
    write_description(charlie / layout::charlie_description,
                      charlie_description(checkpoint, options, seed, digest, descriptions),
                      parameters::secret_file_mode);
    write_description(charlie / layout::config, checkpoint.config_text(),
                      parameters::secret_file_mode);
    for (const auto& [name, text] : importing::read_tokenizer_files(checkpoint.directory())) {
        write_description(charlie / name, text, parameters::secret_file_mode);
    }
    std::filesystem::remove(charlie / layout::digests);
    artifact::write_digests(charlie, parameters::secret_file_mode);
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

void create_folders(const std::filesystem::path& out) {
    using std::filesystem::perms;
    for (const char* name : {layout::charlie_folder, layout::david_folder}) {
        std::filesystem::create_directory(out / name);
    }
    std::filesystem::permissions(out / layout::charlie_folder, perms::owner_all);
}

}  // namespace

SplitSizes sizes_of_split(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                          const std::vector<std::vector<std::size_t>>& ranks,
                          const ParameterSet& set) {
    require_limits(groups);
    const auto bytes_in = [](const std::vector<Tensor>& tensors) {
        std::size_t bytes = importing::encode_safetensors_header(tensors, {}).size();
        for (const Tensor& tensor : tensors) bytes += tensor.elements() * size_of(tensor.dtype);
        return bytes;
    };
    SplitSizes sizes;
    sizes.charlie = bytes_in(charlie_tensors(parameters_of(checkpoint, groups), groups, ranks));
    sizes.check = bytes_in(check_tensors(groups, set));
    if (set.lattice) sizes.masks = bytes_in(mask_tensors(groups, set));
    sizes.david = bytes_in(david_tensors(groups));
    for (const GroupShape& group : groups) {
        for (const MemberShape& member : group.members) {
            sizes.largest_matrix =
                std::max(sizes.largest_matrix, member.m * group.n * sizeof(float));
        }
    }
    return sizes;
}

std::vector<std::string> split_checkpoint(const Checkpoint& checkpoint,
                                          const std::vector<GroupShape>& groups,
                                          const SplitOptions& options) {
    base::require(checkpoint.network() || options.attention == checkpoint.config().attention,
                  "split_checkpoint: the checkpoint was opened in another order of attention");
    const ParameterSet& set = layout::require_set(options.set);
    require_accepted_grid(checkpoint, options);
    std::vector<std::string> notes;
    const Ranks ranks = artifact::ranks_of(options.plan, groups, options.strategy, notes);
    require_limits(groups);
    for (const GroupShape& group : groups) {  // before any long work
        for (const MemberShape& member : group.members) {
            checkpoint.require_matrix(member, group.n);
        }
    }
    PartialSplit partial(options.out, groups.size(), request_of(checkpoint, options),
                         choices_of(options));
    const Seeds seeds = seeds_in(partial.choices());
    create_folders(partial.folder());
    WeightFiles files(checkpoint, groups, ranks, set, seeds, options.threads, partial.folder());
    keep_what_is_whole(groups, ranks, files, partial, notes);
    split_matrices(checkpoint, groups, ranks, set, seeds, options, partial, files);
    write_descriptions(checkpoint, groups, ranks, seeds.selection, options, partial);
    partial.commit();
    note_tied_heads(checkpoint, groups, notes);
    return notes;
}

}  // namespace slip::splitting
