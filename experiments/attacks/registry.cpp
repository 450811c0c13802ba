// The table of attacks. Names and JSON keys are an interface: extend, do not rename.
#include <array>

#include "experiments/attacks/runs.hpp"

namespace slip::attacks {
namespace {

constexpr std::array all{
    Attack{"logits", "E-32",
           "final hidden states and row scales from full logits and David's half of a split head",
           "distance to the hidden coordinates", nullptr, logits_product},
    Attack{"pooled-views", "OFF-12, assumption 8",
           "activations from the views of David and an offline David together",
           "share of activation entries that are wrong", nullptr, pooled_views_product},
    Attack{"tied-head", "none: slip inspect warns",
           "the embedding from David's part of a tied head",
           "mean sine of the angle to the right row", nullptr, tied_head_product},
    Attack{"layer-oracle", "E-33", "W from W_D and k + 4 inputs and outputs of one layer",
           "distance to W over the norm of Charlie's part", nullptr, layer_oracle_product},
    Attack{"rank-one", "E-10", "the one hidden number of a square matrix, by a search on logits",
           "distance to Charlie's part over its norm", nullptr, rank_one_product},
    Attack{"two-artifacts", "assumption 5", "W from two splits with random components",
           "distance to W over the norm of Charlie's part", nullptr, two_artifacts_product},
    Attack{"public-base", "assumption 6", "a fine-tune from W_D and the model it was tuned from",
           "distance to the fine-tune over that of the base", nullptr, public_base_product},
    Attack{"spans-8-bits", "E-9", "the span of the hidden components from W_D in 8 bits",
           "1 minus the mean squared cosine", nullptr, spans_at_8_bits_product},
    Attack{"linear-system", "MASK-1",
           "W of a linear layer (v_proj) from inputs and outputs, by least squares",
           "distance to W over the norm of Charlie's part", unmasked_linear_twin,
           unmasked_linear_product},
    Attack{"linear-system-gated", "MASK-1",
           "rows of gate_proj and up_proj through SwiGLU, by nonlinear least squares from W_D",
           "distance to the rows over the norm of Charlie's part", unmasked_gated_twin,
           unmasked_gated_product},
    Attack{"mask-reuse", "MASK-5",
           "activations of a whole prompt from one mask per group and the known BOS",
           "share of activation entries that are wrong", reused_mask_twin, reused_mask_product},
    Attack{"few-noise-vectors", "MASK-2",
           "an activation from a repeated prompt, masks being sums of few fixed vectors: LLL",
           "share of activation entries that are wrong", few_noise_vectors_twin,
           few_noise_vectors_product},
    Attack{"fault-injection", "INTEG-3",
           "down_proj of the last block, column by column, through errors in replies and logits",
           "mean sine of the angle to the right column", fault_injection_twin,
           fault_injection_product},
    Attack{"wrong-cancellations", "OFF-9", "the same through the cancellations of an offline David",
           "mean sine of the angle to the right column", wrong_cancellations_twin,
           wrong_cancellations_product},
    Attack{"composite-modulus", "INTEG-8", "an error of L / p in one entry of a reply",
           "share of forged replies that are rejected", composite_modulus_twin,
           composite_modulus_product},
    Attack{"retries", "INTEG-6", "errors (x, 1) for one x after the other against one rho",
           "share of sessions without an accepted forgery", retries_twin, retries_product},
    Attack{"verdict-order", "OFF-10", "two wrong replies in flight at one time",
           "share of rho for which none is accepted", verdict_order_twin, verdict_order_product},
    Attack{"shared-seed", "INTEG-1, OFF-13",
           "a forged reply from the key that the offline David holds",
           "share of forged replies that are rejected", shared_seed_twin, shared_seed_product},
    Attack{"small-modulus", "ENC-4", "products that wrap: right replies, wrong answers",
           "share of prompts with the right next token", small_modulus_twin, small_modulus_product},
    Attack{"rolled-back-pair", "OFF-13", "errors against one pair that comes back after rejects",
           "share of lives without an accepted forgery", rolled_back_pair_twin,
           rolled_back_pair_product},
    Attack{"grid-ternary", "DECO-13", "a ternary matrix from W_D alone",
           "share of entries that are wrong", ternary_grid_twin, ternary_grid_product},
    Attack{"grid-4-bits", "DECO-13", "a matrix of 4 bits from W_D alone",
           "share of entries that are wrong", four_bit_grid_twin, four_bit_grid_product},
    Attack{"grid-fp8", "DECO-13", "a matrix in FP8 (E4M3) from W_D alone",
           "share of entries that are wrong", nullptr, fp8_grid_product},
    Attack{"grid-8-bits", "DECO-13", "a matrix of 8 bits from W_D alone",
           "share of entries that are wrong", nullptr, eight_bit_grid_product},
    Attack{"spans-4-bits", "E-9", "the same in 4 bits", "1 minus the mean squared cosine", nullptr,
           spans_at_4_bits_product},
};

}  // namespace

std::span<const Attack> attacks() { return all; }

}  // namespace slip::attacks
