#include <cstdio>

#include "programs/endpoint/counts.hpp"

namespace slip::endpoint {
namespace {

std::string number(double value) {
    std::array<char, 40> text{};
    const int size = std::snprintf(text.data(), text.size(), "%.6g", value);
    return {text.data(), static_cast<std::size_t>(size)};
}

class Metrics {
public:
    /// Metrics whose names begin with `prefix`.
    explicit Metrics(const char* prefix) : prefix_(prefix) {}

    void family(const char* name, const char* type, const char* help) {
        text_.append("# HELP ").append(prefix_).append(name).append(" ").append(help).append("\n");
        text_.append("# TYPE ").append(prefix_).append(name).append(" ").append(type).append("\n");
        name_ = name;
    }
    /// `labels`: as {reason="length"}, or empty; what of a histogram it is stands before them.
    void sample(const std::string& labels, const std::string& value) {
        text_.append(prefix_).append(name_).append(labels).append(" ").append(value).append("\n");
    }
    void gauge(const char* name, double value, const char* help) {
        family(name, "gauge", help);
        sample("", number(value));
    }
    void counter(const char* name, std::uint64_t value, const char* help) {
        family(name, "counter", help);
        sample("", std::to_string(value));
    }
    void seconds(const char* name, double value, const char* help) {
        family(name, "counter", help);
        sample("", number(value));
    }
    /// `label`: of all samples, as model_name="x"; may be empty.
    void histogram(const char* name, const Durations& values, const char* help,
                   const std::string& label = {}) {
        family(name, "histogram", help);
        const std::string of_all = label.empty() ? "" : "{" + label + "}";
        const std::string before = label.empty() ? "{" : "{" + label + ",";
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < values.counts.size(); ++i) {
            count += values.counts[i];
            const bool last = i == Durations::limits.size();
            sample("_bucket" + before + "le=\"" + (last ? "+Inf" : number(Durations::limits[i])) +
                       "\"}",
                   std::to_string(count));
        }
        sample("_sum" + of_all, number(values.seconds));
        sample("_count" + of_all, std::to_string(count));
    }
    std::string text() { return std::move(text_); }

private:
    const std::string prefix_;
    std::string text_;
    const char* name_ = "";
};

/// `text` between the quotation marks of a label.
std::string label_text(const std::string& text) {
    std::string escaped;
    for (const char letter : text) {
        if (letter == '\\' || letter == '"') escaped += '\\';
        escaped += letter == '\n' ? ' ' : letter;
    }
    return escaped;
}

std::string label(const char* name, const char* value) {
    return std::string("{") + name + "=\"" + value + "\"}";
}

void add_requests(Metrics& metrics, const Snapshot& now) {
    metrics.gauge("up_seconds", now.uptime_seconds, "Since the server was started.");
    metrics.gauge("serving", now.state == "ok" ? 1 : 0, "1 if requests are answered.");
    metrics.family("answers_total", "counter", "Answers over HTTP by the class of their status.");
    constexpr std::array classes{"2xx", "3xx", "4xx", "5xx"};
    for (std::size_t i = 0; i < classes.size(); ++i) {
        metrics.sample(label("status", classes[i]), std::to_string(now.answers[i]));
    }
    metrics.counter("defects_total", now.defects,
                    "Requests that ended by an error of the server's own.");
    metrics.gauge("live_generations", static_cast<double>(now.scheduler.live),
                  "Generations in the next step.");
    metrics.gauge("waiting_generations", static_cast<double>(now.scheduler.waiting),
                  "Generations that wait for a place.");
    metrics.family("generations_total", "counter", "Generations that have ended, by why.");
    for (std::size_t i = 0; i < now.ends.size(); ++i) {
        const auto reason = static_cast<GenerationEnd::Reason>(i);
        metrics.sample(label("reason", name_of(reason)), std::to_string(now.ends[i]));
    }
}

void add_tokens(Metrics& metrics, const SchedulerStatistics& now) {
    metrics.counter("prompt_tokens_total", now.prompt_tokens, "Tokens of prompts, computed.");
    metrics.counter("cached_tokens_total", now.cached_tokens,
                    "Tokens of prompts that were not computed again.");
    metrics.counter("generated_tokens_total", now.generated_tokens, "Tokens of answers.");
}

void add_protocol(Metrics& metrics, const SchedulerStatistics& now) {
    const RunStatistics& run = now.run;
    metrics.counter("sessions_total", now.sessions, "Sessions with a David.");
    metrics.counter("rejects_total", now.rejects, "Wrong replies of a David.");
    metrics.counter("rounds_total", run.rounds, "Messages to a David, each with its reply.");
    metrics.counter("checks_total", run.checks, "Replies that passed the integrity check.");
    metrics.family("bytes_total", "counter", "To and from a David.");
    metrics.sample(label("direction", "up"), std::to_string(run.bytes_up));
    metrics.sample(label("direction", "down"), std::to_string(run.bytes_down));
    metrics.seconds("charlie_seconds_total", run.charlie_seconds,
                    "Processor time of Charlie's own online work.");
    metrics.seconds("david_seconds_total", run.round_times.seconds, "Waiting for a David.");
    metrics.family("multiplications_total", "counter", "Online, by who did them.");
    metrics.sample(label("party", "charlie"), std::to_string(run.charlie_multiplications));
    metrics.sample(label("party", "david"), std::to_string(run.david_multiplications));
    metrics.counter("masks_made_total", run.masks_made, "Masks made, with their cancellations.");
    metrics.counter("masks_used_total", run.masks_used, "Masks used, one per column of a message.");
    metrics.counter("masks_waited_for_total", run.masks_waited_for,
                    "Of the used ones, those not ready when their message needed them.");
    metrics.seconds("mask_seconds_total", run.offline_seconds,
                    "Processor time of masks with their cancellations.");
    metrics.seconds("mask_wait_seconds_total", run.mask_wait_seconds,
                    "That messages waited for masks.");
    metrics.gauge("stock_tokens", static_cast<double>(now.stock_tokens),
                  "Tokens for which masks are in stock.");
    metrics.gauge("full_stock_tokens", static_cast<double>(now.full_stock_tokens),
                  "Tokens for which masks are in a full stock.");
}

void add_latencies(Metrics& metrics, const Snapshot& now) {
    metrics.histogram("time_to_first_token_seconds", now.latencies.first_token,
                      "From a request to its first token.");
    metrics.histogram("inter_token_latency_seconds", now.latencies.between_tokens,
                      "From one token of an answer to the next.");
    metrics.histogram("request_queue_time_seconds", now.latencies.queue,
                      "Until a generation is live.");
    metrics.histogram("e2e_request_latency_seconds", now.latencies.whole,
                      "From a request to the end of its generation.");
    metrics.histogram("round_seconds", now.scheduler.run.round_times,
                      "From a message to a David until his reply is here.");
}

/// What vLLM calls it, so that a dashboard made for vLLM shows this server too.
std::string vllm_metrics(const Snapshot& now) {
    Metrics metrics("vllm:");
    const std::string model = "model_name=\"" + label_text(now.model) + '"';
    const auto sample = [&](const char* name, const char* type, std::uint64_t value,
                            const char* help) {
        metrics.family(name, type, help);
        metrics.sample('{' + model + '}', std::to_string(value));
    };
    sample("num_requests_running", "gauge", now.scheduler.live, "As slip_live_generations.");
    sample("num_requests_waiting", "gauge", now.scheduler.waiting, "As slip_waiting_generations.");
    sample("prompt_tokens_total", "counter", now.scheduler.prompt_tokens,
           "As slip_prompt_tokens_total.");
    sample("generation_tokens_total", "counter", now.scheduler.generated_tokens,
           "As slip_generated_tokens_total.");
    metrics.family("request_success_total", "counter", "Generations that have ended in order.");
    const auto ended = [&](const char* why, std::uint64_t count) {
        metrics.sample('{' + model + ",finished_reason=\"" + why + "\"}", std::to_string(count));
    };
    using Reason = GenerationEnd::Reason;
    const auto of = [&](Reason reason) { return now.ends[static_cast<std::size_t>(reason)]; };
    ended("stop", of(Reason::end_of_text) + of(Reason::stopped));
    ended("length", of(Reason::length));
    ended("abort", of(Reason::cancelled));
    const Latencies& latencies = now.latencies;
    metrics.histogram("time_to_first_token_seconds", latencies.first_token,
                      "As slip_time_to_first_token_seconds.", model);
    metrics.histogram("inter_token_latency_seconds", latencies.between_tokens,
                      "As slip_inter_token_latency_seconds.", model);
    metrics.histogram("time_per_output_token_seconds", latencies.between_tokens,
                      "The same, as older versions call it.", model);
    metrics.histogram("request_queue_time_seconds", latencies.queue,
                      "As slip_request_queue_time_seconds.", model);
    metrics.histogram("e2e_request_latency_seconds", latencies.whole,
                      "As slip_e2e_request_latency_seconds.", model);
    return metrics.text();
}

/// What llama.cpp's server calls it.
std::string llama_cpp_metrics(const Snapshot& now) {
    Metrics metrics("llamacpp:");
    metrics.counter("prompt_tokens_total", now.scheduler.prompt_tokens,
                    "As slip_prompt_tokens_total.");
    metrics.counter("tokens_predicted_total", now.scheduler.generated_tokens,
                    "As slip_generated_tokens_total.");
    metrics.gauge("predicted_tokens_seconds", now.tokens_per_second,
                  "Tokens of answers per second, in the last ten seconds.");
    metrics.gauge("requests_processing", static_cast<double>(now.scheduler.live),
                  "As slip_live_generations.");
    metrics.gauge("requests_deferred", static_cast<double>(now.scheduler.waiting),
                  "As slip_waiting_generations.");
    return metrics.text();
}

}  // namespace

std::string metrics_text(const Snapshot& snapshot) {
    Metrics metrics("slip_");
    add_requests(metrics, snapshot);
    add_tokens(metrics, snapshot.scheduler);
    add_protocol(metrics, snapshot.scheduler);
    metrics.gauge("waiting_for_david_seconds", snapshot.waiting_for_david_seconds,
                  "Of the wait for a David that is under way; 0 if there is none.");
    add_latencies(metrics, snapshot);
    return metrics.text() + vllm_metrics(snapshot) + llama_cpp_metrics(snapshot);
}

}  // namespace slip::endpoint
