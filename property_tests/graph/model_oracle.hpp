// The families' definitions in binary64, one position after the other, without groups, passes or
// caches of the product: the oracle for MODEL-2, MODEL-8 and MODEL-9.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "property_tests/generators/synthetic_model.hpp"

namespace slip::testing::oracle {

using Doubles = std::vector<double>;

inline Doubles product(const std::vector<float>& w, const Doubles& x) {
    Doubles y(w.size() / x.size(), 0.0);
    for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::size_t j = 0; j < x.size(); ++j) y[i] += double{w[i * x.size() + j]} * x[j];
    }
    return y;
}

inline void add_to(Doubles& x, const Doubles& y) {
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += y[j];
}

inline Doubles rms_norm(const Doubles& x, const std::vector<float>& weight, double epsilon) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    Doubles y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
        y[j] =
            double{weight[j]} * x[j] / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
    }
    return y;
}

inline Doubles layer_norm(const Doubles& x, const std::vector<float>& weight,
                          const std::vector<float>& bias, double epsilon) {
    const auto n = static_cast<double>(x.size());
    double mean = 0;
    for (const double value : x) mean += value / n;
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    Doubles y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
        y[j] = (x[j] - mean) / std::sqrt(variance + epsilon) * double{weight[j]} + double{bias[j]};
    }
    return y;
}

inline Doubles gelu(Doubles x) {
    for (double& v : x) {
        v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
    }
    return x;
}

/// Hugging Face's rotate_half on the first `rotary` elements of every head: x cos + concat(-second
/// half, first half) sin.
inline Doubles rope(Doubles x, const base::ModelConfig& c, std::size_t position) {
    const std::size_t half = c.rotary_dim / 2;
    for (std::size_t at = 0; at < x.size(); at += c.head_dim) {
        for (std::size_t j = 0; j < half; ++j) {
            const double angle = static_cast<double>(position) *
                                 std::pow(c.rope.theta, -2.0 * static_cast<double>(j) /
                                                            static_cast<double>(c.rotary_dim));
            const double first = x[at + j];
            const double second = x[at + j + half];
            x[at + j] = first * std::cos(angle) - second * std::sin(angle);
            x[at + j + half] = second * std::cos(angle) + first * std::sin(angle);
        }
    }
    return x;
}

struct Cached {
    std::vector<Doubles> keys;
    std::vector<Doubles> values;
};

/// Over the last `window` positions; 0: over all.
inline Doubles attention(const base::ModelConfig& c, const Doubles& q, const Cached& cached,
                         std::size_t window = 0) {
    const std::size_t length = cached.keys.size();
    const std::size_t first = window == 0 || length < window ? 0 : length - window;
    const std::size_t d = c.head_dim;
    Doubles out(q.size(), 0.0);
    for (std::size_t head = 0; head < c.num_attention_heads; ++head) {
        const std::size_t at = head / (c.num_attention_heads / c.num_key_value_heads) * d;
        Doubles weights;
        double total = 0;
        for (std::size_t p = first; p < length; ++p) {
            double score = 0;
            for (std::size_t j = 0; j < d; ++j) score += q[head * d + j] * cached.keys[p][at + j];
            weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
            total += weights.back();
        }
        for (std::size_t p = 0; p < weights.size(); ++p) {
            for (std::size_t j = 0; j < d; ++j) {
                out[head * d + j] += weights[p] / total * cached.values[first + p][at + j];
            }
        }
    }
    return out;
}

/// One model, position after position.
class Run {
public:
    explicit Run(const SyntheticModel& model)
        : model_(model), c_(model.config), cache_(model.config.num_hidden_layers) {}

    Doubles next(TokenId id) {
        switch (c_.family) {
            case base::Family::llama:
                return llama(id);
            case base::Family::gpt2:
                return gpt2(id);
            case base::Family::phi:
                return phi(id);
        }
        return {};
    }

private:
    const std::vector<float>& weight(const std::string& name) const {
        return model_[name + ".weight"];
    }
    Doubles row(const std::string& name, std::size_t index) const {
        const auto first =
            weight(name).begin() + static_cast<std::ptrdiff_t>(index * c_.hidden_size);
        return {first, first + static_cast<std::ptrdiff_t>(c_.hidden_size)};
    }
    Doubles linear(const std::string& name, const Doubles& x) const {
        Doubles y = product(weight(name), x);
        const std::vector<float>& bias = model_[name + ".bias"];
        add_to(y, {bias.begin(), bias.end()});
        return y;
    }
    Doubles normed(const std::string& name, const Doubles& x) const {
        if (c_.family == base::Family::llama) return rms_norm(x, weight(name), double{c_.norm_eps});
        return layer_norm(x, weight(name), model_[name + ".bias"], double{c_.norm_eps});
    }
    std::string head(const std::string& embedding) const {
        return c_.tie_word_embeddings ? embedding : "lm_head";
    }

    Doubles llama(TokenId id) {
        const std::size_t t = cache_[0].keys.size();
        Doubles x = row("model.embed_tokens", static_cast<std::size_t>(id));
        for (std::size_t b = 0; b < c_.num_hidden_layers; ++b) {
            const std::string prefix = "model.layers." + std::to_string(b) + ".";
            const auto w = [&](const char* name) { return weight(prefix + name); };
            const Doubles a = normed(prefix + "input_layernorm", x);
            cache_[b].keys.push_back(rope(product(w("self_attn.k_proj"), a), c_, t));
            cache_[b].values.push_back(product(w("self_attn.v_proj"), a));
            const Doubles q = rope(product(w("self_attn.q_proj"), a), c_, t);
            add_to(x, product(w("self_attn.o_proj"), attention(c_, q, cache_[b], c_.window(b))));
            const Doubles h = normed(prefix + "post_attention_layernorm", x);
            Doubles gate = product(w("mlp.gate_proj"), h);
            const Doubles up = product(w("mlp.up_proj"), h);
            for (std::size_t j = 0; j < gate.size(); ++j) {
                gate[j] = gate[j] / (1 + std::exp(-gate[j])) * up[j];
            }
            add_to(x, product(w("mlp.down_proj"), gate));
        }
        return product(weight(head("model.embed_tokens")), normed("model.norm", x));
    }

    Doubles gpt2(TokenId id) {
        const std::size_t t = cache_[0].keys.size();
        Doubles x = row("transformer.wte", static_cast<std::size_t>(id));
        add_to(x, row("transformer.wpe", t));
        for (std::size_t b = 0; b < c_.num_hidden_layers; ++b) {
            const std::string prefix = "transformer.h." + std::to_string(b) + ".";
            const Doubles qkv = linear(prefix + "attn.c_attn", normed(prefix + "ln_1", x));
            const auto third = static_cast<std::ptrdiff_t>(c_.hidden_size);
            const Doubles q(qkv.begin(), qkv.begin() + third);
            cache_[b].keys.emplace_back(qkv.begin() + third, qkv.begin() + 2 * third);
            cache_[b].values.emplace_back(qkv.begin() + 2 * third, qkv.end());
            add_to(x, linear(prefix + "attn.c_proj", attention(c_, q, cache_[b])));
            const Doubles inner = gelu(linear(prefix + "mlp.c_fc", normed(prefix + "ln_2", x)));
            add_to(x, linear(prefix + "mlp.c_proj", inner));
        }
        return product(weight(head("transformer.wte")), normed("transformer.ln_f", x));
    }

    Doubles phi(TokenId id) {
        const std::size_t t = cache_[0].keys.size();
        Doubles x = row("model.embed_tokens", static_cast<std::size_t>(id));
        for (std::size_t b = 0; b < c_.num_hidden_layers; ++b) {
            const std::string prefix = "model.layers." + std::to_string(b) + ".";
            const Doubles a = normed(prefix + "input_layernorm", x);
            cache_[b].keys.push_back(rope(linear(prefix + "self_attn.k_proj", a), c_, t));
            cache_[b].values.push_back(linear(prefix + "self_attn.v_proj", a));
            const Doubles q = rope(linear(prefix + "self_attn.q_proj", a), c_, t);
            const Doubles attended = attention(c_, q, cache_[b]);
            add_to(x, linear(prefix + "self_attn.dense", attended));
            add_to(x, linear(prefix + "mlp.fc2", gelu(linear(prefix + "mlp.fc1", a))));
        }
        Doubles y = product(weight(head("model.embed_tokens")), normed("model.final_layernorm", x));
        const std::vector<float>& bias = model_["lm_head.bias"];
        add_to(y, {bias.begin(), bias.end()});
        return y;
    }

    const SyntheticModel& model_;
    const base::ModelConfig& c_;
    std::vector<Cached> cache_;
};

/// The logits of every position.
inline std::vector<Doubles> logits(const SyntheticModel& model, const std::vector<TokenId>& ids) {
    Run run(model);
    std::vector<Doubles> all;
    for (const TokenId id : ids) all.push_back(run.next(id));
    return all;
}

}  // namespace slip::testing::oracle
