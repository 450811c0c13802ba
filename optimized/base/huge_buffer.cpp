#include "optimized/base/huge_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace slip::base {

HugeBuffer::HugeBuffer(std::size_t size) : size_(size) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const std::size_t alignment = size < huge_page ? 64 : huge_page;
    const std::size_t whole = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment;
    data_.reset(static_cast<std::int8_t*>(std::aligned_alloc(alignment, whole * alignment)));
    if (data_ == nullptr) throw std::bad_alloc();
    if (alignment == huge_page) ::madvise(data_.get(), whole * alignment, MADV_HUGEPAGE);
}

void HugeBuffer::Free::operator()(std::int8_t* data) const { std::free(data); }

}  // namespace slip::base
