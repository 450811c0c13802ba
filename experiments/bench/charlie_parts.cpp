#include "experiments/bench/charlie_parts.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "experiments/bench/machine_rates.hpp"
#include "experiments/bench/masks.hpp"
#include "optimized/base/growing_buffer.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/pages.hpp"
#include "optimized/engines/low_rank_factors.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/keystream.hpp"
#include "optimized/masks/noise.hpp"
#include "optimized/masks/products.hpp"
#include "optimized/masks/public_matrix.hpp"

namespace slip::bench {
namespace {

namespace wire = protocol::wire;
using base::GroupId;
using masks::degree;

constexpr std::size_t most_repetitions = 3;
/// As the stock makes them where it has memory for two blocks of a group.
constexpr std::size_t blocks_per_hint = 2;

/// Parts of one column's size in the order of their first measurement, each with the seconds of
/// every repetition.
class Parts {
public:
    struct Times {
        std::vector<double> seconds;  // of the repetitions, for all groups
        double bytes = 0;             // that are in no cache
    };

    Parts() {
        std::vector<double> nothing;
        for (int i = 0; i < 1000; ++i) nothing.push_back(processor_seconds_of([] {}));
        clock_ = median(nothing);
    }
    void begin_repetition() {
        for (auto& [name, times] : all_) times.seconds.push_back(0);
        repetitions_ += 1;
        counting_bytes_ = repetitions_ == 1;
    }
    /// Adds to a part what `work` takes, which reads or writes `bytes` bytes that are in no cache.
    template <class Work>
    void add(const std::string& name, double bytes, const Work& work) {
        Times& times = part(name);
        times.seconds.back() += processor_seconds_of(work) - clock_;
        if (counting_bytes_) times.bytes += bytes;
    }
    const std::deque<std::pair<std::string, Times>>& all() const { return all_; }

private:
    Times& part(const std::string& name) {
        for (auto& [own, times] : all_) {
            if (own == name) return times;
        }
        return all_.emplace_back(name, Times{std::vector<double>(repetitions_), 0}).second;
    }

    std::deque<std::pair<std::string, Times>> all_;
    std::size_t repetitions_ = 0;
    bool counting_bytes_ = false;
    double clock_ = 0;  // what it takes to look at it
};

/// The greater of several bounds.
struct Bound {
    double seconds = 0;
    std::string by;
    Bound& or_else(double other, const char* name) {
        if (other > seconds) *this = {other, name};
        return *this;
    }
};

/// What the columns of some blocks lie in: pages of their own, as those of masks.
class BlockColumns {
public:
    BlockColumns(const base::parameters::ParameterSet& set, std::size_t blocks, std::size_t bytes)
        : secret_(some_secret(*set.lattice)), columns_(blocks) {
        for (auto& columns : columns_) {
            for (std::span<std::uint8_t>& column : columns) {
                column = memory_.emplace_back(bytes).span();
            }
            pass_.push_back({&secret_, columns});
        }
    }
    std::span<const masks::Block> pass() const { return pass_; }

private:
    masks::BlockSecret secret_;
    std::deque<base::SecretBuffer<std::uint8_t>> memory_;
    std::vector<std::array<std::span<std::uint8_t>, degree>> columns_;
    std::vector<masks::Block> pass_;
};

/// What is made ahead of use.
class AheadOfUse {
public:
    AheadOfUse(const WholeModel& whole, const MachineRates& rates, double read_rate)
        : whole_(whole), set_(whole.charlie.set()), rates_(rates), read_rate_(read_rate) {}

    void measure(std::size_t repetitions, Report& report) {
        std::map<std::size_t, double> groups;  // by width
        for (const auto& group : whole_.charlie.groups()) groups[group.product().n] += 1;
        Products masks_made, noise;
        double expansion = 0, expanded = 0;
        for (const auto& [n, count] : groups) {
            base::HugeBuffer rows(n * row_bytes(false));
            base::provide_for_writing(rows.data(), rows.size());
            expansion += processor_seconds_of([&] { public_matrix(n).expand(0, bytes_of(rows)); });
            expanded += static_cast<double>(rows.size());
            const BlockColumns columns(set_, masks::most_blocks, set_.planes * n);
            masks_made.add(count, exact_products(bytes_of(rows), columns, n, repetitions));
            noise.add(count, noise_of(columns, n, repetitions));
        }
        report.add_row("expansion of T, once", expansion, expanded, "B/s");
        const double shake = expanded / rates_.shake;
        report.rows.push_back({"SHAKE-128 of so many bytes", shake, rates_.shake, "B/s"});
        add("products T S", masks_made, report);
        add("noise of masks", noise, report);
        add("products H S", hint_products(repetitions), report);
    }

private:
    /// What the products of a mask take, or those of one mask per group.
    struct Products {
        double seconds = 0, bytes = 0, keystream = 0, multiplications = 0;
        void add(double count, const Products& other) {
            seconds += count * other.seconds;
            bytes += count * other.bytes;
            keystream += count * other.keystream;
            multiplications += count * other.multiplications;
        }
    };

    static std::span<std::uint8_t> bytes_of(base::HugeBuffer& buffer) {
        return {buffer.as<std::uint8_t>(), buffer.size()};
    }
    std::size_t row_bytes(bool rounded) const {
        return masks::row_bytes(set_.planes, set_.lattice->rank, rounded);
    }
    masks::PublicMatrix public_matrix(std::size_t n) const {
        masks::LatticeStock::Seed seed{};
        std::copy_n(whole_.charlie.masks_seed().begin(), seed.size(), seed.begin());
        return {set_, seed, n};
    }

    /// MODEL-6, for a row and a mask, where `blocks` blocks share the transforms of a row.
    double multiplications(std::size_t rows, std::size_t blocks, std::size_t halves) const {
        constexpr double points = degree / 2.0, transform = 4 * (points * 9 / 4 + points / 2);
        const auto d = static_cast<double>(set_.lattice->rank);
        const double shared = d * transform / static_cast<double>(blocks);
        return static_cast<double>(rows) *
               (static_cast<double>(halves) * (shared + d * 4 * points + transform) + degree) /
               degree;
    }
    /// Per mask, what a pass over `stored` rows with `blocks` blocks takes.
    Products of_pass(double seconds, std::size_t stored, std::size_t rows, std::size_t blocks,
                     std::size_t halves) const {
        const auto masks_made = static_cast<double>(blocks * degree);
        return {seconds / masks_made,
                static_cast<double>(stored) / masks_made + static_cast<double>(set_.planes * rows),
                0, multiplications(rows, blocks, halves)};
    }

    Products exact_products(std::span<const std::uint8_t> rows, const BlockColumns& columns,
                            std::size_t n, std::size_t repetitions) const {
        masks::RingProducts products(set_.planes, set_.lattice->rank, masks::most_blocks);
        std::vector<double> seconds;
        for (std::size_t r = 0; r < repetitions; ++r) {
            seconds.push_back(processor_seconds_of([&] {
                products.exact({rows, 0, n}, columns.pass());
            }));
        }
        return of_pass(median(seconds), rows.size(), n, masks::most_blocks, 2);
    }

    Products noise_of(const BlockColumns& columns, std::size_t n, std::size_t repetitions) const {
        const unsigned eta = set_.lattice->eta;
        const masks::Tau tau = masks::residues_of(base::tau_at(set_, n));
        base::SecretBuffer<std::uint8_t> stream(masks::noise_bytes(n, eta));
        base::SecretBuffer<std::uint8_t> wide(masks::noise_bytes(n, 2));
        masks::Keystream keys;
        std::vector<double> seconds;
        for (std::size_t r = 0; r < repetitions; ++r) {
            seconds.push_back(processor_seconds_of([&] {
                for (std::size_t i = 0; i < degree; ++i) {
                    keys.draw_bytes(masks::Purpose::noise, i, stream.span());
                    if (eta == 1) masks::widen(stream.span(), wide.span());
                    masks::add_noise(eta == 1 ? wide.span() : stream.span(), tau, set_.planes,
                                     columns.pass().front().columns[i]);
                }
            }));
        }
        return {median(seconds) / degree, static_cast<double>(set_.planes * n),
                static_cast<double>(stream.size()), 0};
    }

    /// All hints, one after the other: no cache has them.
    Products hint_products(std::size_t repetitions) const {
        const auto& groups = whole_.charlie.groups();
        std::map<std::size_t, BlockColumns> columns;  // by rows
        Products sum;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const std::size_t rows = groups[g].product().rows;
            columns.try_emplace(rows, set_, blocks_per_hint, set_.planes * rows);
            sum.add(1, of_pass(0, whole_.charlie.hint(g).size(), rows, blocks_per_hint, 1));
        }
        masks::RingProducts products(set_.planes, set_.lattice->rank, blocks_per_hint);
        std::vector<double> seconds;
        for (std::size_t r = 0; r < repetitions; ++r) {
            seconds.push_back(processor_seconds_of([&] {
                for (std::size_t g = 0; g < groups.size(); ++g) {
                    const auto& product = groups[g].product();
                    multiply(products, {whole_.charlie.hint(g), 0, product.rows},
                             masks::residues_of(base::tau_at(set_, product.n)),
                             columns.at(product.rows).pass());
                }
            }));
        }
        sum.seconds = median(seconds) / (blocks_per_hint * degree);
        return sum;
    }
    void multiply(masks::RingProducts& products, const masks::StoredRows& rows,
                  const masks::Tau& tau, std::span<const masks::Block> pass) const {
        if (set_.hides_weights) {
            products.rounded(rows, tau, pass);
        } else {
            products.approximate(rows, tau, pass);
        }
    }

    void add(const std::string& name, const Products& part, Report& report) const {
        Bound bound;
        bound.or_else(part.bytes / read_rate_, "memory")
            .or_else(part.keystream / rates_.aes_ctr, "AES-256-CTR");
        if (rates_.multiplications > 0) {
            bound.or_else(part.multiplications / rates_.multiplications, "multiplications");
        }
        report.parts.push_back({name, 0, part.seconds, bound.seconds, bound.by});
    }

    const WholeModel& whole_;
    const base::parameters::ParameterSet& set_;
    const MachineRates& rates_;
    const double read_rate_;
};

/// A graph's engine that computes nothing.
class NoEngine : public base::Engine {
public:
    void apply(GroupId /*group*/, base::MatrixView<const float> /*input*/,
               std::span<const base::MatrixView<float>> /*outputs*/) override {}
};

/// What HybridEngine and its session do with a message of `columns` columns, but for the messages:
/// the same calls in the same order, so that caches have what they would have.
class Online {
public:
    Online(const WholeModel& whole, std::size_t columns)
        : whole_(whole),
          columns_(columns),
          set_(whole.charlie.set()),
          factors_(set_.hides_weights ? std::vector<artifact::CharlieGroup>{}
                                      : whole.charlie.groups()) {
        if (whole.secrets) workspace_.emplace(whole.secrets->workspace());
        std::size_t inputs = 0, outputs = 0, products = 0, ranks = 0;
        for (GroupId g = 0; g < whole.charlie.groups().size(); ++g) {
            const artifact::CharlieGroup& group = whole.charlie.groups()[g];
            inputs = std::max(inputs, group.columns());
            outputs = std::max(outputs, whole.check.shapes()[g].outputs());
            products = std::max(products, group.product().rows);
            std::size_t rank = 0;
            for (const auto& member : group.members) rank += member.rank;
            ranks = std::max(ranks, rank);
        }
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        input_.resize(columns * inputs);
        for (float& value : input_) value = normal(random);
        reply_.resize(wire::columns_frame_bytes(columns * set_.planes * outputs));
        for (std::byte& byte : reply_) byte = static_cast<std::byte>(random() % 223);  // < 227
        products_ = base::SecretBuffer<std::int64_t>(columns * products);
        integers_ = base::SecretBuffer<std::int64_t>(products);
        inner_ = base::SecretBuffer<std::int64_t>(columns * ranks + 1);
        output_.resize(columns * products);
    }

    Parts measure(std::size_t repetitions) {
        Sequences some(whole_, columns_);
        some.write_context(context());
        NoEngine none;
        some.forward(none);
        Parts parts;
        for (std::size_t r = 0; r < repetitions; ++r) {
            whole_.stock->wait_until_ready(columns_ + 1);  // none is made on the way
            parts.begin_repetition();
            parts.add("floats", 0, [&] { some.forward(none); });
            for (GroupId g = 0; g < whole_.charlie.groups().size(); ++g) exchange(g, parts);
        }
        return parts;
    }

private:
    std::size_t context() const {
        const std::size_t positions = whole_.transformer->config().max_position_embeddings;
        return std::min<std::size_t>(32, positions - std::min(positions, most_repetitions + 1));
    }

    void exchange(GroupId g, Parts& parts) {
        const artifact::CharlieGroup& group = whole_.charlie.groups()[g];
        parts.add("quantise", 0, [&] {
            quantised_.assign(group, {input_.data(), columns_, group.columns()});
        });
        parts.add("masks taken", 0, [&] { whole_.stock->take(g, columns_, masks_); });
        mask(g, parts);
        low_rank_inner(g, parts);
        receive(g, parts);
        unmask(g, parts);
        finish(g, parts);
        masks_.clear(), spent_.clear(), expected_.clear();
    }

    void mask(GroupId g, Parts& parts) {
        const std::size_t bytes = set_.planes * quantised_.values().cols();
        const auto columns = apply_.resize(columns_ * bytes);
        parts.add("mask", static_cast<double>(columns_ * bytes), [&] {
            for (std::size_t c = 0; c < columns_; ++c) {
                auto& spent = spent_.emplace_back(std::move(masks_[c]).spend());
                kernels::active().mask(quantised_.values().row(c).data(), spent.mask.data(),
                                       quantised_.values().cols(), set_.planes,
                                       columns.data() + c * bytes);
                spent.mask.clear();
            }
        });
        const double companion = 8 * static_cast<double>(quantised_.values().cols());
        parts.add("check of products", companion, [&] {
            for (std::size_t c = 0; c < columns_; ++c) {
                expected_.push_back(whole_.product_check->expected(g, quantised_.values().row(c)));
            }
        });
    }

    void low_rank_inner(GroupId g, Parts& parts) {
        if (set_.hides_weights) return;
        const artifact::CharlieGroup& group = whole_.charlie.groups()[g];
        std::size_t bytes = 0;
        for (const auto& member : group.members) {
            bytes += kernels::active().right_bytes(member.rank, group.n);
        }
        parts.add("low-rank part", static_cast<double>(bytes), [&] {
            std::int64_t* target = inner_.data();
            for (std::size_t c = 0; c < columns_; ++c) {
                for (std::size_t i = 0; i < group.members.size(); ++i) {
                    factors_.inner(g, i, quantised_.values().row(c).data(), target);
                    target += group.members[i].rank;
                }
            }
        });
    }

    void receive(GroupId g, Parts& parts) {
        const base::ProductShape& shape = whole_.check.shapes()[g];
        const wire::ColumnsHeader header{0, g, static_cast<std::uint32_t>(columns_)};
        const auto frame = std::span(reply_).first(
            wire::columns_frame_bytes(columns_ * set_.planes * shape.outputs()));
        wire::begin_columns(wire::FrameType::reply, header, frame);
        parts.add("reply read", 0, [&] {
            const auto residues = wire::decode_residues(frame.subspan(wire::length_bytes), header,
                                                        set_.planes, shape.outputs());
            std::copy(residues.begin(), residues.end(), answer_.resize(residues.size()).begin());
        });
        const auto companion = kernels::active().combinations_bytes(shape.n, set_.planes);
        parts.add("check", static_cast<double>(companion), [&] {
            accepted_ = whole_.check.accepts(g, apply_.span(), answer_.span());  // takes no less
        });
    }

    void unmask(GroupId g, Parts& parts) {
        const std::size_t rows = whole_.charlie.groups()[g].product().rows;
        const auto product_of = [&](std::size_t c) {
            return products_.span().subspan(c * rows, rows);
        };
        const std::size_t bytes = answer_.span().size() / columns_;
        parts.add("unmask", static_cast<double>(columns_ * set_.planes * rows), [&] {
            for (std::size_t c = 0; c < columns_; ++c) {
                const auto reply = answer_.span().subspan(c * bytes, bytes);
                auto& cancellation = spent_[c].cancellation;
                if (whole_.secrets) {
                    whole_.secrets->products(g, reply, cancellation.span(), *workspace_,
                                             product_of(c));
                    continue;
                }
                kernels::active().unmask(reply.data(), cancellation.data(), rows, set_.planes,
                                         product_of(c).data());
                masks::reduce_modulo_tau(product_of(c), set_.lattice->tau_bits);
            }
        });
        parts.add("check of products", 0, [&] {
            for (std::size_t c = 0; c < columns_; ++c) {
                accepted_ = whole_.product_check->holds(expected_[c], product_of(c));
            }
        });
        parts.add("masks given back", 0, [&] {
            for (masks::Mask::Spent& spent : spent_) {
                whole_.stock->recycle(g, std::move(spent));
            }
        });
    }

    void finish(GroupId g, Parts& parts) {
        const artifact::CharlieGroup& group = whole_.charlie.groups()[g];
        const std::size_t rows = group.product().rows;
        std::size_t row = 0, component = 0, stacked = 0;
        for (const auto& member : group.members) stacked += member.rank;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const auto& member = group.members[i];
            const std::size_t m = member.shape.m;
            const auto bytes = kernels::active().left_bytes(m, member.rank);
            for (std::size_t c = 0; c < columns_; ++c) {
                const std::int64_t* product = products_.data() + c * rows + row;
                if (!set_.hides_weights) {
                    parts.add("low-rank part", c == 0 ? static_cast<double>(bytes) : 0, [&] {
                        factors_.outer(g, i, inner_.data() + c * stacked + component, product,
                                       integers_.data());
                    });
                    product = integers_.data();
                }
                parts.add("dequantise", c == 0 ? 4 * static_cast<double>(m) : 0, [&] {
                    kernels::active().dequantise(product, member.row_scale.data(),
                                                 quantised_.scale(c), m,
                                                 output_.data() + c * rows + row);
                });
            }
            row += m;
            component += member.rank;
        }
    }

    const WholeModel& whole_;
    const std::size_t columns_;
    const base::parameters::ParameterSet& set_;
    const engines::LowRankFactors factors_;
    std::optional<secrets::WeightSecrets::Workspace> workspace_;
    std::vector<float> input_, output_;
    std::vector<std::byte> reply_;
    engines::QuantisedColumns quantised_;
    std::vector<masks::Mask> masks_;
    std::vector<masks::Mask::Spent> spent_;
    std::vector<std::uint64_t> expected_;
    base::GrowingBuffer<std::uint8_t> apply_, answer_;
    base::SecretBuffer<std::int64_t> products_, integers_, inner_;
    bool accepted_ = false;
};

double sum_of(const std::vector<Part>& parts, std::size_t columns) {
    return std::accumulate(parts.begin(), parts.end(), 0.0, [&](double sum, const Part& part) {
        return sum + (part.columns == columns ? part.seconds : 0);
    });
}

/// As many bytes as the records of a token have.
double message_bytes_of(const std::vector<MessageBytes>& messages) {
    std::size_t bytes = 0;
    for (const MessageBytes& group : messages) bytes += group.up + group.down;
    return static_cast<double>(bytes);
}

}  // namespace

void measure_charlie_parts(const WholeModel& whole, const CharlieTimes& times, Report& report) {
    const std::size_t repetitions = std::min(whole.options.repetitions, most_repetitions);
    const MachineRates rates = measure_machine_rates();
    const double read_rate = static_cast<double>(whole.unprotected.bytes()) /
                             processor_seconds_of([&] { whole.unprotected.read(); });
    AheadOfUse(whole, rates, read_rate).measure(repetitions, report);
    const double ahead = sum_of(report.parts, 0);
    report.parts.push_back({"remainder ahead of use", 0, times.masks - ahead, 0, ""});
    for (std::size_t i = 0; i < measured_columns.size(); ++i) {
        const std::size_t columns = measured_columns[i];
        const auto per_step = static_cast<double>(columns);
        const Parts parts = Online(whole, columns).measure(repetitions);
        for (const auto& [name, part] : parts.all()) {
            const Bound bound = Bound{}.or_else(part.bytes / read_rate / per_step, "memory");
            report.parts.push_back(
                {name, columns, median(part.seconds) / per_step, bound.seconds, bound.by});
        }
        const double records = message_bytes_of(whole.messages[i]) / rates.aes_gcm / per_step;
        report.parts.push_back(
            {"messages over TLS", columns, times.messages[i], records, "AES-256-GCM"});
        const double online = sum_of(report.parts, columns);
        report.add_figure("charlie_parts_sum_" + std::to_string(columns),
                          (ahead + online) / (times.masks + times.online[i]));
        report.parts.push_back({"remainder online", columns, times.online[i] - online, 0, ""});
    }
}

}  // namespace slip::bench
