// Which sanitizer watches this process. The program tells, not the test's object: everyday the
// tests that AddressSanitizer watches are those that the build without it has compiled.
#pragma once

extern "C" {
[[gnu::weak]] void __asan_init();  // NOLINT(bugprone-reserved-identifier)
[[gnu::weak]] void __tsan_init();  // NOLINT(bugprone-reserved-identifier)
}

namespace slip::testing {

inline bool under_address_sanitizer() { return &__asan_init != nullptr; }
inline bool under_thread_sanitizer() { return &__tsan_init != nullptr; }
inline bool sanitized() { return under_address_sanitizer() || under_thread_sanitizer(); }

}  // namespace slip::testing
