// What compiles and what does not, with the headers as they are. Without FORBIDDEN this file
// compiles. With it, every line that says "error:" is refused, for the reason behind the colon, and
// no other line is (system/order_test.py).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/residue_exchange.hpp"

namespace slip {

using namespace kernels;
using namespace masks;
using namespace protocol;
using base::MatrixView;

/// A message and what came back for it, at every step of SESS-1.
struct Steps {
    ResidueExchange& charlie;
    Sent sent;
    Replied answered;
    Checked checked;
    std::optional<Checked> verdict;
    std::span<const std::byte> payload;
    MatrixView<std::int64_t> y;
    MatrixView<std::int32_t> narrow;
};

void in_order(Steps& s, const wire::ColumnsHeader& header, MatrixView<const std::int16_t> q) {
    Sent sent = s.charlie.mask(header.group, header, q);
    Replied answered = s.charlie.decode_reply(std::move(sent), s.payload);
    std::optional<Checked> verdict = s.charlie.check(std::move(answered));
    if (verdict) s.charlie.unmask(std::move(*verdict), s.y);
}

void spent_once(Mask& mask) { std::move(mask).spend(); }

void into_products(CharlieSession& session, const Steps& s) { session.receive(s.y); }

/// What a backend packs, and the same before.
struct Factors {
    const kernels::Backend& backend = kernels::active();
    const std::int8_t* w;
    std::int8_t* room;
    const std::int16_t* b;
    const std::int32_t* a;
    kernels::PackedWeights* weights;
    kernels::PackedRight* right;
    kernels::PackedLeft* left;
    kernels::PackedCombinations* combinations;
    std::int64_t* z;
    std::uint8_t* x;
};

void packed(Factors& f) {
    f.backend.pack_right(f.b, 1, 1, f.right);
    f.backend.low_rank_inner(f.right, 1, 1, f.b, f.z);
    f.backend.pack_left(f.a, 1, 1, f.left);
    f.backend.low_rank_outer(f.left, 1, 1, 3, f.z, f.z, f.z);
    f.backend.pack(f.w, 1, 1, f.weights);
    f.backend.gemm(f.weights, 1, 1, f.x, 1, 4, f.x);
    f.backend.pack_combinations(f.x, 1, 4, f.combinations);
    f.backend.combine(f.combinations, 1, 4, f.x, 1, f.x);
}

#ifdef FORBIDDEN

void unmasked_too_early(Steps& s) {
    s.charlie.unmask(std::move(s.sent), s.y);      // error: convert|no known conversion
    s.charlie.unmask(std::move(s.answered), s.y);  // error: convert|no known conversion
    s.charlie.unmask(std::move(s.verdict), s.y);   // error: convert|no known conversion
}

void unmasked_twice(Steps& s) {
    s.charlie.unmask(s.checked, s.y);  // error: cannot bind rvalue reference|expects an rvalue
    Checked copy(s.checked);           // error: use of deleted function|deleted constructor
}

void unmasked_into_other_integers(Steps& s, CharlieSession& session) {
    s.charlie.unmask(std::move(s.checked), s.narrow);  // error: convert|no known conversion
    session.receive(s.narrow);                         // error: convert|no known conversion
}

void forged(Steps& s) {
    Checked verdict(std::move(s.answered));  // error: private
    Replied answered(Exchange{});            // error: private
    s.checked.exchange_.reply.span();        // error: private
}

void checked_out_of_order(Steps& s) {
    s.charlie.check(std::move(s.sent));             // error: convert|no known conversion
    s.charlie.check(s.answered);                    // error: cannot bind rvalue|expects an rvalue
    s.charlie.decode_reply(s.sent, s.payload);      // error: cannot bind rvalue|expects an rvalue
    s.charlie.decode_reply(s.answered, s.payload);  // error: convert|no known conversion
}

void spent_twice(Mask& mask) {
    mask.spend();     // error: discards qualifiers|expects an rvalue
    Mask copy(mask);  // error: use of deleted function|deleted constructor
}

void plain_for_packed(Factors& f) {
    f.backend.low_rank_inner(f.b, 1, 1, f.b, f.z);          // error: cannot (convert|init)
    f.backend.low_rank_outer(f.a, 1, 1, 3, f.z, f.z, f.z);  // error: cannot (convert|init)
    f.backend.gemm(f.w, 1, 1, f.x, 1, 4, f.x);              // error: cannot (convert|init)
    f.backend.combine(f.x, 1, 4, f.x, 1, f.x);              // error: cannot (convert|init)
    f.backend.pack(f.w, 1, 1, f.room);                      // error: cannot (convert|init)
}

void packed_for_something_else(Factors& f) {
    f.backend.low_rank_inner(f.left, 1, 1, f.b, f.z);           // error: cannot (convert|init)
    f.backend.low_rank_outer(f.right, 1, 1, 3, f.z, f.z, f.z);  // error: cannot (convert|init)
    f.backend.gemm(f.left, 1, 1, f.x, 1, 4, f.x);               // error: cannot (convert|init)
    f.backend.combine(f.weights, 1, 4, f.x, 1, f.x);            // error: cannot (convert|init)
}

#endif

}  // namespace slip
