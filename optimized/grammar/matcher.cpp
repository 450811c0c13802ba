// SERVE-16: all derivations at once.
#include "optimized/grammar/matcher.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "slip/grammar.hpp"

namespace slip::grammar {
namespace {

/// Derivations of one text that are followed at once.
constexpr std::size_t most_places = 512;
/// In all states that are kept: what one token may add, and what is kept for the next one.
constexpr std::size_t most_kept = 1U << 17;
constexpr std::size_t kept_between_tokens = 1U << 15;

[[noreturn]] void refuse() {
    throw GrammarError("the grammar is too ambiguous: its texts have too many derivations");
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    start();
    Known first;
    follow({program_->root, 0}, first);
    begin_ = numbered(std::move(first));
}

void Matcher::start() {
    states_.assign(1, {});  // nothing
    numbers_ = {{states_.front(), nothing}};
    transitions_.clear();
    frames_.assign(1, {0, 0});
    frame_numbers_.clear();
    kept_ = 0;
}

/// A call at the end of a rule leaves the stack as it is, so that right recursion does not deepen
/// it.
Matcher::Place Matcher::entered(const Node& call, std::uint32_t stack) {
    const bool last = program_->nodes[call.next].kind == Node::Kind::end;
    return {call.other, last ? stack : pushed({call.next, stack})};
}

std::uint32_t Matcher::pushed(Frame frame) {
    const auto [found, fresh] =
        frame_numbers_.emplace(frame, static_cast<std::uint32_t>(frames_.size()));
    if (fresh) frames_.push_back(frame);
    return found->second;
}

/// Adds to `state` the places that are reached from one without taking a byte.
void Matcher::follow(Place place, Known& state) {
    std::vector<Place> open{place};
    std::set<Place> seen{place};
    const auto push = [&](Place next) {
        if (seen.insert(next).second) open.push_back(next);
        if (seen.size() > 16 * most_places) refuse();
    };
    while (!open.empty()) {
        const auto [number, stack] = open.back();
        open.pop_back();
        const Node& node = program_->nodes[number];
        switch (node.kind) {
            case Node::Kind::bytes:
            case Node::Kind::token:
                state.places.push_back({number, stack});
                break;
            case Node::Kind::split:
                push({node.next, stack});
                push({node.other, stack});
                break;
            case Node::Kind::call:
                push(entered(node, stack));
                break;
            case Node::Kind::end:
                if (stack == 0) {
                    state.accepts = true;
                } else {
                    push({frames_[stack].node, frames_[stack].below});
                }
        }
    }
}

Matcher::State Matcher::numbered(Known state) {
    std::sort(state.places.begin(), state.places.end());
    state.places.erase(std::unique(state.places.begin(), state.places.end()), state.places.end());
    if (state.places.size() > most_places) refuse();
    const auto [found, fresh] = numbers_.emplace(state, static_cast<State>(states_.size()));
    if (!fresh) return found->second;
    kept_ += state.places.size() + 1;
    if (kept_ > most_kept) refuse();
    states_.push_back(std::move(state));
    return found->second;
}

bool Matcher::keeps_many() const { return kept_ + frames_.size() > kept_between_tokens; }

Matcher::State Matcher::after(State state, std::uint8_t byte) {
    if (state == nothing) return nothing;
    const std::uint64_t key = std::uint64_t{state} << 8 | byte;
    const auto known = transitions_.find(key);
    if (known != transitions_.end()) return known->second;
    Known next;
    for (const Place& place : states_[state].places) {
        const Node& node = program_->nodes[place.node];
        if (node.kind != Node::Kind::bytes || byte < node.low || byte > node.high) continue;
        follow({node.next, place.stack}, next);
        if (next.places.size() > 16 * most_places) refuse();
    }
    const State number = numbered(std::move(next));
    transitions_.emplace(key, number);
    return number;
}

Matcher::State Matcher::after_token(State state, TokenId id) {
    Known next;
    for (const Place& place : states_[state].places) {
        const Node& node = program_->nodes[place.node];
        if (node.kind != Node::Kind::token || std::cmp_not_equal(node.other, id)) continue;
        follow({node.next, place.stack}, next);
    }
    return numbered(std::move(next));
}

std::vector<TokenId> Matcher::tokens(State state) const {
    std::vector<TokenId> ids;
    for (const Place& place : states_[state].places) {
        const Node& node = program_->nodes[place.node];
        if (node.kind == Node::Kind::token) ids.push_back(static_cast<TokenId>(node.other));
    }
    return ids;
}

/// Of the stacks, only those of the state are kept; frames lie above those that they return to.
Matcher::State Matcher::forget_but(State state) {
    Known kept = states_[state];
    const std::vector<Frame> old = frames_;
    std::vector<bool> used(old.size());
    for (const Place& place : kept.places) used[place.stack] = true;
    for (std::size_t i = old.size(); i-- > 1;) {
        if (used[i]) used[old[i].below] = true;
    }
    start();
    std::vector<std::uint32_t> renamed(old.size());
    for (std::size_t i = 1; i < old.size(); ++i) {
        if (used[i]) renamed[i] = pushed({old[i].node, renamed[old[i].below]});
    }
    for (Place& place : kept.places) place.stack = renamed[place.stack];
    return numbered(std::move(kept));
}

}  // namespace slip::grammar
