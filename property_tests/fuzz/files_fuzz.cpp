// The small files that are read from a disk and have no target of their own. The first byte of an
// input says which file the rest is.
#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/cnn_json.hpp"
#include "optimized/import/idx.hpp"
#include "optimized/split/partial_split.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz {
namespace {

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

/// model.safetensors.index.json: no shard can lie in another directory.
void check_shard_index(std::string_view text) {
    const ShardIndex shards = parse_shard_index(text, "index");
    expect(!shards.empty(), "an index without a shard");
    for (const auto& [name, tensors] : shards) {
        expect(!tensors.empty(), "a shard without a tensor");
        expect(name != "." && name != ".." && std::filesystem::path(name).filename() == name,
               "a shard lies in another directory");
        expect(name.find('\0') == std::string::npos, "the name of a shard ends early");
    }
}

void check_images(std::span<const std::byte> file) {
    const IdxImages images = parse_idx_images(file, "images");
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

/// groups.txt of a split under way: what counts as finished was written as it is read.
void check_finished_groups(std::string_view text) {
    std::string lines;
    for (const std::int32_t qa_max : parse_finished_groups(text)) {
        expect(qa_max >= 127 && qa_max <= 32767, "ENC-3: qa_max is out of range");
        const std::string digits = std::to_string(qa_max);
        lines += std::string(5 - digits.size(), '0') + digits + "\n";
    }
    expect(text.starts_with(lines), "a group counts as finished that was not written so");
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
            input_of('g', "00127\n32767\n01000\n\0\0\0\0\0\0"sv)};
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
            case 'g':
                return check_finished_groups(text_of(file));
            default:
                throw BadInput("an unknown kind of file");
        }
    });
}

}  // namespace slip::fuzz
