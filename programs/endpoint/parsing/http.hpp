// Requests and answers of HTTP/1.1, as the endpoint sees them: without sockets.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slip::endpoint {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// A request, or its head while the body is empty.
struct HttpRequest {
    std::string method;        ///< "GET"
    std::string path;          ///< without the query; "*" in asterisk-form
    HttpFields fields;         ///< names in lower case; of absolute-form, Host is the target's
    std::string body;          ///< of the length that Content-Length states
    bool version_1_0 = false;  ///< of HTTP: the answer cannot be chunked
    bool keep_alive = false;   ///< whether the client wants the connection afterwards
    std::string peer;          ///< the client's address and port, for the operator

    /// The value of the field `name`, in lower case; empty if there is none.
    std::string_view field(std::string_view name) const;
};

/// ASCII letters; the others stay as they are.
std::string lower_case(std::string_view text);
/// The type in the value of Content-Type, in lower case, without parameters.
std::string media_type(std::string_view content_type);

/// An answer, or the head of one that is streamed.
struct HttpResponse {
    unsigned status = 200;
    std::string type = "application/json";  ///< Content-Type
    std::string body;
    HttpFields fields;  ///< besides those that every answer has
};

/// Thrown for a request that is not answered as it stands.
class HttpError : public std::runtime_error {
public:
    HttpError(unsigned status, const std::string& message)
        : std::runtime_error(message), status_(status) {}
    unsigned status() const { return status_; }  ///< 4xx

private:
    unsigned status_;
};

/// Where the answer to one request goes: send(), or begin(), write() and finish(). Used by one
/// thread at a time, and destroyed by any. Destroyed without an answer, or in the middle of one, it
/// closes the connection.
class Reply {
public:
    virtual ~Reply() = default;
    /// The whole answer.
    virtual void send(HttpResponse response) = 0;
    /// The head of an answer whose length is not known yet.
    virtual void begin(const HttpResponse& head) = 0;
    /// The next part of such an answer. Never waits. Returns false if nobody reads any more: the
    /// client is gone, or has not read what was written for him long ago.
    virtual bool write(std::string_view part) = 0;
    /// The end of such an answer.
    virtual void finish() = 0;
    /// Has `gone` called once, by any thread, if the client goes before the answer has ended;
    /// at once if he is gone already.
    virtual void on_gone(std::function<void()> gone) = 0;
};

/// What answers requests.
class RequestHandler {
public:
    virtual ~RequestHandler() = default;
    /// Sees a request's head before its body is read, so that nobody who is refused has it read.
    /// Returns the answer of a request that is refused. Must not wait.
    virtual std::optional<HttpResponse> refusal(const HttpRequest& head) = 0;
    /// The answer to a request of `peer` that could not be read.
    virtual HttpResponse unreadable(const HttpError& error, const std::string& peer) = 0;
    /// Sees a request whose client went before handle() was called. Must not wait.
    virtual void given_up(const HttpRequest& request) = 0;
    /// Answers, now or later. Called by several threads.
    virtual void handle(HttpRequest request, std::shared_ptr<Reply> reply) = 0;
    /// Sees what one of these functions or the server itself has thrown in what it did for `peer`,
    /// whose connection is closed; "" where it was for nobody. Called by several threads.
    virtual void failed(const std::exception_ptr& error, const std::string& peer) noexcept = 0;
};

/// How much a request may hold.
struct RequestLimits {
    std::size_t head = std::size_t{16} << 10;  ///< bytes, of the request line and all fields
    std::size_t body = std::size_t{1} << 20;   ///< bytes, decoded
};

/// Reads one request from bytes that come in pieces of any size.
class RequestParser {
public:
    explicit RequestParser(const RequestLimits& limits = {});
    RequestParser(RequestParser&&) noexcept;
    RequestParser& operator=(RequestParser&&) noexcept;
    ~RequestParser();

    /// Takes bytes from the beginning of `bytes` and returns how many: those that it leaves are to
    /// be given again, with more behind them, or belong to the next request. Throws HttpError: 400
    /// for what is no request of HTTP/1.0 or 1.1 or has a doubled field of some meaning, 413 and
    /// 431 for one beyond the limits.
    std::size_t put(std::string_view bytes);
    bool head_complete() const;
    bool complete() const;
    /// Whether the client waits for "100 Continue" before he sends the body.
    bool awaits_continue() const;
    /// What has been read: once the head is complete, without the body until that is.
    HttpRequest request() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The bytes of an answer's head. `length`: of the body; none: it is chunked, or ends with the
/// connection if that is HTTP/1.0.
std::string head_of(const HttpResponse& response, std::optional<std::size_t> length,
                    bool version_1_0, bool keep_alive);

/// `text` for HTML.
std::string escaped(std::string_view text);

}  // namespace slip::endpoint
