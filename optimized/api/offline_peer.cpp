#include "optimized/api/offline_peer.hpp"

#include "slip/error.hpp"

namespace slip::api {

Connect connect_offline(const std::string& text, const std::string& flag, const Endpoint* david,
                        const std::filesystem::path& certificates, const TimeLimits& limits) {
    const Endpoint endpoint = parse_endpoint(text, flag);
    if (david != nullptr && describe(endpoint) == describe(*david)) {
        throw BadInput(flag + " " + text +
                       ": is David, who would see masks and what they mask: expected another "
                       "endpoint than his");
    }
    return [=] {
        return connect_tls_at_first_use(endpoint, certificates, limits, ServerRole::offline);
    };
}

}  // namespace slip::api
