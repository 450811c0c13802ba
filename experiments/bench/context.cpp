#include "experiments/bench/context.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/bench/machine.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/attention.hpp"

namespace slip::bench {
namespace {

using graph::KvCache;

constexpr std::size_t most_decoded = 16;
constexpr std::size_t read_context = 4096;

/// Lengths that are compared, and how many tokens are decoded after them.
struct Lengths {
    std::size_t decoded, many, few, few_of_prompt;
    std::vector<std::size_t> contexts;  // after which tokens are decoded, in order

    Lengths(const WholeModelOptions& options, std::size_t positions, bool curves)
        : decoded(std::min({options.tokens, most_decoded, positions / 2})),
          many(std::min<std::size_t>(1536, positions - decoded)),
          few(std::min<std::size_t>(32, many / 4)),
          few_of_prompt(std::min<std::size_t>(128, many / 4)),
          contexts{few, many} {
        if (!curves) return;
        for (const std::size_t length : {128U, 512U, 1024U}) {
            if (few < length && length < many) contexts.push_back(length);
        }
        const std::size_t most = std::min<std::size_t>(2048, positions - decoded);
        if (most > many) contexts.push_back(most);
        std::sort(contexts.begin(), contexts.end());
    }
};

/// One contestant's decodes: the seconds of every repetition, by the tokens before them.
class Decodes {
public:
    Decodes(std::string name, const WholeModel& whole, base::Engine& engine, const Lengths& lengths)
        : name_(std::move(name)), whole_(whole), engine_(engine), lengths_(lengths) {}

    void run(std::size_t context) {
        Sequences one(whole_, 1);
        one.write_context(context);
        seconds_[context].push_back(seconds_of([&] {
            for (std::size_t t = 0; t < lengths_.decoded; ++t) one.forward(engine_);
        }));
    }
    const std::vector<double>& few() const { return seconds_.at(lengths_.few); }
    const std::vector<double>& many() const { return seconds_.at(lengths_.many); }
    void report_in(Report& report, bool curves) const {
        Curve curve{name_, {}};
        for (const auto& [context, seconds] : seconds_) {
            const double token = median(seconds) / static_cast<double>(lengths_.decoded);
            report.add_row("decode after " + std::to_string(context) + ", " + name_, token, 1,
                           "tokens/s");
            curve.points.push_back({context, 1 / token});
        }
        if (curves) report.curves.push_back(std::move(curve));
    }

private:
    std::string name_;
    const WholeModel& whole_;
    base::Engine& engine_;
    const Lengths& lengths_;
    std::map<std::size_t, std::vector<double>> seconds_;
};

double prefill(const WholeModel& whole, base::Engine& engine, std::size_t tokens) {
    Sequences one(whole, 1);
    return seconds_of([&] { one.forward(engine, tokens); });
}

/// The keys and values of one sequence, and attention of its last token, without a model around it.
class AttentionAlone {
public:
    explicit AttentionAlone(const base::ModelConfig& config)
        : config_(config),
          cache_(config),
          queries_(config.query_width(), 0.5F),
          mixed_(config.query_width()),
          scores_(graph::attention_rows * read_context) {
        const std::vector<float> rows(read_context * config.key_value_width(), 0.25F);
        const base::MatrixView<const float> view(rows.data(), read_context,
                                                 config.key_value_width());
        for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
            cache_.write(block, view, view);
        }
    }

    double bytes() const {
        return static_cast<double>(config_.num_hidden_layers * read_context * 2 *
                                   config_.key_value_width() * sizeof(float));
    }

    /// Calls work(block, key head).
    template <class Work>
    void for_each_head(const Work& work) const {
        for (std::size_t block = 0; block < config_.num_hidden_layers; ++block) {
            for (std::size_t head = 0; head < config_.num_key_value_heads; ++head) {
                work(block, head);
            }
        }
    }

    void attend() {
        for_each_head([&](std::size_t block, std::size_t key_head) {
            const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
            for (std::size_t first = 0; first < sharing; first += graph::attention_rows) {
                attend(block, key_head, key_head * sharing + first,
                       std::min(graph::attention_rows, sharing - first));
            }
        });
    }

    void read() const {
        for_each_head([&](std::size_t block, std::size_t head) {
            for (std::size_t p = 0; p < read_context; p += KvCache::positions_at_once) {
                for (const float* rows :
                     {cache_.keys(block, head, p), cache_.values(block, head, p)}) {
                    read_all({reinterpret_cast<const std::int8_t*>(rows),
                              KvCache::positions_at_once * config_.head_dim * sizeof(float)});
                }
            }
        });
    }

private:
    void attend(std::size_t block, std::size_t key_head, std::size_t first, std::size_t heads) {
        std::array<const float*, graph::attention_rows> queries{};
        std::array<float*, graph::attention_rows> outputs{};
        for (std::size_t i = 0; i < heads; ++i) {
            queries[i] = queries_.data() + (first + i) * config_.head_dim;
            outputs[i] = mixed_.data() + (first + i) * config_.head_dim;
        }
        graph::SharedAttention{.cache = cache_,
                               .block = block,
                               .key_head = key_head,
                               .value_head = key_head,
                               .position = read_context - 1,
                               .heads = heads,
                               .head_dim = config_.head_dim,
                               .value_width = config_.head_dim,
                               .queries = std::span(queries).first(heads),
                               .outputs = std::span(outputs).first(heads)}
            .run(scores_.data(), read_context);
    }

    const base::ModelConfig config_;
    KvCache cache_;
    const std::vector<float> queries_;
    std::vector<float> mixed_;
    std::vector<float> scores_;
};

void measure_attention(const WholeModel& whole, Report& report) {
    AttentionAlone attention(whole.transformer->config());
    std::vector<double> attending, reading;
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        attending.push_back(seconds_of([&] { attention.attend(); }));
        reading.push_back(seconds_of([&] { attention.read(); }));
    }
    const auto row = [&](const char* name, const std::vector<double>& seconds) {
        const double middle = median(seconds);
        report.add_row(name, middle, attention.bytes(), "B/s");
    };
    row("attention after 4096", attending);
    row("plain read of its keys and values", reading);
    report.add_figure("attention_read", median_ratio(reading, attending));
}

void measure_prefill(WholeModel& whole, const Lengths& lengths, Report& report) {
    std::vector<double> few, many;
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        few.push_back(prefill(whole, whole.unprotected, lengths.few_of_prompt) /
                      static_cast<double>(lengths.few_of_prompt));
        many.push_back(prefill(whole, whole.unprotected, lengths.many) /
                       static_cast<double>(lengths.many));
    }
    const auto row = [&](std::size_t length, const std::vector<double>& seconds) {
        const double token = median(seconds);
        report.add_row("prefill of " + std::to_string(length) + ", unprotected int8", token, 1,
                       "tokens/s");
    };
    row(lengths.few_of_prompt, few);
    row(lengths.many, many);
    report.add_figure("prefill_context", median_ratio(few, many));
}

void measure_decodes(WholeModel& whole, const Lengths& lengths, bool curves, Report& report) {
    protocol::DavidSession david(whole.offloaded);
    protocol::InProcessTransport local(david);
    const std::unique_ptr<Transport> link = whole.server->connect();
    const std::size_t masks = lengths.decoded + 1;  // one more, as in decode.cpp
    engines::HybridEngine in_process = protected_by(whole, local, masks);
    engines::HybridEngine tls = protected_by(whole, *link, masks);
    Decodes open("unprotected int8", whole, whole.unprotected, lengths);
    Decodes here("hybrid in process", whole, in_process, lengths);
    Decodes over_tls("hybrid over TLS", whole, tls, lengths);
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        for (const std::size_t context : lengths.contexts) {
            in_process.wait_until_ready(masks);
            tls.wait_until_ready(masks);
            open.run(context);
            here.run(context);
            in_process.wait_until_ready(masks);
            over_tls.run(context);
        }
    }
    for (const Decodes* decodes : {&open, &here, &over_tls}) decodes->report_in(report, curves);
    report.add_figure("decode_context", median_ratio(open.few(), open.many()));
    report.add_figure("decode_context_tls", median_ratio(over_tls.few(), over_tls.many()));
    report.add_figure("decode_in_process_1536", median_ratio(open.many(), here.many()));
    report.add_figure("decode_tls_1536", median_ratio(open.many(), over_tls.many()));
}

}  // namespace

Report measure_context(WholeModel& whole, bool curves) {
    Report report;
    const Lengths lengths(whole.options, whole.transformer->config().max_position_embeddings,
                          curves);
    measure_decodes(whole, lengths, curves, report);
    measure_prefill(whole, lengths, report);
    measure_attention(whole, report);
    return report;
}

}  // namespace slip::bench
