// rho from the key that the offline David holds: an error that is orthogonal to it always passes.
#include "experiments/attacks/product_check.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/second_david.hpp"

namespace slip::attacks {
namespace {

using protocol::KeyStream;

/// An error in three rows that is orthogonal to both repetitions of rho under `key`.
std::vector<std::uint64_t> orthogonal_error(KeyStream&& keys, base::GroupId group,
                                            std::size_t rows) {
    base::SecretBuffer<std::uint32_t> scratch;
    const auto rho = protocol::draw_rho<P31>(keys, group, rows, scratch);
    const auto minor = [&](std::size_t i, std::size_t j) {
        const std::uint64_t positive = std::uint64_t{rho.data()[i]} * rho.data()[rows + j] % P31::p;
        const std::uint64_t negative = std::uint64_t{rho.data()[j]} * rho.data()[rows + i] % P31::p;
        return (positive + P31::p - negative) % P31::p;
    };
    std::vector<std::uint64_t> error(rows, 0);
    error[0] = minor(1, 2);
    error[1] = minor(2, 0);
    error[2] = minor(0, 1);
    return error;
}

KeyStream stream_under(const SecondDavid::Key& key) {
    return {key, base::parameters::blocks_per_key};
}

}  // namespace

Outcome shared_seed_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed);
    const std::uint64_t tries = setting.full ? 1000 : 50;
    std::uint64_t rejected = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        SecondDavid::Key key{};  // of masks and of rho alike
        protocol::draw_key(key);
        const ProductCheck check(victim, stream_under(key), random);
        rejected += !check.accepts(
            orthogonal_error(stream_under(key), victim.find("o_proj", 0).group, check.rows()));
    }
    return rejected_share(rejected, tries, 0.5);
}

Outcome shared_seed_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    const std::uint64_t tries = setting.full ? 20 : 3;
    std::uint64_t rejected = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        SecondDavid second(victim);
        ProductSession session(
            victim,
            [&](base::GroupId group, std::span<std::int64_t> error) {
                const auto forged =
                    orthogonal_error(stream_under(second.key()), group, error.size());
                for (std::size_t row = 0; row < 3; ++row) {
                    error[row] = static_cast<std::int64_t>(forged[row]);
                }
            },
            second.options());
        try {
            session.logits({1});
        } catch (const IntegrityError&) {
            ++rejected;
        }
    }
    return rejected_share(rejected, tries, 0.5);
}

}  // namespace slip::attacks
