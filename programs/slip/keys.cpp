#include <iostream>

#include "programs/slip/command.hpp"
#include "programs/slip/options.hpp"
#include "slip/tls.hpp"

namespace slip::tool {

int keys(const Arguments& arguments) {
    Options options("keys --out TLS",
                    "Makes the certificates of one deployment: TLS/ca, TLS/charlie and TLS/david. "
                    "Give each\nparty its own folder and nothing else; keep TLS/ca offline.");
    options.add("out", "TLS", "folder to make; it must not exist");
    if (!options.parse(arguments)) return 0;
    const std::string out = options.required("out");
    make_keys(out);
    std::cout << "wrote " << out << "/ca, " << out << "/charlie and " << out << "/david\n";
    return 0;
}

}  // namespace slip::tool
