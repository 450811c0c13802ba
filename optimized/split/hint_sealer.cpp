#include "optimized/split/hint_sealer.hpp"

#include <algorithm>
#include <utility>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/split/selection.hpp"

namespace slip::splitting {

namespace layout = artifact::layout;

namespace {

std::vector<std::uint8_t> new_salt() {
    const SelectionSeed salt = new_seed();
    static_assert(sizeof salt == layout::salt_bytes);
    return {salt.begin(), salt.end()};
}

artifact::SealedGroup with_salt(artifact::SealedGroup group, std::span<const std::uint8_t> salt) {
    group.salt = salt;
    return group;
}

}  // namespace

HintSealer::HintSealer(const artifact::SealKey& key, artifact::SealedGroup group,
                       std::size_t row_bytes, Store store)
    : rows_(group.rows),
      row_bytes_(row_bytes),
      salt_(new_salt()),
      seal_(key, with_salt(group, salt_)),
      store_(std::move(store)),
      open_(std::min(layout::hint_chunk_rows, group.rows) * row_bytes),
      tags_(layout::tags(*group.set, group.rows) * layout::tag_bytes) {}

artifact::GroupSeal::Tag HintSealer::tag(std::size_t number) {
    return std::span(tags_)
        .subspan(number * layout::tag_bytes, layout::tag_bytes)
        .first<layout::tag_bytes>();
}

std::vector<std::byte> HintSealer::seal_key(std::span<const std::uint8_t> key) {
    const std::size_t number = layout::hint_chunks(rows_);
    std::vector<std::uint8_t> sealed(key.size());
    seal_.seal(number, key, sealed, tag(number));
    const auto bytes = std::as_bytes(std::span(sealed));
    return {bytes.begin(), bytes.end()};
}

void HintSealer::append(std::span<const std::byte> rows) {
    base::require(rows.size() <= (rows_ - sealed_rows_) * row_bytes_ - used_,
                  "HintSealer: more rows than the group has");
    while (!rows.empty()) {
        const std::size_t chunk =
            std::min(layout::hint_chunk_rows, rows_ - sealed_rows_) * row_bytes_;
        const std::size_t here = std::min(chunk - used_, rows.size());
        std::ranges::copy(rows.first(here),
                          std::as_writable_bytes(open_.span().subspan(used_, here)).begin());
        rows = rows.subspan(here);
        used_ += here;
        if (used_ == chunk) close_chunk();
    }
}

void HintSealer::close_chunk() {
    const std::size_t number = sealed_rows_ / layout::hint_chunk_rows;
    std::vector<std::uint8_t> sealed(used_);
    seal_.seal(number, open_.span().first(used_), sealed, tag(number));
    sealed_rows_ += used_ / row_bytes_;
    used_ = 0;
    store_(std::as_bytes(std::span(sealed)));
}

std::span<const std::byte> HintSealer::tags() const {
    base::require(sealed_rows_ == rows_, "HintSealer: fewer rows than the group has");
    return std::as_bytes(std::span(tags_));
}

}  // namespace slip::splitting
