#include "optimized/api/examine.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "optimized/api/model_files.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/kernels/planar_matrix.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/split/hidden_matrix.hpp"

namespace slip::api {
namespace {

namespace fs = std::filesystem;
namespace layout = artifact::layout;
using base::Findings;
using base::GroupShape;
using importing::Checkpoint;
using importing::Tensor;

/// DECO-5, for a tensor of any size. Throws BadInput, naming it.
void require_finite(const Tensor& tensor) {
    constexpr std::size_t most = std::size_t{1} << 20;
    const std::size_t width = importing::size_of(tensor.dtype);
    for (std::size_t first = 0; first < tensor.elements(); first += most) {
        const std::size_t count = std::min(most, tensor.elements() - first);
        importing::to_floats({tensor.name,
                              tensor.dtype,
                              {count},
                              tensor.bytes.subspan(first * width, count * width)});
    }
}

/// The tensors that the model's matrices are made of.
std::set<std::string> tensors_of(const std::vector<GroupShape>& groups) {
    std::set<std::string> names;
    for (const GroupShape& group : groups) {
        for (const base::MemberShape& member : group.members)
            names.insert(member.tensor + ".weight");
    }
    return names;
}

/// Files of a tied head may hold it a second time.
bool repeats_embedding(const Checkpoint& checkpoint, const Tensor& head) {
    if (!checkpoint.config().tie_word_embeddings || head.name != "lm_head.weight") return false;
    const std::string embedding = checkpoint.config().family == base::Family::gpt2
                                      ? "transformer.wte.weight"
                                      : "model.embed_tokens.weight";
    const auto other = checkpoint.tensors().find(embedding);
    return other != checkpoint.tensors().end() && other->second.dtype == head.dtype &&
           other->second.shape == head.shape &&
           std::equal(other->second.bytes.begin(), other->second.bytes.end(), head.bytes.begin(),
                      head.bytes.end());
}

void examine_tokenizer(const fs::path& folder, Findings& findings) {
    findings.examine([&] {
        const auto tokenizer = importing::open_tokenizer(folder);
        findings.note(folder.string() +
                      (tokenizer
                           ? ": tokenizer of " + std::to_string(tokenizer->vocab_size()) + " tokens"
                           : std::string(": no tokenizer: only token ids are understood")));
    });
}

/// Asks for every parameter of a language model's graph, which is thrown away: it gets no values.
template <class Ask>
void ask_for_parameters(const base::ModelConfig& config, const Ask& ask) {
    graph::make_graph(config, [&](std::string_view name, std::size_t elements) {
        ask(name, elements);
        return std::vector<float>();
    });
}

void note_sizes(const fs::path& folder, Findings& findings) {
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file()) files.insert(entry.path());
    }
    for (const fs::path& file : files) {
        findings.note(file.string() + ": " + std::to_string(fs::file_size(file)) + " bytes");
    }
}

void note_set(const fs::path& folder, const base::parameters::ParameterSet& set,
              Findings& findings) {
    findings.note(folder.string() + ": set " + std::string(set.name));
}

/// Who may change a file decides what it computes, until its digest is looked at again.
void examine_writers(const fs::path& folder, Findings& findings) {
    constexpr fs::perms others = fs::perms::group_write | fs::perms::others_write;
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent)) {
        if ((entry.status(absent).permissions() & others) == fs::perms::none) continue;
        findings.warn(entry.path().string() + ": other users may change it");
    }
}

/// Bytes of a file; 0 if there is none.
std::size_t bytes_of(const fs::path& file) {
    std::error_code absent;
    const std::uintmax_t size = fs::file_size(file, absent);
    return absent ? 0 : static_cast<std::size_t>(size);
}

/// Whoever loads a model examines a hint when a product of it is wrong.
void examine_hints(const artifact::CharlieArtifact& charlie, bool with_key, Findings& findings) {
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        if (!layout::has_lattice_masks(charlie.set(), charlie.groups()[g])) continue;
        findings.examine([&] { charlie.require_hint(g); });
        findings.passed(bytes_of(charlie.folder() / layout::masks) / charlie.groups().size());
    }
    if (!charlie.sealed()) return;
    findings.note(charlie.folder().string() + ": the hints are sealed" +
                  (with_key ? "" : "; with --seal KEYFILE they are opened, too"));
}

std::optional<artifact::CharlieArtifact> open_charlies_half(const fs::path& out,
                                                            const fs::path& seal,
                                                            Findings& findings) {
    const fs::path folder = out / layout::charlie_folder;
    std::optional<artifact::CharlieArtifact> charlie;
    if (!findings.examine([&] { charlie.emplace(out, seal, artifact::Readers::anyone); })) {
        findings.examine([&] { artifact::require_digests(folder); });
        return charlie;
    }
    note_set(folder, charlie->set(), findings);
    findings.passed(bytes_of(folder / layout::charlie_weights));
    findings.examine([&] { require_groups_of_graph(*charlie); });
    examine_hints(*charlie, !seal.empty(), findings);
    if (charlie->set().lattice) {  // loading left out the digest of the file of hints
        findings.examine([&] { artifact::require_digests(folder); });
    }
    if (charlie->network() == nullptr) {
        const graph::ParameterLookup lookup = parameters_in(*charlie);
        findings.examine([&] {
            ask_for_parameters(charlie->config(), [&](std::string_view name, std::size_t elements) {
                findings.examine([&] { lookup(name, elements); });
            });
        });
    }
    examine_tokenizer(folder, findings);
    note_sizes(folder, findings);
    return charlie;
}

std::optional<artifact::CharlieArtifact> examine_charlie(const fs::path& out, const fs::path& seal,
                                                         Findings& findings) {
    const fs::path folder = out / layout::charlie_folder;
    findings.examine([&] { artifact::require_owner_alone(folder); });
    examine_writers(folder, findings);
    return open_charlies_half(out, seal, findings);
}

/// `folders`: of all shards.
std::optional<artifact::DavidArtifact> examine_david(const std::vector<fs::path>& folders,
                                                     Findings& findings) {
    std::optional<artifact::DavidArtifact> david;
    for (const fs::path& folder : folders) examine_writers(folder, findings);
    if (!findings.examine([&] { david.emplace(folders); })) return david;
    note_set(folders.front(), david->set(), findings);
    for (const fs::path& folder : folders) {
        findings.passed(bytes_of(folder / layout::david_weights));
        note_sizes(folder, findings);
    }
    const std::string all =
        folders.size() == 1 ? "" : " and " + std::to_string(folders.size() - 1) + " more shards";
    findings.note(folders.front().string() + all + ": SHA-256 " +
                  artifact::to_hex(david->digest()));
    return david;
}

/// INTEG-2 of a hidden split; z W' (MASK-10) takes the integer model, which no half shows.
void require_hidden_companions(const artifact::CharlieArtifact& charlie,
                               const artifact::DavidArtifact& david, std::size_t bytes_per_group,
                               Findings& findings) {
    const base::CheckSecret secret = charlie.check_secret();
    const kernels::OffloadedWeights weights = david.weights();
    std::unique_ptr<splitting::PublicOfWidth> common;  // of the last width
    for (std::size_t g = 0; g < weights.size(); ++g) {
        const kernels::PlanarMatrix& hidden = weights[g].hidden();
        if (!common || common->width() != hidden.cols()) {
            common.reset();
            common = std::make_unique<splitting::PublicOfWidth>(charlie.set(), david.public_seed(),
                                                                hidden.cols());
        }
        const auto expected = splitting::hidden_companion(*common, hidden, secret.seed);
        findings.passed(bytes_per_group);
        if (std::ranges::equal(secret.companions[g], expected.span())) continue;
        findings.error(charlie.check_file().string() + ": tensor " + layout::group_tensor(g) +
                       ": is not what its seed and David's half give; split the model again");
    }
}

/// INTEG-2, MASK-10: check.safetensors holds what David's half and its seed give. A wrong one would
/// make Charlie reject an honest David.
void require_companions(const artifact::CharlieArtifact& charlie,
                        const artifact::DavidArtifact& david, std::size_t bytes_per_group,
                        Findings& findings) {
    const base::CheckSecret secret = charlie.check_secret();
    const std::size_t planes = charlie.set().planes;
    const kernels::OffloadedWeights weights = david.weights();
    for (std::size_t g = 0; g < weights.size(); ++g) {
        findings.passed(bytes_per_group);
        const auto w = secrets::draw_combinations(secret.seed, planes, weights[g].rows());
        const auto expected = secrets::companion(w, weights[g], planes);
        const auto require_equal = [&](std::span<const std::uint8_t> found,
                                       std::span<const std::byte> computed,
                                       const std::string& tensor) {
            const auto bytes = std::as_bytes(found);
            if (std::equal(bytes.begin(), bytes.end(), computed.begin(), computed.end())) return;
            findings.error(charlie.check_file().string() + ": tensor " + tensor +
                           ": is not what its seed and David's half give; split the model again");
        };
        require_equal(secret.companions[g], std::as_bytes(expected.span()),
                      layout::group_tensor(g));
        if (!layout::has_lattice_masks(charlie.set(), charlie.groups()[g])) continue;
        const auto z = secrets::draw_product_secret(secret.seed, weights[g].rows());
        const auto product = secrets::product_companion(z, weights[g]);
        require_equal(secret.product_companions[g], std::as_bytes(product.span()),
                      layout::product_tensor(g));
    }
}

}  // namespace

void examine_parameters(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                        Findings& findings) {
    if (checkpoint.network()) {
        for (const auto& [name, tensor] : checkpoint.tensors()) {
            findings.examine([&, &found = tensor] { require_finite(found); });
        }
        return;
    }
    std::set<std::string> used = tensors_of(groups);
    ask_for_parameters(checkpoint.config(), [&](std::string_view name, std::size_t elements) {
        used.insert(std::string(name));
        const auto found = checkpoint.tensors().find(name);
        findings.examine([&] {
            if (found == checkpoint.tensors().end() || found->second.elements() != elements) {
                checkpoint.floats(name, elements);  // throws, and says why
            } else {
                require_finite(found->second);
                findings.passed(found->second.bytes.size());
            }
        });
        checkpoint.forget_pages();
    });
    for (const auto& [name, tensor] : checkpoint.tensors()) {
        if (used.count(name) != 0 || repeats_embedding(checkpoint, tensor)) continue;
        findings.error(checkpoint.folder().string() + ": the model of config.json has no tensor " +
                       name +
                       ": expected a checkpoint of exactly this model; num_hidden_layers is " +
                       std::to_string(checkpoint.config().num_hidden_layers));
    }
    examine_tokenizer(checkpoint.folder(), findings);
}

// MODEL-10
void require_model_of_config(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups) {
    Findings findings;
    examine_parameters(checkpoint, groups, findings);
    for (const base::Finding& finding : findings.all()) {
        if (finding.level == base::Finding::Level::error) throw BadInput(finding.text);
    }
}

void examine_matrices(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                      Findings& findings) {
    for (const GroupShape& group : groups) {
        for (const base::MemberShape& member : group.members) {
            findings.examine([&] { checkpoint.require_matrix(member, group.n); });
        }
    }
    for (const std::string& name : tensors_of(groups)) {
        const auto found = checkpoint.tensors().find(name);
        if (found == checkpoint.tensors().end()) continue;  // was found to be absent
        findings.examine([&] { require_finite(found->second); });
        findings.passed(found->second.bytes.size());
        checkpoint.forget_pages();
    }
}

void examine_artifact(const fs::path& out, Findings& findings, const fs::path& seal) {
    const auto charlie = examine_charlie(out, seal, findings);
    std::vector<fs::path> folders;
    std::uintmax_t bytes = 0;
    for (const std::string& name : layout::david_folders(charlie ? charlie->shards().size() : 1)) {
        folders.push_back(out / name);
        bytes += bytes_of(out / name / layout::david_weights);
    }
    const auto david = examine_david(folders, findings);
    if (charlie && david &&
        findings.examine([&] { artifact::require_same_split(*charlie, *david); })) {
        const std::size_t bytes_per_group = bytes / charlie->groups().size();
        if (charlie->set().hides_weights) {
            require_hidden_companions(*charlie, *david, bytes_per_group, findings);
        } else {
            require_companions(*charlie, *david, bytes_per_group, findings);
        }
    }
}

void examine_charlies_half(const fs::path& folder, Findings& findings, const fs::path& seal) {
    const fs::path whole = fs::absolute(folder).lexically_normal();
    const fs::path named = whole.has_filename() ? whole : whole.parent_path();
    if (named.filename() != layout::charlie_folder) {
        findings.error(folder.string() + ": Charlie's half must be in a folder of the name " +
                       layout::charlie_folder);
        return;
    }
    const auto charlie = examine_charlie(named.parent_path(), seal, findings);
    if (charlie && std::ranges::any_of(charlie->groups(), [&](const auto& group) {
            return !layout::has_lattice_masks(charlie->set(), group);
        })) {
        findings.note(folder.string() +
                      ": David's half is not here, which Charlie computes the cancellations of "
                      "uniform masks from");
    }
}

void examine_davids_half(const fs::path& folder, Findings& findings) {
    examine_david({folder}, findings);
}

}  // namespace slip::api
