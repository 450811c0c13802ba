// What is behind a Grammar.
#pragma once

#include <memory>
#include <string>

#include "optimized/grammar/program.hpp"
#include "slip/grammar.hpp"

namespace slip {

struct Grammar::State {
    std::string source;
    std::shared_ptr<const grammar::Program> program;
};

}  // namespace slip

namespace slip::grammar {

/// `source`: what the rules were made from. Throws as compile().
std::shared_ptr<const Grammar::State> state_of(std::string source, const Rules& rules);

}  // namespace slip::grammar
