// What an examination finds: all of it, where a loader stops at the first thing that is wrong.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "slip/error.hpp"

namespace slip::base {

struct Finding {
    enum class Level {
        note,     ///< a fact
        warning,  ///< works today
        error     ///< does not work, or exposes a secret
    };
    Level level = Level::note;
    std::string text;
};

/// In the order of their discovery.
class Findings {
public:
    void note(std::string text) { add(Finding::Level::note, std::move(text)); }
    void warn(std::string text) { add(Finding::Level::warning, std::move(text)); }
    /// What two steps of an examination find counts once.
    void error(std::string text) {
        for (const Finding& finding : all_) {
            if (finding.level == Finding::Level::error && finding.text == text) return;
        }
        add(Finding::Level::error, std::move(text));
    }
    /// Whoever waits learns through `see` how many bytes have been looked at since the last call.
    void on_progress(std::function<void(std::size_t)> see) { see_ = std::move(see); }
    void passed(std::size_t bytes) const {
        if (see_) see_(bytes);
    }
    /// Runs one step. False, with an error found, if it throws BadInput.
    template <class Step>
    bool examine(const Step& step) {
        try {
            step();
            return true;
        } catch (const BadInput& bad) {
            error(bad.what());
            return false;
        }
    }

    const std::vector<Finding>& all() const { return all_; }
    bool has_errors() const {
        for (const Finding& finding : all_) {
            if (finding.level == Finding::Level::error) return true;
        }
        return false;
    }

private:
    void add(Finding::Level level, std::string text) { all_.push_back({level, std::move(text)}); }

    std::vector<Finding> all_;
    std::function<void(std::size_t)> see_;
};

}  // namespace slip::base
