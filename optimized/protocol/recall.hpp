// When an offline David (D2) who was lost is called again: spec/offline.md, OFF-11.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "slip/transport.hpp"

namespace slip::protocol {

struct RecallOptions {
    /// The pause before the first call. Each following pause is twice as long, up to `longest`.
    std::chrono::milliseconds pause{1000};
    std::chrono::milliseconds longest{30000};
    /// He is given up when he has not said READY for so long since he was lost. 0: at once.
    std::chrono::milliseconds limit = TimeLimits{}.patience;
};

/// The calls of one D2. The caller tells the time.
class Recall {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit Recall(const RecallOptions& options) : options_(options), pause_(options.pause) {}

    /// He has said READY: he is there, whether or not he is of any use.
    void ready() { since_.reset(); }
    /// He has given masks: the next pause is the first again.
    void answered() { pause_ = options_.pause; }
    /// He is lost, or was called in vain. The pause until the next call, the last of which is at
    /// the limit; nothing: he is given up.
    std::optional<std::chrono::milliseconds> lost(Time now) {
        using std::chrono::milliseconds;
        if (!since_) since_ = now;
        const auto left = options_.limit - std::chrono::floor<milliseconds>(now - *since_);
        if (left <= milliseconds::zero()) return std::nullopt;
        const auto pause = std::min(pause_, left);
        pause_ = std::min(2 * pause_, options_.longest);
        return pause;
    }

private:
    RecallOptions options_;
    std::chrono::milliseconds pause_;
    std::optional<Time> since_;  // he was lost; empty while he is there
};

}  // namespace slip::protocol
