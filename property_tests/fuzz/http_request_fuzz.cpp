// Requests of HTTP/1.1: the same however they are cut in two.
#include "programs/endpoint/parsing/http.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::http_request_fuzz {
namespace {

using namespace endpoint;

constexpr RequestLimits limits{.head = 512, .body = 256};

/// What one request is, and how many bytes it took; empty if it is not complete.
std::string read(std::string_view text, std::size_t first) {
    RequestParser parser(limits);
    std::string buffer;
    std::size_t used = 0;
    for (const std::string_view part : {text.substr(0, first), text.substr(first)}) {
        buffer += part;
        for (std::size_t taken = 1; taken > 0 && !parser.complete();) {
            taken = parser.put(buffer);
            expect(taken <= buffer.size(), "more bytes are taken than there are");
            buffer.erase(0, taken);
            used += taken;
        }
    }
    if (!parser.complete()) return {};
    const HttpRequest request = parser.request();
    expect(request.body.size() <= limits.body, "a body is beyond its limit");
    std::string all = request.method + ' ' + request.path + '\n';
    for (const auto& [name, value] : request.fields) all += name + ':' + value + '\n';
    return all + request.body + '#' + std::to_string(used);
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    return {bytes_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            bytes_of("POST /a?b HTTP/1.0\r\nContent-Length: 2\r\nA:b\r\n\r\n{}")};
}

bool check(std::span<const std::byte> input) {
    const std::string_view text = text_of(input);
    const std::size_t middle = text.empty() ? 0 : static_cast<unsigned char>(text[0]) % text.size();
    std::string whole;
    std::string cut;
    const bool accepted = accepts<HttpError>([&] { whole = read(text, text.size()); });
    const bool cut_accepted = accepts<HttpError>([&] { cut = read(text, middle); });
    if (accepted && cut_accepted) expect(whole == cut, "a request depends on how it was cut");
    expect(whole.empty() || cut_accepted, "a request is refused because it was cut");
    expect(cut.empty() || accepted, "a request is accepted because it was cut");
    return !whole.empty();
}

const Target target{"http_request_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::http_request_fuzz
