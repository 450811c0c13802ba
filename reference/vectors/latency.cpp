#include "reference/latency.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

/// A fraction in lowest terms, "numerator/denominator".
Json json_of(const Rational& value) {
    return json(Integer(numerator(value)).str() + "/" + Integer(denominator(value)).str());
}

Json json_of(const LatencyParameters& p) {
    return object({{"l", json(p.l)},
                   {"l_d", json(p.l_d)},
                   {"m", json(p.m)},
                   {"n", json(p.n)},
                   {"b", json(p.b)},
                   {"k", json(p.k)},
                   {"L_v", json(p.L_v)},
                   {"s", json(p.s)},
                   {"kappa", json(p.kappa)},
                   {"edge_rate", json_of(p.edge_rate)},
                   {"cloud_rate", json_of(p.cloud_rate)},
                   {"utilization", json_of(p.utilization)},
                   {"bandwidth", json_of(p.bandwidth)},
                   {"delay", json_of(p.delay)}});
}

void add_batch(Document& document, const char* comment, const LatencyParameters& p) {
    const Integer edge = flops_edge(p), cloud = flops_cloud(p), sent = transferred_elements(p);
    document.begin_group("latency", {"latency"});
    document.add({.clause = "LAT-4",
                  .requirement = "the sums over layers MUST be these",
                  .comment = comment,
                  .flags = {"DERIVED"},
                  .input = {{"parameters", json_of(p)}},
                  .output = {{"flops_edge", json(edge)},
                             {"flops_full", json(flops_full(p))},
                             {"flops_cloud", json(cloud)},
                             {"messages", json(messages(p))},
                             {"elements", json(sent)},
                             {"edge_seconds", json_of(compute_time(edge, p.edge_rate, p))},
                             {"cloud_seconds", json_of(compute_time(cloud, p.cloud_rate, p))},
                             {"transfer_seconds", json_of(transfer_time(sent, messages(p), p))}}});
    const ProtocolCost cost = protocol_cost(p);
    document.begin_group("protocol_cost", {"latency"});
    document.add({.clause = "LAT-5",
                  .requirement = "the cost of a batch under the protocol MUST be this",
                  .comment = comment,
                  .flags = {"DERIVED"},
                  .input = {{"parameters", json_of(p)}},
                  .output = {{"messages", json(cost.messages)},
                             {"elements", json(cost.elements)},
                             {"flops_edge", json(cost.flops_edge)},
                             {"flops_online", json(cost.flops_online)},
                             {"flops_offline", json(cost.flops_offline)},
                             {"total_seconds", json_of(cost.total)}}});
}

}  // namespace

void latency(Document& document) {
    add_batch(document, "the paper's parameters", {});
    LatencyParameters small;
    small.l = 3;
    small.l_d = 2;
    small.m = 5;
    small.n = 7;
    small.b = 2;
    small.k = 1;
    small.L_v = 4;
    add_batch(document, "a small model whose matrices are not square", small);
    LatencyParameters none;
    none.l_d = 0;
    add_batch(document, "nothing is decomposed", none);
}

}  // namespace slip::reference::vectors
