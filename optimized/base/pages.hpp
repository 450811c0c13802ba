// What the system is told about pages. It is advice: an older system does not take it, and what is
// touched comes page by page.
#pragma once

#include <cstddef>

namespace slip::base {

std::size_t page_size();

/// Provides whole pages that will all be written, at once.
void provide_for_writing(void* pages, std::size_t size) noexcept;

/// Maps the pages of a part of a file that will all be read, at once. Waits for the disk.
void provide_for_reading(const void* data, std::size_t size) noexcept;

/// Asks for huge pages, where the file system has them, of a mapped file that is read in large
/// parts.
void prefer_huge_pages(const void* data, std::size_t size) noexcept;

}  // namespace slip::base
