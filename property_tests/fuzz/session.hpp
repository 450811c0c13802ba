// A small model, a recording transport and a profile, for the targets that hold a session.
#pragma once

#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/protocol/david.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz {

/// An input of these targets is a byte whose lowest bit chooses the profile, and what is sent in
/// it.
struct SessionInput {
    Profile profile = Profile::p31;
    std::span<const std::byte> stream;
};

inline SessionInput session_input(std::span<const std::byte> input) {
    if (input.empty()) return {};
    const bool p61 = (input[0] & std::byte{1}) != std::byte{0};
    return {p61 ? Profile::p61 : Profile::p31, input.subspan(1)};
}

/// The reverse.
inline Bytes input_of(Profile profile, std::span<const std::byte> stream) {
    Bytes input{std::byte{profile == Profile::p61}};
    input.insert(input.end(), stream.begin(), stream.end());
    return input;
}

/// Three groups: 2 x 3, 1 x 1 and 3 x 2. The digest is all zero.
inline const DavidModel& model(Profile profile) {
    static const std::array<std::int8_t, 6> first{127, -127, 0, 1, -1, 64};
    static const std::array<std::int8_t, 1> second{-3};
    static const std::array<std::int8_t, 6> third{5, 127, -127, 127, 0, 0};
    const auto make = [](Profile chosen) {
        return DavidModel{
            {{first.data(), 2, 3}, {second.data(), 1, 1}, {third.data(), 3, 2}}, {}, chosen};
    };
    static const DavidModel p31 = make(Profile::p31);
    static const DavidModel p61 = make(Profile::p61);
    return profile == Profile::p61 ? p61 : p31;
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
            expect(left.size() > wire::length_bytes, "what is sent is no frame");
            std::uint32_t length = 0;
            std::memcpy(&length, left.data(), sizeof length);
            expect(length >= 1 && length <= left.size() - wire::length_bytes,
                   "what is sent is no whole frame");
            payloads.push_back(left.subspan(wire::length_bytes, length));
            left = left.subspan(wire::length_bytes + length);
        }
        return payloads;
    }

private:
    std::span<const std::byte> input_;
    Bytes sent_;
};

inline void append(Bytes& stream, std::span<const std::byte> frame) {
    stream.insert(stream.end(), frame.begin(), frame.end());
}

template <class Residue>
Bytes columns_frame(wire::FrameType type, const wire::ColumnsHeader& header,
                    const std::vector<Residue>& residues) {
    Bytes frame(wire::columns_frame_bytes(std::span(residues).size_bytes()));
    wire::encode_columns(type, header, residues, frame);
    return frame;
}

}  // namespace slip::fuzz
