// Loading artifacts from files that a case gives (MODEL-7).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "optimized/api/model_files.hpp"
#include "optimized/artifact/layout.hpp"
#include "property_tests/conformance/json_values.hpp"

namespace slip::answers {

/// Removed with all that is in it.
class Folder {
public:
    Folder() {
        std::string name =
            (std::filesystem::temp_directory_path() / "slip-answers-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        path_ = name;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

inline void write_files(const std::filesystem::path& folder, const Json& files) {
    for (const auto& [name, hex] : files.items()) {
        const Bytes bytes = bytes_of(hex);
        std::filesystem::create_directories((folder / name).parent_path());
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
    return {{"profile", name_of(half.profile())},
            {"digest", artifact::layout::to_hex(half.digest())},
            {"groups", groups}};
}

inline Json load_artifact(const Json& in) {
    const Folder folder;
    write_files(folder.path(), in["files"]);
    if (in["half"] == "david") return described(artifact::DavidArtifact(folder.path() / "david"));
    api::SplitFiles files(folder.path());
    Json result = described(files.david());
    for (std::size_t g = 0; g < files.charlie().groups().size(); ++g) {
        const artifact::CharlieGroup& group = files.charlie().groups()[g];
        result["groups"][g]["qa_max"] = group.qa_max;
        for (const artifact::CharlieMember& member : group.members) {
            result["groups"][g]["ranks"].push_back(member.rank);
        }
    }
    return result;
}

}  // namespace slip::answers
