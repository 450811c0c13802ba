// Requests of HTTP/1.1 that come in pieces.
// test: alone
// links: slip_requests
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "programs/endpoint/parsing/http.hpp"

namespace slip::endpoint {
namespace {

const std::string post =
    "POST /v1/completions?x=1 HTTP/1.1\r\nHost: localhost:80\r\nContent-Type: application/json\r\n"
    "Content-Length: 5\r\n\r\nhello";
const std::string chunked =
    "POST / HTTP/1.1\r\nhOST: a\r\nTransfer-Encoding: "
    "chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";

/// What remains of `text` when one request has been read from it, `step` bytes at a time.
std::string read(RequestParser& parser, const std::string& text, std::size_t step) {
    std::string buffer;
    std::size_t next = 0;
    while (!parser.complete() && (next < text.size() || !buffer.empty())) {
        const std::size_t before = buffer.size();
        buffer += text.substr(next, step);
        next = std::min(text.size(), next + step);
        buffer.erase(0, parser.put(buffer));
        if (buffer.size() == before && next == text.size()) break;
    }
    return buffer + text.substr(next);
}

unsigned status_of(const std::string& text, const RequestLimits& limits = {},
                   std::size_t step = 1U << 20) {
    RequestParser parser(limits);
    try {
        read(parser, text, step);
    } catch (const HttpError& error) {
        return error.status();
    }
    return parser.complete() ? 200 : 0;
}

RC_GTEST_PROP(HttpRequest, SERVE_8_pieces_change_nothing, ()) {
    const auto step = *rc::gen::inRange<std::size_t>(1, 200);
    RequestParser parser;
    RC_ASSERT(read(parser, post + "GET / HTT", step) == "GET / HTT");
    RC_ASSERT(parser.complete());
    RC_ASSERT(parser.request().body == "hello");
}

TEST(HttpRequest, a_request_has_its_parts) {
    RequestParser parser;
    EXPECT_EQ(read(parser, post, post.size()), "");
    const HttpRequest request = parser.request();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v1/completions");
    EXPECT_EQ(request.field("host"), "localhost:80");
    EXPECT_EQ(request.field("content-type"), "application/json");
    EXPECT_EQ(request.field("none"), "");
    EXPECT_TRUE(request.keep_alive);
    EXPECT_FALSE(request.version_1_0);
}

TEST(HttpRequest, SERVE_15_the_authority_of_a_target_stands_for_the_host) {
    const auto request = [](const std::string& target) {
        RequestParser parser;
        const std::string head = "GET " + target + " HTTP/1.1\r\nHost: other\r\n\r\n";
        EXPECT_EQ(read(parser, head, 7), "");
        return parser.request();
    };
    for (const char* target : {"http://a:1/b?c=http://d/", "HTTPS://a:1/b"}) {
        EXPECT_EQ(request(target).path, "/b");
        EXPECT_EQ(request(target).field("host"), "a:1");
        EXPECT_EQ(request(target).fields.size(), 1U);
    }
    EXPECT_EQ(request("http://a").path, "/");
    EXPECT_EQ(request("http://a?x").path, "/");
    for (const char* target : {"/x?y=http://a/b", "/http://a/b", "*", "ftp://a/b"}) {
        const std::string path(target);
        EXPECT_EQ(request(target).path, path.substr(0, path.find('?')));
        EXPECT_EQ(request(target).field("host"), "other");
    }
    RequestParser parser;
    EXPECT_THROW(read(parser, "GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n", 7), HttpError);
    EXPECT_EQ(parser.request().field("host"), "") << "who is refused is still asked how he asked";
}

TEST(HttpRequest, SERVE_15_media_types_have_no_case_and_parameters_do_not_count) {
    for (const char* type : {"application/json", "Application/JSON", "application/json; charset=x",
                             "application/json;x", "application/json \t ;x=\"y\""}) {
        EXPECT_EQ(media_type(type), "application/json") << type;
    }
    for (const char* type : {"", ";application/json", "text/plain; application/json",
                             "application/json x", "application/jsonl"}) {
        EXPECT_NE(media_type(type), "application/json") << type;
    }
}

TEST(HttpRequest, the_head_is_there_before_the_body) {
    RequestParser parser;
    const std::string head =
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    const std::string rest = head.substr(parser.put(head.substr(0, 30)));
    EXPECT_FALSE(parser.head_complete());
    EXPECT_EQ(read(parser, rest, rest.size()), "");
    EXPECT_TRUE(parser.head_complete());
    EXPECT_TRUE(parser.awaits_continue());
    EXPECT_FALSE(parser.complete());
    EXPECT_EQ(parser.request().field("host"), "a");
}

TEST(HttpRequest, SERVE_8_what_two_readers_could_read_in_two_ways_is_refused) {
    const std::string begin = "POST / HTTP/1.1\r\nHost: a\r\n";
    EXPECT_EQ(status_of(begin + "Content-Length: 0\r\n\r\n"), 200U);
    for (const char* fields :
         {"Host: b\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n",
          "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", "Content-Length: +1\r\n",
          "Content-Length: 99999999999999999999\r\n", "Content-Type: a\r\nContent-Type: b\r\n",
          "Authorization: a\r\nAuthorization: b\r\n", "X : y\r\n"}) {
        EXPECT_EQ(status_of(begin + fields + "\r\n0\r\n\r\n"), 400U) << fields;
    }
    for (const char* line : {"GET / HTTP/2.0\r\n\r\n", "GET /\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n",
                             "G\x01T / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\n\n"}) {
        EXPECT_NE(status_of(line), 200U) << line;
    }
}

TEST(HttpRequest, SERVE_8_limits) {
    const RequestLimits limits{.head = 100, .body = 10};
    const auto with = [](std::size_t head, std::size_t body) {
        return "POST / HTTP/1.1\r\nX: " + std::string(head, 'x') +
               "\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n" + std::string(body, 'y');
    };
    EXPECT_EQ(status_of(with(20, 10), limits), 200U);
    EXPECT_EQ(status_of(with(100, 10), limits), 431U);
    EXPECT_EQ(status_of(std::string(200, 'x'), limits), 431U);
    EXPECT_EQ(status_of(with(20, 11), limits), 413U);
    // The sizes and trailers of chunks could go on without end.
    for (const std::size_t step : {std::size_t{1}, chunked.size()}) {
        EXPECT_EQ(status_of(chunked, limits, step), 411U);
    }
}

/// Fields that are complete leave the buffer, and count all the same.
TEST(HttpRequest, SERVE_8_a_head_in_pieces_has_the_same_limit) {
    std::string head = "GET / HTTP/1.1\r\n";
    while (head.size() < 300) head += "A: field\r\n";
    head += "\r\n";
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{100}, head.size()}) {
        EXPECT_EQ(status_of(head, {.head = head.size()}, step), 200U) << step;
        EXPECT_EQ(status_of(head, {.head = head.size() - 1}, step), 431U) << step;
    }
}

TEST(HttpResponse, SERVE_15_every_status_that_is_sent_has_its_reason) {
    const std::pair<unsigned, const char*> reasons[] = {{403, "Forbidden"},
                                                        {411, "Length Required"},
                                                        {421, "Misdirected Request"},
                                                        {500, "Internal Server Error"},
                                                        {503, "Service Unavailable"}};
    for (const auto& [status, reason] : reasons) {
        const std::string head = head_of({status, "", "", {}}, 0, false, true);
        EXPECT_TRUE(head.starts_with("HTTP/1.1 " + std::to_string(status) + ' ' + reason + "\r\n"))
            << head;
    }
}

TEST(HttpResponse, heads) {
    HttpResponse response{200, "text/plain", "", {{"A", "b"}}};
    const std::string whole = head_of(response, 3, false, true);
    EXPECT_TRUE(whole.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << whole;
    EXPECT_NE(whole.find("\r\nContent-Length: 3\r\n"), std::string::npos);
    EXPECT_NE(whole.find("\r\nA: b\r\n\r\n"), std::string::npos);
    EXPECT_NE(head_of(response, std::nullopt, false, true).find("Transfer-Encoding: chunked"),
              std::string::npos);
    const std::string old = head_of(response, std::nullopt, true, true);
    EXPECT_EQ(old.find("chunked"), std::string::npos);
    EXPECT_NE(old.find("Connection: close"), std::string::npos);
    EXPECT_EQ(escaped("<a b=\"&\">"), "&lt;a b=&quot;&amp;&quot;&gt;");
}

}  // namespace
}  // namespace slip::endpoint
