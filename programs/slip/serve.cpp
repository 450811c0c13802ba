// slip serve: an endpoint that clients of OpenAI's interface can ask (spec/endpoint.md).
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <utility>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/files.hpp"
#include "optimized/kernels/registry.hpp"
#include "programs/endpoint/net/server.hpp"
#include "programs/endpoint/parsing/http.hpp"
#include "programs/endpoint/service.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/event_log.hpp"
#include "programs/slip/support/model.hpp"
#include "programs/slip/support/stop_on_signal.hpp"
#include "programs/slip/support/stopping.hpp"
#include "programs/slip/support/tls_flags.hpp"
#include "slip/charlie.hpp"
#include "slip/chat.hpp"
#include "slip/error.hpp"
#include "slip/scheduler.hpp"

namespace slip::tool {
namespace {

/// Between two attempts to find a David before the first session.
constexpr std::chrono::seconds between_attempts{1};
/// From the second signal to the end of a process that computes and looks at nothing meanwhile.
constexpr std::chrono::milliseconds last_moment{700};

/// Lines of the log from any thread. They hold no prompt, no answer and no key (THREAT-3).
class Log {
public:
    explicit Log(const Options& options)
        : log_("serve", log_format(options)), all_(level_is_info(options)) {}

    /// What an operator may have to see to.
    void note(const std::string& text) { log_.add_limited({{"level", "warning"}, {"note", text}}); }
    void info(EventLog::Fields fields) {
        if (!all_) return;
        fields.insert(fields.begin(), {"level", "info"});
        log_.add(fields);
    }
    void defect(const std::string& kind, const std::string& peer) {
        log_.add_limited({{"level", "error"},
                          {"note", "a request ended by an error of this server's own"},
                          {"kind", kind},
                          {"peer", peer}});
    }
    bool tells_all() const { return all_; }

private:
    static bool level_is_info(const Options& options) {
        const std::string level = options.text_or("log-level", "info");
        if (level == "info" || level == "warning") return level == "info";
        throw BadInput("--log-level '" + level + "': expected info or warning");
    }

    EventLog log_;
    const bool all_;
};

/// The line of a request (SERVE-9).
EventLog::Fields fields_of(const endpoint::RequestLine& line) {
    EventLog::Fields fields{{"status", std::uint64_t{line.status}}, {"peer", line.peer}};
    const auto add = [&](const char* name, EventLog::Value value) {
        fields.emplace_back(name, std::move(value));
    };
    if (!line.method.empty()) add("method", line.method);
    if (!line.path.empty()) add("path", line.path);
    if (!line.name.empty()) add("name", line.name);
    add("seconds", line.seconds);
    if (!line.whole) add("end", "not whole");
    if (!line.generated) return fields;
    add("prompt_tokens", line.generated->prompt_tokens);
    add("cached_tokens", line.generated->cached_tokens);
    add("generated_tokens", line.generated->generated_tokens);
    add("queue_seconds", line.generated->waited_seconds);
    if (line.generated->first_token_seconds) {
        add("first_token_seconds", *line.generated->first_token_seconds);
    }
    add("reason", line.generated->end);
    return fields;
}

void declare_http(Options& options) {
    options.group("Clients");
    options.add("listen", "HOST:PORT",
                "where clients connect (default 127.0.0.1:8080); an address that other machines "
                "reach needs --api-keys, "
                "--https-cert and --https-key");
    options.add("https-cert", "FILE", "TLS for clients: the server's certificate chain, PEM");
    options.add("https-key", "FILE", "its private key, PEM");
    options.add("api-keys", "FILE",
                "who may ask: a key per line, or a name and a key; mode 0600. Prompts with the "
                "same beginning are computed once for requests of one name; without keys all "
                "clients count as one");
    options.add_list("operator", "NAME",
                     "with --api-keys: whose keys open the page and the metrics, which show what "
                     "all clients ask; may be given several times (default: the only name there "
                     "is, nobody if there are several)");
    options.add_list("host", "NAME",
                     "a name under which clients reach this server, besides localhost and the "
                     "address of --listen, or with --api-keys '*' for any; may be given several "
                     "times");
    options.add("allow-origin", "ORIGIN",
                "pages of this origin may ask, as https://example.org (default: none)");
    options.add("max-connections", "N", "of clients (default 256)");
    add_log_flags(options);
    options.add("log-level", "info|warning",
                "info: a line when the model is ready and one per request, without prompts and "
                "answers; warning: only what went wrong (default info)");
    options.add("client-timeout", "SECONDS",
                "for a client to send a request that he has begun, and to take what is written "
                "for him (default 30)");
}

void declare_answers(Options& options) {
    options.group("Answers");
    options.add("model-name", "NAME",
                "what clients call the model (default: the last part of --artifact or --model)");
    options.add(
        "chat-format", "NAME",
        "how the model reads conversations (default: what the template in its files shows)");
    options.add_switch(
        "allow-logprobs",
        "let clients see log-probabilities of the 20 likeliest tokens, which tell more "
        "of the model than the text does (E-32)");
    options.add_switch(
        "allow-all-logprobs",
        "the same, and of a chosen token whatever its rank: who asks for unlikely "
        "ones learns the column space of the head (default: -9999, as OpenAI has it). Also "
        "allows logit_bias, which tells as much");
    options.add_switch(
        "allow-grammars",
        "let clients say which texts an answer may be, by a grammar, a JSON schema or a forced "
        "or strict call of a tool: who makes the model choose between two tokens learns which is "
        "likelier (json_object is always allowed)");
    options.add_switch(
        "plain-seeds",
        "use clients' seeds as they are: texts are those of slip generate --seed, and "
        "who chooses seeds learns probabilities from the text (default: a seed means "
        "something else in each run, for each prompt and with other options)");
    options.add_switch("no-receipt", "leave \"slip\" out of answers");
    options.add("live", "N", "generations that are computed together (default 64)");
    options.add("queue", "N", "generations that may wait; then clients get 429 (default 256)");
    options.add("queue-share", "N",
                "with --api-keys: of these, generations of one name (default: divided evenly, "
                "but at least 4)");
    options.add("prompt-step", "N",
                "tokens of prompts per step, so that a long one does not stop the others "
                "(default 128)");
    options.add(
        "guesses", "N",
        "where an answer repeats itself or its prompt, guess N tokens (up to 15) and verify "
        "them in the same message, as long as it has at most 16 columns of answers (default "
        "0; David learns where texts repeat themselves)");
    options.add("masks", "N",
                "with hybrid and an artifact of the set paper, for others see --mask-memory: masks "
                "per group that are kept ready; what a burst needs beyond them is made while it "
                "waits (default 64; with TinyLlama's shape 2.7 MB each)");
    options.add("prompt-cache", "MIB",
                "of keys and values kept for prompts, divided evenly among the names of "
                "--api-keys (default 256; 0: none)");
    add_serving_limit(options);
    options.add("reopen", "SECONDS",
                "how long a lost David is called again before the answers end (default 30); one "
                "who sent a wrong reply is not called again");
}

/// Masks per group that are kept ready; 0: as many as by default.
std::size_t masks_of(const Options& options) {
    const std::string engine = engine_of(options);
    if (engine != "hybrid") options.forbid("masks", "with --engine " + engine);
    return options.number_or("masks", 0, 1, most_masks_ready);
}

/// SERVE-8: how many generations of one name may wait, so that the others find places.
std::size_t queue_share(const Options& options, std::size_t tenants, std::size_t waiting) {
    constexpr std::size_t least = 4;
    if (tenants == 0) options.forbid("queue-share", "without --api-keys");
    const std::size_t even = std::max(least, waiting / std::max<std::size_t>(tenants, 1));
    return options.number_or("queue-share", even, 1, 1U << 20);
}

/// `tenants`: how many names keys have; 0: there are no keys, and so no tenants.
SchedulerOptions scheduler_options(const Options& options, std::size_t tenants, Log& log) {
    SchedulerOptions scheduler;
    scheduler.live = options.number_or("live", scheduler.live, 1, 4096);
    scheduler.waiting = options.number_or("queue", scheduler.waiting, 0, 1U << 20);
    scheduler.waiting_per_tenant = queue_share(options, tenants, scheduler.waiting);
    scheduler.prompt_tokens_per_step =
        options.number_or("prompt-step", scheduler.prompt_tokens_per_step, 1, 4096);
    scheduler.guesses = options.number_or("guesses", 0, 0, 15);
    scheduler.kept_prompt_bytes =
        options.number_or("prompt-cache", scheduler.kept_prompt_bytes >> 20, 0, 1U << 24) << 20;
    scheduler.kept_prompt_tenants = std::max<std::size_t>(tenants, 1);
    scheduler.reopen_limit = std::chrono::seconds(options.number_or("reopen", 30, 0, 1U << 20));
    scheduler.note = [&log](const std::string& text) { log.note(text); };
    return scheduler;
}

/// SERVE-6: the names by which clients may call this server.
std::set<std::string> hosts_of(const Options& options, const Endpoint& listen) {
    const bool v6 = listen.host.find(':') != std::string::npos;
    std::set<std::string> hosts{"localhost", "127.0.0.1", "[::1]",
                                endpoint::lower_case(v6 ? '[' + listen.host + ']' : listen.host)};
    for (const std::string& name : options.all("host")) {
        if (name == "*" && !options.has("api-keys")) {
            throw BadInput("--host '*': expected --api-keys beside it");
        }
        hosts.insert(endpoint::lower_case(name));
    }
    return hosts;
}

std::string model_name(const Options& options) {
    if (options.has("model-name")) {
        if (options.required("model-name").empty()) throw BadInput("--model-name: expected a name");
        return options.required("model-name");
    }
    const char* const flag = engine_of(options) == "float" ? "model" : "artifact";
    const auto path = std::filesystem::absolute(options.required(flag)).lexically_normal();
    return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string allowed_origin(const Options& options) {
    const std::string origin = options.text_or("allow-origin", "");
    const bool printable_only = std::all_of(
        origin.begin(), origin.end(), [](char letter) { return letter > ' ' && letter < 127; });
    if (printable_only && (origin.empty() || origin.find("://") != std::string::npos))
        return origin;
    throw BadInput("--allow-origin '" + origin + "': expected SCHEME://HOST or SCHEME://HOST:PORT");
}

/// Those of --david, whom a server does not wait for as long as other commands do; null for none.
std::shared_ptr<ShardDavids> served_by(const Options& options, const Stopping& stopping) {
    if (!options.has("david")) options.forbid("david-timeout", "without --david");
    if (!options.has("david") || engine_of(options) != "hybrid") return nullptr;
    TimeLimits limits = serving_limits(options);
    limits.stop = stopping.descriptor();
    return std::make_shared<ShardDavids>(options, limits);
}

std::vector<endpoint::DavidState> states_of(const ShardDavids& davids) {
    std::vector<endpoint::DavidState> states;
    for (const Davids::Known& david : davids.known()) {
        constexpr const char* names[] = {"not asked yet", "connected", "left",
                                         "could not be reached", "sent a wrong reply"};
        using Mark = endpoint::DavidState::Mark;
        constexpr Mark marks[] = {Mark::wait, Mark::good, Mark::wait, Mark::bad, Mark::bad};
        const auto state = static_cast<std::size_t>(david.state);
        states.push_back({describe(david.address), names[state], marks[state]});
    }
    return states;
}

/// SERVE-6: who sees what all clients ask.
std::set<std::string> operators_of(const Options& options,
                                   const std::optional<endpoint::ApiKeys>& keys) {
    const auto named = options.all("operator");
    if (!keys) {
        if (!named.empty()) throw BadInput("--operator: expected --api-keys beside it");
        return {};
    }
    const std::set<std::string> known = keys->names();
    for (const std::string& name : named) {
        if (!known.contains(name)) {
            throw BadInput("--operator '" + name + "': expected a name that " +
                           options.required("api-keys") + " has");
        }
    }
    if (named.empty()) return known.size() == 1 ? known : std::set<std::string>{};
    return {named.begin(), named.end()};
}

endpoint::ServiceOptions service_options(const Options& options, const Endpoint& listen,
                                         const std::shared_ptr<ShardDavids>& davids) {
    endpoint::ServiceOptions service;
    service.model = model_name(options);
    if (options.has("https-cert")) service.scheme = "https";
    service.hosts = hosts_of(options, listen);
    if (options.has("api-keys")) service.keys.emplace(options.required("api-keys"));
    service.operators = operators_of(options, service.keys);
    service.allowed_origin = allowed_origin(options);
    service.receipts = !options.has("no-receipt");
    service.unlikely_log_probabilities = options.has("allow-all-logprobs");
    service.log_probabilities = options.has("allow-logprobs") || service.unlikely_log_probabilities;
    service.grammars = options.has("allow-grammars");
    service.plain_seeds = options.has("plain-seeds");
    if (davids) {
        service.davids = [davids] { return states_of(*davids); };
        service.waiting_for_david = [davids] { return davids->waiting(); };
    }
    return service;
}

endpoint::ServerOptions server_options(const Options& options) {
    endpoint::ServerOptions server;
    if (options.has("https-cert") != options.has("https-key")) {
        throw BadInput("--https-cert and --https-key: expected both or neither");
    }
    if (options.has("https-cert")) {
        server.https =
            endpoint::HttpsFiles{options.required("https-cert"), options.required("https-key")};
    }
    server.remote = server.https && options.has("api-keys");
    server.connections = options.number_or("max-connections", server.connections, 1, 65536);
    const std::chrono::seconds limit(options.number_or("client-timeout", 30, 1, 1U << 20));
    server.head = server.body = server.write = limit;
    return server;
}

/// SERVE-7: what every receipt says.
endpoint::ReceiptFacts facts_of(const Options& options) {
    endpoint::ReceiptFacts facts;
    facts.engine = engine_of(options);
    facts.kernels = kernels::active().name;
    if (facts.engine == "float") return facts;
    const auto plan = std::filesystem::path(options.required("artifact")) / "charlie" / "plan.json";
    const auto description = artifact::parse_charlie_description(base::read_file(plan), plan);
    facts.digest = artifact::to_hex(description.david_digest);
    facts.set = description.set->name;
    return facts;
}

/// SERVE-9: opens the model. While no David can be had, it tries again; nothing if it is asked to
/// stop meanwhile. Throws what another attempt would not mend.
std::optional<LanguageModel> open_patiently(const Options& options,
                                            const std::shared_ptr<ShardDavids>& davids, Log& log,
                                            Stopping& stopping) {
    std::string told;
    do {
        try {
            return open_model<LanguageModel>(options, masks_of(options), davids);
        } catch (const ProtocolError& error) {
            const auto* const refusal = dynamic_cast<const Refused*>(&error);
            const bool passes = refusal == nullptr || refusal->reason() == Refusal::busy;
            if (!passes && (!davids || davids->is_one_each())) throw;
            const bool called_off = stopping.within({});
            if (!called_off && std::exchange(told, error.what()) != error.what()) {
                log.note(error.what());
            }
        }
    } while (!stopping.within(between_attempts));
    return std::nullopt;
}

std::optional<ChatFormat> chat_format(const Options& options, const LanguageModel& model,
                                      Log& log) {
    if (options.has("chat-format")) return ChatFormat(model, options.required("chat-format"));
    try {
        return ChatFormat(model);
    } catch (const BadInput& error) {
        log.note(std::string("no conversations: ") + error.what());
        return std::nullopt;
    }
}

/// What is served, once it is.
EventLog::Fields ready_line(const Options& options, const LanguageModel& model,
                            const endpoint::ReceiptFacts& facts,
                            const std::shared_ptr<ShardDavids>& davids) {
    EventLog::Fields fields{{"role", "trusted (Charlie)"},
                            {"ready", model_name(options)},
                            {"context", std::uint64_t{model.max_positions()}},
                            {"vocabulary", std::uint64_t{model.vocabulary_size()}},
                            {"engine", facts.engine},
                            {"kernels", facts.kernels}};
    if (!facts.set.empty()) fields.emplace_back("split", facts.set);
    if (!davids) return fields;
    std::string addresses;
    for (const Davids::Known& david : davids->known()) {
        addresses += (addresses.empty() ? "" : ",") + describe(david.address);
    }
    fields.emplace_back("davids", addresses);
    return fields;
}

/// SERVE-9: what was begun is answered, or given up after a second signal.
void serve_until_stopped(const Options& options, const SchedulerOptions& scheduling,
                         const std::shared_ptr<ShardDavids>& davids, endpoint::Service& service,
                         endpoint::Server& server, Log& log, Stopping& stopping) {
    auto model = open_patiently(options, davids, log, stopping);
    if (!model) return server.finish();
    require_tokenizer(*model, "serve");
    Scheduler scheduler(std::move(*model), scheduling);
    const auto chat = chat_format(options, scheduler.model(), log);
    stopping.begun([&] {
        scheduler.stop();
        server.close_all();
    });
    const endpoint::ReceiptFacts facts = facts_of(options);
    service.open(scheduler, chat ? &*chat : nullptr, facts);
    log.info(ready_line(options, scheduler.model(), facts, davids));
    stopping.wait();
    scheduler.drain();
    server.finish();
    stopping.finished();
}

/// SERVE-6: what clients reach is read again, for connections and requests that come from now on.
void reload(const Options& options, endpoint::Service& service, endpoint::Server& server,
            Log& log) {
    try {
        server.reload();
        if (options.has("api-keys")) {
            std::optional<endpoint::ApiKeys> keys(options.required("api-keys"));
            auto operators = operators_of(options, keys);
            service.replace_keys(std::move(*keys), std::move(operators));
        }
        log.note("certificates and keys of clients were read again");
    } catch (const BadInput& error) {
        log.note(std::string("not everything was read again: ") + error.what());
    }
}

/// SERVE-9: a second signal ends every wait. What is computed meanwhile, as in reading a large
/// model or a long prompt, looks at no flag, so the process ends without it.
void end_at_once(Stopping& stopping) {
    stopping.at_once();
    if (!stopping.ended_within(last_moment)) std::_Exit(0);
}

}  // namespace

int serve(const Arguments& arguments) {
    Options options(std::string("serve ") + model_usage + "\n            [--listen HOST:PORT]",
                    "Answers clients of OpenAI's interface, on the trusted machine (Charlie): "
                    "/v1/models, /v1/completions, /v1/chat/completions, /v1/responses, /tokenize, "
                    "/detokenize; /version, /health, /metrics for Prometheus, and a page at /. "
                    "Prints \"listening on HOST:PORT\" before the model is loaded; port 0 takes "
                    "a free one. SIGTERM or SIGINT: what was begun is answered first; a second one "
                    "ends that. SIGHUP: --https-cert, --https-key and --api-keys are read again, "
                    "or, if stderr is a terminal, as SIGTERM; under nohup nothing.");
    options.example(
        "slip serve --artifact split --david 127.0.0.1:7401 --tls tls/charlie --chat-format "
        "llama2");
    add_model_flags(options);
    declare_http(options);
    declare_answers(options);
    if (!options.parse(arguments)) return 0;

    const Endpoint listen = parse_endpoint(options.text_or("listen", "127.0.0.1:8080"), "--listen");
    kernels::active();  // a wrong SLIP_KERNELS is refused before anyone connects
    const sigset_t signals = block_stop_signals();
    Stopping stopping;
    const auto davids = served_by(options, stopping);
    Log log(options);
    auto answering = service_options(options, listen, davids);
    const std::size_t tenants = answering.keys ? answering.keys->names().size() : 0;
    const SchedulerOptions scheduling = scheduler_options(options, tenants, log);
    masks_of(options);  // a wrong number is refused before anything else
    if (log.tells_all()) {
        answering.told = [&](const auto& line) { log.info(fields_of(line)); };
    }
    answering.defect = [&](const auto& kind, const auto& peer) { log.defect(kind, peer); };
    endpoint::Service service(std::move(answering));
    endpoint::Server server(listen, server_options(options), service);
    const StopOnSignal on_signal(
        signals, {[&] {
                      service.drain();
                      server.drain();
                      stopping.ask();
                  },
                  [&] { end_at_once(stopping); }, [&] { reload(options, service, server, log); }});
    const struct End {
        Stopping& stopping;
        ~End() { stopping.end(); }
    } end{stopping};
    std::cout << "listening on " << describe(Endpoint{listen.host, std::to_string(server.port())})
              << std::endl;
    serve_until_stopped(options, scheduling, davids, service, server, log, stopping);
    return 0;
}

}  // namespace slip::tool
