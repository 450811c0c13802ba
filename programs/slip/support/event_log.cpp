#include "programs/slip/support/event_log.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "programs/slip/support/printable.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

/// In UTC, as RFC 3339 writes it.
std::string time_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

bool is_word(const std::string& text) {
    constexpr const char* plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-+,[]";
    return !text.empty() && text.find_first_not_of(plain) == std::string::npos;
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') result += '\\';
        result += letter;
    }
    return result + '"';
}

std::string text_of(const EventLog::Value& value) {
    if (const auto* const count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
    if (const auto* const text = std::get_if<std::string>(&value)) {
        return is_word(*text) ? *text : quoted(*text);
    }
    std::array<char, 40> digits{};
    const int size = std::snprintf(digits.data(), digits.size(), "%.4f", std::get<double>(value));
    return {digits.data(), static_cast<std::size_t>(size)};
}

/// Whether standard error takes a line at once. A pipe that is full, since nobody reads it, does
/// not.
bool has_room_for_a_line() {
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&out, 1, 0) != 0;
}

/// So short that a whole line fits what a pipe takes at once (PIPE_BUF), escapes included.
EventLog::Value shortened(const EventLog::Value& value) {
    constexpr std::size_t most = 500;
    const auto* const text = std::get_if<std::string>(&value);
    if (text == nullptr || text->size() <= most) return value;
    return text->substr(0, most) + "...";
}

std::string as_text(const std::string& name, const EventLog::Fields& fields) {
    std::string line = "slip " + name + ": time=" + time_now();
    for (const auto& [field, value] : fields) line += ' ' + field + '=' + text_of(shortened(value));
    return printable(line);
}

std::string as_json(const std::string& name, const EventLog::Fields& fields) {
    nlohmann::ordered_json line{{"time", time_now()}, {"program", "slip " + name}};
    for (const auto& field : fields) {
        std::visit([&](const auto& value) { line[field.first] = value; }, shortened(field.second));
    }
    return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void add_log_flags(Options& options) {
    options.add("log-format", "text|json", "of the lines on standard error (default text)");
}

EventLog::Format log_format(const Options& options) {
    const std::string name = options.text_or("log-format", "text");
    if (name == "text") return EventLog::Format::text;
    if (name == "json") return EventLog::Format::json;
    throw BadInput("--log-format '" + name + "': expected text or json");
}

EventLog::~EventLog() {
    try {
        write_suppressed();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for a line
    }
}

void EventLog::write(const Fields& fields) {
    if (!has_room_for_a_line()) {
        ++unread_;
        return;
    }
    if (unread_ > 0) write_line({{"unread", std::exchange(unread_, 0)}});
    write_line(fields);
}

void EventLog::write_line(const Fields& fields) const {
    const std::string line =
        format_ == Format::json ? as_json(name_, fields) : as_text(name_, fields);
    std::cerr << line + "\n" << std::flush;
    std::cerr.clear();  // a reader who is gone may be followed by another
}

bool EventLog::may_write() {
    const auto passed = std::chrono::floor<std::chrono::seconds>(Clock::now() - refilled_);
    refilled_ += passed;
    allowed_ = std::min(burst, allowed_ + static_cast<std::uint64_t>(passed.count()));
    if (allowed_ == 0) return false;
    --allowed_;
    return true;
}

void EventLog::write_suppressed() {
    if (suppressed_ > 0) write({{"suppressed", suppressed_}});
    suppressed_ = 0;
}

void EventLog::add(const Fields& fields) {
    const std::lock_guard lock(mutex_);
    write(fields);
}

void EventLog::add_limited(const Fields& fields) {
    const std::lock_guard lock(mutex_);
    if (!may_write()) {
        ++suppressed_;
        return;
    }
    write_suppressed();
    write(fields);
}

}  // namespace slip::tool
