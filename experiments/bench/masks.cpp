#include "experiments/bench/masks.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "experiments/bench/charlie_parts.hpp"
#include "experiments/bench/machine.hpp"
#include "optimized/masks/block_secret.hpp"
#include "optimized/masks/products.hpp"
#include "optimized/masks/public_matrix.hpp"

namespace slip::bench {
namespace {

/// Nanoseconds per row and message of products of `rows` with `blocks` blocks per pass.
double block_nanoseconds(const base::parameters::ParameterSet& set,
                         std::span<const std::uint8_t> rows, std::size_t blocks, bool exact,
                         std::size_t repetitions) {
    const std::size_t planes = set.planes, elements = set.lattice->rank;
    const bool rounded = set.hides_weights && !exact;
    const std::size_t total = rows.size() / masks::row_bytes(planes, elements, rounded);
    const masks::BlockSecret secret = some_secret(*set.lattice);
    std::vector<std::uint8_t> residues(blocks * masks::degree * planes * total);
    std::vector<std::array<std::span<std::uint8_t>, masks::degree>> columns(blocks);
    std::vector<masks::Block> pass;
    for (std::size_t b = 0; b < blocks; ++b) {
        for (std::size_t i = 0; i < masks::degree; ++i) {
            columns[b][i] = std::span(residues).subspan((b * masks::degree + i) * planes * total,
                                                        planes * total);
        }
        pass.push_back({&secret, columns[b]});
    }
    masks::RingProducts products(planes, elements, blocks);
    std::vector<double> seconds;
    for (std::size_t r = 0; r < repetitions; ++r) {
        seconds.push_back(seconds_of([&] {
            const masks::StoredRows all{rows, 0, total};
            const masks::Tau tau = masks::residues_of(std::uint64_t{1} << 24);
            if (exact) {
                products.exact(all, pass);
            } else if (rounded) {
                products.rounded(all, tau, pass);
            } else {
                products.approximate(all, tau, pass);
            }
        }));
    }
    return 1e9 * median(seconds) / static_cast<double>(total * blocks * masks::degree);
}

void add_block_rows(const std::string& name, double nanoseconds, Report& report) {
    report.add_row(name + ", per row and message", 1e-9 * nanoseconds, 1, "rows/s");
}

void measure_blocks(const WholeModel& whole, Report& report) {
    const auto& set = whole.charlie.set();
    const std::size_t n = whole.charlie.groups().front().n;
    masks::LatticeStock::Seed seed{};
    std::copy_n(whole.charlie.masks_seed().begin(), seed.size(), seed.begin());
    masks::PublicMatrix matrix(set, seed, n);
    std::vector<std::uint8_t> rows(n * matrix.row_bytes());
    matrix.expand(0, rows);
    for (const std::size_t blocks : {1U, 2U, 4U}) {
        const std::string per_pass = ", blocks per pass: " + std::to_string(blocks);
        const double inputs = block_nanoseconds(set, rows, blocks, true, whole.options.repetitions);
        const double outputs =
            block_nanoseconds(set, whole.charlie.hint(0), blocks, false, whole.options.repetitions);
        add_block_rows("masks" + per_pass, inputs, report);
        add_block_rows("cancellations" + per_pass, outputs, report);
        if (blocks == masks::most_blocks) report.add_figure("block_ns_inputs", inputs);
        if (blocks == 2) report.add_figure("block_ns_outputs", outputs);
    }
}

/// Processor time of the repetitions at one number of columns, in seconds per step.
struct Steps {
    std::vector<double> charlie, in_memory, unprotected;
};

/// Charlie's thread alone: David has a process of his own, and no mask is made meanwhile.
Steps run_steps(const WholeModel& whole, Int8Engine& unprotected, engines::HybridEngine& over_tls,
                engines::HybridEngine& in_memory, std::size_t columns) {
    const std::size_t steps = std::max<std::size_t>(whole.options.tokens / columns, 1);
    const std::size_t positions = whole.transformer->config().max_position_embeddings;
    const std::size_t context =
        std::min<std::size_t>(32, positions - std::min(positions, steps + 1));
    const auto run = [&](base::Engine& engine) {
        Sequences some(whole, columns);
        some.write_context(context);
        some.forward(engine);
        return processor_seconds_of([&] {
                   for (std::size_t t = 0; t < steps; ++t) some.forward(engine);
               }) /
               static_cast<double>(steps);
    };
    Steps seconds;
    for (std::size_t r = 0; r < whole.options.repetitions; ++r) {
        over_tls.wait_until_ready((steps + 1) * columns);
        seconds.unprotected.push_back(run(unprotected));
        seconds.charlie.push_back(run(over_tls));
        in_memory.wait_until_ready((steps + 1) * columns);
        seconds.in_memory.push_back(run(in_memory));
    }
    return seconds;
}

/// Who stays awake while he waits for David spends processor time on it.
TimeLimits asleep() {
    TimeLimits limits;
    limits.awake = {};
    return limits;
}

/// Seconds of this thread per step of messages to a David without arithmetic.
double message_seconds(const WholeModel& whole, std::size_t i) {
    const auto link = whole.byte_servers[i]->connect(asleep());
    std::vector<std::byte> frame;
    const auto step = [&] {
        for (const MessageBytes& group : whole.messages[i]) {
            frame.resize(group.up);
            link->send(frame);
            link->await_frame();
            frame.resize(group.down);
            link->receive(frame);
        }
    };
    step();
    std::vector<double> seconds;
    for (std::size_t r = 0; r < whole.options.repetitions; ++r) {
        seconds.push_back(processor_seconds_of(step));
    }
    return median(seconds);
}

void measure_processor_time(WholeModel& whole, Report& report) {
    const auto link = whole.server->connect(asleep());
    const auto memory = whole.server->connect_in_memory(asleep());
    engines::HybridEngine over_tls = protected_by(whole, *link, 0);
    engines::HybridEngine in_memory = protected_by(whole, *memory, 0);
    std::array<Steps, 2> all;
    constexpr auto& columns = measured_columns;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        all[i] = run_steps(whole, whole.unprotected, over_tls, in_memory, columns[i]);
    }
    CharlieTimes times;
    const double masks = times.masks = mask_seconds_per_token(whole);
    report.add_row("masks of a token, processor time", masks, 1, "tokens/s");
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto per_step = static_cast<double>(columns[i]);
        const std::string at = ", " + std::to_string(columns[i]) + " columns, processor time";
        const double charlie = times.online[i] = median(all[i].charlie) / per_step;
        const double unprotected = median(all[i].unprotected) / per_step;
        report.add_row("Charlie without masks" + at, charlie, 1, "tokens/s");
        report.add_row("unprotected int8" + at, unprotected, 1, "tokens/s");
        const double local = median(all[i].in_memory) / per_step;
        report.add_row("Charlie in shared memory" + at, local, 1, "tokens/s");
        const double messages = times.messages[i] = message_seconds(whole, i) / per_step;
        report.add_row("messages over TLS alone" + at, messages, 1, "tokens/s");
        report.add_figure("messages_cpu_" + std::to_string(columns[i]), messages / unprotected);
        report.add_figure("charlie_cpu_" + std::to_string(columns[i]),
                          (charlie + masks) / unprotected);
        report.add_figure("charlie_shm_" + std::to_string(columns[i]),
                          median_ratio(all[i].in_memory, all[i].charlie));
    }
    measure_charlie_parts(whole, times, report);
}

/// A stock whose background thread may use the processors of Charlie and David.
std::unique_ptr<masks::LatticeStock> steady_stock(const WholeModel& whole) {
    std::unique_ptr<masks::LatticeStock> stock;
    std::thread([&] {
        bind_to_processors({whole.processor, whole.another_processor});
        stock = stock_of(whole.charlie, {});
    }).join();
    return stock;
}

/// As many tokens as use up a block of every group.
void measure_steady_decode(WholeModel& whole, Report& report) {
    const auto stock = steady_stock(whole);
    const auto link = whole.server->connect();
    protocol::SessionOptions session = with_masks(whole, 0);
    session.shared.stock = stock.get();
    engines::HybridEngine over_tls(whole.charlie, whole.offloaded.weights, whole.check, *link,
                                   session);
    over_tls.wait_until_ready(masks::degree);
    const std::size_t tokens =
        std::min(masks::degree, whole.transformer->config().max_position_embeddings - 1);
    const std::size_t repetitions = std::max<std::size_t>(whole.options.repetitions / 2, 1);
    std::vector<double> unprotected, steady, made;
    const double per_repetition = static_cast<double>(tokens * whole.charlie.groups().size());
    for (std::size_t r = 0; r < repetitions; ++r) {
        const auto run = [&](base::Engine& engine, std::vector<double>& seconds) {
            Sequences one(whole, 1);
            seconds.push_back(seconds_of([&] {
                for (std::size_t t = 0; t < tokens; ++t) one.forward(engine);
            }));
        };
        const std::uint64_t before = stock->statistics().made;
        run(over_tls, steady);
        made.push_back(static_cast<double>(stock->statistics().made - before) / per_repetition);
        over_tls.wait_until_ready(masks::degree);  // else they are made beside the other
        run(whole.unprotected, unprotected);
    }
    const double per_token = median(steady) / static_cast<double>(tokens);
    report.add_row("decode over TLS, masks made meanwhile", per_token, 1, "tokens/s");
    const masks::SupplyStatistics all = stock->statistics();
    report.rows.push_back({"masks made meanwhile", all.seconds, median(made), " of those used up"});
    report.rows.push_back({"masks that a message waited for", all.late_seconds,
                           static_cast<double>(all.waited_for) / static_cast<double>(all.used),
                           " of those used up"});
    report.add_figure("decode_tls_steady", median_ratio(unprotected, steady));
}

}  // namespace

masks::BlockSecret some_secret(const base::parameters::LatticeParameters& lattice) {
    std::mt19937 random(1);
    std::vector<std::int8_t> small(lattice.rank * masks::degree);
    const int largest = static_cast<int>(lattice.eta);
    for (std::int8_t& entry : small) {
        const auto any = static_cast<int>(random() % (2 * lattice.eta + 1));
        entry = static_cast<std::int8_t>(any - largest);
    }
    return masks::BlockSecret(small, largest);
}

/// What it takes to make the masks again that are used up.
double mask_seconds_per_token(const WholeModel& whole) {
    masks::LatticeStock& stock = *whole.stock;
    const std::size_t groups = whole.charlie.groups().size();
    for (base::GroupId g = 0; g < groups; ++g) {
        std::vector<masks::Mask> used;
        stock.take(g, 2 * masks::degree, used);  // more a stock does not keep
        for (masks::Mask& mask : used) stock.recycle(g, std::move(mask).spend());
    }
    const masks::SupplyStatistics before = stock.statistics();
    stock.wait_until_ready(masks::degree);
    const masks::SupplyStatistics after = stock.statistics();
    return (after.seconds - before.seconds) * static_cast<double>(groups) /
           static_cast<double>(after.made - before.made);
}

Report measure_masks(WholeModel& whole) {
    Report report;
    if (!whole.stock) return report;
    measure_blocks(whole, report);
    measure_processor_time(whole, report);
    measure_steady_decode(whole, report);
    return report;
}

}  // namespace slip::bench
