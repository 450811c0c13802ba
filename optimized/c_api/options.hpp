// Options as a caller gives them: structs that begin with their size, in which 0 is the default.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#include "optimized/c_api/guarded.hpp"
#include "slip/charlie.hpp"
#include "slip/david.hpp"
#include "slip/error.hpp"
#include "slip/language_model.hpp"
#include "slip/scheduler.hpp"
#include "slip/transport.hpp"

namespace slip::c_api {

/// What a caller's struct begins with. Throws BadInput for a size below that of `size` itself or
/// above 4096, which was never set.
template <class Struct>
std::size_t size_of(const Struct* given, const std::string& name) {
    std::size_t size;
    std::memcpy(&size, given, sizeof size);
    constexpr std::size_t largest = 4096;
    if (size >= sizeof size && size <= largest) return size;
    throw BadInput(name + ".size is " + std::to_string(size) +
                   ": expected the size of the struct, " + std::to_string(sizeof(Struct)) +
                   " bytes in this version");
}

/// The caller's struct as this library knows it: members that the caller's compiler did not know
/// are 0, as all are if `options` is NULL. Throws BadInput as size_of(), and for members, unknown
/// to this library, that are not 0.
template <class Options>
Options known_part(const Options* options, const std::string& name) {
    static_assert(std::is_trivially_copyable_v<Options>);
    Options known{};
    if (options == nullptr) return known;
    const std::size_t size = size_of(options, name);
    std::memcpy(&known, options, std::min(size, sizeof known));
    const auto* bytes = reinterpret_cast<const unsigned char*>(options);
    if (std::any_of(bytes + std::min(size, sizeof known), bytes + size,
                    [](unsigned char byte) { return byte != 0; })) {
        throw BadInput(name + " sets members that this version does not have: expected 0 in what " +
                       "follows its first " + std::to_string(sizeof(Options)) + " bytes");
    }
    return known;
}

/// Writes `value`, but for its size, as far as the caller's struct goes, and 0 to members, unknown
/// to this library, behind it. Throws BadInput as known_part().
template <class Result>
void give_known_part(const Result& value, Result* result, const std::string& name) {
    static_assert(std::is_trivially_copyable_v<Result>);
    if (result == nullptr) throw BadInput(name + " is NULL: expected a place for the result");
    const std::size_t size = size_of(result, name);
    auto* bytes = reinterpret_cast<unsigned char*>(result);
    std::fill(bytes + sizeof size, bytes + size, static_cast<unsigned char>(0));
    const std::size_t known = std::min(size, sizeof value);
    std::memcpy(bytes + sizeof size, reinterpret_cast<const unsigned char*>(&value) + sizeof size,
                known - sizeof size);
}

inline TimeLimits limits_of(std::uint32_t timeout_ms, std::uint32_t patience_ms) {
    TimeLimits limits;
    if (timeout_ms > 0) limits.timeout = std::chrono::milliseconds(timeout_ms);
    if (patience_ms > 0) limits.patience = std::chrono::milliseconds(patience_ms);
    return limits;
}

inline TimeLimits limits_of(const slip_charlie_options& options) {
    return limits_of(options.timeout_ms, options.patience_ms);
}

/// All but the time limits, which belong to connections.
CharlieOptions charlie_of(const slip_charlie_options& options);
DavidOptions david_of(const slip_david_options* options);
/// `options` must not be NULL; errors call it `name`.
SamplingOptions sampling_of(const slip_sampling_options* options,
                            const std::string& name = "options");
SchedulerOptions scheduler_of(const slip_scheduler_options* options);

/// What calls a caller's function for every token; empty if it is NULL.
OnToken on_token_of(slip_on_token on_token, void* context);
/// What calls a caller's function for every line; empty if it is NULL.
std::function<void(const std::string&)> report_of(slip_report report, void* context);

}  // namespace slip::c_api
