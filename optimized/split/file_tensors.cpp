#include "optimized/split/file_tensors.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/error.hpp"

namespace slip::splitting {

namespace layout = artifact::layout;
namespace parameters = base::parameters;
using base::GroupShape;
using base::MemberShape;
using base::parameters::ParameterSet;
using importing::Checkpoint;
using importing::DType;
using importing::size_of;
using importing::Tensor;

std::string checkpoint_name(const MemberShape& member) { return member.tensor + ".weight"; }

/// A tied head multiplies by the embedding, which Charlie needs as well, to look tokens up.
bool stays_with_charlie(const MemberShape& member, const Checkpoint& checkpoint) {
    return checkpoint.network() == nullptr && checkpoint.config().tie_word_embeddings &&
           !member.block;
}

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
                                    const std::vector<GroupShape>& groups, const Ranks& ranks,
                                    const ParameterSet& set) {
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
            wide.push_back({groups[g].name(member) + ".row_scale", DType::f32, {member.m}, {}});
            if (set.hides_weights) continue;  // there are no factors
            const std::size_t rank = ranks[g][i];
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

std::vector<Tensor> david_tensors(std::span<const GroupShape> groups, const ParameterSet& set) {
    std::vector<Tensor> tensors;
    tensors.reserve(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        std::vector<std::size_t> shape{groups[g].product().rows, groups[g].n};
        if (set.hides_weights) shape.insert(shape.begin(), set.planes);
        tensors.push_back({layout::group_tensor(g), DType::i8, std::move(shape), {}});
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
        tensors.push_back(
            {layout::hint_tensor(g),
             DType::u8,
             {layout::hint_chunks(groups[g].product().rows), sizeof(artifact::Sha256)},
             {}});
        if (!set.hides_weights) continue;
        tensors.push_back({layout::key_tensor(g), DType::u8, {layout::key_bytes}, {}});
    }
    return tensors;
}

std::vector<Tensor> mask_tensors(const std::vector<GroupShape>& groups, const ParameterSet& set,
                                 bool sealed) {
    if (!set.lattice) return {};
    std::vector<Tensor> tensors = {
        {layout::masks_seed, DType::u8, {parameters::public_seed_bytes}, {}}};
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (!layout::has_lattice_masks(set, groups[g])) continue;
        tensors.push_back({layout::group_tensor(g),
                           DType::u8,
                           layout::hint_shape(set, groups[g].product().rows),
                           {}});
        if (!sealed) continue;
        const std::size_t tags = layout::tags(set, groups[g].product().rows);
        tensors.push_back({layout::salt_tensor(g), DType::u8, {layout::salt_bytes}, {}});
        tensors.push_back({layout::tag_tensor(g), DType::u8, {tags, layout::tag_bytes}, {}});
    }
    return tensors;
}

}  // namespace slip::splitting
