// SLIP as a library: everything that a program needs to split a model, to run it as Charlie, and to
// be David. README.md says which header has what, what threads may do, and how a call is cancelled.
#pragma once

#include "slip/charlie.hpp"
#include "slip/chat.hpp"
#include "slip/david.hpp"
#include "slip/error.hpp"
#include "slip/evaluate.hpp"
#include "slip/grammar.hpp"
#include "slip/image_classifier.hpp"
#include "slip/language_model.hpp"
#include "slip/model.hpp"
#include "slip/plan.hpp"
#include "slip/planning.hpp"
#include "slip/run_statistics.hpp"
#include "slip/sampling.hpp"
#include "slip/scheduler.hpp"
#include "slip/sequence.hpp"
#include "slip/shared_memory.hpp"
#include "slip/split.hpp"
#include "slip/text_stream.hpp"
#include "slip/tls.hpp"
#include "slip/tools.hpp"
#include "slip/trace.hpp"
#include "slip/transport.hpp"
#include "slip/types.hpp"
#include "slip/version.hpp"

/// Protects the weights of a model while most of its work runs on a machine that is not trusted.
namespace slip {}
