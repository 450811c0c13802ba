// Charlie's check of his own products, against the reference.
#include "optimized/secrets/product_check.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "property_tests/masks/keystream_fixture.hpp"
#include "reference/product_check.hpp"

namespace slip::testing {
namespace {

using namespace secrets;

RC_GTEST_PROP(ProductCheck, MASK_10_equals_the_reference, ()) {
    const std::size_t m = *any_size(1, 40), n = *any_size(1, 40);
    const std::vector<std::int8_t> weights = *any_list<std::int8_t>(m * n, -127, 127);
    const base::MatrixView<const std::int8_t> w(weights.data(), m, n);
    const auto seed = counting_key(*rc::gen::arbitrary<std::uint8_t>());
    const auto expected = reference::draw_product_check(to_key(seed), to_reference(w));
    const auto z = draw_product_secret(seed, m);
    const auto companion = product_companion(z, w);
    RC_ASSERT(to_reference(z.span()) == expected.z);
    RC_ASSERT(to_reference(companion.span()) == expected.zW);

    const auto* bytes = reinterpret_cast<const std::uint8_t*>(companion.data());
    base::CheckSecret secret{seed, {}, {{bytes, n * sizeof(std::uint64_t)}}};
    const ProductCheck check(secret, m);
    const auto q = *any_list<std::int16_t>(n, -4832, 4832);
    std::vector<std::int64_t> y;
    for (const auto& entry : to_reference(w) * to_reference(q)) {
        y.push_back(entry.convert_to<std::int64_t>());
    }
    const std::uint64_t wanted = check.expected(0, q);
    RC_ASSERT(check.holds(wanted, y));
    y[*any_size(0, m - 1)] += *rc::gen::nonZero<std::int32_t>();
    RC_ASSERT(!check.holds(wanted, y));
}

}  // namespace
}  // namespace slip::testing
