// A channel by time from an offline David to David, who together would know every activation: the
// offline David answers some REQUESTs late, and David measures when messages arrive. Where each
// message waits for its own masks, every message carries a bit; OFF-14 leaves one wait per step.
#include <algorithm>
#include <cmath>
#include <thread>

#include "experiments/attacks/measure.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/second_david.hpp"
#include "experiments/attacks/weakened_engine.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip::attacks {
namespace {

using std::chrono::milliseconds;
using Bits = std::vector<bool>;

constexpr milliseconds stall{20};
constexpr std::size_t columns = 8;      // of a step: the whole stock of a ProductSession
constexpr double largest_share = 0.35;  // of bits that may be wrong: a code corrects them
constexpr double bits_of_a_key = 256;

std::size_t steps_of(const Setting& setting) { return setting.full ? 5 : 3; }

/// Half of them ones, so that reading nothing but zeros gives half of the bits.
Bits random_bits(std::size_t count, std::mt19937_64& random) {
    Bits bits(count);
    std::fill_n(bits.begin(), count / 2, true);
    std::shuffle(bits.begin(), bits.end(), random);
    return bits;
}

double share_wrong(const Bits& found, const Bits& right) {
    double wrong = 0;
    for (std::size_t i = 0; i < right.size(); ++i) wrong += found[i] != right[i];
    return wrong / static_cast<double>(right.size());
}

/// Bit g - 1 from the shortest gap before the messages to group g: a late mask makes all of them
/// long, and whatever else takes time does not. The first message of a step carries no bit.
Bits read_gaps(const View& view, std::size_t groups) {
    std::vector<double> shortest(groups, 1e9);
    for (std::size_t i = 1; i < view.size(); ++i) {
        double& gap = shortest[view[i].group];
        gap = std::min(gap, gap_before(view, i));
    }
    Bits bits;
    const double late = std::chrono::duration<double>(stall).count() / 2;
    for (std::size_t g = 1; g < groups; ++g) bits.push_back(shortest[g] > late);
    return bits;
}

Outcome outcome(const Setting& setting, const View& view, const Bits& bits, std::string note) {
    return {share_wrong(read_gaps(view, bits.size() + 1), bits), largest_share, steps_of(setting),
            std::move(note)};
}

/// What both columns are run with: one bit per message of a step but the first.
struct Channel {
    explicit Channel(const Setting& setting)
        : victim(victim_of(setting)),
          random(setting.seed),
          bits(random_bits(victim.weights().size() - 1, random)) {}

    bool is_late(base::GroupId group) const { return group > 0 && bits[group - 1]; }
    void run(graph::Engine& engine, std::size_t steps) {
        for (std::size_t step = 0; step < steps; ++step) {
            victim.logits(engine, random_prompt(victim.config(), columns, random));
        }
    }

    const Victim& victim;
    std::mt19937_64 random;
    Bits bits;
};

// ---- what OFF-14 leaves: the number of intervals that a step waits

struct Waits {
    double wrong = 0;  // share of the bits
    std::size_t bits = 0;
};

/// One bit per step: the masks of the last group, which are requested when the step is about to
/// begin, come within the first interval or in the second.
Waits read_waits(Channel& channel, std::size_t count) {
    const milliseconds interval = protocol::OfflineOptions{}.interval;
    const base::GroupId last = static_cast<base::GroupId>(channel.bits.size());
    const Bits bits = random_bits(count, channel.random);
    std::size_t requests = 0;  // of the last group; the first one fills the stock
    SecondDavid second(channel.victim, {}, [&](const SecondDavid::Header& header) {
        if (header.group != last || requests++ == 0 || requests > count + 1) return;
        if (bits[requests - 2]) std::this_thread::sleep_for(interval + interval / 2);
    });
    Bits found;
    protocol::OfflineOptions options = second.options();
    options.interval = interval;
    ProductSession session(channel.victim, {}, options);
    channel.run(session.engine(), count + 1);
    const View& view = session.view();
    for (std::size_t i = 1; i < view.size(); ++i) {
        if (view[i].group == 0) {
            found.push_back(gap_before(view, i) >
                            std::chrono::duration<double>(interval).count() * 1.5);
        }
    }
    return {share_wrong(found, bits), count};
}

}  // namespace

/// Every message waits for its own masks.
Outcome stall_channel_twin(const Setting& setting) {
    Channel channel(setting);
    protocol::KeyStream keys;
    std::uint64_t index = 0;
    base::GroupId current = 0;
    WeakenedEngine eager(channel.victim,
                         {.mask = [&](base::GroupId group, std::span<std::uint32_t> mask) {
                             if (group != current && channel.is_late(group)) {
                                 std::this_thread::sleep_for(stall);
                             }
                             current = group;
                             keys.draw<P31>(protocol::StreamTag::mask, index++, mask);
                         }});
    channel.run(eager, steps_of(setting));
    const auto per_step = static_cast<double>(channel.bits.size());
    return outcome(setting, eager.view(), channel.bits,
                   figure(per_step) + " bits per step: a key in " +
                       figure(std::ceil(bits_of_a_key / per_step)) + " steps");
}

Outcome stall_channel_product(const Setting& setting) {
    Channel channel(setting);
    View view;
    {
        SecondDavid second(channel.victim, {}, [&](const SecondDavid::Header& header) {
            if (channel.is_late(header.group)) std::this_thread::sleep_for(stall);
        });
        ProductSession session(channel.victim, {}, second.options());
        channel.run(session.engine(), steps_of(setting));
        view = session.view();
    }
    const Waits waits = read_waits(channel, setting.full ? 64 : 6);
    return outcome(setting, view, channel.bits,
                   "within steps; from the whole intervals before steps, one bit each, " +
                       figure(waits.wrong) + " of " + std::to_string(waits.bits) +
                       " bits are wrong: a key in 256 steps");
}

}  // namespace slip::attacks
