#include "experiments/bench/serving/http.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "experiments/bench/machine.hpp"
#include "optimized/base/error.hpp"

namespace slip::bench {
namespace {

using base::require;

constexpr const char* model_name = "bench";

/// A connection to a port of this machine.
class Socket {
public:
    explicit Socket(unsigned short port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const auto* const general = reinterpret_cast<const sockaddr*>(&address);
        require(descriptor_ >= 0 && ::connect(descriptor_, general, sizeof address) == 0,
                "the endpoint cannot be reached");
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { ::close(descriptor_); }

    void send(std::string_view bytes) const {
        require(::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                    static_cast<::ssize_t>(bytes.size()),
                "a request cannot be sent");
    }
    /// Appends what has come to `bytes`; false at the end.
    bool receive(std::string& bytes) const {
        std::array<char, 4096> part{};
        const ::ssize_t size = ::recv(descriptor_, part.data(), part.size(), 0);
        require(size >= 0, "an answer breaks off");
        bytes.append(part.data(), static_cast<std::size_t>(size));
        return size > 0;
    }

private:
    const int descriptor_;
};

std::string request_for(TokenId prompt, std::size_t tokens) {
    const std::string body = std::string(R"({"model":")") + model_name + R"(","prompt":[)" +
                             std::to_string(prompt) + R"(],"max_tokens":)" +
                             std::to_string(tokens) + R"(,"temperature":0,"stream":true})";
    return "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Connection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// One client: asks, and tells the meter of every token when it has come.
void ask(unsigned short port, const std::string& request, std::size_t client, TokenMeter& meter) {
    constexpr std::string_view token = R"("finish_reason":null)";
    const Socket socket(port);
    socket.send(request);
    std::string answer;
    std::size_t read = 0;  // of the answer, up to the last token
    while (socket.receive(answer)) {
        for (std::size_t at; (at = answer.find(token, read)) != std::string::npos;) {
            meter.token(client);
            read = at + token.size();
        }
    }
    require(answer.find("data: [DONE]") != std::string::npos, "an answer is not complete");
}

endpoint::ServiceOptions service_options() {
    endpoint::ServiceOptions options;
    options.model = model_name;
    options.hosts = {"localhost"};
    return options;
}

}  // namespace

HttpContestant::HttpContestant(const WholeModel& whole, ServeContestant& contestant,
                               const ServeLengths& lengths)
    : whole_(whole),
      contestant_(contestant),
      tokens_(lengths.tokens),
      service_(service_options()),
      server_({"127.0.0.1", "0"}, {}, service_) {
    service_.open(contestant.scheduler(), nullptr, {});
}

double HttpContestant::decode(std::size_t generations) {
    TokenMeter meter(generations);
    std::atomic<bool> good = true;
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < generations; ++i) {
        const TokenId prompt = prompt_of(whole_, 1).front();
        clients.emplace_back([&, i, request = request_for(prompt, tokens_)] {
            try {
                bind_to_processor(whole_.another_processor);
                ask(server_.port(), request, i, meter);
            } catch (const std::exception&) {
                good = false;
            }
        });
    }
    for (std::thread& client : clients) client.join();
    require(good, "an answer over HTTP is not complete");
    contestant_.settle(generations);
    return meter.seconds_per_token(tokens_);
}

}  // namespace slip::bench
