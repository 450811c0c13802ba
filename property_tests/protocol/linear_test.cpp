// One linear layer: David's product, Charlie's sum, groups. optimized/ against reference/.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/packed_factors.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "reference/linear.hpp"

namespace slip::fixture {
namespace {

Kind arbitrary_kind() {
    return *rc::gen::elementOf(std::vector<Kind>(std::begin(kinds), std::end(kinds)));
}

Shape arbitrary_shape() {
    return {*rc::gen::inRange<std::size_t>(1, 20), *rc::gen::inRange<std::size_t>(1, 20)};
}

/// What David answers to an APPLY with these residues, b columns of n.
template <class P>
Residues<P> answer(const Model& model, GroupId group, std::size_t columns,
                   const Residues<P>& masked) {
    const auto david = make_david_session(model.david);
    const auto hello =
        wire::encode_hello({parameters::protocol_version, profile_of<P>, model.david.digest});
    david->handle(std::span(hello).subspan(wire::length_bytes));
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
    const Model model(shapes, arbitrary_kind(), *rc::gen::arbitrary<std::uint64_t>(),
                      profile_of<P>);
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto kind = arbitrary_kind();
    for (GroupId group = 0; group < 2; ++group) {
        const Shape& shape = shapes[group];
        const std::size_t b = uniform<std::size_t>(random, 1, 5);
        const auto masked = numbers<typename P::Residue>(kind, b * shape.n, 0, P::p - 1, random);
        const auto product = answer<P>(model, group, b, masked);
        const reference::Matrix expected = reference::davids_product(
            ring<P>(), model.matrices[group],
            columns_to_reference(MatrixView<const typename P::Residue>(masked.data(), b, shape.n)));
        RC_ASSERT(columns_to_reference(MatrixView<const typename P::Residue>(
                      product.data(), b, shape.rows)) == expected);
    }
}

/// PARAM-2: m x k, each row 2^e times 12 bits.
std::vector<std::int32_t> left_factor(std::size_t m, std::size_t k, unsigned largest_exponent,
                                      Kind kind, Random& random) {
    auto a = numbers<std::int32_t>(kind, m * k, -2047, 2047, random);
    for (std::size_t i = 0; i < m; ++i) {
        const auto exponent = uniform<unsigned>(random, 0, largest_exponent);
        for (std::size_t c = i * k; c < (i + 1) * k; ++c) a[c] *= 1 << exponent;
    }
    return a;
}

/// One member of a group, with factors of rank k and exponents of A up to `largest_exponent`.
struct Member {
    Member(Shape shape, std::size_t rank, unsigned largest_exponent, Kind kind, Random& random)
        : k(rank),
          w(numbers<std::int8_t>(kind, shape.rows * shape.n, -127, 127, random)),
          a(left_factor(shape.rows, k, largest_exponent, kind, random)),
          b(numbers<std::int16_t>(kind, k * shape.n, -2047, 2047, random)),
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
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto n = *rc::gen::inRange<std::size_t>(1, 16);
    const auto weight_kind = arbitrary_kind();
    std::vector<Member> members;
    std::vector<std::int8_t> stacked;
    std::vector<reference::Matrix> parts;
    for (std::size_t i = *rc::gen::inRange<std::size_t>(1, 4); i > 0; --i) {
        const Shape shape{uniform<std::size_t>(random, 1, 9), n};
        // Small enough for ENC-5: 2^(11 + 16) * 4 * 16 * 2^(11 + 15) is below 2^63.
        members.emplace_back(shape, uniform<std::size_t>(random, 0, 4), 16, weight_kind, random);
        stacked.insert(stacked.end(), members.back().w.begin(), members.back().w.end());
        parts.push_back(members.back().model.W_D);
    }
    Model model({{stacked.size() / n, n}}, Kind::zeros, 0, profile_of<P>);
    model.storage[0] = stacked;
    model.david.weights[0] = {model.storage[0].data(), stacked.size() / n, n};
    model.matrices[0] = reference::stack(parts);
    RC_ASSERT(to_reference(model.david.weights[0]) == model.matrices[0]);

    Connection<P> connection(model);
    const Columns columns = random_columns(model.matrices[0], uniform<std::size_t>(random, 1, 3),
                                           arbitrary_kind(), random, profile_of<P>);
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
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const Shape shape{4, *rc::gen::inRange<std::size_t>(1, 40)};
    const Member member(shape, *rc::gen::inRange<std::size_t>(0, 9),
                        parameters::largest_row_exponent, Kind::extremes, random);
    const auto q = numbers<std::int16_t>(Kind::extremes, shape.n, -32767, 32767, random);
    constexpr auto half = static_cast<typename P::Product>((P::p - 1) / 2);
    const auto y_david =
        numbers<typename P::Product>(Kind::extremes, shape.rows, -half, half, random);
    const reference::Vector expected = reference::charlies_output_64(
        member.model.A, member.model.B, to_reference(q), to_reference(y_david));
    for (const kernels::Backend* backend : kernels::available()) {
        RC_ASSERT(to_reference(sum<P>(*backend, member, q, y_david)) == expected);
    }
}

/// The unit of LIN-4 below the engines: whatever the masks are, the products are the same.
PROFILE_TEST(Linear, LIN_4_the_products_do_not_depend_on_the_masks) {
    const Model model({{30, 20}}, Kind::random, 3, profile_of<P>);
    Random random(4);
    const Columns columns =
        random_columns(model.matrices[0], 3, Kind::random, random, profile_of<P>);
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
