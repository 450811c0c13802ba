// One linear layer: David's product, Charlie's sum, groups. optimized/ against reference/.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/packed_factors.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "reference/linear.hpp"

namespace slip::testing {
namespace {

using namespace base;
using namespace protocol;

Shape arbitrary_shape() { return {*any_size(1, 19).as("rows"), *any_size(1, 19).as("n")}; }

/// What David answers to an APPLY with these residues, b columns of n.
Residues answer(const Model& model, GroupId group, std::size_t columns, const Residues& masked) {
    DavidSession david(model.david);
    handle(david, hello_for(model));
    const wire::ColumnsHeader header{0, group, static_cast<std::uint32_t>(columns)};
    const Bytes reply = handle(david, message(FrameType::apply, header, masked));
    EXPECT_EQ(wire::decode_columns_header(FrameType::reply, payload_of(reply)), header);
    const auto product = wire::decode_residues(payload_of(reply), header, model.planes(),
                                               model.weights()[group].rows());
    return {product.begin(), product.end()};
}

RC_GTEST_PROP(Linear, LIN_1_davids_answer_is_the_references_product, ()) {
    const std::vector<Shape> shapes = {arbitrary_shape(), arbitrary_shape()};
    const std::size_t planes = drawn_planes();
    const Model model(shapes, drawn_weights(shapes), planes);
    for (GroupId group = 0; group < 2; ++group) {
        const std::size_t b = *any_size(1, 5).as("columns");
        const auto masked = drawn_residues(b, shapes[group].n, planes);
        const reference::Matrix expected = reference::davids_product(
            ring(planes), model.matrices[group], residues_to_reference(masked, b, planes));
        RC_ASSERT(residues_to_reference(answer(model, group, b, masked), b, planes) == expected);
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
std::vector<std::int64_t> sum(const kernels::Backend& backend, const Member& member,
                              std::span<const std::int16_t> q,
                              std::span<const std::int64_t> y_david) {
    const auto z = low_rank_inner(backend, member.b, member.k, q.data(), q.size());
    return low_rank_outer(backend, member.a, y_david.size(), z, limbs_of(z), y_david.data());
}

/// Several members behind one input: one message, rows in their order, and for each member the
/// product of its whole W_int.
RC_GTEST_PROP(Linear, LIN_2_LIN_3_a_group_gives_every_member_its_unsplit_product, ()) {
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

    Connection connection(model);
    const Columns columns = drawn_columns(model.matrices[0], *any_size(1, 3).as("columns"));
    const std::size_t rows = model.matrices[0].rows();
    const auto products = round(connection.charlie, 0, columns, rows);
    RC_ASSERT(connection.transport.masked_inputs().size() == 1U);

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
                RC_ASSERT(to_reference(sum(*backend, member, q, y_david)) == expected);
            }
        }
    }
}

/// DECO-7 behind LIN-2: at the extremes partial sums leave 64 bits, and the sum mod 2^64 is the
/// same.
RC_GTEST_PROP(Linear, LIN_2_DECO_7_sums_may_wrap, ()) {
    const Shape shape{4, *any_size(1, 39).as("n")};
    const Member member(shape, *any_size(0, 8).as("rank"), parameters::largest_row_exponent);
    const auto q = *any_list<std::int16_t>(shape.n, -32767, 32767).as("q");
    const auto half = static_cast<std::int64_t>((modulus(paper_planes) - 1) / 2);
    const auto y_david = *any_list<std::int64_t>(shape.rows, -half, half).as("y_D");
    const reference::Vector expected = reference::charlies_output_64(
        member.model.A, member.model.B, to_reference(q), to_reference(y_david));
    for (const kernels::Backend* backend : kernels::available()) {
        RC_ASSERT(to_reference(sum(*backend, member, q, y_david)) == expected);
    }
}

/// The unit of LIN-4 below the engines: whatever the masks are, the products are the same.
TEST(Linear, LIN_4_the_products_do_not_depend_on_the_masks) {
    const Model model({{30, 20}}, Fill::random, 3);
    Random random(4);
    const Columns columns = random_columns(model.matrices[0], 3, Fill::random, random);
    Connection one(model);
    Connection other(model);
    const auto products = round(one.charlie, 0, columns, 30);
    EXPECT_EQ(round(other.charlie, 0, columns, 30), products);
    EXPECT_EQ(round(other.charlie, 0, columns, 30), products);
    EXPECT_NE(one.transport.masked_inputs(), other.transport.masked_inputs());
}

}  // namespace
}  // namespace slip::testing
