#include "programs/slip/check_vectors.hpp"

#include <fstream>
#include <iostream>

#include "programs/slip/command.hpp"
#include "programs/slip/options.hpp"
#include "programs/slip/progress.hpp"
#include "programs/slip/state_flag.hpp"
#include "slip/error.hpp"

namespace slip::tool {

void prepare(const std::string& command, const std::filesystem::path& artifact,
             CheckVectorOptions options) {
    {
        Progress progress("slip " + command + ": check vectors, groups");
        options.progress = [&](std::size_t done, std::size_t groups) {
            progress.update(done, groups);
        };
        prepare_check_vectors(artifact, options);
    }
    std::cerr << "slip " << command << ": prepared check vectors for " << options.count
              << (options.count == 1 ? " session" : " sessions at a time") << " in "
              << options.state.string() << '\n';
}

int check_vectors(const Arguments& arguments) {
    Options options("check-vectors --artifact OUT --count N [--weights FILE|-] [--state DIR]",
                    "Prepares check vectors, with which a session opens at once. One that ended "
                    "well leaves them for\nthe next; after a rejected reply, or a crash, they are "
                    "deleted.");
    options.add("artifact", "OUT", "what 'slip split' wrote; with --weights OUT/charlie suffices");
    options.add("count", "N", "as many sessions as use them at one time, 1 to 1024");
    options.add("weights", "FILE",
                "David's david.safetensors, or - for standard input, read once and not kept "
                "(default: that of OUT/david)");
    add_state_flag(options);
    if (!options.parse(arguments)) return 0;
    const std::filesystem::path artifact = options.required("artifact");
    CheckVectorOptions wanted{state_folder(options),
                              static_cast<std::size_t>(options.number("count", 1, most_prepared))};
    std::ifstream file;
    if (options.has("weights") && options.required("weights") != "-") {
        file.open(options.required("weights"), std::ios::binary);
        if (!file) throw BadInput(options.required("weights") + ": cannot be opened");
        wanted.weights = &file;
    } else if (options.has("weights")) {
        wanted.weights = &std::cin;
    }
    prepare("check-vectors", artifact, wanted);
    return 0;
}

}  // namespace slip::tool
