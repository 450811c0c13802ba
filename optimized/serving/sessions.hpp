// The sessions of a model that is served, one after the other: SERVE-2.
#pragma once

#include <cstdint>
#include <memory>

#include "optimized/api/access.hpp"
#include "optimized/api/runtime.hpp"
#include "optimized/base/stock_level.hpp"
#include "slip/run_statistics.hpp"

namespace slip::serving {

class Sessions {
public:
    /// The model outlives the object, and nobody else runs it.
    explicit Sessions(Access::LanguageState& model);

    /// Null while there is no session and one is needed.
    api::Runtime* runtime() const { return model_.runtime.get(); }
    /// Whether open() can be tried.
    bool can_reopen() const { return model_.reopen != nullptr; }
    /// Whether David has ended the session, asked between two steps.
    bool ended() const { return model_.runtime && model_.runtime->session_ended(); }
    /// Whether steps need a session.
    bool needed() const { return needed_; }
    /// Ends the session, whose secrets are gone then. Nothing happens where none is needed.
    void lose();
    /// Opens one, with a key and masks of its own (SESS-5). Requires that there is none. Throws
    /// what open_charlie() throws.
    void open();

    std::uint64_t opened() const { return opened_; }
    /// The statistics of all sessions together.
    RunStatistics statistics() const;
    /// The stock of the session that is open.
    base::StockLevel stock() const;

private:
    Access::LanguageState& model_;
    const bool needed_;
    std::uint64_t opened_;
    RunStatistics past_;  // of the sessions before
};

}  // namespace slip::serving
