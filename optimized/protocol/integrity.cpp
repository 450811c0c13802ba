#include "optimized/protocol/integrity.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/secrets/draw_check.hpp"

namespace slip::protocol {
namespace {

using base::ProductShape;
using base::require;
using base::parameters::kappa;

/// What W has made of the `count` columns from number `first` on that it multiplies: columns of M
/// residues, in `room` where the positions of a convolution have to be taken out of its images.
std::span<const std::uint8_t> products_of(const ProductShape& shape, std::size_t planes,
                                          std::span<const std::uint8_t> reply, std::size_t first,
                                          std::size_t count, std::vector<std::uint8_t>& room) {
    if (!shape.convolution) return reply;  // all at once, from the first on
    room.resize(count * planes * shape.rows);
    for (std::size_t i = 0; i < count * planes; ++i) {
        const std::size_t at = first + i / planes;
        const std::size_t plane = at / shape.positions() * planes + i % planes;
        std::copy_n(reply.data() + plane * shape.outputs() + at % shape.positions() * shape.rows,
                    shape.rows, room.data() + i * shape.rows);
    }
    return room;
}

/// Zero iff s x = w y for all of `count` columns, a few at a time so that x and y stay in the
/// cache.
unsigned difference(const kernels::Combinations& s, std::span<const std::uint8_t> x,
                    const kernels::Combinations& w, std::span<const std::uint8_t> y,
                    std::size_t count) {
    constexpr std::size_t most = 16;
    using Values = std::array<std::uint8_t, most * base::parameters::primes.size() * kappa>;
    Values expected, found;
    const std::size_t x_bytes = x.size() / count, y_bytes = y.size() / count;
    unsigned result = 0;
    for (std::size_t c = 0; c < count; c += most) {
        const std::size_t part = std::min(most, count - c);
        const std::size_t values = part * s.planes() * kappa;
        s.combine(x.subspan(c * x_bytes, part * x_bytes), part, std::span(expected).first(values));
        w.combine(y.subspan(c * y_bytes, part * y_bytes), part, std::span(found).first(values));
        for (std::size_t i = 0; i < values; ++i) {
            result |= static_cast<unsigned>(expected[i] ^ found[i]);
        }
    }
    base::wipe(&expected, sizeof expected);  // each value is an equation in w
    base::wipe(&found, sizeof found);
    return result;
}

}  // namespace

IntegrityCheck::IntegrityCheck(const base::CheckSecret& secret, std::vector<ProductShape> shapes,
                               std::size_t planes)
    : planes_(planes), shapes_(std::move(shapes)) {
    require(secret.companions.size() == shapes_.size(),
            "IntegrityCheck: as many companions as groups");
    std::size_t rows = 0;
    for (base::GroupId g = 0; g < shapes_.size(); ++g) {
        rows = std::max(rows, shapes_[g].rows);
        companions_.emplace_back(secret.companions[g], shapes_[g].n, planes);
    }
    w_ = kernels::Combinations(secrets::draw_combinations(secret.seed, planes, rows).span(), rows,
                               planes);
}

std::optional<Checked> IntegrityCheck::check(Replied&& replied) const {
    Replied own = std::move(replied);
    require(!own.outputs().empty(), "IntegrityCheck: there is no reply");
    if (!accepts(own.group(), own.inputs(), own.outputs())) return std::nullopt;
    return Checked(std::move(own));
}

bool IntegrityCheck::accepts(base::GroupId group, std::span<const std::uint8_t> masked,
                             std::span<const std::uint8_t> reply) const {
    require(group < shapes_.size(), "IntegrityCheck: unknown group");
    const ProductShape& shape = shapes_[group];
    const std::size_t inputs_bytes = planes_ * shape.inputs();
    require(!masked.empty() && masked.size() % inputs_bytes == 0,
            "IntegrityCheck: whole columns are sent");
    require(reply.size() == masked.size() / inputs_bytes * planes_ * shape.outputs(),
            "IntegrityCheck: as many columns come back");
    std::vector<std::uint8_t> room;
    unsigned wrong = 0;
    // CNN-4: of a convolution, every output position is a column of the check.
    base::for_each_multiplied(shape, masked, planes_, [&](auto inputs, std::size_t first) {
        const std::size_t count = inputs.size() / (planes_ * shape.n);
        const auto outputs = products_of(shape, planes_, reply, first, count, room);
        wrong |= difference(companions_[group], inputs, w_, outputs, count);
    });
    return wrong == 0;
}

}  // namespace slip::protocol
