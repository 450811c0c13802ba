#include "optimized/base/huge_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "optimized/base/pages.hpp"

namespace slip::base {

HugeBuffer::HugeBuffer(std::size_t size, InDumps in_dumps) : size_(size) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const std::size_t small = in_dumps == InDumps::yes ? 64 : page_size();
    const std::size_t alignment = size < huge_page ? small : huge_page;
    const std::size_t whole = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment;
    data_.reset(static_cast<std::int8_t*>(std::aligned_alloc(alignment, whole * alignment)));
    if (data_ == nullptr) throw std::bad_alloc();
    if (alignment == huge_page) prefer_huge_pages(data_.get(), whole * alignment);
    if (in_dumps == InDumps::yes) return;
    if (::madvise(data_.get(), whole * alignment, MADV_DONTDUMP) != 0) throw std::bad_alloc();
    data_.get_deleter().left_out = whole * alignment;
}

/// The allocator may reuse the memory: core dumps include it again.
void HugeBuffer::Free::operator()(std::int8_t* data) const {
    if (left_out > 0) ::madvise(data, left_out, MADV_DODUMP);
    std::free(data);
}

}  // namespace slip::base
