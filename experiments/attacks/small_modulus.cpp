// A modulus below the bound of ENC-4: products wrap, replies are right and pass the check, and
// Charlie puts out something else than the model's answer without noticing.
#include <algorithm>
#include <string>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "experiments/attacks/weakened_engine.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/split/hidden_matrix.hpp"

namespace slip::attacks {
namespace {

TokenId best_of(const std::vector<float>& logits) {
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// A model whose down_proj has `n` columns and the fewest rows that a LLaMA may have. All its
/// entries are 1 or -1: rounded, its rows have the largest norm that one of this length may have.
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
        const bool is_worst = tensor.name == block + "mlp.down_proj.weight";
        for (float& value : values) {
            value = static_cast<float>(random()) / 0x1p63F - 1;
            if (is_worst) value = value < 0 ? -1.0F : 1.0F;
        }
        writer.append(std::as_bytes(std::span(values)));
    }
    writer.finish();
}

/// down_proj of a wide checkpoint, of which Charlie keeps no component: the paper's plan names
/// another matrix. Its worst activations are its own rows, by Cauchy-Schwarz.
class WorstInputs {
public:
    WorstInputs(std::size_t n, const std::string& set, const Plan& plan)
        : victim_(written(folder_.path() / "model", n), plan, set),
          W_(weights_of({folder_.path() / "model"}, "model.layers.0.mlp.down_proj").cast<float>()),
          place_(victim_.find("down_proj", 0)),
          rows_(victim_.david().set().hides_weights ? hidden_rows(W_) : victim_.residual(place_)),
          step_(victim_.david().set().hides_weights ? 1 : 65536) {
        columns_.assign(own(), view_of(W_));
    }

    const Victim& victim() const { return victim_; }
    std::size_t count() const { return static_cast<std::size_t>(rows_.rows()); }
    std::size_t width() const { return static_cast<std::size_t>(rows_.cols()); }
    /// The greatest product of what is sent.
    std::int64_t largest() const {
        std::int64_t largest = 0;
        for (std::size_t c = 0; c < count(); ++c) {
            for (const std::int64_t y : products(c)) largest = std::max(largest, std::abs(y));
        }
        return largest;
    }
    /// How many inputs have the right outputs in this session, bit by bit. Masks are fresh.
    std::uint64_t right_in(ProductSession& session) const {
        const std::size_t m = count();
        std::vector<float> output(m * m), expected(m);
        const base::MatrixView<float> outputs(output.data(), m, m);
        session.engine().apply(place_.group, view_of(W_), {&outputs, 1});
        std::uint64_t right = 0;
        for (std::size_t c = 0; c < m; ++c) {
            std::vector<std::int64_t> y = products(c);
            for (std::int64_t& product : y) product *= step_;
            kernels::active().dequantise(y.data(), own().members[0].row_scale.data(),
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
    /// W'.
    static Eigen::MatrixXd hidden_rows(const RowMajor& W) {
        splitting::HiddenModel model{
            .n = static_cast<std::size_t>(W.cols()), .entries = {}, .row_scale = {}};
        model.append(view_of(W));
        const auto entries = model.view();
        Eigen::MatrixXd rows(W.rows(), W.cols());
        for (Eigen::Index i = 0; i < rows.rows(); ++i) {
            const auto row = entries.row(static_cast<std::size_t>(i));
            for (Eigen::Index j = 0; j < rows.cols(); ++j) {
                rows(i, j) = row[static_cast<std::size_t>(j)];
            }
        }
        return rows;
    }
    const artifact::CharlieGroup& own() const { return victim_.charlie().groups()[place_.group]; }
    /// Those of David's integers, or of W', with input c.
    std::vector<std::int64_t> products(std::size_t c) const {
        const auto q = columns_.values().row(c);
        Eigen::VectorXd column(rows_.cols());
        for (std::size_t j = 0; j < q.size(); ++j) column(static_cast<Eigen::Index>(j)) = q[j];
        const Eigen::VectorXd y = rows_ * column;  // exact: below 2^53
        return {y.begin(), y.end()};
    }

    measure::TemporaryFolder folder_;
    Victim victim_;
    RowMajor W_;
    Victim::Place place_;
    Eigen::MatrixXd rows_;
    std::int64_t step_;  // 2^t of the paper's split
    engines::QuantisedColumns columns_;
};

/// Masked with fresh masks, each of the worst inputs again and again. A product wraps beyond half
/// of `modulus`, which notes call by `name`.
Outcome decode_worst_inputs(const Setting& setting, const WorstInputs& worst, std::int64_t modulus,
                            const std::string& name) {
    ProductSession session(worst.victim());
    const std::uint64_t repeats = setting.full ? 200 : 16, count = repeats * worst.count();
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) right += worst.right_in(session);
    const double reached =
        200 * static_cast<double>(worst.largest()) / static_cast<double>(modulus);
    return {static_cast<double>(right) / static_cast<double>(count), 0.5, count,
            std::to_string(worst.width()) + " columns, " + std::to_string(repeats) +
                " masks for each input: products reach " + figure(reached) + " % of " + name +
                " / 2"};
}

}  // namespace

Outcome small_modulus_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    const std::uint64_t prompts = setting.full ? 200 : 20;
    std::mt19937_64 random(setting.seed);
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < prompts; ++i) {
        const auto ids = random_prompt(victim.config(), 4, random);
        WeakenedEngine wrapping(victim, {.mask = no_mask, .modulus = (std::int64_t{1} << 16) - 1});
        WeakenedEngine exact(victim, {.mask = no_mask});
        right += best_of(victim.logits(wrapping, ids)) == best_of(victim.logits(exact, ids));
    }
    return {static_cast<double>(right) / static_cast<double>(prompts), 0.5, prompts,
            "L = 2^16 - 1 with the activations of the product's L"};
}

/// Rows of 192 entries, all 125 or -125, are as long as the set allows. Beyond half of tau a
/// product would wrap (MASK-8).
Outcome small_modulus_product(const Setting& setting) {
    const WorstInputs worst(192, std::string(paper_set.name), {{0, "o_proj", 1}});
    return decode_worst_inputs(setting, worst, std::int64_t{1} << paper_set.lattice->tau_bits,
                               "tau");
}

/// Beyond half of s a product would wrap (HIDE-5).
Outcome small_modulus_hidden(const Setting& setting) {
    const std::size_t n = setting.full ? 6144 : 1536;
    return decode_worst_inputs(setting, WorstInputs(n, "hidden", {}), base::hidden_width(n).s, "s");
}

}  // namespace slip::attacks
