# The warnings every target of haricot is built with. They are errors only where somebody asks for that
# (CMAKE_COMPILE_WARNING_AS_ERROR), as .ci/run does: compilers to come will warn of more.
set(HARICOT_WARNINGS
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual
    -Wformat=2 -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wundef
    -Wextra-semi -Wdouble-promotion -Wimplicit-fallthrough)
# Null pointers are left to the analyzer of clang-tidy (scripts/lint): g++ -Wnull-dereference warns of pointers that
# were compared before, wherever it has put one function into another.
#
# Where several files are compiled as one, a name of one file shadows that of another.
list(APPEND HARICOT_WARNINGS $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HARICOT_WARNINGS -Wduplicated-cond -Wduplicated-branches -Wlogical-op
       -Wsuggest-override)
endif()
