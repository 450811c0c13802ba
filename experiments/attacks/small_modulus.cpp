// A modulus below the bound of ENC-4: products wrap, replies are right and pass the check, and
// Charlie puts out something else than the model's answer without noticing.
#include <algorithm>
#include <numeric>

#include "experiments/attacks/measure.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "experiments/attacks/weakened_engine.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/split/hidden_matrix.hpp"
#include "slip/split.hpp"

namespace slip::attacks {
namespace {

TokenId best_of(const std::vector<float>& logits) {
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// A matrix of `n` columns and the fewest rows that a LLaMA may have, all of whose entries are 1 or
/// -1: David's integers are 127 or -127, and their rows have the largest norm for their length.
void write_wide_checkpoint(const std::filesystem::path& folder, std::size_t n) {
    constexpr std::size_t hidden = 8;
    std::filesystem::create_directory(folder);
    base::write_file(folder / "config.json",
                     R"({"model_type": "llama", "hidden_act": "silu", "hidden_size": 8,
                         "intermediate_size": )" +
                         std::to_string(n) + R"(, "num_hidden_layers": 1,
                         "num_attention_heads": 1, "num_key_value_heads": 1, "vocab_size": 8,
                         "max_position_embeddings": 8, "rms_norm_eps": 1e-5,
                         "tie_word_embeddings": true})",
                     0644);
    std::vector<importing::Tensor> tensors;
    const auto add = [&](const std::string& name, std::vector<std::size_t> shape) {
        tensors.push_back({name + ".weight", importing::DType::f32, std::move(shape), {}});
    };
    add("model.embed_tokens", {8, hidden});
    const std::string block = "model.layers.0.";
    for (const char* name : {"input_layernorm", "post_attention_layernorm"}) {
        add(block + name, {hidden});
    }
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
        add(block + "self_attn." + name, {hidden, hidden});
    }
    add(block + "mlp.gate_proj", {n, hidden});
    add(block + "mlp.up_proj", {n, hidden});
    add(block + "mlp.down_proj", {hidden, n});
    add("model.norm", {hidden});
    importing::SafetensorsWriter writer(folder / "model.safetensors", tensors, {}, 0644);
    std::mt19937_64 random(1);
    for (const importing::Tensor& tensor : tensors) {
        std::size_t elements = 1;
        for (const std::size_t extent : tensor.shape) elements *= extent;
        std::vector<float> values(elements);
        for (float& value : values) value = random() % 2 == 0 ? 1.0F : -1.0F;
        writer.append(std::as_bytes(std::span(values)));
    }
    writer.finish();
}

/// down_proj of a wide checkpoint, hidden. Its worst activations are its own rows, by
/// Cauchy-Schwarz.
class WorstInputs {
public:
    explicit WorstInputs(std::size_t n)
        : victim_(written(folder_.path() / "model", n), {}, "hidden"),
          W_(weights_of({folder_.path() / "model"}, "model.layers.0.mlp.down_proj").cast<float>()),
          group_(victim_.find("down_proj", 0).group),
          model_{.n = n, .entries = {}, .row_scale = {}} {
        columns_.assign(own(), view_of(W_));
        model_.append(view_of(W_));
    }

    const Victim& victim() const { return victim_; }
    std::size_t count() const { return model_.rows(); }
    /// The greatest product over s / 2, beyond which it wraps (HIDE-5).
    double reached() const {
        std::int64_t largest = 0;
        for (std::size_t c = 0; c < count(); ++c) {
            for (const std::int64_t y : products(c)) largest = std::max(largest, std::abs(y));
        }
        return 2.0 * static_cast<double>(largest) /
               static_cast<double>(base::hidden_width(model_.n).s);
    }
    /// How many inputs have the right outputs in this session, bit by bit. Masks are fresh.
    std::uint64_t right_in(ProductSession& session) const {
        const std::size_t m = count();
        std::vector<float> output(m * m), expected(m);
        const base::MatrixView<float> outputs(output.data(), m, m);
        session.engine().apply(group_, view_of(W_), {&outputs, 1});
        std::uint64_t right = 0;
        for (std::size_t c = 0; c < m; ++c) {
            kernels::active().dequantise(products(c).data(), own().members[0].row_scale.data(),
                                         columns_.scale(c), m, expected.data());
            right += std::equal(expected.begin(), expected.end(), outputs.row(c).begin());
        }
        return right;
    }

private:
    static std::filesystem::path written(const std::filesystem::path& folder, std::size_t n) {
        write_wide_checkpoint(folder, n);
        return folder;
    }
    const artifact::CharlieGroup& own() const { return victim_.charlie().groups()[group_]; }
    /// W' times input c.
    std::vector<std::int64_t> products(std::size_t c) const {
        const auto q = columns_.values().row(c);
        std::vector<std::int64_t> y;
        for (std::size_t i = 0; i < count(); ++i) {
            const auto row = model_.view().row(i);
            y.push_back(std::inner_product(row.begin(), row.end(), q.begin(), std::int64_t{0}));
        }
        return y;
    }

    testing::TemporaryDirectory folder_;
    Victim victim_;
    RowMajor W_;
    base::GroupId group_;
    splitting::HiddenModel model_;
    engines::QuantisedColumns columns_;
};

}  // namespace

Outcome small_modulus_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    const std::uint64_t prompts = setting.full ? 200 : 20;
    std::mt19937_64 random(setting.seed);
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < prompts; ++i) {
        const auto ids = random_prompt(victim.config(), 4, random);
        WeakenedEngine wrapping(victim, {.mask = no_mask, .modulus = (std::int64_t{1} << 19) - 1});
        WeakenedEngine exact(victim, {.mask = no_mask});
        right += best_of(victim.logits(wrapping, ids)) == best_of(victim.logits(exact, ids));
    }
    return {static_cast<double>(right) / static_cast<double>(prompts), 0.5, prompts,
            "L = 2^19 - 1 with the activations of the product's L"};
}

/// The longest rows and, by Cauchy-Schwarz, their worst activations: the rows themselves.
Outcome small_modulus_product(const Setting&) {
    constexpr std::size_t n = std::size_t{1} << 18;
    const testing::TemporaryDirectory folder;
    write_wide_checkpoint(folder / "model", n);
    SplitOptions options;
    options.out = folder / "split";
    options.set = "paper";
    split_checkpoint(folder / "model", options);
    const api::SplitFiles files(options.out);
    const kernels::OffloadedWeights weights = files.david().weights();
    base::GroupId group = 0;
    while (weights[group].cols() != n) ++group;  // down_proj
    std::uint64_t right = 0;
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < weights[group].rows(); ++i) {
        const auto row = weights[group].row(i);
        const std::vector<float> x(row.begin(), row.end());
        engines::QuantisedColumns columns;
        columns.assign(files.charlie().groups()[group], {x.data(), 1, n});
        std::int64_t product = 0;
        for (std::size_t j = 0; j < n; ++j) {
            product += std::int64_t{row[j]} * columns.values().row(0)[j];
        }
        right += lift(embed(product)) == product;
        largest = std::max(largest, product);
    }
    const std::uint64_t rows = weights[group].rows();
    return {static_cast<double>(right) / static_cast<double>(rows), 0.5, rows,
            "2^18 entries of 127 along the activations: products reach " +
                std::to_string(200.0 * static_cast<double>(largest) / modulus).substr(0, 5) +
                " % of L / 2"};
}

Outcome small_modulus_hidden(const Setting& setting) {
    const std::size_t n = setting.full ? 6144 : 1536;
    const WorstInputs worst(n);
    ProductSession session(worst.victim());
    const std::uint64_t repeats = setting.full ? 200 : 16, count = repeats * worst.count();
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) right += worst.right_in(session);
    return {static_cast<double>(right) / static_cast<double>(count), 0.5, count,
            std::to_string(n) + " columns, " + std::to_string(repeats) +
                " masks for each input: products reach " + figure(100 * worst.reached()) +
                " % of s / 2"};
}

}  // namespace slip::attacks
