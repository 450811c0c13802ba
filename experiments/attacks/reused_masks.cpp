// Two messages under the masks of one block at the same indices: their difference is that of the
// activations (MASK-5). How it could come about: an index that is handed out twice, a forked
// process, a snapshot of Charlie's memory that is started twice.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/lattice_messages.hpp"
#include "experiments/attacks/runs.hpp"
#include "optimized/base/hidden_widths.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXi;

/// Two prompts at one group. The attacker knows the first.
struct Prompts {
    explicit Prompts(const Setting& setting)
        : random(setting.seed + 4), seed(drawn_bytes<masks::PublicMatrix::Seed>(random)) {
        const std::size_t count = setting.full ? 64 : 8;
        Setting other = setting;
        other.seed += 1;
        known = scaled_inputs(setting, 0, count);
        secret = scaled_inputs(other, 0, count);
    }

    /// What he reads of the second: the first plus the difference of both, lifted.
    Outcome read(const MaskedColumns& sent, const MaskedColumns& sent_2,
                 std::string note = {}) const {
        const auto n = static_cast<std::size_t>(known.rows());
        MatrixXi read(known.rows(), known.cols());
        for (Index c = 0; c < read.cols(); ++c) {
            const auto &a = sent[static_cast<std::size_t>(c)],
                       &b = sent_2[static_cast<std::size_t>(c)];
            for (std::size_t j = 0; j < n; ++j) {
                read(static_cast<Index>(j), c) =
                    known(static_cast<Index>(j), c) +
                    joined(residue_of(b[j] - a[j], 0), residue_of(b[n + j] - a[n + j], 1));
            }
        }
        return {share_that_differs(read.cast<double>(), secret.cast<double>()), 0,
                static_cast<std::uint64_t>(2 * known.cols()), std::move(note)};
    }

    std::mt19937_64 random;
    masks::PublicMatrix::Seed seed;
    MatrixXi known, secret;
};

/// The rule switched off: both messages take the block's masks from its first index on.
Outcome same_masks(const Setting& setting) {
    Prompts prompts(setting);
    const PublicRows T(prompts.seed, static_cast<std::size_t>(prompts.known.rows()));
    const auto S = small_integers(hidden_set().public_rows(), prompts.random);
    const auto drawn =
        small_integers(static_cast<std::size_t>(prompts.known.size()), prompts.random);
    const MatrixXi e =
        Eigen::Map<const MatrixXi>(drawn.data(), prompts.known.rows(), prompts.known.cols());
    const std::uint64_t tau = base::tau_at(hidden_set(), T.width());
    return prompts.read(sent_by_twin(T, prompts.known, S, e, tau),
                        sent_by_twin(T, prompts.secret, S, e, tau));
}

/// Bytes that `act` returns in a forked child; none if it throws there.
std::vector<std::uint8_t> from_child(const std::function<std::vector<std::uint8_t>()>& act) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        try {
            const auto bytes = act();
            for (std::size_t at = 0; at < bytes.size();) {
                const ssize_t wrote = ::write(ends[1], bytes.data() + at, bytes.size() - at);
                if (wrote <= 0) break;
                at += static_cast<std::size_t>(wrote);
            }
        } catch (const std::exception&) {
            // It refuses, and nothing is sent.
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    std::vector<std::uint8_t> bytes(std::size_t{1} << 16), all;
    for (ssize_t got = 0; (got = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
        all.insert(all.end(), bytes.begin(), bytes.begin() + got);
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return all;
}

}  // namespace

Outcome index_reuse_twin(const Setting& setting) { return same_masks(setting); }
/// What a child without the rule would send: it has its parent's key and index.
Outcome fork_twin(const Setting& setting) { return same_masks(setting); }

/// One process, one prompt after the other.
Outcome index_reuse_hidden(const Setting& setting) {
    const Prompts prompts(setting);
    Process process(prompts.seed, static_cast<std::size_t>(prompts.known.rows()));
    const MaskedColumns sent = process.send(prompts.known);
    return prompts.read(sent, process.send(prompts.secret));
}

/// The parent sends the known prompt, and a child that it forked before the other.
Outcome fork_hidden(const Setting& setting) {
    const Prompts prompts(setting);
    Process process(prompts.seed, static_cast<std::size_t>(prompts.known.rows()));
    const auto from_forked = from_child([&] {
        std::vector<std::uint8_t> all;
        for (const auto& column : process.send(prompts.secret)) {
            all.insert(all.end(), column.begin(), column.end());
        }
        return all;
    });
    const MaskedColumns sent = process.send(prompts.known);
    MaskedColumns sent_2(sent.size(), std::vector<std::uint8_t>(sent.front().size()));
    if (from_forked.empty()) return prompts.read(sent, sent_2, "the child refuses");
    for (std::size_t c = 0; c < sent_2.size(); ++c) {
        std::copy_n(from_forked.data() + c * sent_2[c].size(), sent_2[c].size(), sent_2[c].begin());
    }
    return prompts.read(sent, sent_2);
}

/// Two processes of one artifact, each with a key of its own.
Outcome snapshot_hidden(const Setting& setting) {
    const Prompts prompts(setting);
    const auto rows = static_cast<std::size_t>(prompts.known.rows());
    return prompts.read(Process(prompts.seed, rows).send(prompts.known),
                        Process(prompts.seed, rows).send(prompts.secret));
}

}  // namespace slip::attacks
