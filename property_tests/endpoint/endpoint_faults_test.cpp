// Errors of the server's own in what it does for one client: he gets 500 or his connection ends,
// and the others are served on.
// test: threads, alone
// links: slip_endpoint slip_endpoint_net
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "programs/endpoint/net/server.hpp"
#include "programs/endpoint/service.hpp"
#include "property_tests/endpoint/http_client.hpp"
#include "property_tests/generators/deadline.hpp"

namespace slip::endpoint {
namespace {

std::string get(const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

std::string post(const std::string& path) {
    return "POST " + path +
           " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
}

/// Throws in the function that a request's path names; answers the others.
class Handler : public RequestHandler {
public:
    std::optional<HttpResponse> refusal(const HttpRequest& head) override {
        if (head.path == "/refusal") throw std::bad_alloc();
        return {};
    }
    HttpResponse unreadable(const HttpError& /*error*/, const std::string& /*peer*/) override {
        throw std::bad_alloc();
    }
    void given_up(const HttpRequest& /*request*/) override { throw std::runtime_error("given up"); }
    void handle(HttpRequest request, std::shared_ptr<Reply> reply) override {
        if (request.path == "/handle") throw 1;  // not even a std::exception
        if (request.path == "/within") {
            reply->begin({200, "text/plain", "", {}});
            reply->write("begun");
            throw std::bad_alloc();
        }
        if (request.path == "/gone") {
            reply->on_gone([] { throw std::bad_alloc(); });
            const std::lock_guard lock(mutex_);
            kept_.push_back(std::move(reply));
            return;
        }
        if (!request.body.empty()) go_on_.wait();
        reply->send({200, "text/plain", request.path, {}});
    }
    void failed(const std::exception_ptr& /*error*/, const std::string& peer) noexcept override {
        EXPECT_TRUE(peer.starts_with("127.0.0.1:")) << peer;
        ++failures;
    }
    void go_on() { go_on_.release(); }
    /// Replies do not outlive the server.
    void forget() {
        const std::lock_guard lock(mutex_);
        kept_.clear();
    }

    std::atomic<int> failures = 0;

private:
    class Gate {
    public:
        void wait() {
            while (!open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        void release() { open_ = true; }

    private:
        std::atomic<bool> open_ = false;
    } go_on_;
    std::mutex mutex_;
    std::vector<std::shared_ptr<Reply>> kept_;
};

struct EndpointFaults : ::testing::Test {
    void TearDown() override { handler.forget(); }
    void wait_for(const std::function<bool()>& condition) const {
        while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    void expect_served() const {
        const Client client(server);
        client.send(get("/good"));
        EXPECT_TRUE(client.receive().ends_with("\r\n\r\n/good"));
    }

    const testing::Deadline deadline{};
    Handler handler;
    Server server{{"127.0.0.1", "0"}, {}, handler};
};

TEST_F(EndpointFaults, SERVE_9_what_a_handler_throws_ends_one_connection) {
    const Client other(server);  // whose request is incomplete meanwhile
    other.send("GET /oth");
    int failures = 0;
    for (const std::string& request :
         {get("/refusal"), std::string("no request\r\n\r\n"), get("/handle"), post("/handle")}) {
        const Client client(server);
        client.send(request);
        EXPECT_EQ(client.receive(), "") << request;
        ++failures;
        wait_for([&] { return handler.failures == failures; });
        expect_served();
    }
    const Client within(server);
    within.send(get("/within"));
    EXPECT_EQ(within.receive().find("\r\n0\r\n"), std::string::npos) << "it is not told as whole";
    wait_for([&] { return handler.failures == failures + 1; });
    other.send("er HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(other.receive().ends_with("/other"));
}

TEST_F(EndpointFaults, SERVE_9_so_does_what_is_thrown_when_a_client_has_gone) {
    {
        const Client client(server);
        client.send(get("/gone"));
        wait_for([&] { return server.connections() == 1; });
        expect_served();  // by the same thread, later
    }
    wait_for([&] { return handler.failures == 1; });
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<Client>(server));
        clients.back()->send(post("/slow"));
    }
    wait_for([&] { return server.connections() == 4; });
    clients.clear();
    wait_for([&] { return server.connections() == 0; });
    handler.go_on();
    // At least those that no thread had taken, of which there are two.
    wait_for([&] { return handler.failures >= 3; });
    expect_served();
}

/// A service whose Davids' state cannot be had: /metrics and the page fail.
struct EndpointDefects : ::testing::Test {
    ServiceOptions options() {
        ServiceOptions options;
        options.model = "tiny";
        options.hosts = {"127.0.0.1", "localhost"};
        options.davids = [this]() -> std::vector<DavidState> {
            if (good) return {};
            throw std::runtime_error("a secret prompt");
        };
        options.defect = [this](const std::string& kind, const std::string& peer) {
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(peer.starts_with("127.0.0.1:")) << peer;
            kinds.push_back(kind);
        };
        options.told = [this](const RequestLine& line) {
            const std::lock_guard lock(mutex);
            statuses.push_back(line.status);
        };
        return options;
    }
    std::string ask(const std::string& path) const {
        const Client client(server);
        client.send(get(path));
        return client.receive();
    }

    const testing::Deadline deadline{};
    std::atomic<bool> good = false;
    std::mutex mutex;
    std::vector<std::string> kinds;
    std::vector<unsigned> statuses;
    Service service{options()};
    Server server{{"127.0.0.1", "0"}, {}, service};
};

TEST_F(EndpointDefects, SERVE_9_SERVE_12_a_defect_is_answered_told_of_and_counted) {
    for (const char* path : {"/metrics", "/"}) {
        const std::string answer = ask(path);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 Internal Server Error\r\n")) << answer;
        EXPECT_NE(answer.find(R"("type":"server_error","param":null,"code":"internal_error")"),
                  std::string::npos)
            << answer;
        EXPECT_EQ(answer.find("secret"), std::string::npos) << "THREAT-3";
        EXPECT_NE(ask("/v1/models").find("\"tiny\""), std::string::npos);
    }
    good = true;
    EXPECT_NE(ask("/metrics").find("\nslip_defects_total 2\n"), std::string::npos);
    server.drain();
    server.finish();
    EXPECT_EQ(kinds, std::vector<std::string>(2, "std::runtime_error"));
    EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 500U), 2);
}

}  // namespace
}  // namespace slip::endpoint
