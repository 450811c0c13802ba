// Loading artifacts from files that a case gives (MODEL-7).
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "optimized/api/model_files.hpp"
#include "optimized/artifact/sha256.hpp"
#include "property_tests/conformance/json_values.hpp"
#include "property_tests/generators/temporary_folder.hpp"

namespace slip::answers {

inline void write_files(const std::filesystem::path& folder, const Json& files) {
    for (const auto& [name, hex] : files.items()) {
        const Bytes bytes = bytes_of(hex);
        const std::filesystem::path half = (folder / name).parent_path();
        std::filesystem::create_directories(half);
        std::filesystem::permissions(half, std::filesystem::perms::owner_all);  // THREAT-2
        std::ofstream file(folder / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
}

inline Json described(const artifact::DavidArtifact& half) {
    Json groups = Json::array();
    for (const kernels::GroupWeights& weights : half.weights()) {
        groups.push_back(
            {{"inputs", weights.shape().inputs()}, {"outputs", weights.shape().outputs()}});
    }
    return {
        {"set", half.set().name}, {"digest", artifact::to_hex(half.digest())}, {"groups", groups}};
}

inline Json load_artifact(const Json& in) {
    const testing::TemporaryFolder folder;
    write_files(folder.path(), in["files"]);
    if (in["half"] == "david") return described(artifact::DavidArtifact(folder / "david"));
    api::SplitFiles files(folder.path());
    Json result = described(files.david());
    for (std::size_t g = 0; g < files.charlie().groups().size(); ++g) {
        const artifact::CharlieGroup& group = files.charlie().groups()[g];
        result["groups"][g]["activation_norm"] = group.activation_norm;
        for (const artifact::CharlieMember& member : group.members) {
            result["groups"][g]["ranks"].push_back(member.rank);
        }
    }
    return result;
}

}  // namespace slip::answers
