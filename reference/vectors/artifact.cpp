// A small artifact of a network (MODEL-7), and what a loader does with it when it is changed.
#include "reference/vectors/artifact.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>

#include "reference/encoding.hpp"
#include "reference/integer_model.hpp"
#include "reference/integrity.hpp"
#include "reference/sha256.hpp"
#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

/// The bytes of every file, by its path in the artifact.
using Files = std::map<std::string, std::string>;

const std::string manifest = "david/manifest.json", davids = "david/david.safetensors",
                  plan = "charlie/plan.json", charlies = "charlie/charlie.safetensors",
                  config = "charlie/config.json", check = "charlie/check.safetensors",
                  sums = "charlie/SHA256SUMS";

std::string digest_of(const std::string& bytes) {
    const auto digest = sha256(Bytes(bytes.begin(), bytes.end()));
    const std::string quoted = hex(digest).text;
    return quoted.substr(1, 64);
}

/// `count` bytes of a number that may be negative, least significant first.
std::string little_endian_text(Integer value, std::size_t count) {
    value += value < 0 ? Integer(1) << (8 * count) : Integer(0);
    std::string text;
    for (std::size_t i = 0; i < count; ++i, value >>= 8) {
        text += static_cast<char>(Integer(value & 255).convert_to<unsigned char>());
    }
    return text;
}

struct Tensor {
    std::string name, dtype;
    std::vector<std::size_t> shape;
    std::string bytes;
};

/// Row by row.
Tensor tensor_of(const std::string& name, const std::string& dtype, std::size_t bytes,
                 const Matrix& entries) {
    Tensor tensor{name, dtype, {entries.rows(), entries.cols()}, ""};
    for (std::size_t i = 0; i < entries.rows(); ++i) {
        for (std::size_t j = 0; j < entries.cols(); ++j) {
            tensor.bytes += little_endian_text(entries(i, j), bytes);
        }
    }
    return tensor;
}

/// A row's entries without the exponent that they have in common, and behind them the exponents.
std::vector<Tensor> left_tensors(const std::string& name, const Matrix& A) {
    Matrix significands = A, exponents(A.rows(), 1);
    for (std::size_t i = 0; i < A.rows(); ++i) {
        const unsigned exponent = row_exponent(A, i);
        exponents(i, 0) = exponent;
        for (std::size_t c = 0; c < A.cols(); ++c) significands(i, c) /= Integer(1) << exponent;
    }
    Tensor column = tensor_of(name + "_exponent", "I8", 1, exponents);
    column.shape = {A.rows()};
    return {tensor_of(name, "I16", 2, significands), column};
}

Tensor tensor_of(const std::string& name, const std::vector<float>& entries) {
    Tensor tensor{name, "F32", {entries.size()}, ""};
    for (const float entry : entries) {
        tensor.bytes += little_endian_text(std::bit_cast<std::uint32_t>(entry), 4);
    }
    return tensor;
}

/// The header, with spaces behind it up to a multiple of 64 bytes, and the tensors.
std::string safetensors(const std::vector<Tensor>& tensors) {
    Fields header;
    std::string data;
    for (const Tensor& tensor : tensors) {
        std::vector<Json> shape;
        for (const std::size_t extent : tensor.shape) shape.push_back(json(Integer(extent)));
        const Integer begin = data.size(), end = begin + tensor.bytes.size();
        header.push_back({tensor.name, object({{"dtype", json(tensor.dtype)},
                                               {"shape", list(shape)},
                                               {"data_offsets", json(Vector{begin, end})}})});
        data += tensor.bytes;
    }
    std::string text = object(header).text;
    while ((8 + text.size()) % 64 != 0) text += ' ';
    return little_endian_text(text.size(), 8) + text + data;
}

std::vector<float> positive_scales(Numbers& numbers, std::size_t count) {
    std::vector<float> scales;
    for (const Integer& k : numbers.vector(count, 1 << 10, 1 << 14)) {
        scales.push_back(std::ldexp(k.convert_to<float>(), -40));
    }
    return scales;
}

/// The shape of the convolution, as both descriptions have it.
const std::string convolution_text =
    R"("convolution": {"height": 4, "width": 3, "channels": 1, "kernel_height": 2,
                   "kernel_width": 2, "stride": 1, "padding": 1})";

std::string manifest_text(const std::string& digest) {
    return R"({
 "format": "slip-david",
 "version": 3,
 "set": "paper",
 "sha256": ")" +
           digest + R"(",
 "groups": [
  {"rows": 2, "cols": 4,
   )" + convolution_text +
           R"(},
  {"rows": 3, "cols": 40}
 ]
}
)";
}

std::string plan_text(const std::string& digest) {
    return R"({
 "format": "slip-charlie",
 "version": 3,
 "set": "paper",
 "strategy": "lsc",
 "t": 16,
 "plan": [[0, "conv", 1], [1, "linear", 2]],
 "david_sha256": ")" +
           digest + R"(",
 "groups": [
  {"n": 4, "activation_norm": 32767,
   "members": [{"tensor": "conv", "layer_type": "conv", "block": 0, "m": 2, "rank": 1}],
   )" + convolution_text +
           R"(},
  {"n": 40, "activation_norm": 32767,
   "members": [{"tensor": "fc", "layer_type": "linear", "block": 1, "m": 3, "rank": 2}]}
 ]
}
)";
}

const std::string config_text = R"({
 "model_type": "cnn",
 "input": {"height": 4, "width": 3, "channels": 1},
 "layers": [
  {"type": "convolution", "tensor": "conv", "bias": "conv.bias", "filters": 2,
   "kernel": [2, 2], "stride": 1, "padding": 1},
  {"type": "relu"},
  {"type": "linear", "tensor": "fc", "bias": "fc.bias", "outputs": 3}
 ]
}
)";

/// SHA256SUMS of what the folder of Charlie holds now.
void list_digests(Files& files) {
    files.erase(sums);
    std::string text;
    for (const auto& [path, bytes] : files) {
        if (path.starts_with("charlie/")) text += digest_of(bytes) + "  " + path.substr(8) + "\n";
    }
    files[sums] = text;
}

/// The seed of the check and what it makes of each group (INTEG-1, INTEG-2).
std::vector<Tensor> check_tensors(const Key& seed, const std::vector<Matrix>& weights) {
    std::vector<Tensor> tensors{{"seed", "U8", {32}, std::string(seed.begin(), seed.end())}};
    const ParameterSet set = paper();
    for (std::size_t g = 0; g < weights.size(); ++g) {
        const CheckSecret secret =
            draw_check_secret(set.planes, seed, weights[g], set.combinations);
        Tensor tensor{"group." + std::to_string(g),
                      "U8",
                      {set.combinations, set.planes.count(), weights[g].cols()},
                      ""};
        for (std::size_t a = 0; a < set.combinations; ++a) {
            for (const IntegrityKey& plane : secret) {
                for (const Integer& entry : plane.s.column(a)) {
                    tensor.bytes += little_endian_text(entry, 1);
                }
            }
        }
        tensors.push_back(tensor);
    }
    return tensors;
}

/// Every file, and the tensors of Charlie's two tensor files once more.
struct SmallArtifact {
    Files files;
    std::vector<Tensor> charlies, check;
};

/// A convolution of a 4 x 3 image by two 2 x 2 filters with padding 1, and a linear layer.
SmallArtifact small_artifact(Numbers& numbers) {
    const Matrix conv = numbers.matrix(2, 4, -127, 127), fc = numbers.matrix(3, 40, -127, 127);
    for (const Matrix& W_D : {conv, fc}) {
        require(activation_norm({W_D}, paper().ring().modulus()) == 32767, "the plan says 32767");
    }
    Files files;
    files[davids] =
        safetensors({tensor_of("group.0", "I8", 1, conv), tensor_of("group.1", "I8", 1, fc)});
    const std::vector<float> conv_scale = positive_scales(numbers, 2),
                             fc_scale = positive_scales(numbers, 3);
    const std::vector<float> conv_bias = numbers.activations(2), fc_bias = numbers.activations(3);
    const Matrix conv_A = numbers.left_factor(2, 1, 3), fc_A = numbers.left_factor(3, 2, 3);
    const auto conv_left = left_tensors("conv.A", conv_A), fc_left = left_tensors("fc.A", fc_A);
    const std::vector<Tensor> tensors{tensor_of("conv.bias", conv_bias),
                                      tensor_of("fc.bias", fc_bias),
                                      tensor_of("conv.row_scale", conv_scale),
                                      tensor_of("fc.row_scale", fc_scale),
                                      conv_left[0],
                                      tensor_of("conv.B", "I16", 2, numbers.right_factor(1, 4)),
                                      fc_left[0],
                                      tensor_of("fc.B", "I16", 2, numbers.right_factor(2, 40)),
                                      conv_left[1],
                                      fc_left[1]};
    files[charlies] = safetensors(tensors);
    const std::string digest = digest_of(files[davids]);
    files[manifest] = manifest_text(digest);
    files[plan] = plan_text(digest);
    files[config] = config_text;
    const std::vector<Tensor> checks = check_tensors(numbers.key(), {conv, fc});
    files[check] = safetensors(checks);
    list_digests(files);
    return {files, tensors, checks};
}

/// `old` stands in the file, and becomes `next` in its first place.
void replace(Files& files, const std::string& path, const std::string& old,
             const std::string& next) {
    std::string& text = files.at(path);
    const std::size_t at = text.find(old);
    require(at != std::string::npos, "what is changed is there");
    text.replace(at, old.size(), next);
}

/// Where the data of a safetensors file begins.
std::size_t data_of(const std::string& file) {
    std::size_t length = 0;
    for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(file[i]);
    return 8 + length;
}

using Change = std::function<void(Files&)>;

/// The cases of one half.
class Cases {
public:
    Cases(Document& document, std::string half, Files base)
        : document_(document),
          half_(std::move(half)),
          base_(std::move(base)),
          digest_(digest_of(base_.at(davids))) {
        document.begin_group("load_artifact", {half_, "artifact"});
    }

    void accepted(const char* clause, const char* comment, const Change& change) {
        Case entry =
            changed(clause, comment, "an artifact that follows the clause MUST be loaded", change);
        entry.output = {{"set", json("paper")}, {"digest", json(digest_)}, {"groups", groups()}};
        document_.add(entry);
    }

    void refused(const char* clause, const char* comment, const Change& change) {
        Case entry =
            changed(clause, comment, "an artifact that breaks the clause MUST be refused", change);
        entry.failure = Failure{"load artifact", clause};
        document_.add(entry);
    }

    /// A text file in which one place is changed; Charlie's digests follow.
    void replaced(const char* clause, const char* comment, const std::string& path,
                  const std::string& old, const std::string& next) {
        refused(clause, comment, [&](Files& files) {
            replace(files, path, old, next);
            if (path != sums) list_digests(files);
        });
    }

    /// Bytes of a tensor file, `offset` from where its data begins; every digest follows.
    void overwritten(const char* clause, const char* comment, const std::string& path,
                     std::size_t offset, const std::string& bytes) {
        refused(clause, comment, [&](Files& files) {
            write(files, path, offset, bytes);
            seal(files);
        });
    }

    static void write(Files& files, const std::string& path, std::size_t offset,
                      const std::string& bytes) {
        std::string& file = files.at(path);
        file.replace(data_of(file) + offset, bytes.size(), bytes);
    }

    /// All digests are those of the files as they are now.
    void seal(Files& files) const {
        const std::string digest = digest_of(files.at(davids));
        if (digest != digest_) {
            replace(files, manifest, digest_, digest);
            replace(files, plan, digest_, digest);
        }
        list_digests(files);
    }

private:
    Case changed(const char* clause, const char* comment, const char* requirement,
                 const Change& change) const {
        Files files = base_;
        change(files);
        Fields differences;
        for (const auto& [path, bytes] : files) {
            const auto before = base_.find(path);
            if (before != base_.end() && before->second == bytes) continue;
            if (half_ == "david" && !path.starts_with("david/")) continue;
            differences.push_back({path, hex(Bytes(bytes.begin(), bytes.end()))});
        }
        for (const auto& [path, bytes] : base_) {
            if (!files.contains(path)) differences.push_back({path, Json{"null"}});
        }
        return {.clause = clause,
                .requirement = requirement,
                .comment = comment,
                .flags = {"ARTIFACT"},
                .input = {{"half", json(half_)}, {"changed", object(differences)}}};
    }

    Json groups() const {
        const auto group = [&](int inputs, int outputs, int rank) {
            Fields fields{{"inputs", json(Integer(inputs))}, {"outputs", json(Integer(outputs))}};
            if (half_ == "charlie") {
                fields.push_back({"activation_norm", json(Integer(32767))});
                fields.push_back({"ranks", json(Vector{rank})});
            }
            return object(fields);
        };
        return list({group(12, 40, 1), group(40, 3, 2)});
    }

    Document& document_;
    std::string half_;
    Files base_;
    std::string digest_;
};

/// What JSON may say in several ways, and what it may not.
void add_json(Cases& cases) {
    cases.accepted("MODEL-7", "the fields in another order, and white space", [](Files& files) {
        replace(files, manifest, "\"format\": \"slip-david\",\n \"version\": 3,",
                "\"version\" : 3 ,\t\"format\":\"slip-david\",\n");
    });
    cases.accepted("MODEL-7", "a string with an escape", [](Files& files) {
        replace(files, manifest, "\"paper\"", "\"\\u0070ap\\u0065r\"");
    });
    const auto refused = [&](const char* comment, const std::string& old, const std::string& next) {
        cases.replaced("MODEL-7", comment, manifest, old, next);
    };
    refused("an unknown field", "\"version\": 3,", "\"version\": 3, \"remark\": null,");
    refused("an unknown field of a group", "\"cols\": 40", "\"cols\": 40, \"n\": 40");
    refused("a field that stands twice", "\"version\": 3,", "\"version\": 3, \"version\": 3,");
    refused("a field that is absent", "\"set\": \"paper\",", "");
    refused("an integer with a fraction", "\"rows\": 3", "\"rows\": 3.0");
    refused("an integer with an exponent", "\"rows\": 3", "\"rows\": 3e0");
    refused("an integer as a string", "\"rows\": 3", "\"rows\": \"3\"");
    refused("a truth value where an integer is expected", "\"version\": 3", "\"version\": true");
    refused("minus zero where zero is allowed", "\"padding\": 1", "\"padding\": -0");
    refused("no rows", "\"rows\": 3", "\"rows\": 0");
    refused("groups as an object", "\"groups\": [", "\"groups\": {}, \"more\": [");
    refused("a comment", "\"version\": 3,", "\"version\": 3, /* three */");
    refused("a comma too many", "\"cols\": 40}", "\"cols\": 40},");
    refused("a second value behind the first", "\n}\n", "\n}\n{}\n");
    const auto written = [&](const char* comment, const std::function<void(std::string&)>& change) {
        cases.refused("MODEL-7", comment, [&](Files& files) { change(files.at(manifest)); });
    };
    written("a byte order mark", [](std::string& text) { text.insert(0, "\xef\xbb\xbf"); });
    written("a NUL behind the object", [](std::string& text) { text += '\0'; });
    written("a NUL behind the object, and a second object",
            [](std::string& text) { text += std::string("\0{}", 3); });
    refused("a byte that is no UTF-8", "\"paper\"", "\"paper\xff\"");
    refused("half of a surrogate pair", "\"paper\"", "\"paper\\ud800\"");
}

void add_headers(Cases& cases) {
    cases.replaced("PARAM-4", "version 4", manifest, "\"version\": 3", "\"version\": 4");
    const auto refused = [&](const char* comment, const std::string& old, const std::string& next) {
        cases.replaced("MODEL-7", comment, manifest, old, next);
    };
    refused("the other half's format", "slip-david", "slip-charlie");
    refused("a set that does not exist", "\"paper\"", "\"papers\"");
    refused("a set in upper case", "\"paper\"", "\"Paper\"");
    refused("fewer rows than the tensor has", "\"rows\": 3", "\"rows\": 2");
    refused("rows and columns exchanged", "\"rows\": 3, \"cols\": 40", "\"rows\": 40, \"cols\": 3");
    refused("a group without a tensor", "\"cols\": 40}",
            "\"cols\": 40}, {\"rows\": 1, \"cols\": 1}");
    refused("a tensor without a group", ",\n  {\"rows\": 3, \"cols\": 40}", "");
    cases.refused("MODEL-7", "a digest in upper case", [](Files& files) {
        std::string& text = files.at(manifest);
        const auto at =
            text.begin() + static_cast<std::ptrdiff_t>(text.find("\"sha256\": \"") + 11);
        std::transform(at, at + 64, at, [](char c) {
            return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
        });
    });
    cases.refused("MODEL-7", "a weight differs from what the digest says", [](Files& files) {
        char& weight = files.at(davids).back();
        weight = static_cast<char>(weight ^ 1);
    });
    cases.refused("MODEL-7", "no weight file", [](Files& files) { files.erase(davids); });
    for (const char* name :
         {"david/plan.json", "david/charlie.safetensors", "david/charlie/config.json"}) {
        cases.refused("MODEL-7", "a part of Charlie's half in David's folder",
                      [&](Files& files) { files[name] = "{}"; });
    }
}

void add_convolutions(Cases& cases) {
    const auto refused = [&](const char* comment, const std::string& old, const std::string& next) {
        cases.replaced("CNN-6", comment, manifest, old, next);
    };
    refused("padding as large as the kernel", "\"padding\": 1", "\"padding\": 2");
    refused("stride zero", "\"stride\": 1", "\"stride\": 0");
    cases.refused("CNN-6", "a window that is higher than the image", [](Files& files) {
        replace(files, manifest, "\"height\": 4", "\"height\": 3");
        replace(files, manifest, "\"kernel_height\": 2", "\"kernel_height\": 4");
        replace(files, manifest, "\"kernel_width\": 2", "\"kernel_width\": 1");
        replace(files, manifest, "\"padding\": 1", "\"padding\": 0");
    });
    refused("patches of another length than the matrix is wide", "\"channels\": 1",
            "\"channels\": 2");
    refused("an image of more than 2^20 entries", "\"height\": 4", "\"height\": 1048577");
    refused("a field that is absent", "\"stride\": 1, ", "");
    refused("an unknown field", "\"stride\": 1", "\"stride\": 1, \"dilation\": 1");
}

/// A file of tensors with another header, of the same length if it fits.
void with_header(Files& files, const std::string& path, const std::string& old,
                 const std::string& next) {
    std::string& file = files.at(path);
    const std::size_t data = data_of(file);
    std::string header = file.substr(8, data - 8);
    const std::size_t at = header.find(old);
    require(at != std::string::npos, "what is changed is there");
    header.replace(at, old.size(), next);
    file = little_endian_text(header.size(), 8) + header + file.substr(data);
}

void add_tensors(Cases& cases) {
    cases.overwritten("PARAM-2", "a weight of -128", davids, 5, "\x80");
    const auto refused = [&](const char* comment, const std::string& old, const std::string& next) {
        cases.refused("MODEL-7", comment, [&](Files& files) {
            with_header(files, davids, old, next);
            cases.seal(files);
        });
    };
    refused("a tensor of another type", "\"I8\"", "\"U8\"");
    refused("a tensor of another name", "\"group.1\"", "\"group.2\"");
    refused("tensors that overlap", "[8,128]", "[7,127]");
    refused("a tensor that ends behind the file", "[8,128]", "[8,129]");
    refused("a header that begins with a space", "{\"group.0\"", " {\"group.0\"");
    refused("a NUL behind the header's object", "}}", std::string("}}\0", 3));
    refused("an unknown field of a tensor", "\"dtype\":\"I8\",", "\"dtype\":\"I8\",\"order\":1,");
    cases.refused("MODEL-7", "a gap between two tensors", [&](Files& files) {
        with_header(files, davids, "[8,128]", "[9,129]");
        files.at(davids) += '\0';
        cases.seal(files);
    });
    cases.refused("MODEL-7", "bytes behind the last tensor", [&](Files& files) {
        files.at(davids) += '\0';
        cases.seal(files);
    });
    cases.refused("MODEL-7", "a header that is longer than the file", [&](Files& files) {
        files.at(davids)[1] = 9;
        cases.seal(files);
    });
    cases.refused("MODEL-7", "a file of four bytes", [&](Files& files) {
        files.at(davids).resize(4);
        cases.seal(files);
    });
}

void add_plans(Cases& cases) {
    const auto refused = [&](const char* clause, const char* comment, const std::string& old,
                             const std::string& next) {
        cases.replaced(clause, comment, plan, old, next);
    };
    refused("PARAM-4", "version 4", "\"version\": 3", "\"version\": 4");
    refused("MODEL-7", "an unknown field", "\"t\": 16,", "\"t\": 16, \"remark\": 1,");
    refused("MODEL-7", "an unknown field of a member", "\"m\": 2,", "\"m\": 2, \"k\": 1,");
    refused("MODEL-7", "another shift", "\"t\": 16", "\"t\": 15");
    refused("MODEL-7", "a set that does not exist", "\"paper\"", "\"papers\"");
    refused("ENC-3", "an activation norm of 1023", "\"activation_norm\": 32767",
            "\"activation_norm\": 1023");
    refused("PARAM-2", "an activation norm of 32768", "\"activation_norm\": 32767",
            "\"activation_norm\": 32768");
    refused("CNN-6", "an order of attention in a network", "\"t\": 16,",
            "\"t\": 16, \"attention\": \"fused\",");
    refused("DECO-8", "a strategy that does not exist", "\"lsc\"", "\"svd\"");
    refused("DECO-10", "a seed where the strategy draws nothing", "\"t\": 16,",
            "\"t\": 16, \"seed\": \"" + std::string(64, '0') + "\",");
    refused("DECO-10", "no seed where the strategy draws", "\"lsc\"", "\"random\"");
    refused("DECO-6", "a rank that the plan does not give", "\"linear\", 2]", "\"linear\", 1]");
    refused("DECO-6", "a K of 2^64", "\"linear\", 2]", "\"linear\", 18446744073709551616]");
    cases.accepted("DECO-6", "a K of 2^64 - 1, which is cut", [](Files& files) {
        replace(files, plan, "\"linear\", 2]", "\"linear\", 18446744073709551615]");
        list_digests(files);
    });
    refused("DECO-6", "a plan that names a layer which does not exist", "[0, \"conv\", 1]",
            "[0, \"conv\", 1], [2, \"conv\", 1]");
    refused("DECO-6", "a plan that names a layer twice", "[0, \"conv\", 1]",
            "[0, \"conv\", 1], [0, \"conv\", 1]");
    refused("MODEL-7", "another number of rows than the factors have", "\"m\": 3", "\"m\": 4");
    refused("MODEL-7", "no members",
            R"({"tensor": "fc", "layer_type": "linear", "block": 1, )"
            R"("m": 3, "rank": 2})",
            "");
    refused("CNN-6", "another stride than David's half has", "\"stride\": 1", "\"stride\": 2");
    cases.refused("MODEL-7", "the halves come from two splits", [&](Files& files) {
        std::string& text = files.at(plan);
        char& digit = text[text.find("\"david_sha256\": \"") + 17];
        digit = digit == '0' ? '1' : '0';
        list_digests(files);
    });
    cases.replaced("CNN-6", "config.json describes another stride", config, "\"stride\": 1",
                   "\"stride\": 2");
    cases.replaced("MODEL-7", "config.json has another name of a matrix", config,
                   "\"tensor\": \"fc\"", "\"tensor\": \"fd\"");
    cases.replaced("CNN-6", "a bias that is null", config, "\"fc.bias\"", "null");
    cases.replaced("MODEL-7", "config.json with a NUL behind the object", config, "\n}\n",
                   std::string("\n}\n\0", 4));
    cases.replaced("CNN-6", "config.json has another number of outputs", config, "\"outputs\": 3",
                   "\"outputs\": 4");
}

// Where tensors begin: conv.bias, fc.bias, conv.row_scale, fc.row_scale, conv.A, conv.B, fc.A,
// fc.B, conv.A_exponent, fc.A_exponent.
constexpr std::size_t conv_row_scale = 20, conv_A = 40, conv_B = 44, conv_A_exponent = 224;

/// The one entry of the first row of conv.A, and its exponent; every digest follows.
Change first_row(const Cases& cases, int entry, int exponent) {
    return [&cases, entry, exponent](Files& files) {
        Cases::write(files, charlies, conv_A, little_endian_text(entry, 2));
        Cases::write(files, charlies, conv_A_exponent, little_endian_text(exponent, 1));
        cases.seal(files);
    };
}

void add_factors(Cases& cases) {
    cases.overwritten("PARAM-2", "an entry of A of 2048", charlies, conv_A,
                      little_endian_text(2048, 2));
    cases.refused("PARAM-2", "an exponent of 21", first_row(cases, 2047, 21));
    cases.overwritten("PARAM-2", "an entry of B of 2048", charlies, conv_B,
                      little_endian_text(2048, 2));
    cases.overwritten("PARAM-2", "an entry of B of -2048", charlies, conv_B,
                      little_endian_text(-2048, 2));
    for (const auto& [comment, bits] : std::vector<std::pair<const char*, std::uint32_t>>{
             {"a row scale of zero", 0},
             {"a negative row scale", 0xbf800000},
             {"an infinite row scale", 0x7f800000},
             {"a row scale that is no number", 0x7fc00000}}) {
        cases.overwritten("MODEL-7", comment, charlies, conv_row_scale,
                          little_endian_text(bits, 4));
    }
}

void add_digests(Cases& cases) {
    cases.refused("MODEL-7", "a space in config.json that SHA256SUMS does not know",
                  [](Files& files) { replace(files, config, "{", "{ "); });
    cases.refused("MODEL-7", "a file that SHA256SUMS does not list",
                  [](Files& files) { files["charlie/remarks.txt"] = "none\n"; });
    cases.refused("MODEL-7", "SHA256SUMS lists a file that is not there",
                  [](Files& files) { files.at(sums) += digest_of("") + "  tokenizer.model\n"; });
    cases.refused("MODEL-7", "no SHA256SUMS", [](Files& files) { files.erase(sums); });
    cases.replaced("MODEL-7", "one space before a name", sums, "  config.json", " config.json");
    cases.replaced("MODEL-7", "a star before a name", sums, "  config.json", " *config.json");
    cases.refused("MODEL-7", "the lines in another order", [](Files& files) {
        std::string& text = files.at(sums);
        const std::size_t first = text.find('\n') + 1;
        text = text.substr(first) + text.substr(0, first);
    });
    cases.refused("MODEL-7", "no newline at the end",
                  [](Files& files) { files.at(sums).pop_back(); });
    cases.refused("MODEL-7", "no config.json", [](Files& files) {
        files.erase(config);
        list_digests(files);
    });
}

/// Which exponent belongs to the first row of conv.A.
void add_exponents(Cases& cases) {
    const auto change = [&](int entry, int exponent) { return first_row(cases, entry, exponent); };
    cases.accepted("PARAM-2", "1024 with the exponent 1", change(1024, 1));
    cases.accepted("PARAM-2", "-2047 with the exponent 20", change(-2047, 20));
    cases.accepted("PARAM-2", "zeros with the exponent 0", change(0, 0));
    cases.refused("PARAM-2", "1023 with the exponent 1, which 2046 with 0 is too", change(1023, 1));
    cases.refused("PARAM-2", "zeros with the exponent 1", change(0, 1));
    cases.refused("PARAM-2", "an exponent of -1", change(2046, -1));
    cases.refused("PARAM-2", "an entry of A of -2048", change(-2048, 1));
    cases.refused("PARAM-2", "an entry of A of -32768", change(-32768, 1));
    cases.refused("MODEL-7", "another exponent than SHA256SUMS says", [](Files& files) {
        std::string& file = files.at(charlies);
        char& exponent = file[data_of(file) + conv_A_exponent];
        exponent = static_cast<char>(exponent ^ 4);
    });
}

/// charlie.safetensors with other tensors.
void add_tensors_of_charlie(Cases& cases, const std::vector<Tensor>& tensors) {
    const auto refused = [&](const char* comment, const std::string& name,
                             const std::function<void(Tensor&)>& change) {
        cases.refused("MODEL-7", comment, [&](Files& files) {
            std::vector<Tensor> changed = tensors;
            for (Tensor& tensor : changed) {
                if (tensor.name == name) change(tensor);
            }
            files.at(charlies) = safetensors(changed);
            cases.seal(files);
        });
    };
    refused("A in 32 bits", "conv.A", [](Tensor& A) {
        A.dtype = "I32";
        A.bytes = std::string(8, '\0');
    });
    cases.refused("MODEL-7", "tensors that are not aligned", [&](Files& files) {
        with_header(files, charlies, "}}", "}} ");
        cases.seal(files);
    });
    refused("A transposed", "fc.A", [](Tensor& A) { A.shape = {2, 3}; });
    refused("no exponents", "conv.A_exponent", [](Tensor& e) { e.name = "conv.exponent"; });
    refused("exponents as a matrix of one column", "conv.A_exponent", [](Tensor& e) {
        e.shape = {2, 1};
    });
    refused("an exponent too many", "fc.A_exponent", [](Tensor& e) {
        e.shape = {4};
        e.bytes += '\0';
    });
    refused("exponents in 16 bits", "fc.A_exponent", [](Tensor& e) {
        e.dtype = "I16";
        e.bytes = std::string(6, '\0');
    });
}

/// check.safetensors with other tensors, and without.
void add_checks(Cases& cases, const std::vector<Tensor>& tensors) {
    const auto refused = [&](const char* comment,
                             const std::function<void(std::vector<Tensor>&)>& change) {
        cases.refused("MODEL-7", comment, [&](Files& files) {
            std::vector<Tensor> changed = tensors;
            change(changed);
            files.at(check) = safetensors(changed);
            cases.seal(files);
        });
    };
    cases.refused("MODEL-7", "metadata in check.safetensors", [&](Files& files) {
        with_header(files, check, "{\"seed\"", "{\"__metadata__\":{\"made\":\"here\"},\"seed\"");
        cases.seal(files);
    });
    cases.refused("MODEL-7", "no check.safetensors", [](Files& files) {
        files.erase(check);
        list_digests(files);
    });
    refused("no seed", [](auto& tensors_) { tensors_.erase(tensors_.begin()); });
    refused("a seed of 31 bytes", [](auto& tensors_) {
        tensors_[0].shape = {31};
        tensors_[0].bytes.pop_back();
    });
    refused("a seed with a sign", [](auto& tensors_) { tensors_[0].dtype = "I8"; });
    refused("a group without its tensor", [](auto& tensors_) { tensors_.pop_back(); });
    refused("a tensor of another type", [](auto& tensors_) { tensors_[1].dtype = "I8"; });
    refused("a tensor of another shape", [](auto& tensors_) { tensors_[2].shape = {4, 8, 40}; });
    refused("a combination too few", [](auto& tensors_) {
        tensors_[1].shape[0] = 7;
        tensors_[1].bytes.resize(7 * 4 * 4);
    });
    refused("a tensor too many", [](auto& tensors_) {
        tensors_.push_back({"group.2", "U8", {0}, ""});
    });
    const ParameterSet set = paper();
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        refused("a byte that is its prime", [&](auto& tensors_) {
            tensors_[1].bytes[(5 * set.planes.count() + p) * 4 + 3] =
                static_cast<char>(set.planes.primes()[p].convert_to<std::uint8_t>());
        });
    }
    cases.refused("MODEL-7", "another byte of the check than SHA256SUMS says", [](Files& files) {
        char& last = files.at(check).back();
        last = static_cast<char>(last ^ 1);
    });
}

}  // namespace

void artifact(Document& document) {
    const auto [files, tensors, checks] = small_artifact(document.numbers());
    Cases david(document, "david", files);
    david.accepted("MODEL-7", "David's half as it is", [](Files&) {});
    add_json(david);
    add_headers(david);
    add_convolutions(david);
    add_tensors(david);
    for (const char* version : {"1", "2"}) {
        david.replaced("PARAM-4", "an older version", manifest, "\"version\": 3",
                       std::string("\"version\": ") + version);
    }
    Cases charlie(document, "charlie", files);
    charlie.accepted("MODEL-7", "both halves as they are", [](Files&) {});
    add_plans(charlie);
    add_factors(charlie);
    add_digests(charlie);
    for (const char* version : {"1", "2"}) {
        charlie.replaced("PARAM-4", "an older version", plan, "\"version\": 3",
                         std::string("\"version\": ") + version);
    }
    add_exponents(charlie);
    add_tensors_of_charlie(charlie, tensors);
    add_checks(charlie, checks);
}

void write_artifact(std::uint64_t seed, const std::filesystem::path& folder) {
    Numbers numbers(seed, "artifact");
    for (const auto& [path, bytes] : small_artifact(numbers).files) {
        std::filesystem::create_directories((folder / path).parent_path());
        std::ofstream file(folder / path, std::ios::binary);
        file << bytes;
        file.close();
        require(file.good(), "a file of the artifact can be written");
    }
}

}  // namespace slip::reference::vectors
