// What a long context costs: decode and prefill after many tokens over after few.
#pragma once

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// Figures: decode_context and decode_context_tls are the tokens per second of decode after 1,536
/// tokens over those after 32, of Int8Engine and of the hybrid engine with David over TLS;
/// decode_in_process_1536 and decode_tls_1536 are those of the hybrid engine after 1,536 tokens
/// over Int8Engine's there. prefill_context is Int8Engine's tokens per second in a prompt of 1,536
/// over one of 128. attention_read is the bytes of keys and values per second that attention of one
/// token reads after 4,096 over those of a plain read. A model with fewer positions is measured at
/// what it has, which the rows say. The positions before the measured tokens are written into the
/// caches, since the time does not depend on what they hold. With `curves`, decode is also measured
/// after 128, 512, 1,024 and 2,048 tokens, and the report has a curve per engine.
Report measure_context(WholeModel& whole, bool curves = false);

}  // namespace slip::bench
