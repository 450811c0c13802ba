// Connections of HTTP/1.1 over real sockets, and a handler that takes as long as a test wants.
// test: threads, alone
// links: slip_endpoint_net
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "programs/endpoint/net/server.hpp"
#include "property_tests/endpoint/http_client.hpp"
#include "property_tests/generators/deadline.hpp"

namespace slip::endpoint {
namespace {

/// Answers what has a body when it is let go, and everything else at once.
class Handler : public RequestHandler {
public:
    std::optional<HttpResponse> refusal(const HttpRequest& /*head*/) override { return {}; }
    void given_up(const HttpRequest& /*request*/) override { ++dropped; }
    void failed(const std::exception_ptr& /*error*/,
                const std::string& /*peer*/) noexcept override {
        ADD_FAILURE() << "nothing is thrown here";
    }
    HttpResponse unreadable(const HttpError& error, const std::string& /*peer*/) override {
        return {error.status(), "", "", {}};
    }
    void handle(HttpRequest request, std::shared_ptr<Reply> reply) override {
        if (!request.body.empty()) {
            ++begun;
            go_on_.wait();
        }
        reply->send({200, "text/plain", request.path, {}});
    }
    void go_on() { release_.set_value(); }

    std::atomic<int> begun = 0;  // of those with a body
    std::atomic<int> dropped = 0;

private:
    std::promise<void> release_;
    std::shared_future<void> go_on_ = release_.get_future().share();
};

const std::string post =
    "POST /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
const std::string get = "GET /quick HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// More bodies than there are threads for them.
struct Busy {
    Busy() {
        for (int i = 0; i < 6; ++i) {
            clients.push_back(std::make_unique<Client>(server));
            clients.back()->send(post);
        }
        while (handler.begun < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    const testing::Deadline deadline{};
    Handler handler;
    Server server{{"127.0.0.1", "0"}, {}, handler};
    std::vector<std::unique_ptr<Client>> clients;
};

TEST(EndpointServer, SERVE_8_what_has_no_body_waits_for_no_body) {
    Busy busy;
    const Client client(busy.server);
    client.send(get);
    const std::string answer = client.receive();
    EXPECT_TRUE(answer.ends_with("\r\n\r\n/quick")) << answer;
    EXPECT_EQ(busy.handler.begun, 2) << "the bodies still wait";
    busy.handler.go_on();
    for (const auto& each : busy.clients) EXPECT_TRUE(each->receive().ends_with("/slow"));
    EXPECT_EQ(busy.handler.begun, 6);
}

TEST(EndpointServer, SERVE_8_a_client_who_has_gone_meanwhile_is_not_handled) {
    Busy busy;
    busy.clients.clear();
    while (busy.server.connections() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    busy.handler.go_on();
    busy.server.drain();
    busy.server.finish();
    EXPECT_EQ(busy.handler.begun, 2);
    EXPECT_EQ(busy.handler.dropped, 4) << "SERVE-12: of these there are lines as well";
}

}  // namespace
}  // namespace slip::endpoint
