# Warnings for all targets of haricot. They are errors only with CMAKE_COMPILE_WARNING_AS_ERROR, which .ci/run
# sets: future compilers will have more warnings.
set(HARICOT_WARNINGS
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual
    -Wformat=2 -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wundef
    -Wextra-semi -Wdouble-promotion -Wimplicit-fallthrough)
# The analyzer of clang-tidy (scripts/lint) checks null pointers: after inlining, g++ -Wnull-dereference warns of
# pointers that have been checked.
#
# A unity build has no -Wshadow, because a name in one file may shadow a name of another file.
list(APPEND HARICOT_WARNINGS $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HARICOT_WARNINGS -Wduplicated-cond -Wduplicated-branches -Wlogical-op
       -Wsuggest-override)
endif()
