// The endpoint: which request gets which answer (SERVE-5, SERVE-6).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "programs/endpoint/api_keys.hpp"
#include "programs/endpoint/client_seeds.hpp"
#include "programs/endpoint/counts.hpp"
#include "programs/endpoint/generation.hpp"
#include "programs/endpoint/parsing/http.hpp"

namespace slip::endpoint {

/// How a service answers.
struct ServiceOptions {
    std::string model;                ///< under which name clients ask for it
    std::string scheme = "http";      ///< or "https"
    std::set<std::string> hosts;      ///< in lower case, without port, that Host may hold; "*": any
    std::optional<ApiKeys> keys;      ///< none: everybody may ask
    std::set<std::string> operators;  ///< with keys: names that see what all ask (SERVE-6)
    std::string allowed_origin;       ///< of pages that may ask; empty: none
    bool receipts = true;             ///< SERVE-7
    bool log_probabilities = false;   ///< whether clients may see them (E-32)
    /// SERVE-10: with them, also of a chosen token that is not among the likeliest.
    bool unlikely_log_probabilities = false;
    bool grammars = false;     ///< clients may say which texts an answer may be (SERVE-10)
    bool plain_seeds = false;  ///< clients' seeds are used as they are (SERVE-10)
    /// Told of every request when its answer has ended.
    TellRequest told = {};
    /// Told of errors of the server's own by their kind, the name of a type, and of whose request
    /// they ended; "" for nobody's.
    std::function<void(const std::string& kind, const std::string& peer)> defect = {};
    /// For the page.
    std::function<std::vector<DavidState>()> davids = [] { return std::vector<DavidState>{}; };
    /// How long the current wait for a David has lasted, in seconds; 0 if nothing waits.
    std::function<double()> waiting_for_david = [] { return 0.0; };
};

/// Answers requests; until open() it says that it is loading.
class Service : public RequestHandler {
public:
    explicit Service(ServiceOptions options);

    /// From now on there is a model. All of it outlives the service, or at least every request.
    /// `chat` may be null.
    void open(Scheduler& scheduler, const ChatFormat* chat, ReceiptFacts facts);
    /// From now on these keys may ask, and those of `operators` see what all ask. Requires that
    /// there were keys.
    void replace_keys(ApiKeys keys, std::set<std::string> operators);
    /// From now on nothing new is begun.
    void drain() { draining_ = true; }

    std::optional<HttpResponse> refusal(const HttpRequest& head) override;
    HttpResponse unreadable(const HttpError& error, const std::string& peer) override;
    void given_up(const HttpRequest& request) override;
    void handle(HttpRequest request, std::shared_ptr<Reply> reply) override;
    void failed(const std::exception_ptr& error, const std::string& peer) noexcept override;

private:
    struct Route;
    static const Route* find(const HttpRequest& request);
    void require_allowed(const HttpRequest& head) const;
    void require_host(const HttpRequest& head) const;
    void require_key(const HttpRequest& head, const Route& route) const;
    static bool is_probe(const HttpRequest& head);
    bool is_preflight(const HttpRequest& head) const;
    HttpResponse preflight() const;
    HttpResponse answer(const ApiError& error);
    HttpResponse answer(HttpResponse response);
    HttpResponse json_answer(std::string body);
    HttpResponse defect(const std::string& peer);

    HttpResponse models(const HttpRequest& request);
    HttpResponse tokenize(const HttpRequest& request);
    HttpResponse detokenize(const HttpRequest& request);
    HttpResponse health();
    HttpResponse metrics();
    HttpResponse page(const HttpRequest& request);
    void respond(const HttpRequest& request, const std::shared_ptr<ToldReply>& reply);
    void generate(const HttpRequest& request, const std::shared_ptr<ToldReply>& reply);
    void submit(const GenerationOrder& order, bool chat, std::vector<std::vector<TokenId>> prompts,
                const std::string& tenant, const std::shared_ptr<ToldReply>& reply);
    std::size_t fit(const GenerationOrder& order, std::size_t prompt) const;
    void log(RequestLine line, unsigned status, bool whole) const;
    RequestLine line_of(const HttpRequest& request) const;
    void require_short(const GenerationOrder& order) const;
    std::string tenant_of(const HttpRequest& request) const;
    std::vector<std::vector<TokenId>> prompts_of(const GenerationOrder& order, bool chat) const;
    std::vector<GenerationRequest> requests_of(const GenerationOrder& order, bool chat,
                                               std::span<const std::vector<TokenId>> prompts,
                                               const std::string& tenant) const;
    void require_supported(const GenerationOrder& order, bool chat) const;
    void require_chat(const std::string& field) const;
    void require_opened() const;
    const char* state() const;
    Snapshot snapshot() const;

    /// Who may ask.
    struct Access {
        std::optional<ApiKeys> keys;
        std::set<std::string> operators;
    };

    const ServiceOptions options_;
    std::atomic<std::shared_ptr<const Access>> access_;
    const std::int64_t created_;
    const ClientSeeds seeds_;
    Counts counts_;
    Generation::Shared shared_;
    ReceiptFacts facts_;
    std::size_t most_prompt_bytes_ = 0;
    std::atomic<bool> opened_ = false;
    std::atomic<bool> draining_ = false;
};

}  // namespace slip::endpoint
