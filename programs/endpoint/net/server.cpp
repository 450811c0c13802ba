#include "programs/endpoint/net/server.hpp"

#include "programs/endpoint/net/connection.hpp"
//
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <map>
#include <thread>
#include <utility>

#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

namespace asio = boost::asio;

/// Threads for requests with a body.
constexpr std::size_t handler_threads = 2;
/// Bytes of a body whose memory is worth giving back to the system.
constexpr std::size_t large_body = std::size_t{1} << 16;
/// What the kernel keeps for a client who does not read.
constexpr int kernel_buffer = 1 << 15;
/// Before the next attempt, if the system has no descriptor for a connection.
constexpr std::chrono::milliseconds accept_pause{100};

Tcp::endpoint address_of(const Endpoint& listen, asio::io_context& context, bool remote) {
    ErrorCode error;
    const auto found =
        Tcp::resolver(context).resolve(listen.host, listen.port, Tcp::resolver::passive, error);
    if (error) {
        throw BadInput("--listen " + describe(listen) + ": cannot be resolved (" + error.message() +
                       ")");
    }
    const Tcp::endpoint address = found.begin()->endpoint();
    if (!remote && !address.address().is_loopback()) {
        throw BadInput("--listen " + describe(listen) +
                       ": other machines reach this address: it needs --api-keys, and "
                       "--https-cert with --https-key");
    }
    return address;
}

}  // namespace

struct Server::State : ConnectionOwner {
    State(const Endpoint& listen, const ServerOptions& server_options, RequestHandler& handles)
        : options_(server_options), handler_(handles), acceptor_(io_), pause_(io_) {
        https_ = new_https();
        open(listen);
        thread_ = std::thread([this] { serve(); });
    }
    ~State() override {
        join();  // what they do is short
        asio::post(io_, [this] { stop(); });
        work_.reset();
        thread_.join();
    }

    /// SERVE-9: connections guard what is done for them; what is thrown elsewhere, in taking a new
    /// one, ends nothing.
    void serve() {
        while (true) {
            try {
                if (!accepting_ && acceptor_.is_open()) accept();
                io_.run();
                return;
            } catch (...) {
                handler_.failed(std::current_exception(), "");
            }
        }
    }

    std::shared_ptr<asio::ssl::context> new_https() const {
        if (!options_.https) return nullptr;
        return std::make_shared<asio::ssl::context>(https_context(*options_.https));
    }

    void open(const Endpoint& listen) {
        const Tcp::endpoint address = address_of(listen, io_, options_.remote);
        ErrorCode error;
        acceptor_.open(address.protocol(), error);
        if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
        if (!error) acceptor_.bind(address, error);
        if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
        if (error) throw BadInput("--listen " + describe(listen) + ": " + error.message());
        port_ = acceptor_.local_endpoint().port();
    }

    void accept() {
        acceptor_.async_accept([this](const ErrorCode& error, Tcp::socket socket) {
            accepting_ = false;
            if (!acceptor_.is_open()) return;
            if (!error) {
                admit(std::move(socket));
                return accept();
            }
            pause_.expires_after(accept_pause);
            pause_.async_wait([this](const ErrorCode& stopped) {
                accepting_ = false;
                if (!stopped && acceptor_.is_open()) accept();
            });
            accepting_ = true;
        });
        accepting_ = true;
    }

    void admit(Tcp::socket socket) {
        if (connections_.size() >= options_.connections && !make_room()) return;
        ErrorCode ignored;
        socket.set_option(Tcp::no_delay(true), ignored);
        socket.set_option(asio::socket_base::send_buffer_size(kernel_buffer), ignored);
        auto stream =
            https_ ? tls_stream(std::move(socket), https_) : plain_stream(std::move(socket));
        const auto connection = std::make_shared<Connection>(std::move(stream), *this);
        {
            const std::lock_guard lock(mutex_);
            connections_.emplace(connection.get(), connection);
        }
        connection->start();
    }

    /// SERVE-8: an idle connection, or else one whose request is not complete.
    bool make_room() {
        std::shared_ptr<Connection> longest;
        for (const auto& [address, each] : connections_) {
            if (each->answering()) continue;
            const auto rank = [](const Connection& one) {
                return std::pair(!one.idle(), one.without_request_since());
            };
            if (!longest || rank(*each) < rank(*longest)) longest = each;
        }
        if (longest) longest->close();
        return longest != nullptr;
    }

    /// Closes those for which `condition` holds.
    template <class Condition>
    void close_where(const Condition& condition) {
        const auto all = connections_;
        for (const auto& [address, each] : all) {
            if (condition(*each)) each->close();
        }
    }

    void stop() {
        ErrorCode ignored;
        acceptor_.close(ignored);
        pause_.cancel();
        close_where([](const Connection&) { return true; });
    }

    void drain() {
        draining_ = true;
        asio::post(io_, [this] {
            ErrorCode ignored;
            acceptor_.close(ignored);
            pause_.cancel();
            close_where([](const Connection& each) { return each.idle(); });
        });
    }

    void finish() {
        asio::post(
            io_, [this] { close_where([](const Connection& each) { return !each.answering(); }); });
        std::unique_lock lock(mutex_);
        all_closed_.wait(lock, [&] { return connections_.empty(); });
        lock.unlock();
        join();  // a client may have gone while his request was handled
    }

    void join() {
        workers_.join();
        quick_.join();
    }

    const ServerOptions& options() const override { return options_; }
    RequestHandler& handler() override { return handler_; }
    bool draining() const override { return draining_; }
    void run_elsewhere(std::size_t body_bytes, std::function<void()> work) override {
        if (body_bytes == 0) return asio::post(quick_, std::move(work));
        ++bodies_;
        asio::post(workers_, [this, body_bytes, work = std::move(work)]() mutable {
            std::exchange(work, {})();
            if (body_bytes >= large_body) had_large_body_ = true;
            // SERVE-8: what many large bodies took would stay with the allocator.
            if (--bodies_ == 0 && had_large_body_.exchange(false)) ::malloc_trim(0);
        });
    }
    void closed(const Connection& connection) noexcept override {
        const std::lock_guard lock(mutex_);
        connections_.erase(&connection);
        if (connections_.empty()) all_closed_.notify_all();
    }

    const ServerOptions options_;
    RequestHandler& handler_;
    std::shared_ptr<asio::ssl::context> https_;  // of new connections; null: without TLS
    asio::io_context io_;
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
    Tcp::acceptor acceptor_;
    bool accepting_ = false;  // or waiting to do so
    asio::steady_timer pause_;
    asio::thread_pool workers_{handler_threads};
    std::atomic<std::size_t> bodies_ = 0;  // that workers_ have not handled yet
    std::atomic<bool> had_large_body_ = false;
    asio::thread_pool quick_{1};  // of requests without a body, which wait for no prompt
    unsigned short port_ = 0;
    std::atomic<bool> draining_ = false;
    mutable std::mutex mutex_;  // changes of connections_, which is the server's thread's
    std::condition_variable all_closed_;
    std::map<const Connection*, std::shared_ptr<Connection>> connections_;
    std::thread thread_;
};

Server::Server(const Endpoint& listen, const ServerOptions& options, RequestHandler& handler)
    : state_(std::make_unique<State>(listen, options, handler)) {}

Server::~Server() = default;

unsigned short Server::port() const { return state_->port_; }

std::size_t Server::connections() const {
    const std::lock_guard lock(state_->mutex_);
    return state_->connections_.size();
}

void Server::reload() {
    boost::asio::post(state_->io_, [state = state_.get(), https = state_->new_https()] {
        state->https_ = https;
    });
}

void Server::drain() { state_->drain(); }

void Server::finish() { state_->finish(); }

void Server::close_all() {
    boost::asio::post(state_->io_, [state = state_.get()] { state->stop(); });
}

}  // namespace slip::endpoint
