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
};

}  // namespace

std::span<const Attack> attacks() { return all; }

}  // namespace slip::attacks
