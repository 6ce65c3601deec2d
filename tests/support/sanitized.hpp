// Long tests repeat less often under a sanitizer, which slows a program down several times.

#pragma once

namespace haricot::test {

#if defined(__SANITIZE_ADDRESS__)
#define HARICOT_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HARICOT_IS_SANITIZED 1
#endif
#endif

// True in a program that is built with AddressSanitizer.
#if defined(HARICOT_IS_SANITIZED)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace haricot::test
