#include <iostream>

#include "programs/slip/command.hpp"
#include "programs/slip/support/options.hpp"
#include "slip/error.hpp"
#include "slip/tls.hpp"

namespace slip::tool {

int keys(const Arguments& arguments) {
    Options options(
        "keys --out TLS | --renew TLS",
        "Makes the certificates of one deployment: TLS/ca, TLS/charlie and TLS/david.\n"
        "Give each party its own folder and nothing else: TLS/charlie to the trusted "
        "machine (Charlie), TLS/david to the untrusted one (David). Keep TLS/ca where no network "
        "reaches it.");
    options.example("slip keys --out tls");
    options.add("out", "TLS", "folder to make; it must not exist");
    options.add("renew", "TLS",
                "folder that was made before: TLS/charlie and TLS/david get new certificates, for "
                "two years, from the same authority and for the same keys; give each party its new "
                "cert.pem, and start David again");
    if (!options.parse(arguments)) return 0;
    if (options.has("renew")) {
        options.forbid("out", "beside --renew");
        const std::string folder = options.required("renew");
        renew_keys(folder);
        std::cout << "renewed the certificates in " << folder << "\n";
        return 0;
    }
    if (!options.has("out")) throw BadInput("--out or --renew is missing; see --help");
    const std::string out = options.required("out");
    make_keys(out);
    std::cout << "wrote " << out << "/ca (for nobody's machine), " << out
              << "/charlie (for the trusted one, Charlie) and " << out
              << "/david (for the untrusted one, David)\n";
    return 0;
}

}  // namespace slip::tool
