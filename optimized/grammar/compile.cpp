// SERVE-16: from rules to nodes, and which grammars are refused.
#include <map>
#include <utility>

#include "optimized/grammar/program.hpp"
#include "slip/error.hpp"

namespace slip::grammar {
namespace {

constexpr std::size_t most_nodes = 1U << 15;
constexpr std::size_t most_rules = 1024;
constexpr std::size_t most_expressions = 1U << 18;  // repeats counted as often as they repeat

using Id = std::uint32_t;

/// UTF-8 of the characters from `from` to `to`, which are of the same number of bytes, as ranges of
/// bytes, one after the other.
struct ByteRanges {
    std::vector<std::pair<std::uint8_t, std::uint8_t>> bytes;
};

std::size_t utf8_bytes(char32_t point) {
    return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

std::uint8_t utf8_byte(char32_t point, std::size_t place, std::size_t count) {
    if (count == 1) return static_cast<std::uint8_t>(point);
    const auto bits = static_cast<std::uint8_t>(point >> (6 * (count - 1 - place)) & 0x3f);
    if (place > 0) return static_cast<std::uint8_t>(0x80 | bits);
    return static_cast<std::uint8_t>((0xff00U >> count & 0xffU) | bits);
}

/// Cuts a range where the bytes behind the first that differs are not all of them.
void append_utf8(char32_t from, char32_t to, std::vector<ByteRanges>& result) {
    for (const char32_t border : {0x80U, 0x800U, 0xd800U, 0xe000U, 0x10000U}) {
        if (from < border && border <= to) {
            append_utf8(from, border - 1, result);
            return append_utf8(border, to, result);
        }
    }
    if (from >= 0xd800 && from < 0xe000) return;  // surrogates are no characters
    const std::size_t count = utf8_bytes(from);
    for (std::size_t place = 1; place < count; ++place) {
        const char32_t below = (char32_t{1} << (6 * (count - place))) - 1;
        if ((from & ~below) == (to & ~below)) continue;
        if ((from & below) != 0) {
            append_utf8(from, from | below, result);
            return append_utf8((from | below) + 1, to, result);
        }
        if ((to & below) != below) {
            append_utf8(from, (to & ~below) - 1, result);
            return append_utf8(to & ~below, to, result);
        }
    }
    ByteRanges ranges;
    for (std::size_t place = 0; place < count; ++place) {
        ranges.bytes.emplace_back(utf8_byte(from, place, count), utf8_byte(to, place, count));
    }
    result.push_back(std::move(ranges));
}

class Compiler {
public:
    explicit Compiler(const Rules& rules) : rules_(rules) {}

    Program program() {
        if (!rules_.contains("root")) throw BadInput("the grammar has no rule root");
        if (rules_.size() > most_rules) throw BadInput("the grammar has more than 1024 rules");
        for (const auto& [name, expression] : rules_) {
            entries_[name] = add({});  // until its nodes are known: a split that leads there
        }
        for (const auto& [name, expression] : rules_) {
            rule_ = name;
            const Id begin = emit(expression, add({Node::Kind::end}));
            nodes_[entries_[name]] = {Node::Kind::split, 0, 0, begin, begin};
        }
        require_texts();
        require_progress();
        return {nodes_, entries_["root"]};
    }

private:
    [[noreturn]] static void refuse_size() {
        throw BadInput(
            "the grammar is too large: expected at most 32768 nodes, of bytes, "
            "alternatives and repeats");
    }

    Id add(const Node& node) {
        if (nodes_.size() == most_nodes) refuse_size();
        nodes_.push_back(node);
        return static_cast<Id>(nodes_.size() - 1);
    }

    /// The node from which `expression` leads to `next`.
    Id emit(const Expression& expression, Id next) {
        using Kind = Expression::Kind;
        if (++emitted_ > most_expressions) refuse_size();
        switch (expression.kind) {
            case Kind::bytes:
                return emit_bytes(expression.text, next);
            case Kind::characters:
                return emit_characters(expression, next);
            case Kind::token:
                return add({Node::Kind::token, 0, 0, next, static_cast<Id>(expression.id)});
            case Kind::rule: {
                const auto found = entries_.find(expression.text);
                if (found != entries_.end())
                    return add({Node::Kind::call, 0, 0, next, found->second});
                throw BadInput("the grammar has no rule " + expression.text + ", which " + rule_ +
                               " uses");
            }
            case Kind::sequence: {
                for (auto part = expression.parts.rbegin(); part != expression.parts.rend(); ++part)
                    next = emit(*part, next);
                return next;
            }
            case Kind::choice: {
                Id entry = emit(expression.parts.back(), next);
                for (std::size_t i = expression.parts.size() - 1; i-- > 0;)
                    entry = add({Node::Kind::split, 0, 0, emit(expression.parts[i], next), entry});
                return entry;
            }
            case Kind::repeat:
                return emit_repeat(expression, next);
        }
        throw InternalError("unknown kind of expression");
    }

    Id emit_bytes(const std::string& text, Id next) {
        for (auto byte = text.rbegin(); byte != text.rend(); ++byte) {
            const auto value = static_cast<std::uint8_t>(*byte);
            next = add({Node::Kind::bytes, value, value, next});
        }
        return next;
    }

    Id emit_characters(const Expression& expression, Id next) {
        std::vector<ByteRanges> all;
        for (const auto& [from, to] : expression.ranges) append_utf8(from, to, all);
        if (all.empty()) throw BadInput("rule " + rule_ + " has a class without characters");
        Id entry = next;
        for (std::size_t i = 0; i < all.size(); ++i) {
            Id begin = next;
            for (auto range = all[i].bytes.rbegin(); range != all[i].bytes.rend(); ++range)
                begin = add({Node::Kind::bytes, range->first, range->second, begin});
            entry = i == 0 ? begin : add({Node::Kind::split, 0, 0, begin, entry});
        }
        return entry;
    }

    Id emit_repeat(const Expression& expression, Id next) {
        const Expression& part = expression.parts.front();
        Id entry = next;
        if (expression.most == Expression::unlimited) {
            entry = add({Node::Kind::split, 0, 0, next, next});
            const Id body = emit(part, entry);
            nodes_[entry].other = body;
        } else {
            for (std::size_t i = expression.least; i < expression.most; ++i)
                entry = add({Node::Kind::split, 0, 0, next, emit(part, entry)});
        }
        for (std::size_t i = 0; i < expression.least; ++i) entry = emit(part, entry);
        return entry;
    }

    /// Calls `visit` for what a rule reaches without taking a byte, calls included. `passes`: of
    /// rules by their entries, whether they are gone through.
    template <class Passes, class Visit>
    void for_each_at_once(Id entry, bool through_bytes, const Passes& passes, const Visit& visit) {
        std::vector<Id> open{entry};
        seen_.resize(nodes_.size());
        ++round_;
        const auto push = [&](Id id) {
            if (std::exchange(seen_[id], round_) != round_) open.push_back(id);
        };
        while (!open.empty()) {
            const Node& node = nodes_[open.back()];
            open.pop_back();
            visit(node);
            if (node.kind == Node::Kind::split) {
                push(node.next);
                push(node.other);
            }
            const bool takes = node.kind == Node::Kind::bytes || node.kind == Node::Kind::token;
            if (takes && through_bytes) push(node.next);
            if (node.kind == Node::Kind::call && passes(node.other)) push(node.next);
        }
    }

    /// Entries of the rules that can come to their end, if need be without taking a byte.
    std::vector<bool> ending(bool with_bytes) {
        std::vector<bool> ends(nodes_.size());
        for (bool changed = true; changed;) {
            changed = false;
            for (const auto& [name, entry] : entries_) {
                if (ends[entry]) continue;
                bool found = false;
                for_each_at_once(
                    entry, with_bytes, [&](Id called) { return ends[called]; },
                    [&](const Node& node) { found = found || node.kind == Node::Kind::end; });
                if (!found) continue;
                ends[entry] = changed = true;
            }
        }
        return ends;
    }

    void require_texts() {
        const auto ends = ending(true);
        for (const auto& [name, entry] : entries_) {
            if (!ends[entry]) throw BadInput("rule " + name + " of the grammar never ends");
        }
    }

    /// A rule that is left-recursive could be entered for ever.
    void require_progress() {
        const auto empty = ending(false);
        std::map<Id, std::vector<Id>> calls;
        for (const auto& [name, entry] : entries_) {
            std::vector<Id>& of_entry = calls[entry];
            for_each_at_once(
                entry, false, [&](Id called) { return empty[called]; },
                [&](const Node& node) {
                    if (node.kind == Node::Kind::call) of_entry.push_back(node.other);
                });
        }
        for (const auto& [name, entry] : entries_) {
            std::vector<Id> open = calls[entry];
            std::vector<bool> seen(nodes_.size());
            while (!open.empty()) {
                const Id called = open.back();
                open.pop_back();
                if (called == entry) {
                    throw BadInput("rule " + name +
                                   " of the grammar is left-recursive: expected a rule that takes "
                                   "a character before it is used again");
                }
                if (seen[called]) continue;
                seen[called] = true;
                open.insert(open.end(), calls[called].begin(), calls[called].end());
            }
        }
    }

    const Rules& rules_;
    std::map<std::string, Id> entries_;
    std::vector<Node> nodes_;
    std::string rule_;                 // that is compiled
    std::size_t emitted_ = 0;          // expressions, those without a node too
    std::vector<std::uint32_t> seen_;  // by node: the last round that came to it
    std::uint32_t round_ = 0;
};

}  // namespace

Program compile(const Rules& rules) { return Compiler(rules).program(); }

}  // namespace slip::grammar
