// MODEL on the command line: a checkpoint or an artifact, and the engine that multiplies.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "programs/slip/support/davids.hpp"
#include "programs/slip/support/options.hpp"
#include "slip/model.hpp"
#include "slip/trace.hpp"

namespace slip::tool {

/// The usage line's part and the flags of MODEL.
inline constexpr const char* model_usage =
    "(--artifact OUT [--david ADDRESS]... [--tls TLS/charlie] | --model DIR)";
void add_model_flags(Options& options);

/// Opens what the flags name as the kind that the command works on. `masks_ready`:
/// CharlieOptions::masks_ready. `davids`: those of --david, for who wants to know of
/// them, and asks a busy one again himself; null: they are made here. `trace`: of --trace, which
/// needs the hybrid engine; null: nothing is recorded. Throws BadInput for flags that do not fit
/// together and for bad files.
template <class Kind>
Kind open_model(const Options& options, std::size_t masks_ready = 0,
                std::shared_ptr<ShardDavids> davids = nullptr,
                std::shared_ptr<Trace> trace = nullptr);

/// --engine; without it float with --model, and hybrid otherwise.
std::string engine_of(const Options& options);

/// Throws BadInput, naming the flag that needs it, unless the model has a tokenizer.
void require_tokenizer(const LanguageModel& model, const char* flag);

}  // namespace slip::tool
