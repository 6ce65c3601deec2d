# The warnings every target of haricot is built with, with g++ 12 and clang 14 alike.
set(HARICOT_WARNINGS
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual
    -Wformat=2 -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wundef
    -Wextra-semi -Wnull-dereference -Wdouble-promotion -Wimplicit-fallthrough)
# Where several files are compiled as one, a name of one file shadows that of another.
list(APPEND HARICOT_WARNINGS $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HARICOT_WARNINGS -Wduplicated-cond -Wduplicated-branches -Wlogical-op
       -Wsuggest-override)
endif()
if(HARICOT_WERROR)
  list(APPEND HARICOT_WARNINGS -Werror)
endif()
