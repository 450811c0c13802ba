// One client: his requests, one after the other, and the answers. Private to this folder.
#pragma once

#include "programs/endpoint/net/stream.hpp"
//
#include <array>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "programs/endpoint/parsing/http.hpp"

namespace slip::endpoint {

class Connection;

/// What a connection needs of its server.
class ConnectionOwner {
public:
    virtual ~ConnectionOwner() = default;
    virtual const ServerOptions& options() const = 0;
    virtual RequestHandler& handler() = 0;
    /// Runs the work of a request with such a body, which throws nothing, in a thread where it may
    /// take a while, unless there is no body.
    virtual void run_elsewhere(std::size_t body_bytes, std::function<void()> work) = 0;
    /// Whether a connection ends after the answer that is under way.
    virtual bool draining() const = 0;
    virtual void closed(const Connection& connection) noexcept = 0;
};

/// Its functions are called in the server's thread, but for those of the reply.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(std::unique_ptr<Stream> stream, ConnectionOwner& owner);

    void start();
    void close() noexcept;
    /// The same, and the system forgets what the client has not taken yet.
    void give_up() noexcept;
    /// Whether no byte of a request is here, and no answer is under way.
    bool idle() const { return phase_ == Phase::idle; }
    /// Whether an answer is under way, or its client is given time to read it.
    bool answering() const { return phase_ == Phase::answering || phase_ == Phase::ending; }
    /// When it was opened, or the last answer ended.
    std::chrono::steady_clock::time_point without_request_since() const { return since_; }

    // Called by the reply to the request under way, in any thread.
    /// Sends bytes of the answer; `last`: there are no more. False if nobody reads them.
    bool output(std::string bytes, bool last);
    /// Whether the client is gone.
    bool gone();
    /// `ends`: the connection ends after the answer.
    void set_ends() { ends_ = true; }
    void on_gone(std::function<void()> gone);
    /// The reply was destroyed.
    void abandoned() noexcept;

private:
    enum class Phase { opening, idle, head, body, answering, ending, closed };

    template <class Work>
    void guarded(const Work& work);
    void failed() noexcept;
    void enter(Phase phase);
    void read();
    void received(std::size_t size);
    void take();
    HttpRequest request() const;
    void take_head();
    void dispatch();
    void refuse(const HttpResponse& response);
    void append(const std::string& bytes, bool last);
    void flush();
    void answered();
    void end();
    void tell_gone() noexcept;
    void arm(std::chrono::milliseconds limit);
    void watch_writing();

    std::unique_ptr<Stream> stream_;
    const std::string peer_;
    ConnectionOwner& owner_;
    boost::asio::steady_timer phase_timer_;
    boost::asio::steady_timer write_timer_;
    Phase phase_ = Phase::opening;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();

    RequestParser parser_;
    bool head_taken_ = false;
    bool reading_ = false;
    std::array<char, 16384> input_{};
    std::string unparsed_;

    bool writing_ = false;
    std::chrono::steady_clock::time_point write_until_;  // of the write under way, or the last one
    bool watching_ = false;                              // write_timer_ is set
    bool last_ = false;                                  // of the answer has been appended
    std::string queued_;                                 // behind what is being written
    std::string sending_;

    std::atomic<bool> ends_ = false;
    std::atomic<std::size_t> unread_ = 0;  // bytes given to output() and not sent yet
    std::mutex mutex_;                     // of what follows
    bool gone_ = false;
    std::function<void()> told_gone_;
};

}  // namespace slip::endpoint
