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
#include "slip/language_model.hpp"
#include "slip/scheduler.hpp"
#include "slip/transport.hpp"

namespace slip::c_api {

/// The caller's struct as this library knows it: members that the caller's compiler did not know
/// are 0, as all are if `options` is NULL. Throws BadInput for a size below that of `size` itself
/// or above 4096, and for members, unknown to this library, that are not 0.
template <class Options>
Options known_part(const Options* options, const std::string& name) {
    static_assert(std::is_trivially_copyable_v<Options>);
    Options known{};
    if (options == nullptr) return known;
    std::size_t size;
    std::memcpy(&size, options, sizeof size);
    constexpr std::size_t largest = 4096;  // a size beyond it was never set
    if (size < sizeof size || size > largest) {
        throw BadInput(name + ".size is " + std::to_string(size) +
                       ": expected the size of the struct, " + std::to_string(sizeof(Options)) +
                       " bytes in this version");
    }
    std::memcpy(&known, options, std::min(size, sizeof known));
    const auto* bytes = reinterpret_cast<const unsigned char*>(options);
    if (std::any_of(bytes + std::min(size, sizeof known), bytes + size,
                    [](unsigned char byte) { return byte != 0; })) {
        throw BadInput(name + " sets members that this version does not have: expected 0 in what " +
                       "follows its first " + std::to_string(sizeof(Options)) + " bytes");
    }
    return known;
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
LanguageModel::OnToken on_token_of(slip_on_token on_token, void* context);
/// What calls a caller's function for every line; empty if it is NULL.
std::function<void(const std::string&)> report_of(slip_report report, void* context);

}  // namespace slip::c_api
