#include <iostream>

#include "programs/slip/command.hpp"
#include "programs/slip/options.hpp"
#include "slip/tls.hpp"

namespace slip::tool {

int keys(const Arguments& arguments) {
    Options options("keys --out TLS",
                    "Makes the certificates of one deployment: TLS/ca, TLS/charlie, TLS/david and "
                    "TLS/offline.\nGive each party its own folder and nothing else; keep TLS/ca "
                    "where no network reaches it.");
    options.add("out", "TLS", "folder to make; it must not exist");
    if (!options.parse(arguments)) return 0;
    const std::string out = options.required("out");
    make_keys(out);
    std::cout << "wrote " << out << "/ca, " << out << "/charlie, " << out << "/david and " << out
              << "/offline\n";
    return 0;
}

}  // namespace slip::tool
