// Whose columns a message holds, and what each generation pays for it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "optimized/api/runtime.hpp"
#include "optimized/base/engine.hpp"
#include "slip/run_statistics.hpp"
#include "slip/scheduler.hpp"

namespace slip::serving {

/// A generation's columns in a step.
struct Participant {
    Receipt* receipt;
    std::size_t rows;    // its tokens
    std::size_t wanted;  // of these, the ones whose logits are wanted: the columns of the head
};

/// Passes a step's products on to the engine of a session, one message at a time, and writes each
/// accepted message into the receipts of those who had columns in it. Its bytes and multiplications
/// are shared by columns, so that the receipts add up to the whole.
class SharedCosts : public base::Engine {
public:
    /// `head`: the group that only wanted rows go to.
    explicit SharedCosts(base::GroupId head) : head_(head) {}

    /// The next steps are of `participants`, in the order of the batch, and go through `runtime`.
    /// Both the runtime and the receipts outlive these steps. A participant who is alone has every
    /// column, also those of tokens that are computed again.
    void begin(api::Runtime& runtime, std::vector<Participant> participants);
    /// Whether the last message held columns of this participant; false if none was begun.
    bool in_last_message(std::size_t participant) const;

    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

private:
    struct Columns {
        std::size_t first = 0;
        std::size_t end = 0;
        std::size_t count() const { return end - first; }
    };
    void place_columns(base::GroupId group, std::size_t columns);
    Columns own_in_message(std::size_t participant) const;
    void share(const RunStatistics& before, const RunStatistics& after) const;

    const base::GroupId head_;
    api::Runtime* runtime_ = nullptr;
    std::vector<Participant> participants_;
    std::vector<Columns> columns_;  // of each participant, among those of the product
    Columns message_;               // among the same; empty before the first message of a step
};

}  // namespace slip::serving
