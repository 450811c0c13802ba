// What a service has done so far, for its metrics and its page.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "programs/endpoint/generation.hpp"
#include "slip/durations.hpp"

namespace slip::endpoint {

/// What clients wait for.
struct Latencies {
    Durations first_token;     ///< from a request to its first token
    Durations between_tokens;  ///< from one token of an answer to the next
    Durations queue;           ///< until a generation is live
    Durations whole;           ///< from a request to its end
};

/// Per second, of the last minute, the second that has just ended last.
struct Recent {
    static constexpr std::size_t seconds = 60;
    std::array<double, seconds> tokens{};
    std::array<double, seconds> answers{};
};

/// Counts what happens, from any thread.
class Counts : public GenerationObserver {
public:
    using Clock = std::chrono::steady_clock;
    /// Ended generations by reason, in the order of GenerationEnd::Reason.
    using Ends = std::array<std::uint64_t, 5>;

    void on_token(bool first, double seconds) override;
    void on_end(const GenerationEnd& end, double seconds) override;
    /// Streamed answers that fail later count by the status that they began with.
    void on_answer(unsigned status) override;
    /// A request has ended by an error of the server's own.
    void on_defect() noexcept { ++defects_; }

    /// Tokens per second in the last whole seconds, at most ten.
    double tokens_per_second() const;
    Ends ends() const;
    /// By the status's first digit, 2 to 5.
    std::array<std::uint64_t, 4> answers() const;
    std::uint64_t defects() const { return defects_; }
    Latencies latencies() const;
    Recent recent() const;
    double uptime_seconds() const;

private:
    static constexpr std::size_t window = 10;
    struct Bucket;
    std::int64_t second_now() const;
    Bucket& bucket_now();

    const Clock::time_point began_ = Clock::now();
    std::atomic<std::uint64_t> defects_ = 0;
    mutable std::mutex mutex_;
    /// What happened in each of the last seconds, and which second that is.
    struct Bucket {
        std::int64_t second = -1;
        std::uint64_t tokens = 0;
        std::uint64_t answers = 0;
    };
    std::array<Bucket, Recent::seconds + 1> buckets_{};
    Ends ends_{};
    std::array<std::uint64_t, 4> answers_{};
    Latencies latencies_;
};

/// A David as the page shows him.
struct DavidState {
    std::string address;
    std::string state;  ///< "connected", "could not be reached", "sent a wrong reply", ...
    enum class Mark { good, wait, bad } mark = Mark::wait;  ///< good: he computes; bad: he cannot
};

/// What the metrics and the page show.
struct Snapshot {
    std::string model;
    std::string state;  ///< "loading", "ok", "no David", "damaged", "draining"
    ReceiptFacts facts;
    SchedulerStatistics scheduler;
    std::vector<DavidState> davids;
    double waiting_for_david_seconds = 0;
    double tokens_per_second = 0;
    double uptime_seconds = 0;
    Counts::Ends ends{};
    std::array<std::uint64_t, 4> answers{};
    std::uint64_t defects = 0;
    Latencies latencies;
    Recent recent;
    // For the page alone.
    bool chat = false;       ///< whether the model answers conversations
    bool needs_key = false;  ///< whether clients need a key
    std::string address;     ///< as "http://127.0.0.1:8080"
};

/// The text format of Prometheus, version 0.0.4.
std::string metrics_text(const Snapshot& snapshot);
/// A page of HTML with the numbers in it, which needs no script; with one it renews them and asks
/// for texts.
std::string page_text(const Snapshot& snapshot);
/// The Content-Security-Policy of that page: nothing but its own style and script.
std::string page_policy();

}  // namespace slip::endpoint
