// David's half.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/reading.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"
#include "optimized/masks/public_matrix.hpp"

namespace slip::artifact {
namespace {

namespace parameters = base::parameters;
using base::read_file;
using importing::DType;
using importing::JsonObject;
using importing::SafetensorsFile;
using nlohmann::json;
using reading::elements_of;
using reading::fail;

/// David must not be handed Charlie's half, not even in a folder beside his own files.
void refuse_charlies_files(const std::filesystem::path& folder) {
    for (const char* name : {layout::charlie_folder, layout::charlie_weights,
                             layout::charlie_description, layout::check_secret, layout::masks}) {
        if (std::filesystem::exists(folder / name)) {
            fail(folder, std::string("holds Charlie's artifact (") + name +
                             "); David must be given his own folder only");
        }
    }
}

/// David's weight file, once the folder is known to be his alone.
SafetensorsFile open_david_weights(const std::filesystem::path& folder) {
    refuse_charlies_files(folder);
    return SafetensorsFile(folder / layout::david_weights);
}

/// HIDE-1: U of a width, from its seed, laid out as products read it.
kernels::PlanarMatrix public_rows(const DavidManifest& manifest, std::size_t width) {
    const parameters::ParameterSet& set = *manifest.set;
    const std::size_t rows = set.public_rows();
    const auto planes = masks::public_rows_by_plane(set, manifest.seed, width);
    std::vector<kernels::WeightMatrix> matrices;
    matrices.reserve(set.planes);
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

/// HIDE-1: [A ; U] of every group; those of one width share U, which `common` has by width.
void add_hidden_groups(const SafetensorsFile& file, const DavidManifest& manifest,
                       std::map<std::size_t, kernels::PlanarMatrix>& common,
                       kernels::OffloadedWeights& groups) {
    const std::size_t h = manifest.set->planes;
    for (std::size_t g = 0; g < manifest.groups.size(); ++g) {
        const std::string name = layout::group_tensor(g);
        const base::ProductShape& shape = manifest.groups[g];
        const auto* data =
            elements_of<std::int8_t>(file, name, DType::i8, {h, shape.rows, shape.n});
        std::vector<kernels::WeightMatrix> planes;
        planes.reserve(h);
        for (std::size_t p = 0; p < h; ++p) {
            planes.push_back(plane_of_a(file, name, data, p, shape));
        }
        if (!common.contains(shape.n)) common[shape.n] = public_rows(manifest, shape.n);
        groups.emplace_back(kernels::PlanarMatrix(std::move(planes)), common[shape.n]);
    }
}

/// W_D of every group.
void add_plain_groups(const SafetensorsFile& file, const DavidManifest& manifest,
                      kernels::OffloadedWeights& groups) {
    for (std::size_t g = 0; g < manifest.groups.size(); ++g) {
        const std::string name = layout::group_tensor(g);
        const auto& [rows, cols, convolution] = manifest.groups[g];
        const auto* data = elements_of<std::int8_t>(file, name, DType::i8, {rows, cols});
        const base::MatrixView<const std::int8_t> weights(data, rows, cols);
        const auto elements = weights.elements();
        if (std::find(elements.begin(), elements.end(), -128) != elements.end()) {
            fail(file.path(), "tensor " + name +
                                  " holds -128, expected weights of magnitude at most " +
                                  std::to_string(parameters::largest_weight));
        }
        groups.push_back(convolution ? kernels::GroupWeights(weights, *convolution)
                                     : kernels::GroupWeights(weights));
    }
}

}  // namespace

DavidManifest parse_david_manifest(std::string_view text, const std::filesystem::path& origin) {
    const json value = importing::parse_json(text, origin);
    JsonObject object(value, origin, "manifest");
    DavidManifest manifest;
    manifest.set = reading::header(object, layout::david_format, origin);
    manifest.digest = reading::digest_field(object, "sha256");
    if (manifest.set->hides_weights) manifest.seed = reading::digest_field(object, "seed");
    for (const json& element : object.array("groups")) {
        const std::string where = "groups[" + std::to_string(manifest.groups.size()) + "]";
        JsonObject group(element, origin, where);
        base::ProductShape& shape = manifest.groups.emplace_back();
        shape.rows = group.integer("rows", 1, parameters::largest_extent);
        shape.n = group.integer("cols", 1, parameters::largest_extent);
        if (!manifest.set->hides_weights) {
            shape.convolution = reading::convolution(group, shape.rows, shape.n);
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

/// What shards share while they are read.
struct DavidArtifact::Common {
    std::map<std::size_t, kernels::PlanarMatrix> public_rows;  // by width
    std::vector<Sha256> digests;
};

DavidArtifact::DavidArtifact(const std::vector<std::filesystem::path>& folders) {
    Common common;
    for (const std::filesystem::path& folder : folders) read(folder, common);
    digest_ = layout::digest_of_half(common.digests);
}

void DavidArtifact::read(const std::filesystem::path& folder, Common& common) {
    const SafetensorsFile& file = files_.emplace_back(open_david_weights(folder));
    const std::filesystem::path path = folder / layout::david_description;
    const DavidManifest manifest = parse_david_manifest(read_file(path), path);
    if (sha256(file.bytes()) != manifest.digest) {
        fail(file.path(), "does not have the SHA-256 that " + path.string() + " states");
    }
    if (file.tensors().size() != manifest.groups.size()) {
        fail(file.path(), "holds other tensors than the groups of " + path.string());
    }
    if (set_ == nullptr) {
        set_ = manifest.set;
        seed_ = manifest.seed;
    }
    if (manifest.set != set_ || manifest.seed != seed_) {
        fail(path, "is a shard of another split than the one before it");
    }
    common.digests.push_back(manifest.digest);
    if (set_->hides_weights) {
        add_hidden_groups(file, manifest, common.public_rows, groups_);
    } else {
        add_plain_groups(file, manifest, groups_);
    }
}

kernels::OffloadedWeights DavidArtifact::weights() const { return groups_; }

std::vector<std::int8_t> DavidArtifact::public_rows(std::size_t width) const {
    return masks::public_rows_by_plane(set(), public_seed(), width);
}

}  // namespace slip::artifact
