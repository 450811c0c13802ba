// Prepared check vectors: one pass over David's weights, from his file or from a stream.
#include "slip/check_vectors.hpp"

#include <algorithm>
#include <istream>
#include <utility>
#include <vector>

#include "optimized/api/charlie_state.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/import/safetensors.hpp"
#include "optimized/protocol/pair_store.hpp"
#include "optimized/protocol/state_folder.hpp"

namespace slip {
namespace {

namespace layout = artifact::layout;
using importing::DType;
using importing::Tensor;
using protocol::PairBuilder;
using protocol::PairSubject;

/// Bytes of W_D that are in memory at one time, or one row.
constexpr std::size_t bytes_at_once = std::size_t{1} << 22;

/// All pairs of one call.
class Builders {
public:
    Builders(const PairSubject& subject, const CheckVectorOptions& options)
        : subject_(subject), options_(options) {
        for (std::size_t i = 0; i < options.count; ++i) builders_.emplace_back(subject);
        if (options_.progress) options_.progress(0, subject_.groups.size());
    }

    /// Asks for all rows of the next group, piece by piece: `rows(first, count)` gives them.
    template <class Rows>
    void append_group(const Rows& rows) {
        const base::ProductShape& shape = subject_.groups[group_++];
        const std::size_t most = std::max<std::size_t>(bytes_at_once / shape.n, 1);
        for (std::size_t first = 0; first < shape.rows; first += most) {
            const std::size_t count = std::min(most, shape.rows - first);
            const kernels::WeightMatrix piece(rows(first, count), count, shape.n);
            for (PairBuilder& builder : builders_) builder.append(piece);
        }
        if (options_.progress) options_.progress(group_, subject_.groups.size());
    }
    void put_into(const protocol::PairStore& store) && {
        for (PairBuilder& builder : builders_) store.put(std::move(builder).finish());
    }

private:
    const PairSubject& subject_;
    const CheckVectorOptions& options_;
    std::vector<PairBuilder> builders_;
    std::size_t group_ = 0;
};

/// A weight file that comes once, in pieces, and may be anybody's until its digest is known.
class WeightStream {
public:
    explicit WeightStream(std::istream& stream) : stream_(stream) {}

    /// The tensors, in the order in which their bytes follow.
    std::vector<Tensor> read_header() {
        std::vector<std::byte> begin(8);
        read(begin);
        const std::size_t length =
            importing::safetensors_header_bytes(std::span(begin).first<8>(), origin);
        begin.resize(8 + length);
        read(std::span(begin).subspan(8));
        return importing::tensors_in_order(begin, origin);
    }
    void read(std::span<std::byte> bytes) {
        stream_.read(reinterpret_cast<char*>(bytes.data()),
                     static_cast<std::streamsize>(bytes.size()));
        if (static_cast<std::size_t>(stream_.gcount()) != bytes.size()) {
            throw BadInput(std::string(origin) + ": ends before its last tensor");
        }
        digest_.append(bytes);
    }
    /// Throws BadInput unless nothing follows and all of it was the file of this digest.
    void require(const layout::Sha256& digest) {
        const bool ended = stream_.peek() == std::istream::traits_type::eof();
        if (ended && digest_.finish() == digest) return;
        throw BadInput(std::string(origin) +
                       ": is not the weight file that was made with Charlie's half; nothing of it "
                       "is used");
    }

    static constexpr const char* origin = "the weight file of David";

private:
    std::istream& stream_;
    layout::Sha256Stream digest_;
};

/// The stream may hold the groups in another order than theirs: then it is refused, as one that
/// split_checkpoint() did not write.
void require_tensors(const std::vector<Tensor>& tensors, const PairSubject& subject) {
    for (std::size_t g = 0; g < std::max(subject.groups.size(), tensors.size()); ++g) {
        const bool known = g < subject.groups.size() && g < tensors.size() &&
                           tensors[g].name == layout::david_tensor(g) &&
                           tensors[g].dtype == DType::i8 &&
                           tensors[g].shape == std::vector<std::size_t>{subject.groups[g].rows,
                                                                        subject.groups[g].n};
        if (known) continue;
        throw BadInput(std::string(WeightStream::origin) + ": tensor number " + std::to_string(g) +
                       ": expected the " + layout::david_tensor(g) +
                       " of Charlie's half, and no other");
    }
}

/// Who uses the pairs may never see W_D, so ENC-4 is checked here.
void append_stream(Builders& builders, const artifact::CharlieArtifact& charlie,
                   const PairSubject& subject, std::istream& weights) {
    WeightStream stream(weights);
    require_tensors(stream.read_header(), subject);
    std::vector<std::byte> piece;
    std::vector<std::uint64_t> norms(subject.groups.size());
    for (std::size_t g = 0; g < subject.groups.size(); ++g) {
        const std::size_t n = subject.groups[g].n;
        builders.append_group([&](std::size_t /*first*/, std::size_t count) {
            piece.resize(count * n);
            stream.read(piece);
            const auto* rows = reinterpret_cast<const std::int8_t*>(piece.data());
            norms[g] = std::max(norms[g], artifact::largest_norm({rows, count, n}));
            return rows;
        });
    }
    stream.require(subject.digest);
    for (std::size_t g = 0; g < norms.size(); ++g) {
        artifact::require_exact_products(charlie, g, norms[g]);
    }
}

void append_file(Builders& builders, const artifact::DavidArtifact& david) {
    for (const kernels::GroupWeights& group : david.weights()) {
        builders.append_group(
            [&](std::size_t first, std::size_t) { return group.row(first).data(); });
    }
}

}  // namespace

void prepare_check_vectors(const std::filesystem::path& artifact,
                           const CheckVectorOptions& options) {
    base::require(options.count >= 1, "prepare_check_vectors: at least one pair");
    const artifact::CharlieArtifact charlie(artifact);
    const PairSubject subject = api::subject_of(charlie);
    const protocol::PairStore store(
        protocol::open_state_folder(options.state, charlie.david_digest()), subject);
    Builders builders(subject, options);
    if (options.weights != nullptr) {
        append_stream(builders, charlie, subject, *options.weights);
    } else {
        const artifact::DavidArtifact david(artifact / layout::david_folder);
        artifact::require_same_split(charlie, david);
        append_file(builders, david);
    }
    std::move(builders).put_into(store);
}

}  // namespace slip
