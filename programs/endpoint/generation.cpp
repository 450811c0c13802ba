#include "programs/endpoint/generation.hpp"

#include <iterator>
#include <utility>

#include "slip/error.hpp"
#include "slip/grammar.hpp"

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

}  // namespace

ApiError error_of(const GenerationEnd& end, const char* grammar_field) {
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
    } catch (const GrammarError& error) {
        ApiError refusal(400, error.what());
        refusal.param = grammar_field;
        return refusal;
        // NOLINTNEXTLINE(bugprone-empty-catch): a defect, whose text is not for clients
    } catch (const std::exception&) {
    }
    return failure(500, "internal_error", "a defect of this server");
}

Generation::Generation(const Shared& shared, AnswerHead head, const GenerationOrder& order,
                       std::vector<std::vector<TokenId>> prompts, std::shared_ptr<ToldReply> reply)
    : shared_(shared),
      head_(std::move(head)),
      stream_(order.stream),
      include_usage_(order.include_usage),
      shown_{order.echo, order.log_probabilities, shared.unlikely_log_probabilities,
             head_.calls ? shared.chat->call_syntax() : std::nullopt},
      grammar_field_(order.calls ? "tools" : "grammar"),
      per_prompt_(order.choices),
      reply_(std::move(reply)),
      prompts_(std::move(prompts)),
      unended_(prompts_.size() * order.choices) {
    for (std::size_t index = 0; index < unended_; ++index) {
        texts_.emplace_back(shared_.scheduler->model(), index, prompts_[index / per_prompt_],
                            order.stops, shown_);
        whole_.push_back({{index, "", std::nullopt}, ""});
        if (shown_.likeliest) whole_.back().part.choices.emplace();
    }
    if (order.response) response_.emplace(head_, order);
    begun_.resize(unended_);
    times_.resize(unended_);
}

Submission Generation::submission(GenerationRequest request, std::size_t index) {
    Submission submission;
    const auto self = shared_from_this();
    submission.request = std::move(request);
    submission.on_token = [self, index](TokenId id, std::span<const float> logits) {
        return self->on_token(index, id, logits);
    };
    submission.on_end = [self, index](const GenerationEnd& end) { self->on_end(index, end); };
    if (shown_.echo && shown_.likeliest) {
        submission.on_prompt = [self, index](std::size_t place, std::span<const float> logits) {
            if (self->gone_) return;
            const TokenId id = self->prompts_[index / self->per_prompt_][place];
            self->show(self->texts_[index].on_prompt(id, logits));
        };
    }
    // So that max_tokens of 1 shows one place behind the prompt, whatever stands there.
    submission.shows_end = shown_.likeliest && !head_.chat;
    return submission;
}

void Generation::start(std::vector<GenerationRequest> requests) {
    std::vector<Submission> submissions;
    submissions.reserve(requests.size());
    for (GenerationRequest& request : requests) {
        submissions.push_back(submission(std::move(request), submissions.size()));
    }
    auto ids = shared_.scheduler->submit(std::move(submissions));
    {
        const std::lock_guard lock(mutex_);
        ids_ = std::move(ids);
    }
    reply_->on_gone([weak = weak_from_this()] {
        if (const auto generation = weak.lock()) generation->client_gone();
    });
}

/// SERVE-8: nobody computes for a client who is gone.
void Generation::client_gone() {
    gone_ = true;
    cancel();
}

void Generation::cancel() {
    std::vector<Scheduler::Id> ids;
    {
        const std::lock_guard lock(mutex_);
        ids = ids_;
    }
    for (const Scheduler::Id id : ids) shared_.scheduler->cancel(id);
}

void Generation::note_token(std::size_t index) {
    Times& times = times_[index];
    const Clock::time_point now = Clock::now();
    const double seconds = seconds_between(times.last_token.value_or(began_), now);
    shared_.observer->on_token(!times.last_token, seconds);
    if (!times.last_token) times.first_token_seconds = seconds;
    times.last_token = now;
}

bool Generation::on_token(std::size_t index, TokenId id, std::span<const float> logits) {
    if (gone_) return false;
    note_token(index);
    if (head_.chat && shared_.chat->ends_answer(id)) return false;
    show(texts_[index].on_token(id, logits));
    return !texts_[index].stopped() && !gone_;
}

void Generation::show(std::optional<AnswerPart> part) {
    if (!part) return;
    if (response_) return show_response(part->text);
    if (stream_) return send_events(part->index, text_event(head_, *part, include_usage_));
    AnswerPart& whole = whole_[part->index].part;
    whole.text += part->text;
    for (CallPart& call : part->calls) {
        if (!call.call.id.empty()) {
            whole.calls.push_back(std::move(call));
        } else {
            whole.calls.back().call.arguments += call.call.arguments;
        }
    }
    if (!part->choices) return;
    whole.choices->insert(whole.choices->end(), std::make_move_iterator(part->choices->begin()),
                          std::make_move_iterator(part->choices->end()));
}

/// SERVE-18.
void Generation::show_response(const std::string& text) {
    if (!stream_) return response_->add(text);
    // What comes before the text comes first, and has the first numbers.
    if (!begun_.front()) send_events(0, "");
    send_events(0, response_->more(text));
}

void Generation::send_events(std::size_t index, std::string events) {
    if (!answering_) {
        answering_ = true;
        HttpResponse head{200, "text/event-stream; charset=utf-8", "", shared_.fields};
        head.fields.emplace_back("X-Accel-Buffering", "no");
        shared_.observer->on_answer(head.status);
        reply_->begin(head);
    }
    if (!begun_[index]) {
        begun_[index] = true;
        events.insert(0,
                      response_ ? response_->first() : first_event(head_, index, include_usage_));
    }
    if (!reply_->write(events)) gone_ = true;
}

void Generation::on_end(std::size_t index, const GenerationEnd& end) {
    using Reason = GenerationEnd::Reason;
    shared_.observer->on_end(end, seconds_between(began_, Clock::now()));
    reply_->line().add(end, times_[index].first_token_seconds);
    Receipt own = end.receipt;
    if (index % per_prompt_ > 0) own.prompt_tokens = own.cached_tokens = 0;  // the first's prompt
    receipt_.add(own);
    --unended_;
    if (gone_) return;  // the reply closes the connection, or has had an error
    if (end.reason == Reason::failed || end.reason == Reason::cancelled)
        return fail(error_of(end, grammar_field_));
    show(texts_[index].finish());
    const char* const complete = texts_[index].has_called() ? "tool_calls" : "stop";
    whole_[index].finish_reason = end.reason == Reason::length ? "length" : complete;
    const AnswerEnd all{receipt_, shared_.facts};
    if (stream_) {
        finish_stream(index, all);
    } else if (unended_ == 0) {
        send({200,
              "application/json",
              response_ ? response_->whole(whole_[index].finish_reason, all)
                        : whole_answer(head_, whole_, all),
              {}});
    }
}

/// The end of one choice.
void Generation::finish_stream(std::size_t index, const AnswerEnd& end) {
    const std::string& reason = whole_[index].finish_reason;
    if (response_) {
        if (!begun_[index]) send_events(index, "");
        send_events(index, response_->last(reason, end));
    } else {
        send_events(index, last_event(head_, index, reason, unended_ == 0 ? &end : nullptr,
                                      include_usage_));
    }
    if (unended_ == 0) reply_->finish();
}

/// One choice that fails ends the others.
void Generation::fail(const ApiError& error) {
    gone_ = true;
    if (answering_) {
        reply_->write(response_ ? response_->failed(error) : error_event(error));
        reply_->finish();
    } else {
        send({error.status, "application/json", error_body(error), {{"Retry-After", "1"}}});
    }
    if (unended_ > 0) cancel();
}

void Generation::send(HttpResponse response) {
    response.fields.insert(response.fields.end(), shared_.fields.begin(), shared_.fields.end());
    shared_.observer->on_answer(response.status);
    reply_->send(std::move(response));
}

}  // namespace slip::endpoint
