#include "reference/vectors/session_cases.hpp"

#include <utility>

#include "reference/vectors/recorder.hpp"

namespace slip::reference::vectors {

namespace {

/// What a scripted peer answers, and what Charlie sent him.
class Script : public Channel {
public:
    explicit Script(std::vector<Bytes> script) : answers(std::move(script)) {}

    void send(const Bytes& frame) override { sent.push_back(frame); }
    Bytes receive() override {
        if (next == answers.size()) throw ProtocolError("the stream ended");
        return answers[next++];
    }

    std::vector<Bytes> answers, sent;
    std::size_t next = 0;
};

/// HIDE-1. A, without the rows of U.
Matrix rows_of_A(const Matrix& W_t, std::size_t M) {
    Matrix A(M, W_t.cols());
    for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t j = 0; j < W_t.cols(); ++j) A(i, j) = W_t(i, j);
    }
    return A;
}

}  // namespace

Scene::Scene(Numbers& numbers, const ParameterSet& chosen, std::vector<Matrix> matrices)
    : set(chosen),
      weights(std::move(matrices)),
      key(numbers.key()),
      seed(numbers.key()),
      checks(prepare_checks(set, seed, weights)),
      shapes(shapes_of(set, weights)) {
    for (std::uint8_t& byte : digest) byte = numbers.bytes(1).front();
    if (set.lattice && !set.hides_weights) public_seed = numbers.key();
    first = numbers.matrix(2, 2, 0, set.ring().modulus() - 1);
    second = numbers.matrix(weights[1].cols(), 1, 0, set.ring().modulus() - 1);
}

Json Scene::groups() const {
    std::vector<Json> entries;
    for (std::size_t g = 0; g < weights.size(); ++g) {
        const Matrix& W = weights[g];
        entries.push_back(
            set.hides_weights
                ? object({{"A", residue_columns(set, rows_of_A(W, hidden[g].W.rows()))}})
                : json(W));
    }
    return list(entries);
}

Json Scene::charlies_groups() const {
    std::vector<Json> entries;
    for (std::size_t g = 0; g < weights.size(); ++g) {
        Fields group{{"W_D", json(weights[g])}};
        if (set.hides_weights) group = {{"W", json(hidden[g].W)}, {"key", hex(hiding_keys[g])}};
        group.push_back({"s", combinations(checks[g], &IntegrityKey::s)});
        entries.push_back(object(group));
    }
    return list(entries);
}

std::vector<Matrix> Scene::masked() const {
    if (!set.hides_weights) return weights;
    std::vector<Matrix> matrices;
    for (const HiddenMatrix& matrix : hidden) matrices.push_back(matrix.noisy());
    return matrices;
}

Scene hidden_scene(Numbers& numbers, const std::vector<Matrix>& models) {
    const ParameterSet set = reference::hidden();
    const Key secret = numbers.key(), public_seed = numbers.key();
    std::vector<HiddenMatrix> matrices;
    std::vector<Matrix> davids;
    std::vector<Key> keys;
    for (std::uint32_t group = 0; group < models.size(); ++group) {
        matrices.push_back(hide(set, secret, public_seed, group, models[group]));
        davids.push_back(matrices.back().davids_weights());
        keys.push_back(hiding_key(set, secret, public_seed, group, models[group]));
    }
    Scene scene(numbers, set, davids);
    scene.public_seed = public_seed;
    scene.hidden = matrices;
    scene.hiding_keys = keys;
    return scene;
}

void add_david(Document& document, const Scene& scene, const char* clause, const char* requirement,
               const char* comment, const char* flag, const std::vector<Bytes>& frames) {
    DavidSession david(scene.set, scene.digest, scene.weights);
    std::vector<Json> answers;
    bool refused = false;
    for (const Bytes& frame : frames) {
        if (david.dead()) break;  // what follows gets no answer
        const auto answer = david.receive(frame);
        answers.push_back(answer ? hex(*answer) : Json{"null"});
        refused = answer && (*answer)[4] == 7;
    }
    Case entry{.clause = clause,
               .requirement = requirement,
               .comment = comment,
               .flags = {flag},
               .input = {{"digest", hex(scene.digest)},
                         {"groups", scene.groups()},
                         {"frames", frames_of(frames)}},
               .output = {{"answers", list(answers)}}};
    if (!scene.hidden.empty()) entry.input.push_back({"public_seed", hex(scene.public_seed)});
    if (refused) entry.failure = Failure{"receive a frame", clause};
    document.add(entry);
}

CharlieCases::CharlieCases(Document& document, const Scene& scene, std::vector<Wanted> wanted)
    : document_(document), scene_(scene), wanted_(std::move(wanted)) {
    if (scene_.set.lattice) {
        drawn_.emplace(scene_.set, scene_.public_seed, scene_.key, scene_.masked(), schedule());
    }
    DavidSession david(scene_.set, scene_.digest, scene_.weights);
    Recorder recorder(david);
    run(recorder);
    honest_ = recorder.answers;
}

void CharlieCases::add(const char* clause, const char* requirement, const char* comment,
                       const char* flag, const std::vector<Bytes>& answers) {
    Script script(answers);
    const std::string end = run(script);
    Case entry{.clause = clause,
               .requirement = requirement,
               .comment = comment,
               .flags = {flag},
               .input = {{"key", hex(scene_.key)},
                         {"seed", hex(scene_.seed)},
                         {"digest", hex(scene_.digest)},
                         {"groups", scene_.charlies_groups()},
                         {"messages", messages()},
                         {"answers", frames_of(answers)}}};
    if (drawn_) {
        const Key& seed_of_T = scene_.public_seed;
        entry.input.push_back({"public_seed", hex(seed_of_T)});
    }
    entry.output = {{"end", json(end)}};
    if (end == "closed") {
        entry.output.push_back({"sent", frames_of(script.sent)});
        entry.output.push_back({"y_D", list(results_)});
    } else {
        const bool abort = end == "integrity error";
        if (abort) script.sent.pop_back();
        entry.output.push_back({"sent", frames_of(script.sent)});
        if (abort) entry.output.push_back({"abort", json(true)});
        entry.failure = Failure{abort ? "integrity check" : "receive a frame", clause};
    }
    document_.add(entry);
}

std::vector<PlannedMessage> CharlieCases::schedule() const {
    std::vector<PlannedMessage> messages;
    for (const Wanted& message : wanted_) {
        messages.push_back({message.group, message.q.cols()});
    }
    return messages;
}

Masks CharlieCases::masks() const {
    return drawn_ ? drawn_->again()
                  : prepare_masks(scene_.set, scene_.key, scene_.masked(), schedule());
}

std::string CharlieCases::run(Channel& channel) {
    std::vector<WeightSecret> secrets;
    for (const HiddenMatrix& matrix : scene_.hidden) secrets.push_back(matrix.secret);
    CharlieSession charlie(scene_.shapes, scene_.digest, scene_.checks, masks(), channel, secrets);
    results_.clear();
    try {
        charlie.hello();
        for (const Wanted& message : wanted_) {
            results_.push_back(columns(charlie.apply(message.group, message.q)));
        }
        charlie.close();
        return "closed";
    } catch (const IntegrityError&) {
        return "integrity error";
    } catch (const ProtocolError&) {
        return "protocol error";
    }
}

Json CharlieCases::messages() const {
    std::vector<Json> entries;
    Integer index = 0;
    for (const Wanted& message : wanted_) {
        Vector indices;
        for (std::size_t t = 0; t < message.q.cols(); ++t) indices.push_back(index++);
        if (drawn_) indices = drawn_->indices().at(entries.size());
        entries.push_back(object({{"group", json(Integer(message.group))},
                                  {"mask_indices", json(indices)},
                                  {"q", columns(message.q)}}));
    }
    return list(entries);
}

/// A frame with the lowest bit of the byte at `offset` flipped.
Bytes flipped(Bytes frame, std::size_t offset) {
    frame[offset] ^= 1;
    return frame;
}

/// A reply with byte `number` of its residues replaced by the next one below the prime of its
/// plane; its columns have `rows` residues.
Bytes wrong_in_a_plane(const ParameterSet& set, Bytes frame, std::size_t rows, std::size_t number) {
    const Integer& prime = set.planes.primes()[number / rows % set.planes.count()];
    std::uint8_t& byte = frame[21 + number];
    byte = Integer((byte + 1) % prime).convert_to<std::uint8_t>();
    return frame;
}

/// A reply with the first two planes of its only column exchanged, as far as that is canonical.
Bytes with_planes_exchanged(Bytes frame, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
        std::uint8_t &first = frame[21 + i], &second = frame[21 + rows + i];
        if (first < 241) std::swap(first, second);
    }
    return frame;
}

/// The first answers of an honest David, then this frame.
std::vector<Bytes> followed_by(const std::vector<Bytes>& honest, std::size_t count,
                               const Bytes& frame) {
    std::vector<Bytes> answers(honest.begin(), honest.begin() + static_cast<std::ptrdiff_t>(count));
    answers.push_back(frame);
    return answers;
}

}  // namespace slip::reference::vectors
