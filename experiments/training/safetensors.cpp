#include "safetensors.hpp"

#include "text.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

namespace training {

using torch::Tensor;

std::map<std::string, Tensor> load_safetensors(const std::string& path) try {
    const std::string bytes = read_file(path);
    uint64_t header_size = 0;
    if (bytes.size() < sizeof header_size)
        throw std::runtime_error(path + ": expected a safetensors header");
    std::memcpy(&header_size, bytes.data(), sizeof header_size);
    if (header_size > bytes.size() - sizeof header_size)
        throw std::runtime_error(path + ": header longer than file");
    const char* data = bytes.data() + sizeof header_size + header_size;
    const size_t data_size = bytes.size() - sizeof header_size - header_size;

    std::map<std::string, Tensor> tensors;
    const auto header = nlohmann::json::parse(bytes.substr(sizeof header_size, header_size));
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        const std::string type = entry.at("dtype");
        if (type != "F16" && type != "F32")
            throw std::runtime_error(path + ": " + name + ": expected F16 or F32");
        Tensor tensor = torch::empty(entry.at("shape").get<std::vector<int64_t>>(),
                                     type == "F16" ? torch::kHalf : torch::kFloat);
        const auto offsets = entry.at("data_offsets").get<std::vector<size_t>>();
        if (offsets.size() != 2 || offsets[1] > data_size || offsets[0] > offsets[1] ||
            offsets[1] - offsets[0] != tensor.nbytes()) {
            throw std::runtime_error(path + ": " + name + ": data_offsets do not match the shape");
        }
        std::memcpy(tensor.data_ptr(), data + offsets[0], tensor.nbytes());
        tensors[name] = tensor.to(torch::kFloat);
    }
    return tensors;
} catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": not the expected JSON header: " + error.what());
}

std::string to_safetensors(const NamedTensors& tensors, torch::ScalarType type) {
    nlohmann::ordered_json header;
    header["__metadata__"] = {{"format", "pt"}};
    std::string data;
    for (const auto& [name, tensor] : tensors) {
        const Tensor stored = tensor.detach().to(type).contiguous();
        header[name] = {{"dtype", type == torch::kHalf ? "F16" : "F32"},
                        {"shape", stored.sizes().vec()},
                        {"data_offsets", {data.size(), data.size() + stored.nbytes()}}};
        data.append(static_cast<const char*>(stored.data_ptr()), stored.nbytes());
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the format wants the data aligned to 8 bytes
    const uint64_t header_size = text.size();
    return std::string(reinterpret_cast<const char*>(&header_size), sizeof header_size) + text +
           data;
}

}  // namespace training
