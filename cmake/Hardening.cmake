# What the compiler and the linker do so that a bug of ours stays a bug: buffers and stacks that are
# checked, addresses that cannot be guessed, tables that cannot be written to, and nothing that is
# both data and code. tests/hardening looks for all of it in what was built.
#
# Sanitizers do better at the same, and a build that is not optimised has no checked buffers.
include(CheckPIESupported)
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

check_pie_supported(LANGUAGES CXX)

set(HARICOT_HARDENING)
set(HARICOT_HARDENING_LINK)
if(NOT HARICOT_SANITIZE)
  check_cxx_compiler_flag(-fstack-protector-strong HARICOT_HAS_fstack_protector_strong)
  if(HARICOT_HAS_fstack_protector_strong)
    # A target with the property HARICOT_FEWER_STACK_CHECKS has only functions with buffers checked.
    list(APPEND HARICOT_HARDENING
         -fstack-protector$<$<NOT:$<BOOL:$<TARGET_PROPERTY:HARICOT_FEWER_STACK_CHECKS>>>:-strong>)
  endif()
  check_cxx_compiler_flag(-fstack-clash-protection HARICOT_HAS_fstack_clash_protection)
  if(HARICOT_HAS_fstack_clash_protection)
    list(APPEND HARICOT_HARDENING -fstack-clash-protection)
  endif()

  # Jumps and returns that lead where the compiler meant them to, where the processor can tell.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND HARICOT_HARDENING -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND HARICOT_HARDENING -mbranch-protection=standard)
  endif()

  # 3 knows sizes that are known only when the program runs; it needs a compiler and a C library
  # that can tell them.
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
  # Some compilers bring a level of their own along, which would have to be taken back first.
  list(APPEND HARICOT_HARDENING $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
       $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${fortify}>)

  list(APPEND HARICOT_HARDENING_LINK -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
