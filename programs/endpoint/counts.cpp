#include "programs/endpoint/counts.hpp"

#include <algorithm>

namespace slip::endpoint {

std::int64_t Counts::second_now() const {
    return std::chrono::floor<std::chrono::seconds>(Clock::now() - began_).count();
}

/// With the lock.
Counts::Bucket& Counts::bucket_now() {
    const std::int64_t second = second_now();
    Bucket& bucket = buckets_[static_cast<std::size_t>(second) % buckets_.size()];
    if (bucket.second != second) bucket = {second, 0, 0};
    return bucket;
}

void Counts::on_token(bool first, double seconds) {
    const std::lock_guard lock(mutex_);
    ++bucket_now().tokens;
    (first ? latencies_.first_token : latencies_.between_tokens).add(seconds);
}

void Counts::on_end(const GenerationEnd& end, double seconds) {
    const std::lock_guard lock(mutex_);
    ++ends_[static_cast<std::size_t>(end.reason)];
    latencies_.queue.add(end.waited_seconds);
    latencies_.whole.add(seconds);
}

void Counts::on_answer(unsigned status) {
    const std::lock_guard lock(mutex_);
    if (status >= 200 && status < 600) ++answers_[status / 100 - 2];
    ++bucket_now().answers;
}

double Counts::tokens_per_second() const {
    const std::int64_t now = second_now();
    const std::int64_t whole = std::min<std::int64_t>(now, window);
    if (whole == 0) return 0;
    const std::lock_guard lock(mutex_);
    std::uint64_t tokens = 0;
    for (const Bucket& bucket : buckets_) {
        if (bucket.second >= now - whole && bucket.second < now) tokens += bucket.tokens;
    }
    return static_cast<double>(tokens) / static_cast<double>(whole);
}

Counts::Ends Counts::ends() const {
    const std::lock_guard lock(mutex_);
    return ends_;
}

std::array<std::uint64_t, 4> Counts::answers() const {
    const std::lock_guard lock(mutex_);
    return answers_;
}

Recent Counts::recent() const {
    const std::int64_t now = second_now();
    Recent recent;
    const std::lock_guard lock(mutex_);
    for (const Bucket& bucket : buckets_) {
        const std::int64_t age = now - bucket.second;
        const auto most = static_cast<std::int64_t>(Recent::seconds);
        if (bucket.second < 0 || age < 1 || age > most) continue;
        const auto place = static_cast<std::size_t>(most - age);
        recent.tokens[place] = static_cast<double>(bucket.tokens);
        recent.answers[place] = static_cast<double>(bucket.answers);
    }
    return recent;
}

Latencies Counts::latencies() const {
    const std::lock_guard lock(mutex_);
    return latencies_;
}

double Counts::uptime_seconds() const {
    return std::chrono::duration<double>(Clock::now() - began_).count();
}

}  // namespace slip::endpoint
