#include "optimized/artifact/layout.hpp"

#include <span>

#include "slip/error.hpp"

namespace slip::artifact::layout {

std::string names_of_sets() {
    std::string names;
    for (const base::parameters::ParameterSet& set : base::parameters::parameter_sets) {
        if (!names.empty()) names += ", ";
        names += set.name;
    }
    return names;
}

const base::parameters::ParameterSet& require_set(const std::string& name) {
    const auto* const set = base::parameters::set_named(name);
    if (set != nullptr) return *set;
    throw BadInput("set '" + name + "': expected one of " + names_of_sets());
}

std::vector<std::string> david_folders(std::size_t shards) {
    if (shards == 1) return {david_folder};
    std::vector<std::string> folders;
    for (std::size_t i = 0; i < shards; ++i) {
        folders.emplace_back(david_folder).append("-").append(std::to_string(i));
    }
    return folders;
}

Sha256 digest_of_half(const std::vector<Sha256>& shards) {
    if (shards.size() == 1) return shards.front();
    Sha256Stream stream;
    for (const Sha256& digest : shards) stream.append(std::as_bytes(std::span(digest)));
    return stream.finish();
}

}  // namespace slip::artifact::layout
