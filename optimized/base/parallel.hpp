// Work on several threads whose result does not depend on how many there are.
#pragma once

#include <cstddef>
#include <functional>

namespace slip::base {

/// Calls work(0), ..., work(count - 1), each once, on at most `threads` threads, this one included.
/// Nothing is said about the order: calls must not depend on each other, and each writes memory of
/// its own. If calls throw, the others may be left out and one of the exceptions is thrown here.
void parallel_for(std::size_t threads, std::size_t count,
                  const std::function<void(std::size_t)>& work);

/// How many threads this machine runs at once; 1 if it does not say.
std::size_t available_threads();
/// What an option asks for: `threads`, or available_threads() for 0.
inline std::size_t threads_or_all(std::size_t threads) {
    return threads > 0 ? threads : available_threads();
}

}  // namespace slip::base
