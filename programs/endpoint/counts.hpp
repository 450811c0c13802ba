// What a service has done so far, for its metrics and its page.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "programs/endpoint/generation.hpp"

namespace slip::endpoint {

/// Counts what happens, from any thread.
class Counts : public GenerationObserver {
public:
    using Clock = std::chrono::steady_clock;
    /// Ended generations by reason, in the order of GenerationEnd::Reason.
    using Ends = std::array<std::uint64_t, 5>;

    void on_token() override;
    void on_end(const GenerationEnd& end) override;
    /// Streamed answers that fail later count by the status that they began with.
    void on_answer(unsigned status) override;

    /// Of the last whole seconds, at most ten.
    double tokens_per_second() const;
    Ends ends() const;
    /// By the status's first digit, 2 to 5.
    std::array<std::uint64_t, 4> answers() const;
    double uptime_seconds() const;

private:
    static constexpr std::size_t window = 10;
    std::int64_t second_now() const;

    const Clock::time_point began_ = Clock::now();
    mutable std::mutex mutex_;
    /// Tokens in each of the last seconds, and which second that is.
    struct Bucket {
        std::int64_t second = -1;
        std::uint64_t tokens = 0;
    };
    std::array<Bucket, window + 1> buckets_{};
    Ends ends_{};
    std::array<std::uint64_t, 4> answers_{};
};

/// A David as the page shows him.
struct DavidState {
    std::string address;
    std::string state;  ///< "connected", "could not be reached", "sent a wrong reply", ...
};

/// What the metrics and the page show.
struct Snapshot {
    std::string model;
    std::string state;  ///< "loading", "ok", "no David", "draining"
    ReceiptFacts facts;
    SchedulerStatistics scheduler;
    std::vector<DavidState> davids;
    double tokens_per_second = 0;
    double uptime_seconds = 0;
    Counts::Ends ends{};
    std::array<std::uint64_t, 4> answers{};
};

/// The text format of Prometheus, version 0.0.4.
std::string metrics_text(const Snapshot& snapshot);
/// A page of HTML without script, with the numbers in it; it loads itself anew.
std::string page_text(const Snapshot& snapshot);
/// The Content-Security-Policy of that page: nothing but its own style.
std::string page_policy();

}  // namespace slip::endpoint
