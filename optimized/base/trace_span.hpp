// What is done between two braces, as a span of a trace.
#pragma once

#include "optimized/base/model_shape.hpp"
#include "slip/trace.hpp"

namespace slip::base {

/// Adds the time from its construction to its destruction to `trace`; nothing if that is null.
class TraceSpan {
public:
    TraceSpan(Trace* trace, Trace::Track track, const char* what, GroupId group,
              std::size_t columns)
        : trace_(trace), span_{track, what, {}, {}, group, columns} {
        if (trace_ != nullptr) span_.begin = Trace::Clock::now();
    }
    TraceSpan(const TraceSpan&) = delete;
    TraceSpan& operator=(const TraceSpan&) = delete;
    ~TraceSpan() {
        if (trace_ == nullptr) return;
        span_.end = Trace::Clock::now();
        trace_->add(span_);
    }

private:
    Trace* const trace_;
    Trace::Span span_;
};

}  // namespace slip::base
