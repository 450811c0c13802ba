// Which calls a request may ask for, and what its answers are then (SERVE-17).
#pragma once

#include <cstddef>

#include "programs/endpoint/parsing/request.hpp"
#include "slip/chat.hpp"

namespace slip::endpoint {

/// Throws ApiError (400), naming the field, for calls of which the model's template knows nothing,
/// and where `grammars` are not allowed, for those that have to be as the client says (SERVE-10).
void require_calls_supported(const GenerationOrder& order, const ChatFormat& chat, bool grammars);

/// Gives an order that offers functions its grammar. Without `grammars` that is one that no client
/// has a say in. Throws as above, for functions of which the grammar is too large.
void constrain_calls(GenerationOrder& order, const ChatFormat& chat, bool grammars);

/// What a message and functions add to a prompt at least.
std::size_t bytes_of(const ChatMessage& message);
std::size_t bytes_of(const CallOrder& calls);

}  // namespace slip::endpoint
