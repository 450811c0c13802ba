#include "optimized/masks/lattice_stock.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/pages.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/trace_span.hpp"
#include "optimized/masks/lattice_blocks.hpp"
#include "optimized/masks/mask_supply.hpp"

namespace slip::masks {
namespace {

using base::GroupId;
using base::ProductShape;
using base::require;
using base::parameters::ParameterSet;

/// Bytes of a row of T, or of a hint.
std::size_t row_bytes(const ParameterSet& set, bool rounded = false) {
    return masks::row_bytes(set.planes, lattice_of(set).rank, rounded);
}

/// Bytes of a mask with its cancellation.
std::size_t mask_bytes(const ProductShape& shape, std::size_t planes) {
    return planes * (shape.inputs() + shape.outputs());
}

/// T of a width.
base::HugeBuffer public_matrix(const ParameterSet& set, const LatticeStock::Seed& seed,
                               std::size_t n, std::size_t threads) {
    constexpr std::size_t at_once = 128;
    const std::size_t bytes = row_bytes(set);
    base::HugeBuffer matrix(n * bytes);
    base::provide_for_writing(matrix.data(), matrix.size());
    base::parallel_for(threads, (n + at_once - 1) / at_once, [&](std::size_t i) {
        const std::size_t first = i * at_once, count = std::min(at_once, n - first);
        PublicMatrix(set, seed, n)
            .expand(first, {matrix.as<std::uint8_t>() + first * bytes, count * bytes});
    });
    return matrix;
}

}  // namespace

struct LatticeStock::State {
    State(const ParameterSet& parameter_set, const Seed& seed, std::vector<LatticeGroup> all,
          const LatticeOptions& stock_options);

    void take(GroupId group, std::size_t count, std::vector<Mask>& out);
    void take_masks(std::unique_lock<std::mutex>& lock, GroupId group, std::size_t count,
                    std::vector<Mask>& out);
    void take_ready(GroupId group, std::size_t count, std::vector<Mask>& out);
    void make_late(std::unique_lock<std::mutex>& lock, GroupId group, std::size_t least,
                   std::vector<Mask>& out);
    void recycle(GroupId group, Mask::Spent&& spent);
    void forget(std::size_t bytes);
    void work();
    void stop();

    /// Blocks to be made for a group, of whose masks `keep` are kept.
    struct Task {
        GroupId group = 0;
        std::size_t keep = 0;
        bool has_memory = false;
        bool is_first = false;  // of its group
        std::size_t blocks() const { return (keep + degree - 1) / degree; }
    };
    using Tasks = std::vector<Task>;  // of groups of one width
    std::span<const std::uint8_t> public_rows(std::size_t n) const {
        const base::HugeBuffer& rows = matrices.at(n);
        return {rows.as<std::uint8_t>(), rows.size()};
    }
    Tasks next_tasks(std::size_t enough = degree + 1) const;
    void fill(std::unique_lock<std::mutex>& lock);
    bool urgent(GroupId group) const { return queues[group].ready.size() <= degree / 8; }
    void carry_out(BlockMaker& maker, Tasks tasks, std::unique_lock<std::mutex>& lock);
    bool has_room(GroupId group, std::size_t keep) const;
    std::size_t next_share(GroupId group) const;
    std::vector<Mask::Spent> lend(GroupId group, std::size_t count);
    void begin(GroupId group, std::vector<Mask::Spent> memory, std::vector<NewBlock>& out);
    /// All of a hint is read for every block: to map it page by page would take longer.
    void map_hint(GroupId group) const {
        base::provide_for_reading(groups[group].hint.data(), groups[group].hint.size());
    }
    std::unique_ptr<BlockMaker> free_maker();
    base::TraceSpan ahead(const char* what, GroupId group, std::size_t blocks) const {
        return {options.trace.get(), Trace::Track::masks, what, group, blocks * degree};
    }
    bool ready_as_wanted() const;

    using Size = std::pair<std::size_t, std::size_t>;  // of a mask and its cancellation
    static Size size_of(const LatticeGroup& group) {
        return {group.shape.inputs(), group.shape.outputs()};
    }
    std::size_t bytes_of(GroupId group) const {
        return mask_bytes(groups[group].shape, set.planes);
    }

    struct Queue {
        std::list<Mask> ready;   // to which masks are added without a failure
        bool under_way = false;  // blocks for this queue
        std::size_t times = 0;   // that it has had blocks
    };

    const ParameterSet& set;
    const std::vector<LatticeGroup> groups;
    std::vector<GroupId> served;                       // those with lattice masks
    std::map<std::size_t, base::HugeBuffer> matrices;  // T by width
    LatticeOptions options;
    std::size_t together =
        1;  // blocks that a group gets at a time: they share its hint's transforms
    BlockSource source;

    mutable std::mutex mutex;  // guards what follows
    std::condition_variable work_wanted;
    std::condition_variable block_made;
    std::vector<Queue> queues;
    std::map<Size, MaskMemory> spare;
    std::size_t spare_bytes = 0;
    std::size_t held_bytes = 0;  // of all masks that exist, ready, handed out and spare
    std::vector<std::unique_ptr<BlockMaker>> makers;
    std::size_t wanted = 0;  // masks per group that wait_until_ready() waits for
    bool stopped = false;
    std::exception_ptr failure;  // of the background thread
    bool idle = false;
    SupplyStatistics statistics;

    std::thread thread;
};

LatticeStock::State::State(const ParameterSet& parameter_set, const Seed& seed,
                           std::vector<LatticeGroup> all, const LatticeOptions& stock_options)
    : set(parameter_set),
      groups(std::move(all)),
      options(stock_options),
      source(parameter_set, stock_options.keys),
      queues(groups.size()) {
    std::size_t whole = 0;
    for (GroupId g = 0; g < groups.size(); ++g) {
        const LatticeGroup& group = groups[g];
        if (group.hint.empty()) continue;
        require(!group.shape.convolution &&
                    group.hint.size() == group.shape.rows * row_bytes(set, set.hides_weights),
                "LatticeStock: the size of a hint");
        served.push_back(g);
        whole += degree * bytes_of(g);
        const std::size_t n = group.shape.n;
        if (matrices.contains(n)) continue;
        matrices.emplace(n, public_matrix(set, seed, n, options.threads));
    }
    const std::size_t least = least_memory(set, groups);
    if (options.memory == 0) options.memory = std::max(whole / 5 * 6, least);
    if (options.memory >= whole / 8 * 9) together = 2;
    if (options.memory < least) {
        throw BadInput("masks: " + std::to_string(options.memory) +
                       " bytes of memory are too few; this model needs at least " +
                       std::to_string(least));
    }
    if (options.ahead && !served.empty()) thread = std::thread([this] { work(); });
}

/// How many masks are made for a group next. Shares differ at first, so that later the groups run
/// out at different times: of its first block a group keeps a part that grows with its place, and
/// the second time half of the groups get one block and the others two.
std::size_t LatticeStock::State::next_share(GroupId group) const {
    const auto place = static_cast<std::size_t>(
        std::lower_bound(served.begin(), served.end(), group) - served.begin());
    const std::size_t times = queues[group].times;
    if (times == 0) return std::max<std::size_t>(degree * (place + 1) / served.size(), 1);
    return times == 1 && place % 2 == 0 ? degree : together * degree;
}

/// Whether `keep` masks fit, spare memory of their size and memory that can be freed included.
bool LatticeStock::State::has_room(GroupId group, std::size_t keep) const {
    return held_bytes - spare_bytes + keep * bytes_of(group) <= options.memory;
}

/// Tasks for the groups with the fewest masks, of those that have not enough: groups of one width,
/// whose blocks share the transforms of T, as far as there is memory. Where the neediest group
/// cannot wait for memory, fewer begin than could share them.
LatticeStock::State::Tasks LatticeStock::State::next_tasks(std::size_t enough) const {
    std::vector<GroupId> needy;
    std::copy_if(served.begin(), served.end(), std::back_inserter(needy), [&](GroupId g) {
        return !queues[g].under_way && queues[g].ready.size() < enough;
    });
    std::stable_sort(needy.begin(), needy.end(), [&](GroupId a, GroupId b) {
        return queues[a].ready.size() < queues[b].ready.size();
    });
    Tasks tasks;
    std::size_t room = options.memory - std::min(options.memory, held_bytes - spare_bytes);
    std::size_t blocks = 0;
    for (const GroupId g : needy) {
        if (groups[g].shape.n != groups[needy.front()].shape.n) continue;
        Task task{g, next_share(g)};
        if (urgent(needy.front()) && task.keep * bytes_of(g) > room) {
            task.keep = std::min(task.keep, degree);
        }
        if (task.keep * bytes_of(g) > room) return urgent(needy.front()) ? tasks : Tasks{};
        blocks += task.blocks();
        if (blocks > most_blocks) break;
        room -= task.keep * bytes_of(g);
        tasks.push_back(task);
    }
    return tasks;
}

bool LatticeStock::State::ready_as_wanted() const {
    return std::all_of(served.begin(), served.end(),
                       [&](GroupId g) { return queues[g].ready.size() >= wanted; });
}

/// Memory for `count` masks: spare first, then new. Other sizes give up what is spare where the
/// limit would be exceeded. If it fails, nothing is lent.
std::vector<Mask::Spent> LatticeStock::State::lend(GroupId group, std::size_t count) {
    MaskMemory own;
    own.reserve(count);
    lend_memory(spare[size_of(groups[group])], count, own);
    spare_bytes -= own.size() * bytes_of(group);
    held_bytes += (count - own.size()) * bytes_of(group);
    for (auto& [size, memory] : spare) {
        const std::size_t bytes = set.planes * (size.first + size.second);
        while (held_bytes > options.memory && !memory.empty()) {
            memory.pop_back();
            spare_bytes -= bytes;
            held_bytes -= bytes;
        }
    }
    try {
        MaskMemory none;
        while (own.size() < count) {
            own.push_back(memory_for_one(none, groups[group].shape, set.planes));
        }
    } catch (...) {
        held_bytes -= count * bytes_of(group);
        throw;
    }
    return own;
}

/// Blocks of this group under way, with as many masks as `memory` is for. Without the lock.
void LatticeStock::State::begin(GroupId group, std::vector<Mask::Spent> memory,
                                std::vector<NewBlock>& out) {
    for (auto first = memory.begin(); first != memory.end();) {
        const auto end = first + std::min<std::ptrdiff_t>(memory.end() - first, degree);
        const std::uint64_t number = source.next_block();
        out.emplace_back(number, std::vector(std::move_iterator(first), std::move_iterator(end)),
                         source.secret(number), groups[group].shape, set.planes);
        first = end;
    }
}

namespace {

std::list<Mask> masks_of(std::span<NewBlock> blocks) {
    std::list<Mask> masks;
    for (NewBlock& block : blocks) {
        for (Mask::Spent& own : block.kept) {
            masks.emplace_back(own.index, std::move(own.mask), std::move(own.cancellation));
        }
    }
    return masks;
}

}  // namespace

/// The background thread. It sleeps while there is nothing to do, and holds the lock only to learn
/// its tasks and to hand over what it made. The first blocks of groups are what the first messages
/// wait for: all threads make them.
void LatticeStock::State::work() try {
    BlockMaker alone(set, 1);
    auto with_all = std::make_unique<BlockMaker>(set, options.threads);
    std::unique_lock lock(mutex);
    for (;;) {
        Tasks tasks = next_tasks();
        idle = tasks.empty();
        if (idle) block_made.notify_all();
        work_wanted.wait(
            lock, [&] { return stopped || !tasks.empty() || !(tasks = next_tasks()).empty(); });
        if (stopped) return;
        idle = false;
        if (queues[tasks.front().group].times > 0) with_all.reset();
        carry_out(with_all ? *with_all : alone, std::move(tasks), lock);
    }
} catch (...) {
    // Out of memory. Blocks are made on demand from now on, where the caller learns of a failure.
    const std::lock_guard lock(mutex);
    failure = std::current_exception();
    block_made.notify_all();
}

/// What the background thread would do, until every group has what wait_until_ready() waits for.
void LatticeStock::State::fill(std::unique_lock<std::mutex>& lock) {
    auto maker = free_maker();
    for (Tasks tasks; !(tasks = next_tasks(wanted)).empty();) {
        carry_out(*maker, std::move(tasks), lock);
    }
    makers.push_back(std::move(maker));
}

/// The blocks of a group are handed over as soon as they have their cancellations, and its task is
/// taken away. If one fails, nobody waits for it or for those after it.
void LatticeStock::State::carry_out(BlockMaker& maker, Tasks tasks,
                                    std::unique_lock<std::mutex>& lock) try {
    std::vector<std::vector<Mask::Spent>> memory;
    memory.reserve(tasks.size());
    for (Task& task : tasks) {
        queues[task.group].under_way = true;
        task.is_first = queues[task.group].times == 0;
        queues[task.group].times += 1;
        memory.push_back(lend(task.group, task.keep));
        task.has_memory = true;
    }
    lock.unlock();
    double start = maker.seconds();
    std::vector<NewBlock> blocks;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        begin(tasks[t].group, std::move(memory[t]), blocks);
    }
    {
        const auto span = ahead("masks", tasks.front().group, blocks.size());
        const std::size_t n = groups[tasks.front().group].shape.n;
        maker.make_masks(public_rows(n), n, source, blocks);
    }
    for (std::span<NewBlock> left = blocks; !tasks.empty();) {
        const GroupId group = tasks.front().group;
        const std::span<NewBlock> own = left.first(tasks.front().blocks());
        left = left.subspan(own.size());
        {
            const auto span = ahead("cancellations", group, own.size());
            if (tasks.front().is_first) map_hint(group);
            maker.make_cancellations(groups[group], own);
        }
        const double end = maker.seconds();
        std::list<Mask> masks = masks_of(own);
        lock.lock();
        statistics.seconds += end - start;
        statistics.made += degree * own.size();
        queues[group].ready.splice(queues[group].ready.end(), masks);
        queues[group].under_way = false;
        block_made.notify_all();
        tasks.erase(tasks.begin());
        if (!tasks.empty()) lock.unlock();
        start = end;
    }
} catch (...) {
    if (!lock.owns_lock()) lock.lock();
    for (const Task& task : tasks) {
        queues[task.group].under_way = false;
        if (task.has_memory) held_bytes -= task.keep * bytes_of(task.group);
    }
    block_made.notify_all();
    throw;
}

std::unique_ptr<BlockMaker> LatticeStock::State::free_maker() {
    if (makers.empty()) return std::make_unique<BlockMaker>(set, options.threads);
    auto maker = std::move(makers.back());
    makers.pop_back();
    return maker;
}

/// Blocks for a message that waits, of which `out` gets at least `least` masks: whole ones while so
/// many are missing, or one, the rest of which goes to the stock as far as there is room. If it
/// fails, nothing that it made is held or counted, and nobody waits for it.
void LatticeStock::State::make_late(std::unique_lock<std::mutex>& lock, GroupId group,
                                    std::size_t least, std::vector<Mask>& out) {
    Queue& queue = queues[group];
    const std::size_t whole = std::min(least / degree, most_blocks);
    std::size_t keep = whole * degree;
    if (whole == 0) {
        const std::size_t share = std::min(next_share(group), degree);
        keep = std::max(has_room(group, share) ? share : 0, least);
    }
    out.reserve(out.size() + keep);
    auto maker = free_maker();
    auto memory = lend(group, keep);
    const bool is_first = queue.times == 0;
    if (whole == 0) {
        queue.under_way = true;
        queue.times += 1;
    }
    lock.unlock();
    const double start = maker->seconds();
    std::list<Mask> masks;
    try {
        std::vector<NewBlock> blocks;
        begin(group, std::move(memory), blocks);
        const std::size_t n = groups[group].shape.n;
        maker->make_masks(public_rows(n), n, source, blocks);
        if (is_first) map_hint(group);
        maker->make_cancellations(groups[group], blocks);
        masks = masks_of(blocks);
        lock.lock();
        makers.reserve(makers.size() + 1);
        statistics.made += degree * blocks.size();
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        held_bytes -= keep * bytes_of(group);
        if (whole == 0) queue.under_way = false;
        block_made.notify_all();
        throw;
    }
    const double spent = maker->seconds() - start;
    makers.push_back(std::move(maker));
    statistics.seconds += spent;
    statistics.late_seconds += spent;
    if (whole > 0) {
        std::move(masks.begin(), masks.end(), std::back_inserter(out));
        return;
    }
    queue.ready.splice(queue.ready.end(), masks);
    queue.under_way = false;
    block_made.notify_all();
}

void LatticeStock::State::take_ready(GroupId group, std::size_t count, std::vector<Mask>& out) {
    auto& ready = queues[group].ready;
    for (; count > 0; --count) {
        out.push_back(std::move(ready.front()));
        ready.pop_front();
    }
}

/// All of them or none: what a failure leaves of them is wiped and counts no more.
void LatticeStock::State::take_masks(std::unique_lock<std::mutex>& lock, GroupId group,
                                     std::size_t count, std::vector<Mask>& out) {
    const std::size_t before = out.size(), end = before + count;
    try {
        while (out.size() < end) {
            const std::size_t missing = end - out.size();
            Queue& queue = queues[group];
            if (queue.ready.size() >= missing) {
                take_ready(group, missing, out);
            } else if (missing >= degree) {
                make_late(lock, group, missing, out);
            } else if (queue.under_way) {
                block_made.wait(lock, [&] { return !queue.under_way; });
            } else {
                make_late(lock, group, missing - queue.ready.size(), out);
            }
        }
    } catch (...) {
        held_bytes -= (out.size() - before) * bytes_of(group);
        out.resize(before);
        if (idle) work_wanted.notify_one();
        throw;
    }
}

void LatticeStock::State::take(GroupId group, std::size_t count, std::vector<Mask>& out) {
    std::unique_lock lock(mutex);
    statistics.used += count;
    const std::size_t late = count - std::min(count, queues[group].ready.size());
    const base::TraceSpan span(late > 0 ? options.trace.get() : nullptr, Trace::Track::charlie,
                               "wait for masks", group, count);
    const auto asked_at = Trace::Clock::now();
    take_masks(lock, group, count, out);
    if (late > 0) {
        statistics.waited_for += late;
        statistics.wait_seconds +=
            std::chrono::duration<double>(Trace::Clock::now() - asked_at).count();
    }
    lock.unlock();
    work_wanted.notify_one();
}

void LatticeStock::State::recycle(GroupId group, Mask::Spent&& spent) {
    spent.mask.clear();
    spent.cancellation.clear();
    const std::lock_guard lock(mutex);
    if (stopped || held_bytes > options.memory) {
        held_bytes -= bytes_of(group);
        spent = {};
        return;
    }
    spare[size_of(groups[group])].push_back(std::move(spent));
    spare_bytes += bytes_of(group);
    if (idle) work_wanted.notify_one();
}

void LatticeStock::State::forget(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    held_bytes -= bytes;
    if (idle) work_wanted.notify_one();
}

void LatticeStock::State::stop() {
    {
        const std::lock_guard lock(mutex);
        stopped = true;
    }
    work_wanted.notify_one();
    if (thread.joinable()) thread.join();
}

LatticeStock::LatticeStock(const ParameterSet& set, const Seed& seed,
                           std::vector<LatticeGroup> groups, const LatticeOptions& options)
    : state_(std::make_unique<State>(set, seed, std::move(groups), options)) {}

/// In a forked child the background thread does not exist and its lock may be held for ever. There
/// the state is abandoned as it is: nothing can be taken from it any more (RAND-6).
LatticeStock::~LatticeStock() {
    if (!state_->source.keys().forked()) {
        state_->stop();
        return;
    }
    [[maybe_unused]] State* const abandoned = state_.release();
}

std::size_t LatticeStock::least_memory(const ParameterSet& set,
                                       std::span<const LatticeGroup> groups) {
    std::size_t halves = 0;
    std::size_t largest = 0;
    for (const LatticeGroup& group : groups) {
        if (group.hint.empty()) continue;
        const std::size_t block = degree * mask_bytes(group.shape, set.planes);
        halves += block / 2;
        largest = std::max(largest, block);
    }
    return halves + largest;
}

std::uint64_t LatticeStock::multiplications_per_mask(const ParameterSet& set,
                                                     const ProductShape& shape) {
    // A transform: three steps by four, of 3 complex multiplications per 4 points, and one by two,
    // of one per 2 points; each has 4 real ones. Of a row: the transforms of its elements, their
    // products with the secret's, one transform back, and its scale. A mask takes two halves of T.
    const std::size_t d = lattice_of(set).rank;
    const std::size_t transform = 4 * (3 * points * 3 / 4 + points / 2);
    const std::size_t row = d * (transform + 4 * points) + transform + degree;
    return (2 * shape.inputs() + shape.outputs()) * row / degree;
}

const ParameterSet& LatticeStock::set() const { return state_->set; }

const ProductShape& LatticeStock::shape(GroupId group) const {
    return state_->groups.at(group).shape;
}

bool LatticeStock::serves(GroupId group) const {
    return group < state_->groups.size() && !state_->groups[group].hint.empty();
}

void LatticeStock::take(GroupId group, std::size_t count, std::vector<Mask>& out) {
    state_->source.keys().require_usable();  // before the lock, which may be held in a forked child
    require(serves(group), "LatticeStock::take: a group without lattice masks");
    state_->take(group, count, out);
}

void LatticeStock::recycle(GroupId group, Mask::Spent&& spent) {
    if (state_->source.keys().forked()) return;
    state_->recycle(group, std::move(spent));
}

void LatticeStock::forget(std::size_t bytes) {
    if (bytes == 0 || state_->source.keys().forked()) return;
    state_->forget(bytes);
}

std::size_t LatticeStock::bytes_per_mask(GroupId group) const { return state_->bytes_of(group); }

void LatticeStock::wait_until_ready(std::size_t count) {
    state_->source.keys().require_usable();
    std::unique_lock lock(state_->mutex);
    state_->wanted = count;
    if (!state_->options.ahead) state_->fill(lock);
    state_->work_wanted.notify_one();
    state_->block_made.wait(lock, [&] {
        return state_->failure || state_->idle || !state_->options.ahead ||
               state_->ready_as_wanted();
    });
    state_->wanted = 0;
    if (state_->failure) std::rethrow_exception(state_->failure);
}

void LatticeStock::require_hint(GroupId group) const {
    const auto& examine = state_->groups.at(group).require_hint;
    if (examine) examine();
}

base::StockLevel LatticeStock::stock() const {
    if (state_->source.keys().forked()) return {};
    const std::lock_guard lock(state_->mutex);
    base::StockLevel level{degree, degree};
    for (const GroupId g : state_->served) {
        level.ready = std::min(level.ready, state_->queues[g].ready.size());
    }
    return state_->served.empty() ? base::StockLevel{} : level;
}

SupplyStatistics LatticeStock::statistics() const {
    if (state_->source.keys().forked()) return {};
    const std::lock_guard lock(state_->mutex);
    return state_->statistics;
}

std::size_t LatticeStock::memory() const {
    if (state_->source.keys().forked()) return 0;
    const std::lock_guard lock(state_->mutex);
    return state_->held_bytes;
}

}  // namespace slip::masks
