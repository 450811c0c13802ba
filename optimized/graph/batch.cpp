#include "optimized/graph/batch.hpp"

#include "optimized/base/error.hpp"

namespace slip::graph {

std::size_t BatchEntry::logits_rows() const {
    switch (logits) {
        case Logits::none:
            return 0;
        case Logits::last_position:
            return 1;
        case Logits::every_position:
            return ids.size();
    }
    throw InternalError("BatchEntry: unknown kind of logits");
}

Workspace::Workspace(std::size_t threads)
    : threads_(threads),
      team_(threads > 1 ? std::make_unique<base::WorkerTeam>(threads) : nullptr) {
    base::require(threads > 0, "Workspace: at least one thread");
}

std::size_t Workspace::bytes() const {
    std::size_t floats = 0;
    for (const std::vector<float>* storage :
         {&stream_, &normed_, &branch_, &query_, &key_, &value_, &mixed_, &inner_, &scratch_,
          &turns_, &window_turns_, &mixtures_, &head_outputs_, &scores_}) {
        floats += storage->capacity();
    }
    return floats * sizeof(float) + ids_.capacity() * sizeof(TokenId) +
           positions_.capacity() * sizeof(std::size_t) + row_blocks_.capacity() * sizeof(RowBlock) +
           longer_.capacity() / 8;
}

}  // namespace slip::graph
