#include "reference/decomposition.hpp"

#include <tuple>

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

Json json_of(const LayerName& layer) {
    return list({layer.first ? json(Integer(*layer.first)) : Json{"null"}, json(layer.second)});
}

Json json_of(const Plan& plan) {
    std::vector<Json> triplets;
    for (const Triplet& triplet : plan) {
        triplets.push_back(list({triplet.block ? json(Integer(*triplet.block)) : Json{"null"},
                                 json(triplet.layer_type), json(Integer(triplet.K))}));
    }
    return list(triplets);
}

void add_plans(Document& document) {
    const std::vector<LayerName> layers{{0, "q_proj"},
                                        {0, "down_proj"},
                                        {1, "q_proj"},
                                        {1, "down_proj"},
                                        {std::nullopt, "lm_head"}};
    std::vector<Json> names;
    for (const LayerName& layer : layers) names.push_back(json_of(layer));
    document.begin_group("plan", {"owner"});
    const auto add = [&](const char* comment, const Plan& plan, bool valid) {
        Vector ranks;
        if (valid) require_valid(plan, layers);
        for (const LayerName& layer : layers) ranks.push_back(planned_rank(plan, layer));
        Case entry{
            .clause = "DECO-6",
            .requirement = "a plan MUST name existing matrices, each once; others have K = 0",
            .comment = comment,
            .flags = {"PLAN"},
            .input = {{"plan", json_of(plan)}, {"layers", list(names)}}};
        if (valid) {
            entry.output = {{"ranks", json(ranks)}};
        } else {
            entry.failure = Failure{"read plan", "DECO-6"};
        }
        document.add(entry);
    };
    add("no triplet: nothing is sensitive", {}, true);
    add("one matrix", {{1, "q_proj", 7}}, true);
    add("K = 0 may be written", {{0, "q_proj", 0}, {0, "down_proj", 3}}, true);
    add("the head has no block", {{std::nullopt, "lm_head", 5}, {1, "down_proj", 2}}, true);
    add("a layer type that does not exist", {{0, "q_pro", 7}}, false);
    add("a block that does not exist", {{2, "q_proj", 7}}, false);
    add("a block for the head", {{0, "lm_head", 7}}, false);
    add("null for a matrix of a block", {{std::nullopt, "q_proj", 7}}, false);
    add("a matrix named twice", {{0, "q_proj", 7}, {1, "q_proj", 1}, {0, "q_proj", 7}}, false);
    add("a negative K", {{0, "q_proj", -1}}, false);
}

void add_ranks(Document& document) {
    document.begin_group("retained_rank", {"owner"});
    for (const auto& [m, n, K] : std::vector<std::tuple<std::size_t, std::size_t, int>>{
             {4, 9, 0}, {4, 9, 3}, {4, 9, 4}, {9, 4, 100}, {1, 7, 5}}) {
        document.add(
            {.clause = "DECO-2",
             .requirement = "a K above min(m, n) - 1 MUST be cut to it",
             .comment = "K = " + std::to_string(K),
             .flags = {"EDGE"},
             .input = {{"m", json(Integer(m))}, {"n", json(Integer(n))}, {"K", json(Integer(K))}},
             .output = {{"rank", json(Integer(retained_rank(m, n, K)))}}});
    }
}

void add_row_scales(Document& document) {
    document.begin_group("row_scale", {"owner"});
    const auto add = [&](const char* comment, double residual, double factor, double norm) {
        document.add(
            {.clause = "DECO-4",
             .requirement = "delta_i MUST be float32(max(d_i / 2^16, f_i)) with its floors",
             .comment = comment,
             .flags = {"ROUNDING"},
             .input = {{"largest_residual", bits(residual)},
                       {"largest_factor", bits(factor)},
                       {"row_norm", bits(norm)}},
             .output = {{"delta", bits(row_scale(residual, factor, norm))}}});
    };
    add("an ordinary row", 0.75, 0.001, 13.0);
    add("a zero row", 0.0, 0.0, 0.0);
    add("the floor of A decides", 1e-12, 1.5, 1.0);
    add("the floor of A decides, and its nearest binary32 number is too small", 0.0, 1.2, 1e-3);
    add("the floor of the norm decides", 1e-9, 1e-9, 100.0);
    add("the least normal scale", 1e-40, 1e-50, 1e-40);
    add("no low-rank part", 0.3, 0.0, 2.0);
}

void add_identity(Document& document) {
    Numbers& numbers = document.numbers();
    document.begin_group("integer_weights", {"owner"});
    const auto add = [&](const std::string& comment, const char* flag, const Matrix& A,
                         const Matrix& B) {
        const IntegerModel model{A, B, numbers.matrix(A.rows(), B.cols(), -127, 127),
                                 std::vector<float>(A.rows(), 1.0F)};
        require_valid(model);
        document.add(
            {.clause = "DECO-1",
             .requirement = "W_int MUST be 2^16 W_D + A B over Z",
             .comment = comment,
             .flags = {flag},
             .input = {{"A", json(model.A)}, {"B", json(model.B)}, {"W_D", json(model.W_D)}},
             .output = {{"W_int", json(integer_weights(model))}}});
    };
    for (std::size_t k : {0U, 1U, 3U}) {
        add("k = " + std::to_string(k), "DERIVED", numbers.left_factor(4, k, largest_row_exponent),
            numbers.right_factor(k, 5));
    }
    add("rows of exponents 0, 1 and 20", "EXPONENT",
        {{2047, -2046}, {4094, -2}, {largest_left_factor, -(1 << 20)}}, numbers.right_factor(2, 4));
    add("every entry of the factors at its extreme", "EDGE",
        all_entries(2, 5, -largest_left_factor), all_entries(5, 3, largest_right_factor));
}

}  // namespace

void decomposition(Document& document) {
    add_plans(document);
    add_ranks(document);
    add_row_scales(document);
    add_identity(document);
    lattice_decomposition(document, paper_lattice());
}

}  // namespace slip::reference::vectors
