#include "optimized/split/weight_files.hpp"
#include "optimized/artifact/sha256.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "optimized/artifact/hint_digests.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/split/hint_sealer.hpp"

namespace slip::splitting {

namespace layout = artifact::layout;
namespace parameters = base::parameters;
using base::GroupShape;
using base::MemberShape;
using importing::SafetensorsAssembly;
using importing::Tensor;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
    return std::as_bytes(std::span(values.data(), values.size()));
}

artifact::Sha256Stream begin_digest(std::int32_t activation_norm) {
    artifact::Sha256Stream digest;
    digest.append(std::as_bytes(std::span(&activation_norm, 1)));
    return digest;
}

}  // namespace

/// Where David's part of a group stands.
struct WeightFiles::DavidsTensor {
    SafetensorsAssembly& file;
    std::string name;
};

/// Writes, and keeps the digest of all that was written, in this order.
class WeightFiles::Written {
public:
    explicit Written(std::int32_t activation_norm) : digest_(begin_digest(activation_norm)) {}
    void put(SafetensorsAssembly& file, const std::string& name, std::span<const std::byte> bytes,
             std::size_t offset = 0) {
        file.write(name, bytes, offset);
        digest_.append(bytes);
    }
    artifact::Sha256 finish() { return digest_.finish(); }

private:
    artifact::Sha256Stream digest_;
};

/// Reads, and keeps the same digest.
class WeightFiles::Found {
public:
    explicit Found(std::int32_t activation_norm)
        : digest_(begin_digest(activation_norm)), piece_(std::size_t{1} << 20) {}
    void get(const SafetensorsAssembly& file, const std::string& name, std::size_t size,
             std::size_t offset = 0) {
        for (const std::size_t end = offset + size; offset < end; offset += piece_.size()) {
            const auto bytes = std::span(piece_).first(std::min(piece_.size(), end - offset));
            file.read(name, bytes, offset);
            digest_.append(bytes);
        }
    }
    artifact::Sha256 finish() { return digest_.finish(); }

private:
    artifact::Sha256Stream digest_;
    std::vector<std::byte> piece_;
};

/// Writes the hint of a group, sealed where there is a key, and what the files have beside it.
class WeightFiles::HintRows {
public:
    HintRows(WeightFiles& files, Written& written, std::size_t g)
        : files_(files),
          written_(written),
          g_(g),
          digests_(std::as_bytes(std::span(files.seeds_.masks)), hint_row_bytes(files.set_)) {
        if (files.seal_ == nullptr) return;
        const base::ProductShape shape = files.groups_[g].product();
        sealer_.emplace(
            *files.seal_,
            artifact::SealedGroup{&files.set_, g, shape.rows, shape.n, files.seeds_.masks, {}},
            hint_row_bytes(files.set_), [this](std::span<const std::byte> rows) { store(rows); });
    }
    HintRows(const HintRows&) = delete;
    HintRows& operator=(const HintRows&) = delete;

    void put_key(std::span<const std::uint8_t> key) {
        if (!sealer_) return written_.put(files_.check_, layout::key_tensor(g_), bytes_of(key));
        written_.put(files_.check_, layout::key_tensor(g_), sealer_->seal_key(key));
    }
    /// Whole rows, the next ones.
    void append(std::span<const std::byte> rows) { sealer_ ? sealer_->append(rows) : store(rows); }
    void finish() {
        written_.put(files_.check_, layout::hint_tensor(g_), digests_.finish());
        if (!sealer_) return;
        written_.put(*files_.masks_, layout::salt_tensor(g_), sealer_->salt());
        written_.put(*files_.masks_, layout::tag_tensor(g_), sealer_->tags());
    }

private:
    void store(std::span<const std::byte> rows) {
        written_.put(*files_.masks_, layout::group_tensor(g_), rows, offset_);
        digests_.append(rows);
        offset_ += rows.size();
    }

    WeightFiles& files_;
    Written& written_;
    const std::size_t g_;
    artifact::HintDigests digests_;
    std::optional<HintSealer> sealer_;
    std::size_t offset_ = 0;
};

WeightFiles::WeightFiles(const importing::Checkpoint& checkpoint,
                         const std::vector<GroupShape>& groups,
                         const std::vector<std::size_t>& shards, const Ranks& ranks,
                         const parameters::ParameterSet& set, const Seeds& seeds,
                         std::size_t threads, const std::filesystem::path& out,
                         const artifact::SealKey* seal)
    : set_(set),
      groups_(groups),
      ranks_(ranks),
      seeds_(seeds),
      threads_(threads),
      seal_(seal),
      parameters_(parameters_of(checkpoint, groups)),
      charlie_(out / layout::charlie_folder / layout::charlie_weights,
               charlie_tensors(parameters_, groups, ranks, set), parameters::secret_file_mode),
      check_(out / layout::charlie_folder / layout::check_secret, check_tensors(groups, set),
             parameters::secret_file_mode) {
    const std::vector<std::string> folders = layout::david_folders(shards.size());
    std::size_t first = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const std::span own = std::span(groups).subspan(first, shards[i]);
        davids_.emplace_back(out / folders[i] / layout::david_weights, david_tensors(own, set),
                             base::public_file_mode);
        ends_.push_back(first += shards[i]);
    }
    for (const Tensor& parameter : parameters_) charlie_.write(parameter.name, parameter.bytes);
    check_.write(layout::check_seed, std::as_bytes(std::span(seeds.check)));
    if (!set.lattice) return;
    masks_.emplace(out / layout::charlie_folder / layout::masks,
                   mask_tensors(groups, set, seal != nullptr), parameters::secret_file_mode);
    masks_->write(layout::masks_seed, std::as_bytes(std::span(seeds.masks)));
}

/// In the file of its shard, whose groups are counted from 0.
WeightFiles::DavidsTensor WeightFiles::davids_tensor(std::size_t g) {
    const auto shard = std::ranges::upper_bound(ends_, g);
    const std::size_t first = shard == ends_.begin() ? 0 : *std::prev(shard);
    return {davids_.at(static_cast<std::size_t>(shard - ends_.begin())),
            layout::group_tensor(g - first)};
}

artifact::Sha256 WeightFiles::write(std::size_t g, const EncodedGroup& encoded) {
    Written written(encoded.activation_norm);
    const DavidsTensor davids = davids_tensor(g);
    const GroupShape& group = groups_[g];
    const std::vector<IntegerMatrix>& members = encoded.members;
    std::size_t position = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::string name = group.members[i].name();
        written.put(charlie_, name + ".A", bytes_of(members[i].a));
        written.put(charlie_, name + ".A_exponent", bytes_of(members[i].exponent));
        written.put(charlie_, name + ".row_scale", bytes_of(members[i].row_scale));
        written.put(charlie_, name + ".B", bytes_of(members[i].b));
        written.put(davids.file, davids.name, bytes_of(members[i].residual), position);
        position += members[i].residual.size();
    }
    written.put(check_, layout::group_tensor(g), bytes_of(encoded.companion));
    if (layout::has_lattice_masks(set_, group)) {
        written.put(check_, layout::product_tensor(g), bytes_of(encoded.product_companion));
        HintRows hint(*this, written, g);
        for (const IntegerMatrix& member : members) {
            for_each_hint_piece(member,
                                [&](std::span<const std::byte> rows) { hint.append(rows); });
        }
        hint.finish();
    }
    flush();
    return written.finish();
}

artifact::Sha256 WeightFiles::write(std::size_t g, const HiddenModel& model) {
    const GroupShape& group = groups_[g];
    const DavidsTensor davids = davids_tensor(g);
    Written written(base::hidden_width(group.n).norm);
    std::size_t row = 0;
    for (const MemberShape& member : group.members) {
        written.put(charlie_, group.name(member) + ".row_scale",
                    bytes_of(std::span(model.row_scale).subspan(row, member.m)));
        row += member.m;
    }
    const auto key =
        hiding_key(set_, seeds_.hiding, seeds_.masks, static_cast<std::uint32_t>(g), model);
    HintRows hint(*this, written, g);
    hint.put_key(key.span());
    const auto companions = hide(
        common_of(group.n), model, key.span(), seeds_.check, threads_, [&](const HiddenRows& rows) {
            const std::size_t size = rows.count * group.n;
            for (std::size_t p = 0; p < set_.planes; ++p) {
                written.put(davids.file, davids.name,
                            bytes_of(std::span(rows.davids).subspan(p * size, size)),
                            (p * model.rows() + rows.first) * group.n);
            }
            hint.append(bytes_of(rows.hint));
        });
    written.put(check_, layout::group_tensor(g), bytes_of(companions.check));
    written.put(check_, layout::product_tensor(g), bytes_of(companions.product));
    hint.finish();
    flush();
    return written.finish();
}

artifact::Sha256 WeightFiles::digest_of(std::size_t g, std::int32_t activation_norm) {
    Found found(activation_norm);
    const GroupShape& group = groups_[g];
    if (set_.hides_weights) {
        find_hidden(g, found);
        return found.finish();
    }
    const DavidsTensor davids = davids_tensor(g);
    std::size_t position = 0;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const MemberShape& member = group.members[i];
        const std::size_t rank = ranks_[g][i];
        found.get(charlie_, member.name() + ".A", member.m * rank * sizeof(std::int16_t));
        found.get(charlie_, member.name() + ".A_exponent", member.m);
        found.get(charlie_, member.name() + ".row_scale", member.m * sizeof(float));
        found.get(charlie_, member.name() + ".B", rank * group.n * sizeof(std::int16_t));
        found.get(davids.file, davids.name, member.m * group.n, position);
        position += member.m * group.n;
    }
    found.get(check_, layout::group_tensor(g), parameters::kappa * set_.planes * group.n);
    if (layout::has_lattice_masks(set_, group)) {
        found.get(check_, layout::product_tensor(g), sizeof(std::uint64_t) * group.n);
        found.get(*masks_, layout::group_tensor(g), hint_row_bytes(set_) * group.product().rows);
        find_end_of_hint(g, found);
    }
    return found.finish();
}

/// What write() wrote, in the same order; whole chunks of a hint at a time, as they are sealed.
void WeightFiles::find_hidden(std::size_t g, Found& found) {
    const GroupShape& group = groups_[g];
    const DavidsTensor davids = davids_tensor(g);
    static_assert(hidden_rows_at_once % layout::hint_chunk_rows == 0);
    const std::size_t m = group.product().rows, n = group.n;
    for (const MemberShape& member : group.members) {
        found.get(charlie_, group.name(member) + ".row_scale", member.m * sizeof(float));
    }
    found.get(check_, layout::key_tensor(g), layout::key_bytes);
    for (std::size_t first = 0; first < m; first += hidden_rows_at_once) {
        const std::size_t count = std::min(hidden_rows_at_once, m - first);
        for (std::size_t p = 0; p < set_.planes; ++p) {
            found.get(davids.file, davids.name, count * n, (p * m + first) * n);
        }
        found.get(*masks_, layout::group_tensor(g), count * hint_row_bytes(set_),
                  first * hint_row_bytes(set_));
    }
    found.get(check_, layout::group_tensor(g), parameters::kappa * set_.planes * n);
    found.get(check_, layout::product_tensor(g), sizeof(std::uint64_t) * n);
    find_end_of_hint(g, found);
}

/// What HintRows::finish() wrote.
void WeightFiles::find_end_of_hint(std::size_t g, Found& found) const {
    const std::size_t rows = groups_[g].product().rows;
    found.get(check_, layout::hint_tensor(g), layout::hint_chunks(rows) * sizeof(artifact::Sha256));
    if (seal_ == nullptr) return;
    found.get(*masks_, layout::salt_tensor(g), layout::salt_bytes);
    found.get(*masks_, layout::tag_tensor(g), layout::tags(set_, rows) * layout::tag_bytes);
}

/// Calls use(bytes) with the rows of a member's hint, some at a time, so that memory is bounded.
template <class Use>
void WeightFiles::for_each_hint_piece(const IntegerMatrix& member, const Use& use) {
    if (!columns_ || columns_->width() != member.n) {
        columns_.reset();  // before the next is made
        columns_.emplace(set_, seeds_.masks, member.n);
    }
    constexpr std::size_t rows_at_once = 1024;
    base::SecretBuffer<std::uint8_t> hint(std::min(rows_at_once, member.m) * hint_row_bytes(set_));
    for (std::size_t first = 0; first < member.m; first += rows_at_once) {
        const std::size_t rows = std::min(rows_at_once, member.m - first);
        const auto piece = hint.span().first(rows * hint_row_bytes(set_));
        compute_hint(*columns_, {member.residual.data() + first * member.n, rows, member.n},
                     threads_, piece);
        use(std::as_bytes(piece));
    }
}

const PublicOfWidth& WeightFiles::common_of(std::size_t width) {
    if (!common_ || common_->width() != width) {
        common_.reset();  // before the next is made
        common_.emplace(set_, seeds_.masks, width);
    }
    return *common_;
}

void WeightFiles::flush() {
    charlie_.flush();
    check_.flush();
    for (SafetensorsAssembly& david : davids_) david.flush();
    if (masks_) masks_->flush();
}

}  // namespace slip::splitting
