// Requests to /v1/responses, in OpenAI's JSON (SERVE-18).
#pragma once

#include <string_view>

#include "programs/endpoint/parsing/request.hpp"

namespace slip::endpoint {

/// The body of a request to /v1/responses. Throws ApiError (400), naming the field.
GenerationOrder parse_response(std::string_view body);

}  // namespace slip::endpoint
