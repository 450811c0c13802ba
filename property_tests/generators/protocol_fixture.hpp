// What tests of sessions share, of every room that has them: random models with their check, frames
// and columns for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "property_tests/generators/product_fixture.hpp"
#include "property_tests/generators/recording_transport.hpp"

namespace slip::protocol::wire {

inline const char* type_name(FrameType type) {
    constexpr const char* names[] = {"",      "HELLO", "READY", "APPLY",
                                     "REPLY", "ABORT", "CLOSE", "REFUSE"};
    return names[static_cast<std::size_t>(type)];
}

/// For counterexamples.
inline void showValue(FrameType type, std::ostream& os) { os << type_name(type); }

}  // namespace slip::protocol::wire

namespace slip::testing {

/// INTEG-1, INTEG-2: what the owner keeps of these weights, under the seed counting_key(100).
struct CheckFile {
    CheckFile(const kernels::OffloadedWeights& weights, std::size_t planes)
        : seed(counting_key(100)) {
        for (const kernels::GroupWeights& w : weights) {
            const auto combinations = secrets::draw_combinations(seed, planes, w.rows());
            const auto s = secrets::companion(combinations, w, planes);
            companions.emplace_back(s.data(), s.data() + s.size());
        }
    }
    base::CheckSecret secret() const { return {seed, {companions.begin(), companions.end()}, {}}; }

    std::vector<std::uint8_t> seed;
    std::vector<std::vector<std::uint8_t>> companions;
};

/// WeightGroups of weights with David's view of them, and the check that all of Charlie's sessions
/// share.
struct Model {
    Model(const std::vector<Shape>& shapes, std::vector<std::vector<std::int8_t>> weights,
          std::size_t planes = paper_planes)
        : Model(WeightGroups(shapes, std::move(weights)), planes) {}
    Model(const std::vector<Shape>& shapes, Fill kind, std::uint64_t seed,
          std::size_t planes = paper_planes)
        : Model(WeightGroups(shapes, kind, seed), planes) {}
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    const kernels::OffloadedWeights& weights() const { return david.weights; }
    std::size_t planes() const { return david.set.planes; }

    std::vector<std::vector<std::int8_t>> storage;
    std::vector<reference::Matrix> matrices;
    protocol::DavidModel david;
    std::optional<protocol::IntegrityCheck> check;

private:
    Model(WeightGroups groups, std::size_t planes)
        : storage(std::move(groups.storage)), matrices(std::move(groups.matrices)) {
        david.weights = std::move(groups.offloaded);
        david.set = set_of(planes);
        std::uint8_t next = 1;
        for (std::uint8_t& byte : david.digest) byte = next++;
        check.emplace(CheckFile(david.weights, planes).secret(), kernels::shapes_of(david.weights),
                      planes);
    }
};

using protocol::wire::FrameType;
using protocol::wire::Refusal;

inline std::span<const std::byte> payload_of(const Bytes& frame) {
    return std::span(frame).subspan(protocol::wire::length_bytes);
}

inline Bytes handle(protocol::DavidSession& david, const Bytes& frame) {
    const auto answer = david.handle(payload_of(frame));
    return {answer.begin(), answer.end()};
}

inline Bytes hello_for(const Model& model) {
    return protocol::wire::encode_hello({2, model.david.set.code, model.david.digest});
}

/// An APPLY or REPLY of these bytes, whatever they are.
inline Bytes message(FrameType type, const protocol::wire::ColumnsHeader& header,
                     const Residues& residues) {
    Bytes frame(protocol::wire::columns_frame_bytes(residues.size()));
    const auto place = protocol::wire::begin_columns(type, header, frame);
    std::copy(residues.begin(), residues.end(), place.begin());
    return frame;
}

inline Columns some_columns(const Model& model, std::size_t columns = 1, base::GroupId group = 0) {
    Random random(columns);
    return random_columns(model.matrices[group], columns, Fill::random, random, model.planes());
}

inline Bytes abort_frame() { return protocol::wire::encode_empty(FrameType::abort); }
inline Bytes close_frame() { return protocol::wire::encode_empty(FrameType::close); }

/// Charlie's session on `model`, which outlives it.
class Charlie : public protocol::CharlieSession {
public:
    Charlie(const Model& model, Transport& transport, const protocol::SessionOptions& options)
        : CharlieSession(model.weights(), *model.check, model.david.set, model.david.digest,
                         transport, options) {}
};

/// Sends one message and returns the products, b x M.
inline Products round(protocol::CharlieSession& session, base::GroupId group,
                      const Columns& columns, std::size_t rows) {
    Products products(columns.count * rows);
    session.send(group, columns.view());
    session.receive({products.data(), columns.count, rows});
    return products;
}

/// Whether messages of `batch` random columns to every group give W q over Z.
inline bool gives_exact_products(protocol::CharlieSession& charlie, const Model& model,
                                 std::size_t batch) {
    Random random(1);
    for (base::GroupId group = 0; group < model.matrices.size(); ++group) {
        const reference::Matrix& w = model.matrices[group];
        const Columns columns = random_columns(w, batch, Fill::random, random, model.planes());
        if (to_reference(round(charlie, group, columns, w.rows())) != exact_products(w, columns)) {
            return false;
        }
    }
    return true;
}

/// Tests of behaviour need no background thread; those of the stock ask for one.
inline protocol::SessionOptions stock_of(std::size_t depth) {
    protocol::SessionOptions options;
    options.stock.depth = depth;
    options.stock.batch = 4;
    options.wrong_peers = nullptr;  // David is part of the test and no peer
    return options;
}
inline protocol::SessionOptions small_stock() { return stock_of(0); }

/// A session with a David in the same process, whose answers a test may change.
struct Connection {
    explicit Connection(const Model& model) : Connection(model, small_stock()) {}
    Connection(const Model& model, const protocol::SessionOptions& options,
               RecordingTransport::Corrupt corrupt = {})
        : david(model.david),
          transport(david, std::move(corrupt)),
          charlie(model, transport, options) {}

    protocol::DavidSession david;
    RecordingTransport transport;
    Charlie charlie;
};

}  // namespace slip::testing
