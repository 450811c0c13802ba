// Writing the two halves (MODEL-7): one matrix after the other, so that a model need not fit in
// memory.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/split/artifact.hpp"
#include "optimized/split/decomposition.hpp"
#include "optimized/split/layout.hpp"
#include "optimized/split/plan_json.hpp"

namespace slip {
namespace {

using nlohmann::ordered_json;

constexpr mode_t secret_file = 0600;  // THREAT-2
constexpr mode_t public_file = 0644;
using Ranks = std::vector<std::vector<std::size_t>>;

std::string checkpoint_name(const MemberShape& member) { return member.tensor + ".weight"; }

/// A tied head multiplies by the embedding, which Charlie needs as well, to look tokens up.
bool stays_with_charlie(const MemberShape& member, const ModelConfig& config) {
    return config.tie_word_embeddings && !member.block;
}

void require_limits(const std::vector<GroupShape>& groups) {  // PARAM-3
    if (groups.size() > layout::largest_group_count) {
        throw BadInput("the model has more than 2^16 groups of matrices");
    }
    for (const GroupShape& group : groups) {
        if (group.n > layout::largest_extent || group.stacked_rows() > layout::largest_extent) {
            throw BadInput(group.members.front().tensor +
                           ": its group has more than 2^20 rows or columns");
        }
    }
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

/// Writes both weight files. Order in Charlie's: four-byte elements first, so that every tensor is
/// aligned: parameters in F32, then A and row_scale matrix by matrix, then B, then parameters of
/// narrower types.
class WeightFiles {
public:
    WeightFiles(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                const Ranks& ranks, const std::filesystem::path& out)
        : parameters_(parameters_of(checkpoint, groups)),
          charlie_(out / layout::charlie_folder / layout::charlie_weights,
                   charlie_tensors(groups, ranks), {}, secret_file),
          david_(out / layout::david_folder / layout::david_weights, david_tensors(groups), {},
                 public_file) {
        append_parameters(true);
    }

    void append(const IntegerMatrix& matrix) {
        charlie_.append(bytes_of(matrix.a));
        charlie_.append(bytes_of(matrix.row_scale));
        right_factors_.push_back(matrix.b);
        david_.append(bytes_of(matrix.residual));
    }

    void finish() {
        for (const std::vector<std::int16_t>& b : right_factors_) charlie_.append(bytes_of(b));
        append_parameters(false);
        charlie_.finish();
        david_.finish();
    }

private:
    /// The tensors that are not offloaded, and those that stay although they are.
    static std::vector<Tensor> parameters_of(const Checkpoint& checkpoint,
                                             const std::vector<GroupShape>& groups) {
        std::set<std::string> offloaded;
        for (const GroupShape& group : groups) {
            for (const MemberShape& member : group.members) {
                if (!stays_with_charlie(member, checkpoint.config())) {
                    offloaded.insert(checkpoint_name(member));
                }
            }
        }
        std::vector<Tensor> parameters;
        for (const auto& [name, tensor] : checkpoint.tensors()) {
            if (offloaded.count(name) == 0) parameters.push_back(tensor);
        }
        std::stable_sort(
            parameters.begin(), parameters.end(),
            [](const Tensor& a, const Tensor& b) { return size_of(a.dtype) > size_of(b.dtype); });
        return parameters;
    }

    std::vector<Tensor> charlie_tensors(const std::vector<GroupShape>& groups,
                                        const Ranks& ranks) const {
        std::vector<Tensor> wide;
        std::vector<Tensor> narrow;
        for (const Tensor& parameter : parameters_) {
            (size_of(parameter.dtype) == 4 ? wide : narrow).push_back(parameter);
        }
        std::vector<Tensor> right_factors;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
                const MemberShape& member = groups[g].members[i];
                const std::size_t rank = ranks[g][i];
                wide.push_back({member.tensor + ".A", DType::i32, {member.m, rank}, {}});
                wide.push_back({member.tensor + ".row_scale", DType::f32, {member.m}, {}});
                right_factors.push_back(
                    {member.tensor + ".B", DType::i16, {rank, groups[g].n}, {}});
            }
        }
        wide.insert(wide.end(), right_factors.begin(), right_factors.end());
        wide.insert(wide.end(), narrow.begin(), narrow.end());
        return wide;
    }

    static std::vector<Tensor> david_tensors(const std::vector<GroupShape>& groups) {
        std::vector<Tensor> tensors;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            tensors.push_back(
                {layout::david_tensor(g), DType::i8, {groups[g].stacked_rows(), groups[g].n}, {}});
        }
        return tensors;
    }

    void append_parameters(bool wide) {
        for (const Tensor& parameter : parameters_) {
            if ((size_of(parameter.dtype) == 4) == wide) charlie_.append(parameter.bytes);
        }
    }

    std::vector<Tensor> parameters_;
    SafetensorsWriter charlie_;
    SafetensorsWriter david_;
    std::vector<std::vector<std::int16_t>> right_factors_;
};

/// ENC-3 to ENC-5 for the members of one group.
std::int32_t activation_range(Profile profile, const GroupShape& group,
                              const std::vector<IntegerMatrix>& members) {
    const std::string name = "the group of " + group.members.front().tensor;
    std::uint64_t norm = 0;
    for (const IntegerMatrix& member : members) norm = std::max(norm, largest_row_norm(member));
    const std::int32_t qa_max = largest_activation(profile, norm);
    if (qa_max < layout::smallest_qa_max) {
        throw BadInput(name + ": profile " + name_of(profile) + " leaves activations of " +
                       std::to_string(qa_max) + " steps; at least 127 are needed");
    }
    for (const IntegerMatrix& member : members) {
        if (!fits_64_bits(member, qa_max)) {
            throw BadInput(name + ": products of the integer model do not fit 64 bits");
        }
    }
    return qa_max;
}

ordered_json describe_member(const MemberShape& member, std::size_t rank) {
    return {{"tensor", member.tensor},
            {"layer_type", member.layer_type},
            {"block", member.block ? ordered_json(*member.block) : ordered_json(nullptr)},
            {"m", member.m},
            {"rank", rank}};
}

ordered_json describe_group(const GroupShape& group, std::int32_t qa_max,
                            const std::vector<std::size_t>& ranks) {
    ordered_json members = ordered_json::array();
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        members.push_back(describe_member(group.members[i], ranks[i]));
    }
    return {{"n", group.n}, {"qa_max", qa_max}, {"members", members}};
}

/// plan.json.
std::string charlie_description(const SplitOptions& options, const layout::Sha256& david_digest,
                                const ordered_json& groups) {
    return ordered_json({{"format", layout::charlie_format},
                         {"version", artifact_version},
                         {"profile", name_of(options.profile)},
                         {"attention", layout::attention},
                         {"strategy", layout::strategy},
                         {"t", residual_shift},
                         {"plan", plan_as_json(options.plan)},
                         {"david_sha256", layout::to_hex(david_digest)},
                         {"groups", groups}})
               .dump(1) +
           "\n";
}

/// manifest.json: what David needs to check his own file, and nothing of Charlie's.
std::string david_description(const std::vector<GroupShape>& groups, Profile profile,
                              const layout::Sha256& david_digest) {
    ordered_json shapes = ordered_json::array();
    for (const GroupShape& group : groups) {
        shapes.push_back({{"rows", group.stacked_rows()}, {"cols", group.n}});
    }
    return ordered_json({{"format", layout::david_format},
                         {"version", artifact_version},
                         {"profile", name_of(profile)},
                         {"sha256", layout::to_hex(david_digest)},
                         {"groups", shapes}})
               .dump(1) +
           "\n";
}

/// Decomposes every matrix and writes both weight files; returns the groups for plan.json.
ordered_json split_matrices(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                            const Ranks& ranks, const SplitOptions& options, WeightFiles& files) {
    std::size_t total = 0;
    std::size_t finished = 0;
    for (const GroupShape& group : groups) total += group.members.size();
    ordered_json descriptions = ordered_json::array();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const GroupShape& group = groups[g];
        std::vector<IntegerMatrix> members;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const MemberShape& member = group.members[i];
            const std::vector<float> weights =
                checkpoint.floats(checkpoint_name(member), member.m * group.n);
            members.push_back(decompose({weights.data(), member.m, group.n}, ranks[g][i],
                                        checkpoint_name(member)));
            files.append(members.back());
            if (options.progress) options.progress(++finished, total, member.tensor);
        }
        const std::int32_t qa_max = activation_range(options.profile, group, members);
        descriptions.push_back(describe_group(group, qa_max, ranks[g]));
    }
    return descriptions;
}

void note_tied_heads(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                     std::vector<std::string>& notes) {
    for (const GroupShape& group : groups) {
        for (const MemberShape& member : group.members) {
            if (stays_with_charlie(member, checkpoint.config())) {
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

std::vector<std::string> split_checkpoint(const Checkpoint& checkpoint,
                                          const std::vector<GroupShape>& groups,
                                          const SplitOptions& options) {
    std::vector<std::string> notes;
    const Ranks ranks = ranks_of(options.plan, groups, notes);
    require_limits(groups);
    for (const GroupShape& group : groups) {  // before any long work
        for (const MemberShape& member : group.members) {
            checkpoint.require_matrix(checkpoint_name(member), member.m, group.n);
        }
    }
    StagedDirectory out(options.out);
    create_folders(out.path());
    const std::filesystem::path charlie = out.path() / layout::charlie_folder;
    const std::filesystem::path david = out.path() / layout::david_folder;

    WeightFiles files(checkpoint, groups, ranks, out.path());
    const ordered_json descriptions = split_matrices(checkpoint, groups, ranks, options, files);
    files.finish();
    const auto digest = layout::sha256(MappedFile(david / layout::david_weights).bytes());
    write_file(david / layout::david_description,
               david_description(groups, options.profile, digest), public_file);
    write_file(charlie / layout::charlie_description,
               charlie_description(options, digest, descriptions), secret_file);
    write_file(charlie / layout::config, checkpoint.config_text(), secret_file);
    for (const std::filesystem::path& file : tokenizer_files(checkpoint.directory())) {
        write_file(charlie / file.filename(), read_file(file), secret_file);
    }
    out.commit();
    note_tied_heads(checkpoint, groups, notes);
    return notes;
}

}  // namespace slip
