#include "optimized/artifact/hint_digests.hpp"
#include "optimized/artifact/sha256.hpp"

#include <algorithm>

#include "optimized/base/error.hpp"

namespace slip::artifact {

void HintDigests::append(std::span<const std::byte> rows) {
    base::require(rows.size() % row_bytes_ == 0, "HintDigests: whole rows");
    while (!rows.empty()) {
        if (rows_ == 0) chunk_.append(seed_);
        const std::size_t here =
            std::min(layout::hint_chunk_rows - rows_, rows.size() / row_bytes_);
        chunk_.append(rows.first(here * row_bytes_));
        rows = rows.subspan(here * row_bytes_);
        rows_ += here;
        if (rows_ == layout::hint_chunk_rows) close_chunk();
    }
}

std::vector<std::byte> HintDigests::finish() {
    if (rows_ > 0) close_chunk();
    return std::move(digests_);
}

void HintDigests::close_chunk() {
    const Sha256 digest = chunk_.finish();
    const auto bytes = std::as_bytes(std::span(digest));
    digests_.insert(digests_.end(), bytes.begin(), bytes.end());
    chunk_ = {};
    rows_ = 0;
}

}  // namespace slip::artifact
