#include "programs/endpoint/generation.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "optimized/graph/sampler.hpp"
#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

ApiError failure(unsigned status, const char* code, const char* message) {
    ApiError error(status, message);
    error.type = "server_error";
    error.code = code;
    return error;
}

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

/// Whether fewer than `count` tokens come before this one, by log-probability and id.
bool is_among_likeliest(std::span<const double> values, TokenId id, std::size_t count) {
    const auto own = static_cast<std::size_t>(id);
    std::size_t before = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] > values[own] || (values[i] == values[own] && i < own)) ++before;
    }
    return before < count;
}

/// `all`: a chosen token's log-probability is shown whatever its rank (SERVE-10).
TokenChoice describe(const LanguageModel& model, TokenId id, std::span<const float> logits,
                     std::size_t likeliest, bool all) {
    const std::vector<double> values = graph::log_probabilities(logits);
    const auto entry = [&](TokenId token) {
        const TokenId ids[] = {token};
        return TokenChoice::Alternative{model.decode(ids), values[static_cast<std::size_t>(token)]};
    };
    std::vector<TokenId> ids(values.size());
    std::iota(ids.begin(), ids.end(), 0);
    const std::size_t count = std::min(likeliest, ids.size());
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                      [&](TokenId a, TokenId b) {
                          const double of_a = values[static_cast<std::size_t>(a)];
                          const double of_b = values[static_cast<std::size_t>(b)];
                          return of_a > of_b || (of_a == of_b && a < b);
                      });
    TokenChoice choice{entry(id), {}};
    if (!all && !is_among_likeliest(values, id, most_likeliest)) {
        choice.chosen.log_probability = unlikely_log_probability;
    }
    for (std::size_t i = 0; i < count; ++i) choice.likeliest.push_back(entry(ids[i]));
    return choice;
}

}  // namespace

ApiError error_of(const GenerationEnd& end) {
    if (end.reason == GenerationEnd::Reason::cancelled) {
        return failure(503, "stopped", "the server is being stopped");
    }
    try {
        if (end.error) std::rethrow_exception(end.error);
    } catch (const IntegrityError&) {
        return failure(502, "integrity_error",
                       "a reply of the machine that computes with this server was wrong: the "
                       "answer ends here, and nothing of that reply was used");
    } catch (const Distrusted&) {
        return failure(503, "no_david",
                       "no machine is left that computes with this server: one sent a wrong reply");
    } catch (const ProtocolError&) {
        return failure(503, "no_david", "no machine that computes with this server can be reached");
        // NOLINTNEXTLINE(bugprone-empty-catch)
    } catch (const std::exception&) {
        // A defect: its text may hold anything, and is not for clients.
    }
    return failure(500, "internal_error", "a defect of this server");
}

Generation::Generation(const Shared& shared, AnswerHead head, const GenerationOrder& order,
                       std::span<const TokenId> prompt, std::shared_ptr<ToldReply> reply)
    : shared_(shared),
      head_(std::move(head)),
      stream_(order.stream),
      include_usage_(order.include_usage),
      likeliest_(order.log_probabilities),
      reply_(std::move(reply)),
      text_(shared.scheduler->model(), prompt, order.stops) {
    if (likeliest_) choices_.emplace();
}

void Generation::start(GenerationRequest request) {
    const auto self = shared_from_this();
    const Scheduler::Id id = shared_.scheduler->submit(
        std::move(request),
        [self](TokenId token, std::span<const float> logits) {
            return self->on_token(token, logits);
        },
        [self](const GenerationEnd& end) { self->on_end(end); });
    {
        const std::lock_guard lock(mutex_);
        id_ = id;
    }
    reply_->on_gone([weak = weak_from_this()] {
        if (const auto generation = weak.lock()) generation->client_gone();
    });
}

/// SERVE-8: nobody computes for a client who is gone.
void Generation::client_gone() {
    gone_ = true;
    std::optional<Scheduler::Id> id;
    {
        const std::lock_guard lock(mutex_);
        id = id_;
    }
    if (id) shared_.scheduler->cancel(*id);
}

void Generation::note_token() {
    const bool first = !first_token_seconds_;
    const Clock::time_point now = Clock::now();
    const double seconds = seconds_between(last_token_, now);
    shared_.observer->on_token(first, seconds);
    if (first) first_token_seconds_ = seconds;
    last_token_ = now;
}

bool Generation::on_token(TokenId id, std::span<const float> logits) {
    if (gone_) return false;
    note_token();
    if (head_.chat && shared_.chat->ends_answer(id)) return false;
    if (likeliest_) {
        choices_->push_back(describe(shared_.scheduler->model(), id, logits, *likeliest_,
                                     shared_.unlikely_log_probabilities));
    }
    show(text_.push(id));
    return !text_.stopped() && !gone_;
}

void Generation::show(const std::string& text) {
    if (!stream_) {
        answer_ += text;
    } else if (!text.empty()) {
        send_events(text_event(head_, text, choices_, include_usage_));
        if (choices_) choices_->clear();
    }
}

void Generation::send_events(const std::string& events) {
    if (!begun_) {
        begun_ = true;
        HttpResponse head{200, "text/event-stream; charset=utf-8", "", shared_.fields};
        head.fields.emplace_back("X-Accel-Buffering", "no");
        shared_.observer->on_answer(head.status);
        reply_->begin(head);
        reply_->write(first_event(head_, include_usage_));
    }
    if (!reply_->write(events)) gone_ = true;
}

void Generation::on_end(const GenerationEnd& end) {
    using Reason = GenerationEnd::Reason;
    shared_.observer->on_end(end, seconds_between(began_, Clock::now()));
    reply_->line().add(end, first_token_seconds_);
    if (gone_) return;  // the reply closes the connection
    if (end.reason == Reason::failed || end.reason == Reason::cancelled) return fail(error_of(end));
    show(text_.finish());
    const AnswerEnd last{end.reason == Reason::length ? "length" : "stop", end.receipt,
                         shared_.facts};
    if (stream_) {
        if (choices_ && !choices_->empty()) {  // of tokens without a text of their own
            send_events(text_event(head_, "", choices_, include_usage_));
        }
        send_events(last_events(head_, last, include_usage_));
        reply_->finish();
    } else {
        send({200, "application/json", whole_answer(head_, answer_, choices_, last), {}});
    }
}

void Generation::fail(const ApiError& error) {
    if (begun_) {
        reply_->write(error_event(error));
        reply_->finish();
        return;
    }
    send({error.status, "application/json", error_body(error), {{"Retry-After", "1"}}});
}

void Generation::send(HttpResponse response) {
    response.fields.insert(response.fields.end(), shared_.fields.begin(), shared_.fields.end());
    shared_.observer->on_answer(response.status);
    reply_->send(std::move(response));
}

}  // namespace slip::endpoint
