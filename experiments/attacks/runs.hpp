// The columns of every attack; registry.cpp says what each is.
#pragma once

#include "experiments/attacks/attack.hpp"

namespace slip::attacks {

Outcome unmasked_linear_twin(const Setting& setting);
Outcome unmasked_linear_product(const Setting& setting);
Outcome unmasked_gated_twin(const Setting& setting);
Outcome unmasked_gated_product(const Setting& setting);
Outcome reused_mask_twin(const Setting& setting);
Outcome reused_mask_product(const Setting& setting);
Outcome few_noise_vectors_twin(const Setting& setting);
Outcome few_noise_vectors_product(const Setting& setting);
Outcome fault_injection_twin(const Setting& setting);
Outcome fault_injection_product(const Setting& setting);
Outcome composite_modulus_twin(const Setting& setting);
Outcome composite_modulus_product(const Setting& setting);
Outcome retries_twin(const Setting& setting);
Outcome retries_product(const Setting& setting);
Outcome small_modulus_twin(const Setting& setting);
Outcome small_modulus_product(const Setting& setting);
Outcome ternary_grid_twin(const Setting& setting);
Outcome ternary_grid_product(const Setting& setting);
Outcome four_bit_grid_twin(const Setting& setting);
Outcome four_bit_grid_product(const Setting& setting);
Outcome fp8_grid_product(const Setting& setting);
Outcome eight_bit_grid_product(const Setting& setting);
Outcome spans_product(const Setting& setting);
Outcome layer_oracle_product(const Setting& setting);
Outcome two_artifacts_product(const Setting& setting);
Outcome tuned_versions_product(const Setting& setting);
Outcome public_base_product(const Setting& setting);
Outcome tied_head_product(const Setting& setting);
Outcome rank_one_product(const Setting& setting);
Outcome logits_product(const Setting& setting);
Outcome q8_0_grid_product(const Setting& setting);
Outcome bf16_grid_product(const Setting& setting);
Outcome neighbouring_blocks_product(const Setting& setting);
Outcome schedule_product(const Setting& setting);
Outcome wrong_replies_twin(const Setting& setting);
Outcome wrong_replies_product(const Setting& setting);
Outcome float_times_twin(const Setting& setting);
Outcome float_times_product(const Setting& setting);
Outcome prompt_cache_twin(const Setting& setting);
Outcome prompt_cache_product(const Setting& setting);
Outcome cache_evictions_twin(const Setting& setting);
Outcome cache_evictions_product(const Setting& setting);
Outcome decoys_twin(const Setting& setting);
Outcome decoys_product(const Setting& setting);
Outcome weight_prior_twin(const Setting& setting);
Outcome weight_prior_product(const Setting& setting);
Outcome snapshot_twin(const Setting& setting);
Outcome snapshot_product(const Setting& setting);
Outcome core_training_product(const Setting& setting);
Outcome core_from_logits_product(const Setting& setting);
Outcome exact_products_twin(const Setting& setting);
Outcome exact_products_hidden(const Setting& setting);
Outcome rank_distinguisher_twin(const Setting& setting);
Outcome rank_distinguisher_hidden(const Setting& setting);
Outcome no_noise_twin(const Setting& setting);
Outcome no_noise_hidden(const Setting& setting);
Outcome logits_to_mask_twin(const Setting& setting);
Outcome logits_to_mask_hidden(const Setting& setting);
Outcome cross_group_twin(const Setting& setting);
Outcome cross_group_hidden(const Setting& setting);
Outcome wrap_twin(const Setting& setting);
Outcome wrap_hidden(const Setting& setting);
Outcome two_worlds_twin(const Setting& setting);
Outcome two_worlds_hidden(const Setting& setting);
Outcome small_lattice_twin(const Setting& setting);
Outcome small_lattice_hidden(const Setting& setting);
Outcome many_secrets_twin(const Setting& setting);
Outcome many_secrets_hidden(const Setting& setting);

}  // namespace slip::attacks
