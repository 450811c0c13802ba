#include "programs/endpoint/parsing/http.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace slip::endpoint {
namespace {

const char* reason_of(unsigned status) {
    switch (status) {
        case 200:
            return "OK";
        case 204:
            return "No Content";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 411:
            return "Length Required";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 421:
            return "Misdirected Request";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        default:  // RFC 9112 lets a reason be empty
            return "";
    }
}

/// As RFC 9110 writes it.
std::string time_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 40> text{};
    return {text.data(),
            std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    return lower;
}

std::string media_type(std::string_view content_type) {
    constexpr std::string_view blanks = " \t";
    content_type = content_type.substr(0, content_type.find(';'));
    const std::size_t end = content_type.find_last_not_of(blanks);
    return lower_case(content_type.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

std::string_view HttpRequest::field(std::string_view name) const {
    for (const auto& [own, value] : fields) {
        if (own == name) return value;
    }
    return {};
}

std::string head_of(const HttpResponse& response, std::optional<std::size_t> length,
                    bool version_1_0, bool keep_alive) {
    std::string head = "HTTP/1.1 " + std::to_string(response.status) + ' ' +
                       reason_of(response.status) + "\r\nDate: " + time_now() + "\r\n";
    const auto add = [&](std::string_view name, std::string_view value) {
        head.append(name).append(": ").append(value).append("\r\n");
    };
    if (response.status != 204) {
        add("Content-Type", response.type);
        if (length) {
            add("Content-Length", std::to_string(*length));
        } else if (!version_1_0) {
            add("Transfer-Encoding", "chunked");
        }
    }
    add("Cache-Control", "no-store");
    add("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.fields) add(name, value);
    const bool stays = keep_alive && (length || !version_1_0);
    if (!stays) add("Connection", "close");
    if (stays && version_1_0) add("Connection", "keep-alive");
    return head + "\r\n";
}

std::string escaped(std::string_view text) {
    std::string html;
    for (const char letter : text) {
        switch (letter) {
            case '&':
                html += "&amp;";
                break;
            case '<':
                html += "&lt;";
                break;
            case '>':
                html += "&gt;";
                break;
            case '"':
                html += "&quot;";
                break;
            default:
                html += letter;
        }
    }
    return html;
}

}  // namespace slip::endpoint
