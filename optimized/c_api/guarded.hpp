// Where C ends and C++ begins: exceptions become statuses, and what a caller's pointers lead to is
// looked at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "slip/error.hpp"
#include "slip/slip.h"

namespace slip::c_api {

/// A status that is no kind of slip::Error.
struct StatusError : std::runtime_error {
    StatusError(slip_status s, const std::string& message)
        : std::runtime_error(message), status(s) {}
    slip_status status;
};

/// Keeps the message as this thread's last error; returns the status.
slip_status fail(slip_status status, const char* message) noexcept;
/// The message of this thread's last error; "" before the first.
const char* last_error() noexcept;

/// The status and the message of the exception that is being handled.
slip_status fail_with_current_exception() noexcept;

/// Where every exception ends.
template <class Call>
slip_status guarded(const Call& call) noexcept {
    try {
        call();
        return SLIP_OK;
    } catch (...) {
        return fail_with_current_exception();
    }
}

/// What a pointer of the caller's leads to; BadInput if it is NULL.
template <class T>
T& given(T* pointer, const std::string& name) {
    if (pointer != nullptr) return *pointer;
    throw BadInput(name + " is NULL");
}

/// An array of the caller's, which may be NULL if it is empty.
template <class T>
std::span<T> array(T* first, std::size_t count, const std::string& name) {
    if (count > 0) given(first, name);
    return {first, count};
}

/// Copies `from` to the caller's `to` if it fits `capacity`, with `terminators` more elements left
/// for what ends it; *count is its size in either case.
template <class From, class T>
void copy_out(const From& from, T* to, std::size_t capacity, std::size_t* count,
              std::size_t terminators = 0) {
    given(count, "count") = from.size();
    if (from.size() + terminators > capacity) {
        throw StatusError(SLIP_BUFFER_TOO_SMALL, "the buffer has " + std::to_string(capacity) +
                                                     " elements: expected " +
                                                     std::to_string(from.size() + terminators));
    }
    std::copy(from.begin(), from.end(), array(to, from.size() + terminators, "buffer").begin());
}

}  // namespace slip::c_api
