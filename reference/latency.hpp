// The compute and latency analysis of the paper (`sec_latency`), every formula and every cell of
// its tables, in exact fractions. The edge is David's machine, the cloud Charlie's.
#pragma once

#include <string>
#include <vector>

#include "reference/integer.hpp"

namespace slip::reference {

/// LAT-6. The parameters of the appendix, with its values. Rates are per second.
struct LatencyParameters {
    Integer l = 224;    ///< layers
    Integer l_d = 70;   ///< decomposed layers
    Integer m = 4096;   ///< rows of each weight matrix
    Integer n = 4096;   ///< columns of each weight matrix
    Integer b = 32;     ///< batch size
    Integer k = 50;     ///< singular components that Charlie keeps
    Integer L_v = 50;   ///< sampled noise vectors
    Integer s = 4;      ///< bytes of an activation
    Integer kappa = 8;  ///< combinations of the check; not in the appendix
    Rational edge_rate = Rational(4'000'000'000'000);
    Rational cloud_rate = Rational(14'000'000'000'000);
    Rational utilization = Rational(2, 5);
    Rational bandwidth = Rational(25'000'000);  ///< bytes
    Rational delay = Rational(35, 1000);        ///< lambda_a, seconds
};

// LAT-3. The rows of the table "Description of phases and operations": operations or elements of
// one layer, for the whole batch.

/// "Edge-Only Compute": 2 m n b + n b.
Integer edge_only_compute(const LatencyParameters& p);

/// "Edge-Partial Compute": 2 m n b.
Integer edge_partial_compute(const LatencyParameters& p);

/// "Cloud-Partial Compute": 2 k b (m + n).
Integer cloud_partial_compute(const LatencyParameters& p);

/// "Cloud Activation Function": 2 n b (L_v + 1).
Integer cloud_activation_function(const LatencyParameters& p);

/// "Cloud Noise Vector Generation": 2 n b L_v. Masks made so are forbidden (MASK-1).
Integer cloud_noise_generation(const LatencyParameters& p);

/// "Cloud Noise Addition": n b.
Integer cloud_noise_addition(const LatencyParameters& p);

/// "Upload Input", "Upload Edge to Cloud" and "Activation Data Download": n b elements each.
Integer elements_of_a_message(const LatencyParameters& p);

// LAT-4. The sums over layers.

/// FLOPS^edge = (l - l_d) (2 m n b + n b) + l_d 2 m n b = 2 m n b l + n b (l - l_d).
Integer flops_edge(const LatencyParameters& p);

/// FLOPS^full = 2 m n b l + n b l.
Integer flops_full(const LatencyParameters& p);

/// FLOPS^cloud = 2 l_d b (m k + n k + 2 n L_v + 1.5 n).
Integer flops_cloud(const LatencyParameters& p);

/// 2 l_d + 1: the input, and for each decomposed layer an upload and a download.
Integer messages(const LatencyParameters& p);

/// N^transfer = n b (2 l_d + 1).
Integer transferred_elements(const LatencyParameters& p);

// LAT-1, LAT-2. Seconds.

/// T_Compute = FLOPs / (rate utilization).
Rational compute_time(const Integer& flops, const Rational& rate, const LatencyParameters& p);

/// T_Transfer = delays lambda_a + elements s / bandwidth. The paper has delays = 1 in its formula.
Rational transfer_time(const Integer& elements, const Integer& delays, const LatencyParameters& p);

/// LAT-5. One round of one layer, one token: 2 (lambda_a + n s / bandwidth). This is what the
/// paper's table calls the transfer latency.
Rational one_token_round(const LatencyParameters& p);

/// LAT-5. What the protocol asks for, in one batch: every layer masked, uniform masks, each reply
/// checked, a delay for each message.
struct ProtocolCost {
    Integer messages;       ///< 2 l + 1
    Integer elements;       ///< n b (2 l + 1)
    Integer flops_edge;     ///< 2 m n b l; activations are Charlie's
    Integer flops_online;   ///< Charlie's, while the input waits
    Integer flops_offline;  ///< Charlie's, ahead of use: cancellations
    Rational transfer;      ///< seconds
    Rational total;         ///< seconds: edge, online and transfer, one after the other
};
ProtocolCost protocol_cost(const LatencyParameters& p);

/// LAT-7. A cell of the paper's tables.
struct LatencyCell {
    std::string name;
    std::string formula;
    std::string unit;
    Rational paper;       ///< as printed
    Rational last_digit;  ///< one unit in the last printed digit
    Rational corrected;
    std::string why;  ///< empty where the paper's value is right

    /// Whether the printed value is the corrected one, rounded or cut to its digits.
    bool agrees() const;
};

/// LAT-7. The cells of the table "Performance" and of the sentence on efficiency. A cell that has
/// more than one corrected reading has a row for each.
std::vector<LatencyCell> latency_table(const LatencyParameters& p);

/// LAT-7. The appendix with one parameter replaced by what the source that it names says.
struct LatencyReading {
    std::string name;
    LatencyParameters parameters;
    std::string why;
};

/// LAT-7. `p` with k = 200, the rank of configuration 4, and `p` with an edge of 0.236 TFlop/s,
/// half of what the maker of the Jetson Nano states for FP16.
std::vector<LatencyReading> other_readings(const LatencyParameters& p);

/// LAT-8. A configuration of the table beside `fig:Model Recovery`.
struct Offload {
    Integer k;
    Integer blocks;  ///< sensitive blocks, of 32
    Rational paper;  ///< percent, as printed
};

/// LAT-8. The six configurations.
std::vector<Offload> papers_offload_table();

/// LAT-8. A shape m x n and how often it occurs in a block.
struct WeightShape {
    Integer m, n, count;
};

/// LAT-8. Phi-2: four 2560 x 2560, one 10240 x 2560, one 2560 x 10240.
std::vector<WeightShape> phi_2_block();

/// LAT-8. What the paper's column is: 100 (1 - (k / n) (blocks / all_blocks)).
Rational offload_by_rank(const Offload& row, const Integer& n, const Integer& all_blocks);

/// LAT-8. David's share of the linear work, in percent: 100 (1 - share (blocks / all_blocks)) with
/// share = sum k (m + n) / sum m n over the weights of a block.
Rational offload_by_work(const Offload& row, const std::vector<WeightShape>& block,
                         const Integer& all_blocks);

/// LAT-9. Charlie's online products over those of the full model, for l layers of d x d of which
/// 2 a have rank k, with a check of kappa combinations in each layer:
///
///     (2 a 2 k d + l 2 kappa d) / (l d^2) = 2 (2 a k + kappa l) / (l d)
Rational online_efficiency(const Integer& a, const Integer& k, const Integer& l, const Integer& d,
                           const Integer& kappa);

/// LAT-9. What the formula leaves out: the products of attention, 2 n d per token, over those of
/// the linear layers of a block, sum m n.
Rational attention_share(const Integer& tokens, const Integer& d,
                         const std::vector<WeightShape>& block);

/// LAT-9. Llama-2-7B: four 4096 x 4096, two 11008 x 4096, one 4096 x 11008.
std::vector<WeightShape> llama_2_7b_block();

}  // namespace slip::reference
