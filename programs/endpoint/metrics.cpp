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
    void family(const char* name, const char* type, const char* help) {
        text_.append("# HELP slip_").append(name).append(" ").append(help).append("\n");
        text_.append("# TYPE slip_").append(name).append(" ").append(type).append("\n");
        name_ = name;
    }
    /// `labels`: as {reason="length"}, or empty.
    void sample(const std::string& labels, const std::string& value) {
        text_.append("slip_").append(name_).append(labels).append(" ").append(value).append("\n");
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
    std::string text() { return std::move(text_); }

private:
    std::string text_;
    const char* name_ = "";
};

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
    metrics.gauge("live_generations", static_cast<double>(now.scheduler.live),
                  "Generations in the next step.");
    metrics.gauge("waiting_generations", static_cast<double>(now.scheduler.waiting),
                  "Generations that wait for a place.");
    metrics.family("generations_total", "counter", "Generations that have ended, by why.");
    constexpr std::array reasons{"end_of_text", "length", "stopped", "cancelled", "failed"};
    static_assert(reasons.size() == std::tuple_size_v<Counts::Ends>);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
        metrics.sample(label("reason", reasons[i]), std::to_string(now.ends[i]));
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
    metrics.seconds("charlie_seconds_total", run.charlie_seconds, "Charlie's own online work.");
    metrics.seconds("david_seconds_total", run.david_seconds, "Waiting for a David.");
    metrics.family("multiplications_total", "counter", "Online, by who did them.");
    metrics.sample(label("party", "charlie"), std::to_string(run.charlie_multiplications));
    metrics.sample(label("party", "david"), std::to_string(run.david_multiplications));
    metrics.counter("masks_made_total", run.masks_made, "Masks made, with their cancellations.");
    metrics.counter("masks_used_total", run.masks_used, "Masks used, one per column of a message.");
    metrics.counter("masks_waited_for_total", run.masks_waited_for,
                    "Of the used ones, those made while their message waited.");
    metrics.seconds("mask_seconds_total", run.offline_seconds,
                    "Processor time of masks with their cancellations.");
    metrics.gauge("masks_ready", static_cast<double>(now.masks_ready),
                  "Tokens for which masks are in stock.");
    metrics.gauge("masks_stocked", static_cast<double>(now.masks_stocked),
                  "Tokens for which masks are in a full stock.");
}

}  // namespace

std::string metrics_text(const Snapshot& snapshot) {
    Metrics metrics;
    add_requests(metrics, snapshot);
    add_tokens(metrics, snapshot.scheduler);
    add_protocol(metrics, snapshot.scheduler);
    return metrics.text();
}

}  // namespace slip::endpoint
