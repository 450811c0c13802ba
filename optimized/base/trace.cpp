#include "slip/trace.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

namespace slip {
namespace {

constexpr const char* track_names[] = {"Charlie", "David, and the way to him", "masks ahead"};

std::string named(const char* what, int track, const char* name) {
    return std::string(R"({"ph":"M","pid":1,"tid":)") + std::to_string(track) + R"(,"name":")" +
           what + R"(","args":{"name":")" + name + "\"}}";
}

std::string microseconds(Trace::Clock::duration time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f",
                  std::chrono::duration<double, std::micro>(time).count());
    return text;
}

}  // namespace

Trace::Trace(std::size_t most_spans)
    : start_(Clock::now()),
      most_spans_(most_spans),
      spans_(std::make_unique_for_overwrite<Span[]>(most_spans)) {}

void Trace::add(const Span& span) noexcept {
    const std::lock_guard lock(mutex_);
    if (added_ < most_spans_) spans_[added_] = span;
    ++added_;
}

std::string Trace::json() const {
    const std::lock_guard lock(mutex_);
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    text += named("process_name", 0, "slip");
    for (int track = 1; track <= 3; ++track) {
        text += ",\n" + named("thread_name", track, track_names[track - 1]);
    }
    const std::size_t kept = std::min(added_, most_spans_);
    for (const Span& span : std::span(spans_.get(), kept)) {
        text += std::string(",\n{\"ph\":\"X\",\"pid\":1,\"tid\":") +
                std::to_string(static_cast<int>(span.track)) + ",\"name\":\"" + span.what +
                "\",\"ts\":" + microseconds(span.begin - start_) +
                ",\"dur\":" + microseconds(span.end - span.begin) +
                ",\"args\":{\"group\":" + std::to_string(span.group) +
                ",\"columns\":" + std::to_string(span.columns) + "}}";
    }
    return text + "\n],\"otherData\":{\"spans_left_out\":" + std::to_string(added_ - kept) + "}}\n";
}

}  // namespace slip
