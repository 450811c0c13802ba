#include "programs/endpoint/service.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <typeinfo>

#include "programs/endpoint/calling.hpp"
#include "programs/endpoint/parsing/responses.hpp"
#include "programs/endpoint/random_id.hpp"
#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

constexpr const char* no_keys = "this server needs a key: Authorization: Bearer KEY";

ApiError refused(unsigned status, const std::string& message, const char* code = "") {
    ApiError error(status, message);
    error.code = code;
    return error;
}

ApiError unavailable(const std::string& message, const char* code) {
    ApiError error(503, message);
    error.type = "server_error";
    error.code = code;
    return error;
}

/// The name in "NAME:PORT" and "[::1]:PORT", in lower case.
std::string host_name(std::string_view host) {
    const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
    if (bracket == std::string_view::npos) return {};
    return lower_case(host.substr(0, host.find(':', bracket)));
}

/// The bytes of the longest text that the context could hold: each position has the longest token,
/// and a normaliser makes one byte of four. What a tokenizer leaves out altogether does not count.
std::size_t most_prompt_bytes(const LanguageModel& model) {
    constexpr std::size_t bytes_normalised_to_one = 4;
    std::size_t longest = 0;
    try {
        for (std::size_t id = 0; id < model.vocabulary_size(); ++id) {
            const TokenId ids[] = {static_cast<TokenId>(id)};
            longest = std::max(longest, model.decode(ids).size());
        }
        // NOLINTNEXTLINE(bugprone-empty-catch): the last ids of a model may have no token
    } catch (const BadInput&) {
    }
    // The first token of a text may be shown without the blank before it.
    return model.max_positions() * (longest + 1) * bytes_normalised_to_one;
}

/// The type of what was thrown. Its text may hold a prompt (THREAT-3).
std::string kind_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
        const std::unique_ptr<char, decltype(&std::free)> name(
            abi::__cxa_demangle(typeid(thrown).name(), nullptr, nullptr, nullptr), std::free);
        return name ? name.get() : "std::exception";
    } catch (...) {
        return "no std::exception";
    }
}

}  // namespace

struct Service::Route {
    std::string_view path;
    std::string_view method;  // GET is HEAD too
    /// operators: who has a key of theirs, also as a browser's password.
    enum class Audience { everyone, key, operators } audience;
};

const Service::Route* Service::find(const HttpRequest& request) {
    using Audience = Route::Audience;
    static constexpr std::array routes{Route{"/", "GET", Audience::operators},
                                       Route{"/metrics", "GET", Audience::operators},
                                       Route{"/health", "GET", Audience::everyone},
                                       Route{"/version", "GET", Audience::key},
                                       Route{"/tokenize", "POST", Audience::key},
                                       Route{"/detokenize", "POST", Audience::key},
                                       Route{"/v1/models", "GET", Audience::key},
                                       Route{"/v1/completions", "POST", Audience::key},
                                       Route{"/v1/chat/completions", "POST", Audience::key},
                                       Route{"/v1/responses", "POST", Audience::key}};
    const std::string_view path = request.path;
    for (const Route& route : routes) {
        const bool below = route.path == "/v1/models" && path.starts_with("/v1/models/");
        if (path == route.path || below) return &route;
    }
    return nullptr;
}

Service::Service(ServiceOptions options)
    : options_(std::move(options)),
      access_(std::make_shared<const Access>(Access{options_.keys, options_.operators})),
      created_(std::time(nullptr)) {
    shared_.observer = &counts_;
    shared_.unlikely_log_probabilities = options_.unlikely_log_probabilities;
    if (!options_.allowed_origin.empty()) {
        shared_.fields = {{"Access-Control-Allow-Origin", options_.allowed_origin},
                          {"Vary", "Origin"}};
    }
}

void Service::open(Scheduler& scheduler, const ChatFormat* chat, ReceiptFacts facts) {
    shared_.scheduler = &scheduler;
    shared_.chat = chat;
    most_prompt_bytes_ = most_prompt_bytes(scheduler.model());
    facts_ = std::move(facts);
    if (options_.receipts) shared_.facts = facts_;
    opened_ = true;
}

void Service::replace_keys(ApiKeys keys, std::set<std::string> operators) {
    access_ = std::make_shared<const Access>(Access{std::move(keys), std::move(operators)});
}

HttpResponse Service::answer(HttpResponse response) {
    counts_.on_answer(response.status);
    response.fields.insert(response.fields.end(), shared_.fields.begin(), shared_.fields.end());
    return response;
}

HttpResponse Service::json_answer(std::string body) {
    return answer({200, "application/json", std::move(body), {}});
}

HttpResponse Service::answer(const ApiError& error) {
    HttpResponse response{error.status, "application/json", error_body(error), {}};
    if (error.status == 401) response.fields.emplace_back("WWW-Authenticate", "Bearer");
    if (error.status == 429 || error.status == 503)
        response.fields.emplace_back("Retry-After", "1");
    return answer(std::move(response));
}

void Service::failed(const std::exception_ptr& error, const std::string& peer) noexcept {
    counts_.on_defect();
    try {
        if (options_.defect) options_.defect(kind_of(error), peer);
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line
    }
}

/// SERVE-9, in a handler of an exception.
HttpResponse Service::defect(const std::string& peer) {
    failed(std::current_exception(), peer);
    ApiError error(500, "a defect of this server");
    error.type = "server_error";
    error.code = "internal_error";
    return answer(error);
}

HttpResponse Service::unreadable(const HttpError& error, const std::string& peer) {
    RequestLine line;
    line.peer = peer;
    log(std::move(line), error.status(), true);
    return answer(refused(error.status(), error.what()));
}

/// Logs a request that nobody handles.
void Service::log(RequestLine line, unsigned status, bool whole) const {
    if (!options_.told) return;
    line.status = status;
    line.whole = whole;
    options_.told(line);
}

RequestLine Service::line_of(const HttpRequest& request) const {
    RequestLine line;
    line.method = request.method;
    line.path = request.path;
    line.peer = request.peer;
    const std::shared_ptr<const Access> access = access_;
    if (access->keys) line.name = tenant_of(request);
    return line;
}

/// SERVE-6: a page of another site reaches this server by a name of its own, with a browser, which
/// always says so. Probes know the server's address alone, and learn nothing that is not for all.
void Service::require_host(const HttpRequest& head) const {
    const bool stated = !head.field("host").empty();
    if (!stated && !head.version_1_0) throw refused(400, "the field Host is missing");
    if (!stated || is_probe(head) || options_.hosts.contains("*")) return;
    if (options_.hosts.contains(host_name(head.field("host")))) return;
    throw refused(421, "the field Host names another server; --host NAME allows a name");
}

void Service::require_key(const HttpRequest& head, const Route& route) const {
    const std::shared_ptr<const Access> access = access_;
    if (!access->keys || route.audience == Route::Audience::everyone) return;
    const bool of_operators = route.audience == Route::Audience::operators;
    const std::string key = presented_key(head.field("authorization"), of_operators);
    const auto name = access->keys->name_of(key);
    if (!name) {
        throw refused(401, key.empty() ? no_keys : "this key is not known", "invalid_api_key");
    }
    if (of_operators && !access->operators.contains(*name)) {
        throw refused(403, "this shows what all clients ask, to keys that --operator names");
    }
}

/// GET /health, and what HAProxy asks where nothing else is configured.
bool Service::is_probe(const HttpRequest& head) {
    if (head.method == "OPTIONS") return head.path == "/" || head.path == "*";
    return head.path == "/health";
}

bool Service::is_preflight(const HttpRequest& head) const {
    return head.method == "OPTIONS" && !options_.allowed_origin.empty() &&
           head.field("origin") == options_.allowed_origin;
}

HttpResponse Service::preflight() const {
    return {204,
            "",
            "",
            {{"Access-Control-Allow-Methods", "GET, POST"},
             {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
             {"Access-Control-Max-Age", "600"}}};
}

void Service::require_allowed(const HttpRequest& head) const {
    require_host(head);
    if (is_preflight(head) || (is_probe(head) && head.method == "OPTIONS")) return;
    const Route* const route = find(head);
    if (route == nullptr) throw refused(404, "there is no such path", "not_found");
    const bool reads = head.method == "GET" || head.method == "HEAD";
    if (route->method == "GET" ? !reads : head.method != route->method) {
        throw refused(405, "expected the method " + std::string(route->method),
                      "method_not_allowed");
    }
    require_key(head, *route);
    // A page of another site can send other types without asking the browser's leave.
    if (route->method == "POST" && media_type(head.field("content-type")) != "application/json") {
        throw refused(415, "expected Content-Type: application/json");
    }
}

std::optional<HttpResponse> Service::refusal(const HttpRequest& head) {
    try {
        require_allowed(head);
    } catch (const ApiError& error) {
        HttpResponse response = answer(error);
        const Route* const route = find(head);
        if (error.status == 405 && route != nullptr) {
            const bool reads = route->method == "GET";
            response.fields.emplace_back("Allow", reads ? "GET, HEAD" : route->method);
        }
        if (error.status == 401 && route != nullptr &&
            route->audience == Route::Audience::operators) {
            response.fields.emplace_back("WWW-Authenticate", "Basic realm=\"slip\"");
        }
        log(line_of(head), error.status, true);
        return response;
    } catch (...) {
        HttpResponse response = defect(head.peer);
        log(line_of(head), response.status, true);
        return response;
    }
    return std::nullopt;
}

void Service::given_up(const HttpRequest& request) {
    log(line_of(request), RequestLine::client_gone, false);
}

void Service::handle(HttpRequest request, std::shared_ptr<Reply> reply) {
    const auto told =
        std::make_shared<ToldReply>(std::move(reply), line_of(request), options_.told);
    respond(request, told);
}

void Service::respond(const HttpRequest& request, const std::shared_ptr<ToldReply>& reply) {
    try {
        if (is_preflight(request)) return reply->send(answer(preflight()));
        if (is_probe(request)) return reply->send(health());
        if (request.path == "/metrics") return reply->send(metrics());
        if (request.path == "/") return reply->send(page(request));
        if (request.path == "/version") return reply->send(json_answer(version_body()));
        if (request.path == "/tokenize") return reply->send(tokenize(request));
        if (request.path == "/detokenize") return reply->send(detokenize(request));
        if (request.path.starts_with("/v1/models")) return reply->send(models(request));
        generate(request, reply);
    } catch (const ApiError& error) {
        reply->send(answer(error));
    } catch (...) {
        HttpResponse response = defect(request.peer);
        // If its generations have begun, they answer.
        if (reply.use_count() == 1) reply->send(std::move(response));
    }
}

const char* Service::state() const {
    if (draining_) return "draining";
    if (!opened_) return "loading";
    if (shared_.scheduler->statistics().damaged) return "damaged";
    return shared_.scheduler->statistics().serving ? "ok" : "no David";
}

HttpResponse Service::health() {
    const std::string now = state();
    std::string body = "{\"status\":\"" + now + "\"";
    if (now == "no David" && shared_.scheduler->statistics().rejects > 0) {  // INTEG-7
        body +=
            ",\"reason\":\"a David sent a wrong reply, and this server does not go back to him "
            "until it is restarted\"";
    }
    if (now == "damaged") body += ",\"reason\":\"files or memory of this server are damaged\"";
    const auto silent = static_cast<std::uint64_t>(options_.waiting_for_david());
    if (silent > 0) body += ",\"waiting_for_david_seconds\":" + std::to_string(silent);
    const unsigned status = now == "ok" ? 200 : 503;
    return answer({status, "application/json", body + "}", {}});
}

Snapshot Service::snapshot() const {
    Snapshot now;
    now.model = options_.model;
    now.state = state();
    if (opened_) {
        now.facts = facts_;
        now.scheduler = shared_.scheduler->statistics();
    }
    now.davids = options_.davids();
    now.waiting_for_david_seconds = options_.waiting_for_david();
    now.tokens_per_second = counts_.tokens_per_second();
    now.uptime_seconds = counts_.uptime_seconds();
    now.ends = counts_.ends();
    now.answers = counts_.answers();
    now.defects = counts_.defects();
    now.latencies = counts_.latencies();
    now.recent = counts_.recent();
    now.chat = opened_ && shared_.chat != nullptr;
    now.needs_key = options_.keys.has_value();
    return now;
}

HttpResponse Service::metrics() {
    return answer({200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(snapshot()), {}});
}

HttpResponse Service::page(const HttpRequest& request) {
    Snapshot now = snapshot();
    now.address = options_.scheme + "://" + std::string(request.field("host"));
    return answer(
        {200,
         "text/html; charset=utf-8",
         page_text(now),
         {{"Content-Security-Policy", page_policy()}, {"Referrer-Policy", "no-referrer"}}});
}

HttpResponse Service::models(const HttpRequest& request) {
    const bool alone = request.path != "/v1/models";
    if (alone && request.path != "/v1/models/" + options_.model) {
        throw refused(404, "there is no such model", "model_not_found");
    }
    ModelFacts model{options_.model, created_, {}};
    if (opened_) model.positions = shared_.scheduler->model().max_positions();
    return json_answer(model_list(model, alone));
}

/// SERVE-11.
HttpResponse Service::tokenize(const HttpRequest& request) {
    require_opened();
    const TokenizeOrder order = parse_tokenize(request.body, options_.model);
    const LanguageModel& model = shared_.scheduler->model();
    std::vector<TokenId> tokens;
    if (const auto* const messages = std::get_if<std::vector<ChatMessage>>(&order.text)) {
        require_chat("messages");
        tokens = shared_.chat->encode(*messages);
    } else {
        const auto& text = std::get<std::string>(order.text);
        tokens = order.special ? model.encode_prompt(text) : model.encode(text);
    }
    return json_answer(tokens_body(tokens, model.max_positions()));
}

/// SERVE-11.
HttpResponse Service::detokenize(const HttpRequest& request) {
    require_opened();
    const std::vector<TokenId> ids = parse_detokenize(request.body, options_.model);
    try {
        return json_answer(text_body(shared_.scheduler->model().decode(ids)));
    } catch (const BadInput& error) {
        ApiError refusal = refused(400, error.what());
        refusal.param = "tokens";
        throw refusal;
    }
}

void Service::require_supported(const GenerationOrder& order, bool chat) const {
    const auto refuse = [](const char* param, const char* message, const char* code) {
        ApiError error = refused(400, message, code);
        error.param = param;
        throw error;
    };
    if (order.model != options_.model) {
        ApiError error = refused(404, "there is no such model; /v1/models lists what there is",
                                 "model_not_found");
        error.param = "model";
        throw error;
    }
    if (order.log_probabilities && !options_.log_probabilities) {
        refuse("logprobs", "'logprobs': this server shows no log-probabilities",
               "unsupported_parameter");
    }
    if (!order.sampling.logit_bias.empty() && !options_.unlikely_log_probabilities) {  // SERVE-10
        refuse("logit_bias", "'logit_bias': this server lets no client weigh tokens",
               "unsupported_parameter");
    }
    if (order.grammar_field != nullptr && !options_.grammars) {  // SERVE-10
        refuse(order.grammar_field,
               "'grammar', 'response_format': this server lets no client say what an answer may be",
               "unsupported_parameter");
    }
    for (const auto& [id, bias] : order.sampling.logit_bias) {
        if (static_cast<std::size_t>(id) < shared_.scheduler->model().vocabulary_size()) continue;
        refuse("logit_bias", "'logit_bias': the model has no such token", "");
    }
    if (chat) require_chat(order.response ? "input" : "messages");
    if (chat) require_calls_supported(order, *shared_.chat, options_.grammars);
}

void Service::require_chat(const std::string& field) const {
    if (shared_.chat != nullptr) return;
    ApiError error = refused(400,
                             "'" + field +
                                 "': this model has no known chat format; /v1/completions "
                                 "continues texts",
                             "unsupported_parameter");
    error.param = field;
    throw error;
}

void Service::require_opened() const {
    if (draining_) throw unavailable("the server is being stopped", "stopped");
    if (!opened_) throw unavailable("the model is being loaded", "loading");
}

/// SERVE-8: before a text is tokenised, which takes longer than to read it.
void Service::require_short(const GenerationOrder& order) const {
    std::size_t bytes = 0;
    for (const ChatMessage& message : order.messages) bytes += bytes_of(message);
    if (order.calls) bytes += bytes_of(*order.calls);
    for (const Prompt& prompt : order.prompts) {
        const auto* const text = std::get_if<std::string>(&prompt);
        if (text != nullptr) bytes = std::max(bytes, text->size());
    }
    if (bytes <= most_prompt_bytes_) return;
    throw refused(400,
                  "a prompt of " + std::to_string(bytes) +
                      " bytes does not fit the model's context: expected at most " +
                      std::to_string(most_prompt_bytes_),
                  "context_length_exceeded");
}

std::vector<std::vector<TokenId>> Service::prompts_of(const GenerationOrder& order,
                                                      bool chat) const {
    if (chat) {
        const auto tools = order.calls ? order.calls->tools : std::vector<Tool>();
        return {shared_.chat->encode(order.messages, tools)};
    }
    std::vector<std::vector<TokenId>> prompts;
    for (const Prompt& prompt : order.prompts) {
        const auto* const ids = std::get_if<std::vector<TokenId>>(&prompt);
        prompts.push_back(ids != nullptr ? *ids
                                         : shared_.scheduler->model().encode_prompt(
                                               std::get<std::string>(prompt)));
        if (prompts.back().empty()) throw BadInput("'prompt': is empty, and the model has no BOS");
    }
    return prompts;
}

std::string Service::tenant_of(const HttpRequest& request) const {
    const std::shared_ptr<const Access> access = access_;
    if (!access->keys) return "everybody";  // who reaches this server is one tenant
    return access->keys->name_of(presented_key(request.field("authorization"), false)).value_or("");
}

/// The tokens of an answer to `prompt` tokens. Gives one of no stated length what the context has
/// left, and refuses what does not fit.
std::size_t Service::fit(const GenerationOrder& order, std::size_t prompt) const {
    const std::size_t positions = shared_.scheduler->model().max_positions();
    const std::size_t room = positions - std::min(prompt, positions);
    const std::size_t answer = order.max_tokens.value_or(std::max<std::size_t>(room, 1));
    if (prompt + std::max<std::size_t>(answer, 1) - 1 <= positions) return answer;
    throw refused(400,
                  "a prompt of " + std::to_string(prompt) + " tokens and an answer of up to " +
                      std::to_string(answer) + " do not fit the model's context of " +
                      std::to_string(positions),
                  "context_length_exceeded");
}

/// The choices of a prompt are what requests with consecutive seeds get (SERVE-5).
std::vector<GenerationRequest> Service::requests_of(const GenerationOrder& order, bool chat,
                                                    std::span<const std::vector<TokenId>> prompts,
                                                    const std::string& tenant) const {
    std::vector<GenerationRequest> requests;
    for (const std::vector<TokenId>& prompt : prompts) {
        for (std::size_t choice = 0; choice < order.choices; ++choice) {
            GenerationRequest request{prompt, order.sampling, tenant};
            SamplingOptions& sampling = request.sampling;
            sampling.max_tokens = fit(order, prompt.size());
            sampling.seed += choice;
            if (!options_.plain_seeds) {
                const std::string texts = order.grammar ? order.grammar->source() : std::string();
                sampling.seed = seeds_.seed_for(sampling, prompt, texts);
            }
            request.grammar = order.grammar;
            if (shared_.chat != nullptr && chat) request.ends = {shared_.chat->end_of_answer()};
            requests.push_back(std::move(request));
        }
    }
    return requests;
}

void Service::submit(const GenerationOrder& order, bool chat,
                     std::vector<std::vector<TokenId>> prompts, const std::string& tenant,
                     const std::shared_ptr<ToldReply>& reply) {
    const bool calls = order.calls && order.calls->calling != Calling::never;
    const char* const prefix = order.response ? "resp_" : chat ? "chatcmpl-" : "cmpl-";
    const AnswerHead head{chat, calls, random_id(prefix), std::time(nullptr), options_.model};
    auto requests = requests_of(order, chat, prompts, tenant);
    const auto answer =
        std::make_shared<Generation>(shared_, head, order, std::move(prompts), reply);
    try {
        answer->start(std::move(requests));
    } catch (const Overloaded&) {
        if (draining_) throw unavailable("the server is being stopped", "stopped");
        ApiError busy =
            refused(429, "too many requests wait already; try again later", "overloaded");
        busy.type = "rate_limit_error";
        throw busy;
    }
}

void Service::generate(const HttpRequest& request, const std::shared_ptr<ToldReply>& reply) {
    require_opened();
    const bool chat = request.path != "/v1/completions";
    const auto parse_order = request.path == "/v1/responses" ? parse_response
                             : chat                          ? parse_chat
                                                             : parse_completion;
    GenerationOrder order = parse_order(request.body);
    require_supported(order, chat);
    if (order.calls) constrain_calls(order, *shared_.chat, options_.grammars);
    require_short(order);
    try {
        submit(order, chat, prompts_of(order, chat), tenant_of(request), reply);
    } catch (const BadInput& error) {
        ApiError refusal = refused(400, error.what());
        refusal.param = order.response ? "input" : chat ? "messages" : "prompt";
        throw refusal;
    }
}

}  // namespace slip::endpoint
