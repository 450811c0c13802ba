#include "optimized/masks/cancellation.hpp"

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/thread_clock.hpp"
#include "optimized/base/trace_span.hpp"

namespace slip::masks {
namespace {

using base::GroupId;
using base::require;
using kernels::GroupWeights;
using kernels::OffloadedWeights;

constexpr const char* destroyed = "the masks of this session are destroyed";

/// The keystream and the next mask index, which the two threads share. An index is issued before
/// its mask is drawn, so that no failure can issue it again (MASK-5).
class MaskSource {
public:
    MaskSource(Keystream& keys, std::size_t planes) : keys_(keys), planes_(planes) {}

    /// Draws one mask of n residues for each planes * n bytes of `masks`; returns the first index.
    /// The others follow it without a gap.
    std::uint64_t draw(std::span<std::uint8_t> masks, std::size_t n) {
        const std::lock_guard lock(mutex_);
        const std::uint64_t first = next_index_;
        for (std::size_t at = 0; at < masks.size(); at += planes_ * n) {
            keys_.draw(Purpose::mask, next_index_++, planes_, masks.subspan(at, planes_ * n));
        }
        return first;
    }

    const Keystream& keys() const { return keys_; }

private:
    std::mutex mutex_;
    Keystream& keys_;
    const std::size_t planes_;
    std::uint64_t next_index_ = 0;
};

/// Makes masks with their cancellations, a batch at a time. One per thread.
class Workbench {
public:
    Workbench(const OffloadedWeights& weights, std::size_t planes, const StockOptions& options)
        : planes_(planes), options_(options) {
        std::size_t masks = 0;
        std::size_t cancellations = 0;
        for (const GroupWeights& w : weights) {
            const std::size_t batch = at_most(options.batch, w.shape(), planes, options);
            masks = std::max(masks, batch * planes * w.shape().inputs());
            cancellations = std::max(cancellations, batch * planes * w.shape().outputs());
        }
        masks_ = Mask::Residues(masks);
        cancellations_ = Mask::Residues(cancellations);
    }

    /// Appends `count` masks for columns that David will multiply by `w`, in `memory` as far as it
    /// goes.
    void make(const GroupWeights& w, std::size_t count, MaskSource& source, MaskMemory& memory,
              std::vector<Mask>& out) {
        const std::size_t batch = at_most(options_.batch, w.shape(), planes_, options_);
        for (; count > batch; count -= batch) make_batch(w, batch, source, memory, out);
        make_batch(w, count, source, memory, out);
    }

private:
    void make_batch(const GroupWeights& w, std::size_t count, MaskSource& source,
                    MaskMemory& memory, std::vector<Mask>& out) {
        const std::size_t n = w.shape().inputs();
        const std::size_t rows = w.shape().outputs();
        const auto masks = masks_.span().first(count * planes_ * n);
        const auto cancellations = cancellations_.span().first(count * planes_ * rows);
        const std::uint64_t first = source.draw(masks, n);
        // MASK-3: c = W_D r for every mask of the batch, or the convolution of r (CNN-4).
        w.apply(masks, cancellations, planes_);
        append_masks(first, w.shape(), planes_, masks, cancellations, memory, out);
    }

    std::size_t planes_;
    StockOptions options_;
    Mask::Residues masks_;          // batch columns of inputs
    Mask::Residues cancellations_;  // batch columns of outputs
};

}  // namespace

struct CancellationStock::Shared {
    Shared(const OffloadedWeights& w, std::size_t planes_of_residues, Keystream& keys,
           const StockOptions& stock_options, const std::function<bool(GroupId)>& serves)
        : weights(w),
          planes(planes_of_residues),
          options(stock_options),
          source(keys, planes),
          on_demand(std::make_unique<Workbench>(w, planes, options)),
          groups(w.size()) {
        require(options.batch >= 1, "CancellationStock: a batch has at least one column");
        for (GroupId g = 0; g < w.size(); ++g) {
            if (serves && !serves(g)) continue;  // its depth stays 0
            groups[g].depth = at_most(options.depth, w[g].shape(), planes, options);
            groups[g].batch =
                std::min(at_most(options.batch, w[g].shape(), planes, options), groups[g].depth);
            groups[g].ready.set_capacity(groups[g].depth);
            groups[g].spare.reserve(groups[g].depth + 1);
            on_demand_memory.reserve(std::max(on_demand_memory.capacity(), groups[g].depth + 1));
        }
        if (options.depth > 0) thread = std::thread([this] { work(); });
    }

    void take_ready(GroupId group, std::size_t count, std::vector<Mask>& out);
    void reserve();
    void keep(GroupId group, Mask::Spent&& memory);
    void work();
    struct Task {
        GroupId group = 0;
        std::size_t count = 0;
    };
    std::optional<Task> next_task() const;
    bool ready_as_wanted() const;

    struct Queue {
        boost::circular_buffer<Mask> ready;  // in rising order of index
        std::size_t depth = 0;               // masks kept ready
        std::size_t batch = 0;               // masks made at a time
        MaskMemory spare;                    // for the mask under way, and for what is not ready
    };

    const OffloadedWeights& weights;
    const std::size_t planes;
    const StockOptions options;
    MaskSource source;
    std::unique_ptr<Workbench> on_demand;  // of the thread that takes, and the next
    MaskMemory on_demand_memory;

    mutable std::mutex mutex;  // guards what follows
    std::condition_variable work_wanted;
    std::condition_variable batch_made;
    std::vector<Queue> groups;
    std::size_t wanted = 0;  // masks per group that wait_until_ready() waits for
    bool stopped = false;
    bool failed = false;
    SupplyStatistics statistics;

    std::thread thread;
};

/// The emptiest group that has room for a whole batch. Only while somebody waits for more is a
/// smaller batch made: single columns cost several times as much each.
std::optional<typename CancellationStock::Shared::Task> CancellationStock::Shared::next_task()
    const {
    std::optional<Task> task;
    for (GroupId g = 0; g < groups.size(); ++g) {
        const Queue& queue = groups[g];
        if (queue.depth == 0) continue;
        const std::size_t room = queue.depth - queue.ready.size();
        const bool awaited = queue.ready.size() < std::min(wanted, queue.depth);
        if (room < queue.batch && !awaited) continue;
        if (task && queue.ready.size() >= groups[task->group].ready.size()) continue;
        task = Task{g, std::min(room, queue.batch)};
    }
    return task;
}

bool CancellationStock::Shared::ready_as_wanted() const {
    return std::all_of(groups.begin(), groups.end(), [&](const Queue& queue) {
        return queue.ready.size() >= std::min(wanted, queue.depth);
    });
}

/// Memory for every mask that can be ready and one under way, so that none is reserved later.
void CancellationStock::Shared::reserve() {
    MaskMemory none;
    for (GroupId g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i <= groups[g].depth; ++i) {
            keep(g, memory_for_one(none, weights[g].shape(), planes));
        }
    }
}

/// Frees `memory` if there is enough.
void CancellationStock::Shared::keep(GroupId group, Mask::Spent&& memory) {
    const std::lock_guard lock(mutex);
    Queue& queue = groups[group];
    if (stopped || queue.ready.size() + queue.spare.size() > queue.depth) return;
    queue.spare.push_back(std::move(memory));
}

/// The background thread. It sleeps while there is nothing to do, and holds the lock only to learn
/// its task and to hand over what it made.
void CancellationStock::Shared::work() try {
    const auto bench = std::make_unique<Workbench>(weights, planes, options);
    reserve();
    std::vector<Mask> made;
    MaskMemory memory;
    std::unique_lock lock(mutex);
    for (;;) {
        std::optional<Task> task;
        work_wanted.wait(lock, [&] { return stopped || (task = next_task()).has_value(); });
        if (stopped) return;
        lend_memory(groups[task->group].spare, task->count, memory);
        lock.unlock();
        const double start = base::thread_seconds();
        made.clear();
        {
            const base::TraceSpan span(options.trace, Trace::Track::masks, "masks", task->group,
                                       task->count);
            bench->make(weights[task->group], task->count, source, memory, made);
        }
        const double spent = base::thread_seconds() - start;
        lock.lock();
        statistics.seconds += spent;
        statistics.made += made.size();
        for (Mask& mask : made) groups[task->group].ready.push_back(std::move(mask));
        batch_made.notify_all();
    }
} catch (...) {
    // Out of memory. Masks are made on demand from now on, where the caller learns of a failure.
    const std::lock_guard lock(mutex);
    failed = true;
    batch_made.notify_all();
}

/// Moves up to `count` ready masks to `out`; no system call while the background thread has nothing
/// to do or is busy already.
void CancellationStock::Shared::take_ready(GroupId group, std::size_t count,
                                           std::vector<Mask>& out) {
    bool low = false;
    {
        const std::lock_guard lock(mutex);
        require(!stopped, destroyed);
        statistics.used += count;
        Queue& queue = groups[group];
        for (; count > 0 && !queue.ready.empty(); --count) {
            out.push_back(std::move(queue.ready.front()));
            queue.ready.pop_front();
        }
        lend_memory(queue.spare, count, on_demand_memory);
        low = queue.ready.size() + queue.batch <= queue.depth;
    }
    if (low) work_wanted.notify_one();
}

CancellationStock::CancellationStock(const OffloadedWeights& weights, std::size_t planes,
                                     Keystream& keys, const StockOptions& options,
                                     const std::function<bool(GroupId)>& serves)
    : shared_(std::make_unique<Shared>(weights, planes, keys, options, serves)) {}

/// In a forked child the background thread does not exist and its lock may be held for ever. There
/// the state is abandoned as it is: nothing can be taken from it any more (RAND-6).
CancellationStock::~CancellationStock() {
    destroy();
    if (!shared_->source.keys().forked()) return;
    [[maybe_unused]] Shared* const abandoned = shared_.release();
}

void CancellationStock::take(GroupId group, std::size_t count, std::vector<Mask>& out) {
    // RAND-6, before the lock, which a forked child may have inherited locked.
    shared_->source.keys().require_usable();
    require(group < shared_->weights.size(), "CancellationStock::take: unknown group");
    out.clear();
    shared_->take_ready(group, count, out);
    const std::size_t missing = count - out.size();
    if (missing == 0) return;
    const base::TraceSpan span(shared_->options.trace, Trace::Track::charlie, "wait for masks",
                               group, missing);
    const auto asked_at = Trace::Clock::now();
    const double start = base::thread_seconds();
    shared_->on_demand->make(shared_->weights[group], missing, shared_->source,
                             shared_->on_demand_memory, out);
    const double spent = base::thread_seconds() - start;
    const std::lock_guard lock(shared_->mutex);
    SupplyStatistics& statistics = shared_->statistics;
    statistics.seconds += spent;
    statistics.late_seconds += spent;
    statistics.wait_seconds +=
        std::chrono::duration<double>(Trace::Clock::now() - asked_at).count();
    statistics.made += missing;
    statistics.waited_for += missing;
}

void CancellationStock::recycle(GroupId group, Mask::Spent&& spent) {
    if (shared_->source.keys().forked()) return;  // the lock may be held for ever
    spent.mask.clear();
    spent.cancellation.clear();
    shared_->keep(group, std::move(spent));
}

void CancellationStock::wait_until_ready(std::size_t count) {
    shared_->source.keys().require_usable();
    std::unique_lock lock(shared_->mutex);
    require(!shared_->stopped, destroyed);
    shared_->wanted = count;
    shared_->work_wanted.notify_one();
    shared_->batch_made.wait(lock, [&] { return shared_->failed || shared_->ready_as_wanted(); });
    shared_->wanted = 0;
    require(!shared_->failed, "the thread that makes masks has failed");
}

void CancellationStock::destroy() noexcept {
    if (shared_->source.keys().forked()) return;
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->stopped = true;
    }
    shared_->work_wanted.notify_one();
    if (shared_->thread.joinable()) shared_->thread.join();
    shared_->groups.clear();  // MASK-6: the masks and the bench wipe themselves
    shared_->on_demand.reset();
    shared_->on_demand_memory.clear();
}

base::StockLevel CancellationStock::stock() const {
    if (shared_->source.keys().forked()) return {};
    const std::lock_guard lock(shared_->mutex);
    constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
    base::StockLevel level{no_limit, no_limit};
    for (const auto& queue : shared_->groups) {
        if (queue.depth == 0) continue;  // no masks of this group are kept here
        level.ready = std::min(level.ready, queue.ready.size());
        level.full = std::min(level.full, queue.depth);
    }
    return level.full == no_limit ? base::StockLevel{} : level;
}

SupplyStatistics CancellationStock::statistics() const {
    if (shared_->source.keys().forked()) return {};
    const std::lock_guard lock(shared_->mutex);
    return shared_->statistics;
}

}  // namespace slip::masks
