#include "experiments/bench/whole_model.hpp"

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>

#include "experiments/bench/machine.hpp"

namespace slip::bench {
namespace {

std::size_t bound_to_this_processor() {
    const std::size_t here = this_processor();
    bind_to_processor(here);
    return here;
}

/// A session packs the weights. Children that are forked later share them.
protocol::DavidModel packed(protocol::DavidModel model) {
    const protocol::DavidSession session(model);
    return model;
}

graph::ParameterLookup parameters_of(const importing::Checkpoint& checkpoint) {
    return [&](std::string_view name, std::size_t elements) {
        return checkpoint.floats(name, elements);
    };
}

std::size_t tallest_of(const artifact::CharlieArtifact& charlie) {
    std::size_t tallest = 0;
    for (const auto& group : charlie.groups()) tallest = std::max(tallest, group.product().rows);
    return tallest;
}

std::optional<secrets::ProductCheck> product_check_of(const artifact::CharlieArtifact& charlie) {
    if (!charlie.set().lattice) return std::nullopt;
    return std::optional<secrets::ProductCheck>(std::in_place, charlie.check_secret(),
                                                tallest_of(charlie));
}

std::vector<base::ProductShape> davids_shapes_of(const artifact::CharlieArtifact& charlie) {
    std::vector<base::ProductShape> shapes;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        shapes.push_back(charlie.davids_product(g));
    }
    return shapes;
}

std::optional<secrets::WeightSecrets> secrets_of(const artifact::CharlieArtifact& charlie) {
    if (!charlie.set().hides_weights) return std::nullopt;
    std::vector<std::span<const std::uint8_t>> keys;
    std::vector<base::ProductShape> shapes;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        keys.push_back(charlie.hiding_key(g));
        shapes.push_back(charlie.groups()[g].product());
    }
    return std::optional<secrets::WeightSecrets>(std::in_place, charlie.set(), keys, shapes);
}

std::array<std::vector<MessageBytes>, 2> messages_of(const protocol::DavidModel& model) {
    const auto of = [&](std::size_t columns) {
        return message_bytes(model.weights, model.set.planes, columns);
    };
    return {of(measured_columns[0]), of(measured_columns[1])};
}

std::array<std::unique_ptr<ForkedServer>, 2> servers_of(
    const std::array<std::vector<MessageBytes>, 2>& messages, std::size_t processor) {
    const auto of = [&](const std::vector<MessageBytes>& groups) {
        return std::make_unique<ForkedServer>(processor, [&] { return answer_bytes(groups); });
    };
    return {of(messages[0]), of(messages[1])};
}

/// With room for two blocks of every group, so that one block's number of masks can always be
/// ready.
std::unique_ptr<masks::LatticeStock> stock_on_demand(const artifact::CharlieArtifact& charlie) {
    if (!charlie.set().lattice) return nullptr;
    masks::LatticeOptions options;
    options.ahead = false;
    for (const auto& group : charlie.groups()) {
        const base::ProductShape shape = group.product();
        options.memory += 2 * charlie.set().lattice->degree * charlie.set().planes *
                          (shape.inputs() + shape.outputs());
    }
    return stock_of(charlie, options);
}

}  // namespace

std::unique_ptr<masks::LatticeStock> stock_of(const artifact::CharlieArtifact& charlie,
                                              const masks::LatticeOptions& options) {
    std::vector<masks::LatticeGroup> groups;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        groups.push_back({charlie.groups()[g].product(), charlie.hint(g), {}});
    }
    masks::LatticeStock::Seed seed{};
    std::copy_n(charlie.masks_seed().begin(), seed.size(), seed.begin());
    return std::make_unique<masks::LatticeStock>(charlie.set(), seed, std::move(groups), options);
}

WholeModel::WholeModel(const WholeModelOptions& o)
    : options(o),
      processor(bound_to_this_processor()),
      another_processor((processor + 1) % std::thread::hardware_concurrency()),
      charlie(o.artifact),
      david(o.artifact / "david"),
      offloaded(packed({david.weights(), david.set(), david.digest()})),
      check(charlie.check_secret(), davids_shapes_of(charlie), charlie.set().planes),
      product_check(product_check_of(charlie)),
      secrets(secrets_of(charlie)),
      stock(stock_on_demand(charlie)),
      server(fork_david(offloaded, another_processor)),
      messages(messages_of(offloaded)),
      byte_servers(servers_of(messages, another_processor)),
      checkpoint(o.model),
      transformer(graph::make_graph(checkpoint.config(), parameters_of(checkpoint))),
      unprotected(graph::groups_of(checkpoint.config()), parameters_of(checkpoint)) {
    artifact::require_same_split(charlie, david);
}

engines::HybridEngine protected_by(const WholeModel& whole, Transport& transport,
                                   std::size_t masks) {
    return {whole.charlie, whole.offloaded.weights, whole.check, transport,
            with_masks(whole, masks)};
}

protocol::SessionOptions with_masks(const WholeModel& whole, std::size_t count) {
    protocol::SessionOptions session;
    session.stock.depth = count;
    session.stock.batch = count;
    if (whole.stock) {
        session.shared = {whole.stock.get(), &*whole.product_check,
                          whole.secrets ? &*whole.secrets : nullptr};
    }
    return session;
}

double davids_factor(const WholeModel& whole) {
    double davids = 0, models = 0;
    for (std::size_t g = 0; g < whole.charlie.groups().size(); ++g) {
        davids += static_cast<double>(whole.charlie.davids_product(g).multiplications());
        models += static_cast<double>(whole.charlie.groups()[g].product().multiplications());
    }
    return static_cast<double>(whole.charlie.set().planes) * davids / models;
}

Sequences::Sequences(const WholeModel& whole, std::size_t count)
    : graph_(*whole.transformer), caches_(count, graph::KvCache(whole.transformer->config())) {}

void Sequences::forward(base::Engine& engine, std::size_t tokens) {
    const std::size_t vocabulary = graph_.config().vocab_size;
    ids_.clear();
    for (std::size_t i = 0; i < tokens; ++i) {
        ids_.push_back(static_cast<TokenId>((3 + 7 * (length_ + i)) % vocabulary));
    }
    std::vector<graph::BatchEntry> batch;
    for (graph::KvCache& cache : caches_) {
        batch.push_back({cache, ids_, graph::Logits::last_position});
    }
    if (batch.size() == 1) {
        graph_.forward(engine, workspace_, batch.front(), logits_);
    } else {
        graph_.forward(engine, workspace_, batch, logits_);
    }
    length_ += tokens;
}

void Sequences::write_context(std::size_t tokens) {
    const std::size_t width = graph_.config().key_value_width();
    const std::vector<float> rows(tokens * width, 0.25F);
    const base::MatrixView<const float> view(rows.data(), tokens, width);
    for (graph::KvCache& cache : caches_) {
        for (std::size_t block = 0; block < graph_.config().num_hidden_layers; ++block) {
            cache.write(block, view, view);
        }
        cache.extend(tokens);
    }
    length_ += tokens;
}

double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
    return median(ratios);
}

}  // namespace slip::bench
