// What several kinds of request have in common.
#pragma once

#include <string>
#include <string_view>

#include "programs/endpoint/parsing/fields.hpp"
#include "programs/endpoint/parsing/request.hpp"

namespace slip::endpoint {

/// Numbers that no answer needs to exceed.
inline constexpr std::size_t largest_count = std::size_t{1} << 24;

/// A body. Throws ApiError (400) if it is no JSON.
nlohmann::json parse(std::string_view body);
/// The fields that say how tokens are chosen, with OpenAI's defaults.
SamplingOptions sampling_of(Fields& fields);
/// Fields about accounts and tiers, of which SLIP has no notion: they change no answer.
void pass_over_harmless(Fields& fields);
/// The role that a message's "role" names, which stands at `where`.
ChatMessage::Role role_of(const std::string& role, const std::string& where);

/// Reads a grammar in the place of `path`.
template <class Read>
Grammar grammar_of(const char* path, const Read& read) {
    try {
        return read();
    } catch (const BadInput& error) {
        refuse_field(path, error.what());
    }
}

}  // namespace slip::endpoint
