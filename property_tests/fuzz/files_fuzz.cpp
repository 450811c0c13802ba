// The small files that are read from a disk and have no target of their own. The first byte of an
// input says which file the rest is.
#include <algorithm>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/cnn_json.hpp"
#include "optimized/import/idx.hpp"
#include "optimized/split/partial_split.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::files_fuzz {
namespace {

using namespace artifact;
using namespace base;
using namespace importing;

/// config.json of a split network.
void check_network(std::string_view text) {
    const CnnConfig config = parse_cnn_config(text, "config.json");
    std::size_t width = config.inputs();
    for (const CnnLayer& layer : config.layers) {
        expect(layer.inputs() == width, "a layer does not take what the one before it gives");
        width = layer.outputs();
        expect(width >= 1 && width <= (1 << 20), "PARAM-3: the outputs of a layer");
    }
    expect(config.classes() == width, "the classes are not the last layer's outputs");
    expect(parse_cnn_config(cnn_to_json(config), "config.json") == config,
           "a network that was written and read again is another one");
}

/// model.safetensors.index.json: no shard can lie in another folder.
void check_shard_index(std::string_view text) {
    const ShardIndex shards = parse_shard_index(text, "index");
    expect(!shards.empty(), "an index without a shard");
    for (const auto& [name, tensors] : shards) {
        expect(!tensors.empty(), "a shard without a tensor");
        expect(name != "." && name != ".." && std::filesystem::path(name).filename() == name,
               "a shard lies in another folder");
        expect(name.find('\0') == std::string::npos, "the name of a shard ends early");
    }
}

void check_images(std::span<const std::byte> file) {
    const IdxImages images = parse_idx_images(file, "images");
    for (const std::size_t extent : {images.count, images.height, images.width}) {
        expect(extent <= file.size(), "an extent is larger than the file");
    }
    expect(images.pixels.size() == file.size() - 16 && !images.pixels.empty() &&
               images.count * images.height * images.width == images.pixels.size(),
           "the images have other pixels than their file");
}

void check_labels(std::span<const std::byte> file) {
    const auto labels = parse_idx_labels(file, "labels");
    const auto bytes = std::as_bytes(std::span(labels));
    expect(!labels.empty() && std::equal(bytes.begin(), bytes.end(), file.begin() + 8, file.end()),
           "the labels are other ones than those of their file");
}

bool is_activation_norm(std::int32_t value) { return value >= 1024 && value <= 32767; }

/// groups.txt of a split under way: what counts as finished was written as it is read.
void check_finished_groups(std::string_view text) {
    for (const auto& group : splitting::parse_finished_groups(text)) {
        const std::string_view line = text.substr(0, 71);
        text.remove_prefix(line.size());
        if (!group) continue;
        expect(is_activation_norm(group->activation_norm),
               "ENC-3: an activation norm is out of range");
        const std::string digits = std::to_string(group->activation_norm);
        expect(line == std::string(5 - digits.size(), '0') + digits + " " +
                           artifact::to_hex(group->digest) + "\n",
               "a group counts as finished that was not written so");
    }
}

constexpr std::size_t largest_extent = std::size_t{1} << 20;  // PARAM-3

bool is_extent(std::size_t value) { return value >= 1 && value <= largest_extent; }

/// CNN-4.
void check_convolution(const ProductShape& shape) {
    if (!shape.convolution) return;
    expect(shape.convolution->N == shape.rows && shape.convolution->patch() == shape.n,
           "the matrix of a convolution has another shape");
    expect(is_extent(shape.inputs()) && is_extent(shape.positions()) && is_extent(shape.outputs()),
           "PARAM-3: a convolution's image");
}

/// David's manifest.json.
void check_manifest(std::string_view text) {
    const DavidManifest manifest = parse_david_manifest(text, "manifest.json");
    expect(!manifest.groups.empty(), "a manifest without a group");
    for (const ProductShape& group : manifest.groups) {
        expect(is_extent(group.rows) && is_extent(group.n), "PARAM-3: the shape of a group");
        check_convolution(group);
    }
}

/// Charlie's plan.json.
void check_description(std::string_view text) {
    const CharlieDescription description = parse_charlie_description(text, "plan.json");
    expect(!description.groups.empty(), "a description without a group");
    for (const CharlieGroup& group : description.groups) {
        expect(is_extent(group.n) && !group.members.empty(), "PARAM-3: a group");
        expect(description.set->hides_weights
                   ? group.activation_norm == base::hidden_width(group.n).norm
                   : is_activation_norm(group.activation_norm),
               "ENC-3, HIDE-2: an activation norm is out of range");
        check_convolution(group.product(0));
        for (const CharlieMember& member : group.members) {
            const MemberShape& shape = member.shape;
            expect(is_extent(shape.m) && is_extent(shape.tensor_rows) &&
                       shape.first_row <= shape.tensor_rows - shape.m,
                   "the rows of a member lie outside its tensor");
            expect(member.rank <= std::min(shape.m, group.n), "a rank is beyond its matrix");
        }
    }
    std::size_t groups = 0;
    for (const Shard& shard : description.shards) {
        expect(shard.groups > 0, "a shard without a group");
        groups += shard.groups;
    }
    expect(groups == description.groups.size(), "MODEL-22: the shards have other groups");
}

Bytes input_of(char kind, std::string_view file) {
    return bytes_of(std::string(1, kind).append(file));
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    using namespace std::string_view_literals;
    const CnnConfig network = parse_cnn_config(
        R"({"model_type": "cnn", "input": {"height": 4, "width": 4, "channels": 1}, "layers": [
 {"type": "convolution", "tensor": "c", "bias": "b", "filters": 2, "padding": 1, "kernel": [3, 3],
  "stride": 1}, {"type": "relu"}, {"type": "max_pool", "kernel": [2, 2], "stride": 2},
 {"type": "average_pool", "kernel": [1, 2], "stride": 1},
 {"type": "linear", "tensor": "l", "outputs": 3}]})",
        "seed");
    return {input_of('c', cnn_to_json(network)),
            input_of('s', R"({"metadata": {"total_size": 8}, "weight_map": {"a": "1.safetensors",
 "b": "1.safetensors", "c": "2.safetensors"}})"),
            input_of('i',
                     "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"
                     "abcdef"sv),
            input_of('l', "\0\0\x08\x01\0\0\0\x03\x01\x02\x09"sv),
            input_of('d', R"({"format": "slip-david", "version": 3, "set": "paper", "sha256":
 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
 "groups": [{"rows": 8, "cols": 4}, {"rows": 1, "cols": 1048576}]})"),
            input_of('d', R"({"format": "slip-david", "version": 3, "set": "paper", "sha256":
 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
 "groups": [{"rows": 2, "cols": 9, "convolution": {"height": 4, "width": 4, "channels": 1,
 "kernel_height": 3, "kernel_width": 3, "stride": 1, "padding": 1}}]})"),
            input_of('p', R"({"format": "slip-charlie", "version": 3, "set": "paper",
 "attention": "paper", "strategy": "lsc", "t": 16, "plan": [[0, "q", 2]], "david_sha256":
 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "groups": [{"n": 4,
 "activation_norm": 32767, "members": [{"tensor": "a", "layer_type": "q", "block": 0, "m": 4,
 "rank": 2, "first_row": 4, "tensor_rows": 12}, {"tensor": "b", "layer_type": "k", "block": 0,
 "m": 8, "rank": 0}]}, {"n": 1, "activation_norm": 1024, "members": [{"tensor": "h",
 "layer_type": "lm_head", "block": null, "m": 3, "rank": 0}]}]})"),
            input_of('p', R"({"format": "slip-charlie", "version": 3, "set": "hidden",
 "attention": "fused", "david_sha256":
 "30e1867424e66e8b6d159246db94e3486778136f7e386ff5f001859d6b8484ab", "shards": [{"groups": 1, "sha256":
 "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"}, {"groups": 1, "sha256":
 "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"}], "groups": [{"n": 4,
 "activation_norm": 2417, "members": [{"tensor": "a", "layer_type": "q", "block": 0, "m": 4}]},
 {"n": 4, "activation_norm": 2417, "members": [{"tensor": "h", "layer_type": "lm_head",
 "block": null, "m": 3}]}]})"),
            input_of('p', R"({"format": "slip-charlie", "version": 3, "set": "paper",
 "attention": "fused", "strategy": "rcs", "seed":
 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "t": 16, "plan": [],
 "david_sha256": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
 "groups": [{"n": 2, "activation_norm": 2000, "members": [{"tensor": "a", "layer_type": "q",
 "block": 0, "m": 2, "rank": 0}]}]})"),
            input_of('p', R"({"format": "slip-charlie", "version": 3, "set": "paper",
 "strategy": "lsc", "t": 16, "plan": [], "david_sha256":
 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
 "groups": [{"n": 9, "activation_norm": 2000, "members": [{"tensor": "c", "layer_type": "conv",
 "block": 0, "m": 2, "rank": 0}], "convolution": {"height": 4, "width": 4, "channels": 1,
 "kernel_height": 3, "kernel_width": 3, "stride": 1, "padding": 1}}]})"),
            input_of('g', "01024\n32767\n01000\n\0\0\0\0\0\0"sv)};
}

bool check(std::span<const std::byte> input) {
    if (input.empty()) return false;
    const auto file = input.subspan(1);
    return accepts<BadInput>([&] {
        switch (static_cast<char>(input[0])) {
            case 'c':
                return check_network(text_of(file));
            case 's':
                return check_shard_index(text_of(file));
            case 'i':
                return check_images(file);
            case 'l':
                return check_labels(file);
            case 'd':
                return check_manifest(text_of(file));
            case 'p':
                return check_description(text_of(file));
            case 'g':
                return check_finished_groups(text_of(file));
            default:
                throw BadInput("an unknown kind of file");
        }
    });
}

const Target target{"files_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::files_fuzz
