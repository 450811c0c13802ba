// The victim: a trained model that was split by the product, and sessions with it in which David is
// the attacker.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "experiments/attacks/attack.hpp"
#include "experiments/measure/temporary_folder.hpp"
#include "optimized/api/model_files.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/protocol/david.hpp"

namespace slip::attacks {

/// The set with the paper's split that the product offers; the twins work on its splits.
inline constexpr const base::parameters::ParameterSet& paper_set =
    *base::parameters::set_named("paper-lattice");
inline constexpr std::size_t planes = paper_set.planes;
inline constexpr std::uint64_t modulus = base::parameters::modulus(planes);

using Clock = std::chrono::steady_clock;

/// One message as David sees it: `columns` columns of n residues modulo the product of `planes`
/// primes, one after the other.
struct Message {
    base::GroupId group = 0;
    std::size_t columns = 0;
    std::vector<std::uint64_t> residues;
    /// The scale of each column, which only a protocol without masks sends; otherwise 1.
    std::vector<float> scales;
    /// When the message reached David, and when his reply left him.
    Clock::time_point arrived = Clock::now();
    Clock::time_point answered = {};
    std::size_t planes = attacks::planes;
};
using View = std::vector<Message>;

/// What David measures: the seconds from his reply before message i >= 1 to its arrival.
inline double gap_before(const View& view, std::size_t i) {
    return std::chrono::duration<double>(view[i].arrived - view[i - 1].answered).count();
}

/// David's error in the reply to a message: added to M residues per column, mod L.
using Tamper = std::function<void(base::GroupId group, std::span<std::int64_t> error)>;

/// A checkpoint, split as `slip split` does.
class Victim {
public:
    Victim(const std::filesystem::path& model, const Plan& plan,
           const std::string& set = std::string(paper_set.name));

    std::filesystem::path artifact() const { return folder_ / "split"; }
    const base::ModelConfig& config() const { return files_.config(); }
    const artifact::CharlieArtifact& charlie() const { return files_.charlie(); }
    const kernels::OffloadedWeights& weights() const { return weights_; }
    const graph::Transformer& graph() const { return *graph_; }
    const artifact::DavidArtifact& david() const { return *david_; }
    std::size_t planes() const { return david_->set().planes; }
    const protocol::IntegrityCheck& integrity_check() const { return files_.integrity_check(); }
    protocol::SharedSecrets shared_secrets() const { return files_.shared_secrets(0, nullptr); }

    /// The group whose member has this tensor name, and the member's number and first row.
    struct Place {
        base::GroupId group = 0;
        std::size_t member = 0;
        std::size_t first_row = 0;
    };
    Place find(const std::string& layer_type, std::optional<std::size_t> block) const;
    /// diag(delta) 2^t W_D of a member, and diag(delta) A B: David's part and Charlie's.
    Eigen::MatrixXd davids_part(const Place& place) const;
    Eigen::MatrixXd charlies_part(const Place& place) const;
    Eigen::MatrixXd residual(const Place& place) const;  ///< W_D alone, integers

    /// Logits of the last position of `ids`, computed by `engine`.
    std::vector<float> logits(base::Engine& engine, const std::vector<TokenId>& ids) const;
    /// The same of each prompt, some dozens of which share each message.
    std::vector<std::vector<float>> logits(base::Engine& engine,
                                           std::span<const std::vector<TokenId>> prompts) const;

private:
    measure::TemporaryFolder folder_;
    api::SplitFiles files_;
    const artifact::DavidArtifact* david_;
    kernels::OffloadedWeights weights_;
    std::unique_ptr<graph::Transformer> graph_;
};

/// The model of the setting at rank 8, its head split too; split once per process.
const Victim& victim_of(const Setting& setting);
/// The same model, hidden: its groups are numbered as those of victim_of().
const Victim& hidden_victim_of(const Setting& setting);

/// Passes inputs on to `inner`, and records them as the victim's product quantises them: the
/// activations that an attacker is after, without masks.
class TrueInputs : public base::Engine {
public:
    /// Both outlive the engine.
    TrueInputs(const Victim& victim, base::Engine& inner) : victim_(victim), inner_(inner) {}
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

    const View& view() const { return view_; }

private:
    const Victim& victim_;
    base::Engine& inner_;
    View view_;
};

/// A session of the product. David, who is part of it, records his view and adds `tamper`. Whether
/// he was wrong before is nobody's business unless `wrong_peers` are given (INTEG-7).
class ProductSession {
public:
    explicit ProductSession(const Victim& victim, Tamper tamper = {},
                            protocol::WrongPeers* wrong_peers = nullptr);
    ~ProductSession();

    std::vector<float> logits(const std::vector<TokenId>& ids);
    const View& view() const { return view_; }
    base::Engine& engine() { return *engine_; }

private:
    class Wire;
    const Victim& victim_;
    View view_;
    protocol::DavidModel model_;
    protocol::DavidSession david_;
    std::unique_ptr<Wire> wire_;
    std::unique_ptr<engines::HybridEngine> engine_;
};

/// x mod L in -(L-1)/2 .. (L-1)/2, L being the product of `h` primes.
std::int64_t lift(std::uint64_t residue, std::size_t h = planes);
std::uint64_t embed(std::int64_t value, std::size_t h = planes);

/// Residues mod L of one column of n, whose bytes are plane after plane.
std::vector<std::uint64_t> residues_of(std::span<const std::uint8_t> column,
                                       std::size_t h = planes);

/// Uniform mod L, for the masks of twins.
std::vector<std::uint64_t> uniform_residues(std::size_t count, std::mt19937_64& random);

/// `count` token ids other than BOS.
std::vector<TokenId> random_prompt(const base::ModelConfig& config, std::size_t count,
                                   std::mt19937_64& random);

}  // namespace slip::attacks
