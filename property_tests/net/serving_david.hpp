// What the tests of every kind of server share: a David who serves, and a Charlie with a connection
// of his own.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "property_tests/generators/transport_ends.hpp"
#include "slip/david.hpp"

namespace slip::testing {

/// A David whose `Server`, a TlsServer or a SharedMemoryServer, runs in a thread of its own.
template <class Server>
class ServingDavid {
public:
    /// `place`: what the server takes before its options.
    template <class... Place>
    explicit ServingDavid(const Model& model, const DavidOptions& options, const Place&... place)
        : model_(model),
          server_(
              place..., options, [this](Transport& transport) { serve(transport); },
              [this](const std::string& line) {
                  const std::lock_guard lock(mutex_);
                  lines_.push_back(line);
                  reported_.notify_all();
              }),
          thread_([this] { server_.run(); }) {}
    ServingDavid(const ServingDavid&) = delete;
    ServingDavid& operator=(const ServingDavid&) = delete;
    ~ServingDavid() { stop(); }

    void stop() {
        server_.stop();
        if (thread_.joinable()) thread_.join();
    }
    /// Waits until a reported line contains `text`.
    bool reports(const std::string& text) {
        std::unique_lock lock(mutex_);
        return reported_.wait_for(lock, generous, [&] {
            return std::any_of(lines_.begin(), lines_.end(), [&](const std::string& line) {
                return line.find(text) != std::string::npos;
            });
        });
    }
    std::vector<std::string> lines() {
        const std::lock_guard lock(mutex_);
        return lines_;
    }

    std::atomic<int> finished{0};  // sessions that ended in order

protected:
    Server& server() { return server_; }
    const Server& server() const { return server_; }

private:
    void serve(Transport& transport) {
        protocol::DavidSession session(model_.david);
        protocol::serve(session, transport);
        ++finished;
    }

    const Model& model_;
    std::mutex mutex_;
    std::condition_variable reported_;
    std::vector<std::string> lines_;
    Server server_;
    std::thread thread_;
};

/// Charlie with a connection of his own.
struct ConnectedCharlie {
    ConnectedCharlie(const Model& model, std::unique_ptr<Transport> connection)
        : transport(std::move(connection)), charlie(model, *transport, stock_of(4)) {}
    std::unique_ptr<Transport> transport;
    Charlie charlie;
};

inline bool works(ConnectedCharlie& client, const Model& model) {
    return gives_exact_products(client.charlie, model, 2);
}

/// Whether a Charlie over what `connect` returns works, once David has noticed that others are
/// gone.
template <class Connect>
bool works_soon(const Model& model, const Connect& connect) {
    for (int i = 0; i < 200; ++i) {
        try {
            ConnectedCharlie client(model, connect());
            return works(client, model);
        } catch (const ProtocolError&) {
            std::this_thread::sleep_for(20ms);
        }
    }
    return false;
}

}  // namespace slip::testing
