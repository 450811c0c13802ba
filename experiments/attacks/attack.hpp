// One attack, and what came of it against a twin without a rule and against the product's splits.
#pragma once

#ifndef SLIP_INSECURE_TWINS
#error "experiments/attacks holds insecure twins: build it with -DSLIP_INSECURE_TWINS=ON"
#endif

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace slip::attacks {

/// What every attack is run with.
struct Setting {
    std::filesystem::path model;  ///< a trained checkpoint of the LLaMA family
    std::uint64_t seed = 1;       ///< of the attacker's choices; keys and masks are always fresh
    bool full = false;            ///< the sizes of the committed results; otherwise those of ./test
};

/// What an attack reached. `error` is what Attack::measure names; it succeeds up to `threshold`.
struct Outcome {
    double error = 0;
    double threshold = 0;
    std::uint64_t queries = 0;  ///< inferences or messages that the attacker caused or observed
    std::string note = {};      ///< one sentence, for people

    bool succeeded() const { return error <= threshold; }
};

using Run = Outcome (*)(const Setting&);

struct Attack {
    const char* name;
    const char* rule;     ///< the clauses that stop it, or that state that nothing does
    const char* summary;  ///< what is attacked, and how
    const char* measure;  ///< what `error` is; smaller is better for the attacker
    Run twin;             ///< the rule switched off; null where no rule would stop the attack
    Run paper;            ///< the product with the paper's split; null where its rules are others
    Run hidden;           ///< the product with the hidden split; never null
};

/// Every attack; those that succeed against the paper's split come first.
std::span<const Attack> attacks();

}  // namespace slip::attacks
