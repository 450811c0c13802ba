#include "programs/endpoint/net/connection.hpp"
//
#include <boost/asio/post.hpp>
#include <cstdio>
#include <utility>

namespace slip::endpoint {
namespace {

namespace asio = boost::asio;

/// How long a client who has been told the end may go on sending, so that what he was told reaches
/// him: a socket that is closed with unread bytes takes back what was sent last.
constexpr std::chrono::milliseconds ending_limit{2000};

std::string peer_of(const Tcp::socket& socket) {
    ErrorCode error;
    const Tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return "unknown";
    return describe({peer.address().to_string(), std::to_string(peer.port())});
}

/// Answers through a connection. Each request has its own.
class ConnectionReply : public Reply {
public:
    ConnectionReply(std::shared_ptr<Connection> connection, const HttpRequest& request,
                    const ConnectionOwner& owner)
        : connection_(std::move(connection)),
          owner_(owner),
          head_only_(request.method == "HEAD"),
          version_1_0_(request.version_1_0),
          keep_alive_(request.keep_alive) {}
    ConnectionReply(const ConnectionReply&) = delete;
    ConnectionReply& operator=(const ConnectionReply&) = delete;
    ~ConnectionReply() override {
        if (!ended_) connection_->abandoned();
    }

    void send(HttpResponse response) override {
        std::string bytes = head(response, response.body.size());
        if (!head_only_) bytes += response.body;
        connection_->output(std::move(bytes), true);
        ended_ = true;
    }
    void begin(const HttpResponse& response) override {
        connection_->output(head(response, std::nullopt), false);
    }
    bool write(std::string_view part) override {
        if (part.empty() || head_only_) return true;
        if (version_1_0_) return connection_->output(std::string(part), false);
        std::array<char, 20> size{};
        const int digits = std::snprintf(size.data(), size.size(), "%zx\r\n", part.size());
        std::string chunk(size.data(), static_cast<std::size_t>(digits));
        chunk.append(part).append("\r\n");
        return connection_->output(std::move(chunk), false);
    }
    void finish() override {
        connection_->output(version_1_0_ || head_only_ ? "" : "0\r\n\r\n", true);
        ended_ = true;
    }
    void on_gone(std::function<void()> gone) override { connection_->on_gone(std::move(gone)); }

private:
    std::string head(const HttpResponse& response, std::optional<std::size_t> length) {
        const bool stays = keep_alive_ && !owner_.draining() && (length || !version_1_0_);
        if (!stays) connection_->set_ends();
        return head_of(response, length, version_1_0_, stays);
    }

    const std::shared_ptr<Connection> connection_;
    const ConnectionOwner& owner_;
    const bool head_only_;
    const bool version_1_0_;
    const bool keep_alive_;
    bool ended_ = false;
};

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, ConnectionOwner& owner)
    : stream_(std::move(stream)),
      peer_(peer_of(stream_->socket())),
      owner_(owner),
      phase_timer_(stream_->socket().get_executor()),
      write_timer_(stream_->socket().get_executor()),
      parser_(owner.options().request) {}

/// SERVE-9: what is thrown in what is done for this client ends his connection alone.
template <class Work>
void Connection::guarded(const Work& work) {
    try {
        work();
    } catch (...) {
        failed();
        close();
    }
}

/// In a handler of an exception.
void Connection::failed() noexcept { owner_.handler().failed(std::current_exception(), peer_); }

void Connection::start() {
    guarded([&] {
        arm(owner_.options().head);
        stream_->open([self = shared_from_this()](const ErrorCode& error, std::size_t) {
            if (error) return self->close();
            self->guarded([&] {
                self->enter(Phase::idle);
                self->read();
            });
        });
    });
}

void Connection::arm(std::chrono::milliseconds limit) {
    phase_timer_.expires_after(limit);
    phase_timer_.async_wait([weak = weak_from_this()](const ErrorCode& error) {
        if (error) return;
        const auto self = weak.lock();
        // It may have been armed anew when this call was on its way already.
        if (self && self->phase_timer_.expiry() <= std::chrono::steady_clock::now()) {
            self->give_up();
        }
    });
}

void Connection::enter(Phase phase) {
    if (phase_ == phase || phase_ == Phase::closed) return;
    phase_ = phase;
    const ServerOptions& options = owner_.options();
    switch (phase) {
        case Phase::idle:
            since_ = std::chrono::steady_clock::now();
            return arm(options.idle);
        case Phase::head:
            return arm(options.head);
        case Phase::body:
            return arm(options.body);
        case Phase::ending:
            return arm(ending_limit);
        default:
            // A call that is on its way sees that no time is up.
            phase_timer_.expires_at(std::chrono::steady_clock::time_point::max());
    }
}

/// Always reads, also during an answer, to notice a client who goes. What he sends meanwhile waits,
/// and is limited.
void Connection::read() {
    const RequestLimits& limits = owner_.options().request;
    if (reading_ || phase_ == Phase::closed || unparsed_.size() > limits.head) return;
    reading_ = true;
    stream_->read_some(asio::buffer(input_),
                       [self = shared_from_this()](const ErrorCode& error, std::size_t size) {
                           self->reading_ = false;
                           if (error) return self->close();
                           self->guarded([&] { self->received(size); });
                       });
}

void Connection::received(std::size_t size) {
    if (phase_ == Phase::ending) return read();
    unparsed_.append(input_.data(), size);
    take();
    read();
}

/// Takes as much of a request as is here.
void Connection::take() {
    if (answering() || phase_ == Phase::closed || unparsed_.empty()) return;
    if (phase_ == Phase::idle) enter(Phase::head);
    try {
        std::size_t used = 1;
        while (used > 0 && !unparsed_.empty() && !parser_.complete()) {
            used = parser_.put(unparsed_);
            unparsed_.erase(0, used);
            if (parser_.head_complete() && !head_taken_) {
                take_head();
                if (answering()) return;
            }
        }
    } catch (const HttpError& error) {
        return refuse(owner_.handler().unreadable(error, peer_));
    }
    if (parser_.complete()) dispatch();
}

HttpRequest Connection::request() const {
    HttpRequest request = parser_.request();
    request.peer = peer_;
    return request;
}

void Connection::take_head() {
    head_taken_ = true;
    if (const auto refusal = owner_.handler().refusal(request())) return refuse(*refusal);
    enter(Phase::body);
    if (!parser_.awaits_continue()) return;
    const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    unread_ += go_on.size();
    append(go_on, false);
}

/// Answers a request whose rest is not read.
void Connection::refuse(const HttpResponse& response) {
    enter(Phase::answering);
    set_ends();
    const HttpRequest asked = parser_.head_complete() ? request() : HttpRequest{};
    std::string bytes = head_of(response, response.body.size(), asked.version_1_0, false);
    if (asked.method != "HEAD") bytes += response.body;
    unread_ += bytes.size();
    append(bytes, true);
}

void Connection::dispatch() {
    enter(Phase::answering);
    HttpRequest asked = request();
    auto reply = std::make_shared<ConnectionReply>(shared_from_this(), asked, owner_);
    parser_ = RequestParser(owner_.options().request);
    head_taken_ = false;
    const std::size_t body = asked.body.size();
    owner_.run_elsewhere(body, [self = shared_from_this(), request = std::move(asked),
                                reply = std::move(reply)]() mutable {
        try {
            // While it waited for a thread.
            if (self->gone()) return self->owner_.handler().given_up(request);
            self->owner_.handler().handle(std::move(request), std::move(reply));
        } catch (...) {  // the reply is destroyed, which closes the connection
            self->failed();
        }
    });
}

bool Connection::gone() {
    const std::lock_guard lock(mutex_);
    return gone_;
}

bool Connection::output(std::string bytes, bool last) {
    const std::size_t unread = unread_ += bytes.size();
    const bool too_slow = !last && unread > owner_.options().unread;
    asio::post(stream_->socket().get_executor(),
               [self = shared_from_this(), bytes = std::move(bytes), last, too_slow] {
                   if (too_slow) return self->give_up();
                   self->guarded([&] { self->append(bytes, last); });
               });
    const std::lock_guard lock(mutex_);
    return !gone_ && !too_slow;
}

void Connection::append(const std::string& bytes, bool last) {
    if (phase_ == Phase::closed) return;
    queued_ += bytes;
    last_ = last_ || last;
    flush();
}

void Connection::flush() {
    if (writing_ || phase_ == Phase::closed) return;
    if (queued_.empty()) {
        if (last_) answered();
        return;
    }
    sending_ = std::exchange(queued_, {});
    writing_ = true;
    write_until_ = std::chrono::steady_clock::now() + owner_.options().write;
    watch_writing();
    stream_->write_all(asio::buffer(sending_),
                       [self = shared_from_this()](const ErrorCode& error, std::size_t size) {
                           self->writing_ = false;
                           if (error) return self->close();
                           self->unread_ -= size;
                           self->guarded([&] { self->flush(); });
                       });
}

/// One wait serves all writes that begin while it lasts: a timer that is set for each event of a
/// stream, and set back, would cost more calls of the system than the write itself.
void Connection::watch_writing() {
    if (watching_) return;
    watching_ = true;
    write_timer_.expires_at(write_until_);
    write_timer_.async_wait([weak = weak_from_this()](const ErrorCode& error) {
        const auto self = weak.lock();
        if (error || !self) return;
        self->watching_ = false;
        if (!self->writing_) return;
        if (self->write_until_ <= std::chrono::steady_clock::now()) return self->give_up();
        self->guarded([&] { self->watch_writing(); });
    });
}

void Connection::answered() {
    last_ = false;
    {
        const std::lock_guard lock(mutex_);
        told_gone_ = {};
    }
    if (ends_ || owner_.draining()) return end();
    enter(Phase::idle);
    take();
    read();
}

/// Says the end, and reads on for a moment.
void Connection::end() {
    enter(Phase::ending);
    unparsed_.clear();
    stream_->end([self = shared_from_this()](const ErrorCode& error, std::size_t) {
        if (error) return self->close();
        self->guarded([&] { self->read(); });
    });
}

void Connection::close() noexcept {
    if (phase_ == Phase::closed) return;
    phase_ = Phase::closed;
    ErrorCode ignored;
    phase_timer_.cancel(ignored);
    write_timer_.cancel(ignored);
    stream_->socket().close(ignored);
    tell_gone();
    owner_.closed(*this);
}

void Connection::give_up() noexcept {
    ErrorCode ignored;
    if (writing_) stream_->socket().set_option(asio::socket_base::linger(true, 0), ignored);
    close();
}

void Connection::tell_gone() noexcept {
    std::function<void()> gone;
    {
        const std::lock_guard lock(mutex_);
        gone_ = true;
        gone = std::exchange(told_gone_, {});
    }
    try {
        if (gone) gone();
    } catch (...) {
        failed();
    }
}

void Connection::on_gone(std::function<void()> gone) {
    {
        const std::lock_guard lock(mutex_);
        if (!gone_) {
            told_gone_ = std::move(gone);
            return;
        }
    }
    gone();
}

void Connection::abandoned() noexcept {
    try {
        asio::post(stream_->socket().get_executor(),
                   [self = shared_from_this()] { self->close(); });
    } catch (...) {  // no memory: the connection ends when its client goes
        failed();
    }
}

}  // namespace slip::endpoint
