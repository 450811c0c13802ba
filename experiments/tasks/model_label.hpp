// How results describe a language model: its family and its size.
#pragma once

#include <cstdint>

#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"

namespace slip::tasks {

/// "llama", "gpt2" or "phi".
inline const char* name_of(base::Family family) {
    switch (family) {
        case base::Family::llama:
            return "llama";
        case base::Family::gpt2:
            return "gpt2";
        case base::Family::phi:
            return "phi";
    }
    throw InternalError("name_of: unknown family");
}

/// Numbers in all tensors of a checkpoint. The weights are not read.
inline std::uint64_t parameters_of(const importing::Checkpoint& checkpoint) {
    std::uint64_t count = 0;
    for (const auto& [name, tensor] : checkpoint.tensors()) count += tensor.elements();
    return count;
}

}  // namespace slip::tasks
