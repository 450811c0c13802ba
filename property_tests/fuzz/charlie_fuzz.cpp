// Charlie's receive path: any bytes at all in the place of David's frames. His keys are fixed, so
// that the honest stream is always the same; whatever differs from it must end the session.
#include <numeric>

#include "optimized/base/parameters.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "property_tests/fuzz/session.hpp"

namespace slip::fuzz::charlie_fuzz {
namespace {

using namespace protocol;
using namespace secrets;
using protocol::wire::FrameType;

struct Message {
    base::GroupId group;
    std::vector<std::int16_t> activations;
    std::size_t columns;
};

const std::vector<Message>& messages() {
    static const std::vector<Message> all = {{0, {0, 1, -32767}, 1},
                                             {2, {32767, -5, 7, 0}, 2},
                                             {3, {1, -1, 300, 0, 32767, 8, -9, 5}, 2},
                                             {1, {9}, 1}};
    return all;
}

SessionOptions options() {
    static const std::array<std::uint8_t, 32> key = [] {
        std::array<std::uint8_t, 32> bytes{};
        std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
        return bytes;
    }();
    SessionOptions chosen;
    chosen.stock = {0, 1};  // masks on demand, no thread
    chosen.keys.given_keys = key;
    chosen.wrong_peers = nullptr;  // every input is a session, whatever the one before it was
    return chosen;
}

/// INTEG-1, INTEG-2: what the owner keeps of the model, under a seed of zeros.
const IntegrityCheck& check_of_model() {
    static const IntegrityCheck check = [] {
        const std::array<std::uint8_t, 32> seed{};
        std::vector<base::SecretBuffer<std::uint8_t>> companions;
        base::CheckSecret secret{seed, {}, {}};
        for (const kernels::GroupWeights& w : model().weights) {
            companions.push_back(companion(draw_combinations(seed, planes, w.rows()), w, planes));
            secret.companions.push_back(companions.back().span());
        }
        return IntegrityCheck(secret, kernels::shapes_of(model().weights), planes);
    }();
    return check;
}

/// W_D q over the integers.
std::vector<std::int64_t> expected_products(base::MatrixView<const std::int8_t> w,
                                            const Message& message) {
    std::vector<std::int64_t> products;
    for (std::size_t c = 0; c < message.columns; ++c) {
        for (std::size_t i = 0; i < w.rows(); ++i) {
            std::int64_t sum = 0;
            for (std::size_t j = 0; j < w.cols(); ++j) {
                sum += w.row(i)[j] * message.activations[c * w.cols() + j];
            }
            products.push_back(sum);
        }
    }
    return products;
}

/// One message after the other; the products must be exact. Throws what the session throws.
void exchange(CharlieSession& session, std::size_t& accepted) {
    for (const Message& message : messages()) {
        const auto w = matrices()[message.group];
        session.send(message.group, {message.activations.data(), message.columns, w.cols()});
        std::vector<std::int64_t> products(message.columns * w.rows());
        session.receive({products.data(), message.columns, w.rows()});
        expect(products == expected_products(w, message), "an accepted reply gives other products");
        ++accepted;
    }
    session.close();
}

/// What an honest David sends in this session.
const Bytes& honest_stream() {
    class Tap : public InProcessTransport {
    public:
        Tap(DavidSession& david, Bytes& stream) : InProcessTransport(david), stream_(stream) {}
        void receive(std::span<std::byte> bytes) override {
            InProcessTransport::receive(bytes);
            append(stream_, bytes);
        }

    private:
        Bytes& stream_;
    };
    static const Bytes stream = [] {
        const DavidModel& held = model();
        Bytes recorded;
        DavidSession david(held);
        Tap transport(david, recorded);
        CharlieSession charlie(held.weights, check_of_model(), held.set, held.digest, transport,
                               options());
        std::size_t accepted = 0;
        exchange(charlie, accepted);
        return recorded;
    }();
    return stream;
}

/// Holds one session against `transport`; returns how many replies it accepted, and in `opened`
/// whether READY came.
std::size_t hold_session(Recording& transport, bool& opened) {
    const DavidModel& held = model();
    std::size_t accepted = 0;
    const auto talk = [&] {
        CharlieSession session(held.weights, check_of_model(), held.set, held.digest, transport,
                               options());
        opened = true;
        try {
            exchange(session, accepted);
        } catch (const Error&) {
            expect(!session.alive(), "SESS-4: a session lives on after an error");
            expect(!accepts<ProtocolError>([&] { session.close(); }), "a dead session closes");
            throw;
        }
    };
    try {
        talk();
    } catch (const ProtocolError&) {
    } catch (const IntegrityError&) {
    }
    return accepted;
}

/// HELLO, an APPLY for each accepted reply and one more, and at most one frame that ends it all.
void check_sent(const Recording& transport, std::size_t accepted, bool opened) {
    const auto sent = transport.sent();
    const std::size_t applies = opened ? std::min(accepted + 1, messages().size()) : std::size_t{0};
    expect(sent.size() >= 1 + applies && sent.size() <= 2 + applies,
           "Charlie sends another number of frames");
    expect(wire::decode_hello(sent[0]) == hello, "the HELLO");
    for (std::size_t i = 0; i < applies; ++i) {
        const auto header = wire::decode_columns_header(FrameType::apply, sent[1 + i]);
        expect(header.sequence == i, "SESS-3: the sequence of an APPLY");
    }
    if (sent.size() == 1 + applies) return;
    const bool whole = accepted == messages().size();
    wire::decode_empty(whole ? FrameType::close : FrameType::abort, sent.back());
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() { return {honest_stream()}; }

/// Accepted is the whole honest exchange.
bool check(std::span<const std::byte> stream) {
    const Bytes& honest = honest_stream();
    Recording transport(stream);
    bool opened = false;
    const std::size_t accepted = hold_session(transport, opened);
    check_sent(transport, accepted, opened);
    // Frames that were accepted are those of the honest stream, byte for byte.
    std::size_t same = opened ? wire::length_bytes + 1 : 0;
    for (std::size_t i = 0; i < accepted; ++i) {
        const Message& message = messages()[i];
        const std::size_t rows = matrices()[message.group].rows();
        same += wire::columns_frame_bytes(message.columns * planes * rows);
    }
    expect(same <= stream.size() &&
               std::equal(honest.begin(), honest.begin() + static_cast<std::ptrdiff_t>(same),
                          stream.begin()),
           "a reply that differs from the honest one is accepted");
    return accepted == messages().size();
}

const Target target{"charlie_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::charlie_fuzz
