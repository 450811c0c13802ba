// MODEL on the command line: a checkpoint or an artifact, and the engine that multiplies.
#pragma once

#include <cstddef>
#include <memory>

#include "optimized/api/opened_model.hpp"
#include "optimized/base/model_shape.hpp"
#include "programs/slip/options.hpp"

namespace slip::tool {

/// The usage line's part and the flags of MODEL.
inline constexpr const char* model_usage =
    "(--model DIR --engine float | --artifact OUT --engine unsplit|hybrid\n"
    "            [--david HOST:PORT --tls TLS/charlie])";
void add_model_flags(Options& options);

/// What stands before a text's first token.
TokenId before_texts(const ModelConfig& config);

/// Opens what the flags name. `masks_ready`: masks per group that wait_until_ready() will be asked
/// for. Throws BadInput for flags that do not fit together and for bad files.
std::unique_ptr<OpenedModel> open_model(const Options& options, std::size_t masks_ready = 0);

}  // namespace slip::tool
