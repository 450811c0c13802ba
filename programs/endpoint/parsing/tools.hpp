// The functions that clients offer, and calls of them, in OpenAI's JSON (SERVE-17).
#pragma once

#include <string_view>

#include "programs/endpoint/parsing/fields.hpp"
#include "programs/endpoint/parsing/request.hpp"

namespace slip::endpoint {

/// Functions are no more than this many, as OpenAI has it.
inline constexpr std::size_t most_tools = 128;

/// Reads "tools", "tool_choice" and "parallel_tool_calls" of a request, whose other fields `order`
/// has already. `body`: the request, because fields of a tool are shown as they stand there. Throws
/// ApiError (400), naming the field.
void read_tools(Fields& fields, std::string_view body, GenerationOrder& order);

/// Reads "tool_calls" of an assistant's message, and "tool_call_id" of a tool's. As above.
void read_calls(Fields& fields, ChatMessage& message);

}  // namespace slip::endpoint
