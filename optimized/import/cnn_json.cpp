#include "optimized/import/cnn_json.hpp"

#include <array>
#include <string>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {
namespace {

using base::CnnConfig;
using base::CnnLayer;
using base::Convolution;
using nlohmann::json;
using nlohmann::ordered_json;
using Kind = CnnLayer::Kind;

using base::parameters::largest_extent;  // PARAM-3
constexpr std::array<std::pair<Kind, const char*>, 5> kinds{{{Kind::convolution, "convolution"},
                                                             {Kind::linear, "linear"},
                                                             {Kind::relu, "relu"},
                                                             {Kind::max_pool, "max_pool"},
                                                             {Kind::average_pool, "average_pool"}}};

const char* name_of(Kind kind) {
    for (const auto& [value, name] : kinds) {
        if (value == kind) return name;
    }
    throw InternalError("cnn_to_json: no such kind of layer");
}

ordered_json describe(const CnnLayer& layer) {
    ordered_json object{{"type", name_of(layer.kind)}};
    if (layer.offloaded()) object["tensor"] = layer.tensor;
    if (!layer.bias.empty()) object["bias"] = layer.bias;
    const Convolution& window = layer.window;
    switch (layer.kind) {
        case Kind::linear:
            object["outputs"] = layer.m;
            break;
        case Kind::convolution:
            object["filters"] = window.N;
            object["padding"] = window.padding;
            [[fallthrough]];
        case Kind::max_pool:
        case Kind::average_pool:
            object["kernel"] = {window.kH, window.kW};
            object["stride"] = window.stride;
            break;
        case Kind::relu:
            break;
    }
    return object;
}

/// Reads the layers one after the other and keeps the size of the image between them.
class Reader {
public:
    Reader(std::filesystem::path origin, CnnConfig config)
        : origin_(std::move(origin)), config_(std::move(config)) {
        H_ = config_.H;
        W_ = config_.W;
        C_ = config_.C;
    }

    void read_layer(const json& value) {
        const std::string where = "layers[" + std::to_string(config_.layers.size()) + "]";
        JsonObject object(value, origin_, where);
        CnnLayer layer;
        layer.kind = kind(object);
        if (layer.offloaded()) {
            layer.tensor = object.text("tensor");
            if (object.has("bias")) layer.bias = object.text("bias");
        }
        if (layer.kind == Kind::linear) {
            layer.n = H_ * W_ * C_;
            layer.m = object.integer("outputs", 1, largest_extent);
            H_ = W_ = 1;
            C_ = layer.m;
        } else if (layer.kind == Kind::relu) {
            layer.window = {.H = H_, .W = W_, .C = C_};
        } else {
            layer.window = window(object, layer.kind);
        }
        object.refuse_unknown_fields();
        config_.layers.push_back(std::move(layer));
    }

    CnnConfig result() { return std::move(config_); }

private:
    static Kind kind(JsonObject& object) {
        const std::string type = object.text("type");
        for (const auto& [value, name] : kinds) {
            if (type == name) return value;
        }
        object.refuse("type", "convolution, linear, relu, max_pool or average_pool");
    }

    Convolution window(JsonObject& object, Kind kind) {
        Convolution shape{.H = H_, .W = W_, .C = C_, .N = C_};
        if (kind == Kind::convolution) {
            shape.N = object.integer("filters", 1, largest_extent);
            shape.padding = object.integer("padding", 0, 1024);
        }
        const json& kernel = object.array("kernel");
        if (kernel.size() != 2) object.refuse("kernel", "height and width");
        const auto side = [&](const json& value, std::size_t extent) {
            const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
                              value.get<std::uint64_t>() <= extent + 2 * shape.padding &&
                              value.get<std::uint64_t>() > shape.padding;
            if (!fits) object.refuse("kernel", "a window that fits the image");
            return value.get<std::size_t>();
        };
        shape.kH = side(kernel[0], H_);
        shape.kW = side(kernel[1], W_);
        shape.stride = object.integer("stride", 1, largest_extent);
        if (shape.positions() > largest_extent / shape.N || shape.patch() > largest_extent) {
            object.refuse("kernel", "a layer of at most 2^20 outputs and 2^20 entries a window");
        }
        H_ = shape.H_o();
        W_ = shape.W_o();
        C_ = shape.N;
        return shape;
    }

    std::filesystem::path origin_;
    CnnConfig config_;
    std::size_t H_ = 0, W_ = 0, C_ = 0;  // what the next layer takes
};

}  // namespace

std::string cnn_to_json(const CnnConfig& config) {
    ordered_json layers = ordered_json::array();
    for (const CnnLayer& layer : config.layers) layers.push_back(describe(layer));
    const ordered_json input{{"height", config.H}, {"width", config.W}, {"channels", config.C}};
    return ordered_json{{"model_type", cnn_model_type}, {"input", input}, {"layers", layers}}.dump(
               1) +
           "\n";
}

bool describes_cnn(std::string_view text, const std::filesystem::path& origin) {
    const json value = parse_json(text, origin);
    return value.is_object() && value.value("model_type", json()) == cnn_model_type;
}

CnnConfig parse_cnn_config(std::string_view text, const std::filesystem::path& origin) {
    const json value = parse_json(text, origin);
    JsonObject object(value, origin, "configuration");
    if (object.text("model_type") != cnn_model_type) object.refuse("model_type", "\"cnn\"");
    JsonObject input(object.field("input"), origin, "input");
    CnnConfig config;
    config.H = input.integer("height", 1, largest_extent);
    config.W = input.integer("width", 1, largest_extent / config.H);
    config.C = input.integer("channels", 1, largest_extent / (config.H * config.W));
    input.refuse_unknown_fields();
    Reader reader(origin, config);
    for (const json& layer : object.array("layers")) reader.read_layer(layer);
    object.refuse_unknown_fields();
    CnnConfig parsed = reader.result();
    bool offloaded = false;
    for (const CnnLayer& layer : parsed.layers) offloaded = offloaded || layer.offloaded();
    if (!offloaded) object.refuse("layers", "a convolution or a linear layer among them");
    return parsed;
}

}  // namespace slip::importing
