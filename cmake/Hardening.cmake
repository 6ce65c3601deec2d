# Sets the options of the compiler and the linker that make a bug harder to exploit: checked buffers and
# stacks, random addresses, read-only tables, and no memory that is both writable and executable.
# tests/hardening checks the built programs for all of them.
#
# A build with a sanitizer has none of them, because the sanitizer checks more. _FORTIFY_SOURCE needs
# optimisation, so a debug build goes without it.
include(CheckPIESupported)
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

check_pie_supported(LANGUAGES CXX)

set(HARICOT_HARDENING)
set(HARICOT_HARDENING_LINK)
if(NOT HARICOT_SANITIZE)
  check_cxx_compiler_flag(-fstack-protector-strong HARICOT_HAS_fstack_protector_strong)
  if(HARICOT_HAS_fstack_protector_strong)
    # With the property HARICOT_FEWER_STACK_CHECKS, only functions that have buffers are checked.
    list(APPEND HARICOT_HARDENING
         -fstack-protector$<$<NOT:$<BOOL:$<TARGET_PROPERTY:HARICOT_FEWER_STACK_CHECKS>>>:-strong>)
  endif()
  check_cxx_compiler_flag(-fstack-clash-protection HARICOT_HAS_fstack_clash_protection)
  if(HARICOT_HAS_fstack_clash_protection)
    list(APPEND HARICOT_HARDENING -fstack-clash-protection)
  endif()

  # Checks the targets of indirect jumps and returns, on processors that support it.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND HARICOT_HARDENING -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND HARICOT_HARDENING -mbranch-protection=standard)
  endif()

  # Level 3 also checks buffers whose size is known only at run time. The compiler and the C library
  # must support it.
  check_cxx_source_compiles("
    #include <features.h>
    #if !__has_builtin(__builtin_dynamic_object_size) || !__GLIBC_PREREQ(2, 34)
    #error
    #endif
    int main() {}" HARICOT_HAS_FORTIFY_3)
  if(HARICOT_HAS_FORTIFY_3)
    set(fortify 3)
  else()
    set(fortify 2)
  endif()
  # Some compilers define a level by default, which must be undefined first.
  list(APPEND HARICOT_HARDENING $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
       $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${fortify}>)

  list(APPEND HARICOT_HARDENING_LINK -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
