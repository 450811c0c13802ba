// The one file that knows Boost.Beast.
#include <utility>
// Boost 1.74's Asio needs <utility> before it.
#include <algorithm>
#include <array>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/optional.hpp>

#include "programs/endpoint/parsing/http.hpp"

namespace slip::endpoint {
namespace {

namespace beast_http = boost::beast::http;
using Parser = beast_http::request_parser<beast_http::string_body>;

/// Two of these would let two readers understand two requests.
constexpr std::array unique_fields{"host",           "authorization",     "content-type",
                                   "content-length", "transfer-encoding", "origin"};

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// What a request is for: SERVE-15; RFC 9112, 3.2.
struct Target {
    bool absolute = false;
    std::string_view authority;  // of absolute-form; it stands for the field Host
    std::string_view path;
};

Target read_target(std::string_view target) {
    Target read;
    const std::size_t scheme = target.find("://");
    const std::string name = lower_case(target.substr(0, std::min(scheme, target.size())));
    read.absolute = scheme != std::string_view::npos && (name == "http" || name == "https");
    if (read.absolute) {
        target.remove_prefix(scheme + 3);
        read.authority = target.substr(0, target.find_first_of("/?"));
        target.remove_prefix(read.authority.size());
    }
    read.path = target.substr(0, target.find('?'));
    if (read.absolute && read.path.empty()) read.path = "/";
    return read;
}

[[noreturn]] void refuse(const boost::system::error_code& error) {
    if (error == beast_http::error::header_limit) {
        throw HttpError(431, "the request's head is too long");
    }
    if (error == beast_http::error::body_limit) {
        throw HttpError(413, "the request's body is too long");
    }
    throw HttpError(400, "this is no request of HTTP/1.1: " + error.message());
}

}  // namespace

struct RequestParser::State {
    /// Takes no byte behind the head. Beast's limit is for what one call is given, so a head that
    /// comes in pieces could be of any length.
    std::size_t put_head(boost::asio::const_buffer bytes, boost::system::error_code& error) {
        parser.eager(false);
        const std::size_t used = parser.put(bytes, error);
        parser.eager(true);
        head_bytes += used;
        const std::size_t begun = parser.is_header_done() ? 0 : bytes.size() - used;
        if (head_bytes + begun > head_limit) error = beast_http::error::header_limit;
        return used;
    }

    Parser parser;
    std::size_t head_limit = 0;
    std::size_t head_bytes = 0;
};

RequestParser::RequestParser(const RequestLimits& limits) : state_(std::make_unique<State>()) {
    state_->parser.header_limit(static_cast<std::uint32_t>(limits.head));
    state_->parser.body_limit(limits.body);
    state_->head_limit = limits.head;
}
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view bytes) {
    if (bytes.empty() || complete()) return 0;
    boost::system::error_code error;
    const bool had_head = head_complete();
    const boost::asio::const_buffer buffer(bytes.data(), bytes.size());
    std::size_t used =
        had_head ? state_->parser.put(buffer, error) : state_->put_head(buffer, error);
    if (error && error != beast_http::error::need_more) refuse(error);
    if (!had_head && head_complete()) {
        for (const char* name : unique_fields) {
            if (state_->parser.get().count(name) > 1) {
                throw HttpError(400, std::string("the field ") + name + " stands twice");
            }
        }
        const Target target = read_target(view(state_->parser.get().target()));
        if (target.absolute && target.authority.empty()) {
            throw HttpError(400, "the request's target names no host");
        }
        // The sizes and trailers of chunks would need limits of their own, beside the body's.
        if (state_->parser.get().count(beast_http::field::transfer_encoding) > 0) {
            throw HttpError(411, "expected Content-Length: a body has a stated length");
        }
        used += put(bytes.substr(used));
    }
    return used;
}

bool RequestParser::head_complete() const { return state_->parser.is_header_done(); }

bool RequestParser::complete() const { return state_->parser.is_done(); }

bool RequestParser::awaits_continue() const {
    return head_complete() && !complete() &&
           lower_case(view(state_->parser.get()[beast_http::field::expect])) == "100-continue";
}

HttpRequest RequestParser::request() const {
    const auto& message = state_->parser.get();
    HttpRequest request;
    request.method = std::string(message.method_string());
    const Target target = read_target(view(message.target()));
    request.path = target.path;
    for (const auto& field : message) {
        std::string name = lower_case(view(field.name_string()));
        if (name == "host" && target.absolute) continue;
        request.fields.emplace_back(std::move(name), std::string(field.value()));
    }
    if (target.absolute) request.fields.emplace_back("host", target.authority);
    request.version_1_0 = message.version() < 11;
    request.keep_alive = message.keep_alive();
    if (complete()) request.body = message.body();
    return request;
}

}  // namespace slip::endpoint
