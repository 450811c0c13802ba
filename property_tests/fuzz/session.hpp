// Small models and a recording transport, for the targets that hold a session.
#pragma once

#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/protocol/david.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz {

using Residues = std::vector<std::uint8_t>;
inline constexpr std::size_t planes = 4;
inline constexpr std::array<unsigned, 6> primes{251, 241, 239, 233, 229, 227};

inline constexpr std::array<std::int8_t, 6> first_weights{127, -127, 0, 1, -1, 64};
inline constexpr std::array<std::int8_t, 1> second_weights{-3};
inline constexpr std::array<std::int8_t, 6> third_weights{5, 127, -127, 127, 0, 0};
/// An image of 2 x 2, a window of 2 x 2 that goes over it in steps of 2 with a padding of 1, and
/// two filters: every window sees one pixel.
inline constexpr base::Convolution convolution{
    .H = 2, .W = 2, .C = 1, .kH = 2, .kW = 2, .N = 2, .stride = 2, .padding = 1};
inline constexpr std::array<std::int8_t, 8> kernel{1, -2, 3, -4, 127, 126, -127, 125};
/// The same as a matrix (CNN-2): the pixels are met by the window's last, third, second and first
/// entry.
inline constexpr std::array<std::int8_t, 32> dense_convolution{
    -4, 0, 0,  0, 125, 0,    0,   0,  // position (0, 0), either filter
    0,  3, 0,  0, 0,   -127, 0,   0,  // (0, 1)
    0,  0, -2, 0, 0,   0,    126, 0,  // (1, 0)
    0,  0, 0,  1, 0,   0,    0,   127};

/// Four groups: 2 x 3, 1 x 1, 3 x 2, and a convolution. The set is `paper`, the digest all zero.
inline const protocol::DavidModel& model() {
    static const protocol::DavidModel model{{{first_weights.data(), 2, 3},
                                             {second_weights.data(), 1, 1},
                                             {third_weights.data(), 3, 2},
                                             {{kernel.data(), 2, 4}, convolution}},
                                            {"paper", 1, planes, std::nullopt},
                                            {}};
    return model;
}

/// What each group multiplies a column by, for the oracles.
inline const std::vector<base::MatrixView<const std::int8_t>>& matrices() {
    static const std::vector<base::MatrixView<const std::int8_t>> all{
        {first_weights.data(), 2, 3},
        {second_weights.data(), 1, 1},
        {third_weights.data(), 3, 2},
        {dense_convolution.data(), 8, 4}};
    return all;
}

/// A of the hidden split, 2 x 3, and U, 4 x 3, by planes: residues as David's half has them, from
/// -(p - 1) / 2 to (p - 1) / 2, the ends among them (HIDE-1).
inline constexpr std::size_t hidden_planes = 6, hidden_width = 3;
inline constexpr std::array<std::int8_t, hidden_planes * 6> hidden_rows{
    125, -125, 0, 1,  -1,  64,  120, -120, 5,   -6,  7,  8,   119, -119, -64, 63, 2,  -2,
    -3,  4,    9, 10, 116, -11, 114, -114, -12, 100, 99, -98, 113, -113, 0,   0,  50, -51};
inline constexpr std::array<std::int8_t, hidden_planes* 12> public_rows = [] {
    std::array<std::int8_t, hidden_planes * 12> rows{};
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const int prime = static_cast<int>(primes[at / 12]);
        rows[at] = static_cast<std::int8_t>(static_cast<int>(at * 37) % prime - prime / 2);
    }
    return rows;
}();

/// One group, 2 x 3, hidden with 4 rows of U. The digest is all zero.
inline const protocol::DavidModel& hidden_model() {
    static const protocol::DavidModel model = [] {
        std::vector<kernels::WeightMatrix> upper, lower;
        for (std::size_t p = 0; p < hidden_planes; ++p) {
            upper.emplace_back(hidden_rows.data() + p * 6, 2, hidden_width);
            lower.emplace_back(public_rows.data() + p * 12, 4, hidden_width);
        }
        return protocol::DavidModel{
            {{kernels::PlanarMatrix(std::move(upper)), kernels::PlanarMatrix(std::move(lower))}},
            *base::parameters::set_named("hidden"),
            {}};
    }();
    return model;
}

/// Gives out the bytes of an input, keeps what is sent, and then fails as a connection does that
/// the peer has closed.
class Recording : public Transport {
public:
    explicit Recording(std::span<const std::byte> input) : input_(input) {}

    void send(std::span<const std::byte> bytes) override {
        sent_.insert(sent_.end(), bytes.begin(), bytes.end());
    }
    void receive(std::span<std::byte> bytes) override {
        if (bytes.size() > input_.size()) throw ProtocolError("the peer ended the connection");
        std::copy_n(input_.begin(), bytes.size(), bytes.begin());
        input_ = input_.subspan(bytes.size());
    }

    /// The bytes that were not received.
    std::span<const std::byte> rest() const { return input_; }

    /// The payloads that were sent; every one must be a whole frame.
    std::vector<std::span<const std::byte>> sent() const {
        std::vector<std::span<const std::byte>> payloads;
        std::span<const std::byte> left(sent_);
        while (!left.empty()) {
            expect(left.size() > protocol::wire::length_bytes, "what is sent is no frame");
            std::uint32_t length = 0;
            std::memcpy(&length, left.data(), sizeof length);
            expect(length >= 1 && length <= left.size() - protocol::wire::length_bytes,
                   "what is sent is no whole frame");
            payloads.push_back(left.subspan(protocol::wire::length_bytes, length));
            left = left.subspan(protocol::wire::length_bytes + length);
        }
        return payloads;
    }

private:
    std::span<const std::byte> input_;
    Bytes sent_;
};

/// The HELLO of set `paper` and that digest, and of set `hidden`.
inline const protocol::wire::Hello hello{2, 1, {}};
inline const protocol::wire::Hello hidden_hello{2, 3, {}};

inline void append(Bytes& stream, std::span<const std::byte> frame) {
    stream.insert(stream.end(), frame.begin(), frame.end());
}

inline Bytes columns_frame(protocol::wire::FrameType type,
                           const protocol::wire::ColumnsHeader& header,
                           std::span<const std::uint8_t> residues) {
    Bytes frame(protocol::wire::columns_frame_bytes(residues.size()));
    const auto place = protocol::wire::begin_columns(type, header, frame);
    std::copy(residues.begin(), residues.end(), place.begin());
    return frame;
}

}  // namespace slip::fuzz
