#include "optimized/api/model_files.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parallel.hpp"

namespace slip::api {
namespace {

namespace layout = artifact::layout;

/// Throws BadInput unless David's half is there.
void require_folder(const std::filesystem::path& folder) {
    std::error_code trouble;
    const bool exists = std::filesystem::exists(folder, trouble);
    if (trouble) {
        throw BadInput(folder.string() + ": cannot be looked at: " + trouble.message() +
                       ": expected David's half of the split");
    }
    if (!exists) {
        throw BadInput(folder.string() +
                       ": is missing: expected David's half of the split, which the integer model "
                       "and the cancellations of uniform masks are computed from");
    }
}

}  // namespace

void require_groups_of_graph(const artifact::CharlieArtifact& charlie) {
    const std::vector<base::GroupShape> expected =
        base::parts_of(charlie.set(), groups_in(charlie));
    const auto same = [](const artifact::CharlieMember& a, const base::MemberShape& b) {
        return a.shape.name() == b.name() && a.shape.m == b.m;
    };
    bool equal = charlie.groups().size() == expected.size();
    for (std::size_t g = 0; equal && g < expected.size(); ++g) {
        const artifact::CharlieGroup& group = charlie.groups()[g];
        equal = group.n == expected[g].n && group.convolution == expected[g].convolution &&
                group.first_column == expected[g].first_column &&
                group.width == expected[g].width &&
                std::equal(group.members.begin(), group.members.end(), expected[g].members.begin(),
                           expected[g].members.end(), same);
    }
    if (!equal) {
        throw BadInput(charlie.folder().string() + ": the matrices are not those of config.json");
    }
}

graph::ParameterLookup CheckpointFiles::parameters() const {
    return [this](std::string_view name, std::size_t elements) {
        return checkpoint_.floats(name, elements);
    };
}

SplitFiles::SplitFiles(const std::filesystem::path& artifact, const std::filesystem::path& seal)
    : charlie_(artifact, seal) {
    for (const std::string& name : layout::david_folders(charlie_.shards().size())) {
        davids_half_.push_back(artifact / name);
    }
    require_groups_of_graph(charlie_);
}

const artifact::DavidArtifact& SplitFiles::david() const {
    std::call_once(david_read_, [&] {
        for (const std::filesystem::path& folder : davids_half_) require_folder(folder);
        david_.emplace(davids_half_);
        artifact::require_same_split(charlie_, *david_);
    });
    return *david_;
}

bool SplitFiles::has_lattice_masks() const {
    return std::ranges::any_of(charlie_.groups(), [&](const auto& group) {
        return layout::has_lattice_masks(charlie_.set(), group);
    });
}

bool SplitFiles::has_uniform_masks() const {
    return !std::ranges::all_of(charlie_.groups(), [&](const auto& group) {
        return layout::has_lattice_masks(charlie_.set(), group);
    });
}

kernels::OffloadedWeights SplitFiles::weights_of_uniform_masks() const {
    return has_uniform_masks() ? david().weights() : kernels::OffloadedWeights{};
}

const protocol::IntegrityCheck& SplitFiles::integrity_check() const {
    std::call_once(check_made_, [&] {
        std::vector<base::ProductShape> shapes;
        shapes.reserve(charlie_.groups().size());
        for (std::size_t g = 0; g < charlie_.groups().size(); ++g) {
            shapes.push_back(charlie_.davids_product(g));
        }
        check_.emplace(charlie_.check_secret(), std::move(shapes), charlie_.set().planes);
    });
    return *check_;
}

protocol::SharedSecrets SplitFiles::shared_secrets(std::size_t mask_memory,
                                                   const std::shared_ptr<Trace>& trace) const {
    if (!charlie_.set().lattice) return {};
    const std::lock_guard lock(lattice_mutex_);
    if (!stock_) {
        std::vector<masks::LatticeGroup> groups;
        std::size_t tallest = 0;
        for (std::size_t g = 0; g < charlie_.groups().size(); ++g) {
            groups.push_back({charlie_.groups()[g].product(),
                              charlie_.hint(g),
                              [this, g] { charlie_.require_hint(g); },
                              {},
                              layout::hint_chunk_rows});
            if (charlie_.sealed()) {
                groups.back().open_hint = [this, g](std::size_t chunk,
                                                    std::span<std::uint8_t> rows) {
                    charlie_.open_hint(g, chunk, rows);
                };
            }
            tallest = std::max(tallest, groups.back().shape.rows);
        }
        masks::LatticeStock::Seed seed{};
        std::copy_n(charlie_.masks_seed().begin(), seed.size(), seed.begin());
        masks::LatticeOptions options;
        options.memory = mask_memory;
        options.threads = base::available_threads();
        options.trace = trace;
        products_.emplace(charlie_.check_secret(), tallest);
        if (charlie_.set().hides_weights) hide_with(groups);
        stock_.emplace(charlie_.set(), seed, std::move(groups), options);
    }
    return {&*stock_, &*products_, secrets_ ? &*secrets_ : nullptr};
}

void SplitFiles::hide_with(const std::vector<masks::LatticeGroup>& groups) const {
    std::vector<std::span<const std::uint8_t>> keys;
    std::vector<base::ProductShape> shapes;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        keys.push_back(charlie_.hiding_key(g));
        shapes.push_back(groups[g].shape);
    }
    secrets_.emplace(charlie_.set(), keys, shapes);
}

const artifact::AuditArtifact& SplitFiles::audit(const std::filesystem::path& folder) const {
    std::call_once(audit_read_, [&] { audit_.emplace(folder, charlie_); });
    return *audit_;
}

graph::ParameterLookup SplitFiles::parameters() const { return parameters_in(charlie_); }

graph::RowLookup SplitFiles::rows() const {
    return [&file = charlie_.parameters()](std::string_view name, std::size_t rows, std::size_t row,
                                           std::span<float> values) {
        const importing::Tensor& matrix = file.tensor(name);
        if (matrix.shape != std::vector<std::size_t>{rows, values.size()}) {
            throw BadInput(file.path().string() + ": tensor " + std::string(name) + ": expected " +
                           std::to_string(rows) + " rows of " + std::to_string(values.size()) +
                           " elements, as config.json implies");
        }
        const std::vector<float> found = importing::to_floats(matrix.row(row));
        std::copy(found.begin(), found.end(), values.begin());
    };
}

graph::ParameterLookup parameters_in(const artifact::CharlieArtifact& charlie) {
    return [&file = charlie.parameters()](std::string_view name, std::size_t elements) {
        std::vector<float> values = importing::to_floats(file.tensor(name));
        if (values.size() == elements) return values;
        throw BadInput(file.path().string() + ": tensor " + std::string(name) + " has " +
                       std::to_string(values.size()) + " elements, but config.json implies " +
                       std::to_string(elements));
    };
}

}  // namespace slip::api
