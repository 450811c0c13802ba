#include "programs/slip/support/evaluation_parts.hpp"

#include <filesystem>
#include <iostream>
#include <string>

#include "optimized/artifact/layout.hpp"
#include "programs/slip/support/model.hpp"
#include "slip/error.hpp"
#include "slip/version.hpp"

namespace slip::tool {
namespace {

namespace layout = artifact::layout;

/// Of an artifact Charlie's list of digests, which names David's half too; of a checkpoint its
/// files.
std::string model_digest(const Options& options) {
    if (!options.has("artifact")) return digest_of_files(options.required("model"));
    const std::filesystem::path artifact = options.required("artifact");
    return digest_of_files(artifact / layout::charlie_folder / layout::digests);
}

}  // namespace

void add_part_flags(Options& options) {
    options.group("Several processes, such as a job array");
    options.add("part", "I/N",
                "measure only the I-th of N parts, here or on another machine, and leave its "
                "result in the folder of --results; a part that is there already is not measured "
                "again");
    options.add("results", "DIR",
                "with --part: folder for the results of parts; alone, with the other options as "
                "each part had them: check that all parts are there and print what they found, as "
                "if one process had measured it");
}

std::optional<Measured> measured_in_parts(
    const Options& options, nlohmann::json request,
    const std::function<Measured(const std::optional<Part>&)>& measure) {
    if (!options.has("results")) {
        options.forbid("part", "without --results");
        return measure(std::nullopt);
    }
    request["version"] = SLIP_VERSION;
    request["model"] = model_digest(options);
    request["engine"] = engine_of(options);
    const ResultParts parts(options.required("results"), std::move(request));
    if (!options.has("part")) return parts.read();
    const Part part = part_named(options.required("part"));
    parts.make_folder();
    const bool is_there = parts.has(part);
    if (!is_there) parts.write(part, measure(part));
    std::cout << (is_there ? "had finished part " : "finished part ") << part.number << " of "
              << part.count << "; when all are, run the same command without --part\n";
    return std::nullopt;
}

}  // namespace slip::tool
