// One linear layer: David's product, Charlie's sum, groups. optimized/ against reference/.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/packed_factors.hpp"
#include "property_tests/protocol/session_fixture.hpp"
#include "reference/linear.hpp"

namespace slip::fixture {
namespace {

using namespace base;
using namespace protocol;

Shape arbitrary_shape() { return {*any_size(1, 19).as("rows"), *any_size(1, 19).as("n")}; }

/// What David answers to an APPLY with these residues, b columns of n.
template <class P>
Residues<P> answer(const Model& model, GroupId group, std::size_t columns,
                   const Residues<P>& masked) {
    const auto david = make_david_session(model.david);
    handle(*david, hello_for(model));
    const wire::ColumnsHeader header{0, group, static_cast<std::uint32_t>(columns)};
    Bytes apply(wire::columns_frame_bytes(std::span(masked).size_bytes()));
    wire::encode_columns<P>(wire::FrameType::apply, header, std::span(masked), apply);
    const auto reply =
        david->handle(std::span(apply).subspan(wire::length_bytes)).subspan(wire::length_bytes);
    EXPECT_EQ(wire::decode_columns_header(wire::FrameType::reply, reply), header);
    Residues<P> product(columns * model.weights()[group].rows());
    wire::decode_residues<P>(reply, header, model.weights()[group].rows(), std::span(product));
    return product;
}

PROFILE_PROP(Linear, LIN_1_davids_answer_is_the_references_product) {
    const std::vector<Shape> shapes = {arbitrary_shape(), arbitrary_shape()};
    const Model model(shapes, drawn_weights(shapes));
    for (GroupId group = 0; group < 2; ++group) {
        const Shape& shape = shapes[group];
        const std::size_t b = *any_size(1, 5).as("columns");
        const auto masked = drawn_residues<P>(b * shape.n);
        const auto product = answer<P>(model, group, b, masked);
        const reference::Matrix expected = reference::davids_product(
            ring<P>(), model.matrices[group],
            columns_to_reference(MatrixView<const typename P::Residue>(masked.data(), b, shape.n)));
        RC_ASSERT(columns_to_reference(MatrixView<const typename P::Residue>(
                      product.data(), b, shape.rows)) == expected);
    }
}

/// PARAM-2: m x k, each row 2^e times 12 bits.
std::vector<std::int32_t> drawn_left_factor(std::size_t m, std::size_t k,
                                            unsigned largest_exponent) {
    auto a = *any_list<std::int32_t>(m * k, -2047, 2047).as("A before its exponents");
    const auto exponents = *any_list<unsigned>(m, 0, largest_exponent).as("exponents of A");
    for (std::size_t i = 0; i < m * k; ++i) a[i] *= 1 << exponents[i / k];
    return a;
}

/// One member of a group, with factors of rank k and exponents of A up to `largest_exponent`, drawn
/// within a property.
struct Member {
    Member(Shape shape, std::size_t rank, unsigned largest_exponent)
        : k(rank),
          w(drawn_weights({shape})[0]),
          a(drawn_left_factor(shape.rows, k, largest_exponent)),
          b(*any_list<std::int16_t>(k * shape.n, -2047, 2047).as("B")),
          model{to_reference(MatrixView<const std::int32_t>(a.data(), shape.rows, k)),
                to_reference(MatrixView<const std::int16_t>(b.data(), k, shape.n)),
                to_reference(MatrixView<const std::int8_t>(w.data(), shape.rows, shape.n)),
                std::vector<float>(shape.rows, 1)} {}

    std::size_t k;
    std::vector<std::int8_t> w;
    std::vector<std::int32_t> a;
    std::vector<std::int16_t> b;
    reference::IntegerModel model;
};

/// LIN-2 with the kernels: 2^t y_D + A (B q) mod 2^64 for one column.
template <class P>
std::vector<std::int64_t> sum(const kernels::Backend& backend, const Member& member,
                              std::span<const std::int16_t> q,
                              std::span<const typename P::Product> y_david) {
    const auto z = low_rank_inner(backend, member.b, member.k, q.data(), q.size());
    return low_rank_outer<P>(backend, member.a, y_david.size(), z, limbs_of(z), y_david.data());
}

/// Several members behind one input: one message, rows in their order, and for each member the
/// product of its whole W_int.
PROFILE_PROP(Linear, LIN_2_LIN_3_a_group_gives_every_member_its_unsplit_product) {
    const auto n = *any_size(1, 15).as("n");
    std::vector<Member> members;
    std::vector<std::int8_t> stacked;
    std::vector<reference::Matrix> parts;
    for (std::size_t i = *any_size(1, 3).as("members"); i > 0; --i) {
        const Shape shape{*any_size(1, 9).as("rows"), n};
        // Small enough for ENC-5: 2^(11 + 16) * 4 * 16 * 2^(11 + 15) is below 2^63.
        members.emplace_back(shape, *any_size(0, 4).as("rank"), 16U);
        stacked.insert(stacked.end(), members.back().w.begin(), members.back().w.end());
        parts.push_back(members.back().model.W_D);
    }
    const Model model({{stacked.size() / n, n}}, {stacked});
    RC_ASSERT(model.matrices[0] == reference::stack(parts));

    Connection<P> connection(model);
    const Columns columns = drawn_columns(model.matrices[0], *any_size(1, 3).as("columns"));
    const std::size_t rows = model.matrices[0].rows();
    const auto products = round<P>(connection.charlie, 0, columns, rows);
    RC_ASSERT(connection.transport.template masked_inputs<P>().size() == 1U);

    for (std::size_t c = 0; c < columns.count; ++c) {
        const auto q = columns.view().row(c);
        std::size_t first = c * rows;
        for (const Member& member : members) {
            const std::size_t m = member.model.W_D.rows();
            const auto y_david = std::span(products).subspan(first, m);
            first += m;
            const reference::Vector expected =
                reference::unsplit_output(member.model, to_reference(q));
            for (const kernels::Backend* backend : kernels::available()) {
                RC_ASSERT(to_reference(sum<P>(*backend, member, q, y_david)) == expected);
            }
        }
    }
}

/// DECO-7 behind LIN-2: at the extremes partial sums leave 64 bits, and the sum mod 2^64 is the
/// same.
PROFILE_PROP(Linear, LIN_2_DECO_7_sums_may_wrap) {
    const Shape shape{4, *any_size(1, 39).as("n")};
    const Member member(shape, *any_size(0, 8).as("rank"), parameters::largest_row_exponent);
    const auto q = *any_list<std::int16_t>(shape.n, -32767, 32767).as("q");
    constexpr auto half = static_cast<typename P::Product>((P::p - 1) / 2);
    const auto y_david = *any_list<typename P::Product>(shape.rows, -half, half).as("y_D");
    const reference::Vector expected = reference::charlies_output_64(
        member.model.A, member.model.B, to_reference(q), to_reference(y_david));
    for (const kernels::Backend* backend : kernels::available()) {
        RC_ASSERT(to_reference(sum<P>(*backend, member, q, y_david)) == expected);
    }
}

/// The unit of LIN-4 below the engines: whatever the masks are, the products are the same.
PROFILE_TEST(Linear, LIN_4_the_products_do_not_depend_on_the_masks) {
    const Model model({{30, 20}}, Fill::random, 3);
    Random random(4);
    const Columns columns = random_columns(model.matrices[0], 3, Fill::random, random);
    Connection<P> one(model);
    Connection<P> other(model);
    const auto products = round<P>(one.charlie, 0, columns, 30);
    EXPECT_EQ(round<P>(other.charlie, 0, columns, 30), products);
    EXPECT_EQ(round<P>(other.charlie, 0, columns, 30), products);
    EXPECT_NE(one.transport.template masked_inputs<P>(),
              other.transport.template masked_inputs<P>());
}

}  // namespace
}  // namespace slip::fixture
