// What the cases of sessions share: a scene with two groups, cases of a David in it, and of a
// Charlie whose David is scripted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/hiding.hpp"
#include "reference/session.hpp"
#include "reference/vectors/document.hpp"
#include "reference/vectors/lattice_masks.hpp"

namespace slip::reference::vectors {

/// A David with two groups, and the frames of a session with him.
class Scene {
public:
    Scene(Numbers& numbers, const ParameterSet& chosen)
        : Scene(numbers, chosen,
                {numbers.matrix(3, 2, -127, 127), numbers.matrix(4, 5, -127, 127)}) {}

    /// Two groups; the first has two inputs.
    Scene(Numbers& numbers, const ParameterSet& chosen, std::vector<Matrix> matrices);

    Bytes hello() const { return encode(Hello{protocol_version, set.code, digest}, shapes); }
    Bytes apply(std::uint64_t sequence) const { return encode(Apply{sequence, 0, first}, shapes); }
    Bytes other_apply(std::uint64_t sequence) const {
        return encode(Apply{sequence, 1, second}, shapes);
    }
    /// One column: no longer than a HELLO, which David would refuse for its length (WIRE-9).
    Bytes short_apply() const {
        return encode(Apply{0, 0, Matrix::from_columns(2, {first.column(0)})}, shapes);
    }
    Bytes frame(const Frame& frame) const { return encode(frame, shapes); }

    /// What David holds: W_D of each group; of the hidden split A, whose U he expands.
    Json groups() const;

    /// What Charlie holds, with what the check needs; of the hidden split W' and the key of V and
    /// E.
    Json charlies_groups() const;

    /// The matrices whose H makes masks: W_D of each group, W' + tau E of the hidden split.
    std::vector<Matrix> masked() const;

    ParameterSet set;
    std::vector<Matrix> weights;  ///< what David multiplies by
    Key key, seed;
    std::vector<CheckSecret> checks;
    Digest digest{};
    Key public_seed{};  ///< of T, with lattice masks, and of U
    Shapes shapes;
    Matrix first, second;
    std::vector<HiddenMatrix> hidden;  ///< of the hidden split, by group
    std::vector<Key> hiding_keys;      ///< HIDE-3, of each
};

/// HIDE-1. A scene whose groups have these integer models.
Scene hidden_scene(Numbers& numbers, const std::vector<Matrix>& models);

/// David gets the frames one after the other, until he is dead.
void add_david(Document& document, const Scene& scene, const char* clause, const char* requirement,
               const char* comment, const char* flag, const std::vector<Bytes>& frames);

/// What Charlie wants to have multiplied.
struct Wanted {
    std::uint32_t group;
    Matrix q;
};

/// Cases of a Charlie who wants the same in each, and to whom different Davids answer.
class CharlieCases {
public:
    CharlieCases(Document& document, const Scene& scene, std::vector<Wanted> wanted);

    /// READY and the right replies.
    const std::vector<Bytes>& honest() const { return honest_; }

    void add(const char* clause, const char* requirement, const char* comment, const char* flag,
             const std::vector<Bytes>& answers);

private:
    std::vector<PlannedMessage> schedule() const;
    Masks masks() const;
    std::string run(Channel& channel);
    Json messages() const;

    Document& document_;
    const Scene& scene_;
    std::vector<Wanted> wanted_;
    std::optional<DrawnMasks> drawn_;  ///< with lattice masks
    std::vector<Bytes> honest_;
    std::vector<Json> results_;
};

/// Where the residues of an APPLY or of a REPLY begin.
inline constexpr std::size_t residues_offset = 21;

/// A frame with the lowest bit of the byte at `offset` flipped.
Bytes flipped(Bytes frame, std::size_t offset);

/// A reply with byte `number` of its residues replaced by the next one below the prime of its
/// plane; its columns have `rows` residues.
Bytes wrong_in_a_plane(const ParameterSet& set, Bytes frame, std::size_t rows, std::size_t number);

/// A reply with the first two planes of its only column exchanged, as far as that is canonical.
Bytes with_planes_exchanged(Bytes frame, std::size_t rows);

/// The first answers of an honest David, then this frame.
std::vector<Bytes> followed_by(const std::vector<Bytes>& honest, std::size_t count,
                               const Bytes& frame);

}  // namespace slip::reference::vectors
