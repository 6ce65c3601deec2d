#include "haricot/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace haricot {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "haricotd: %s:%d: internal check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace haricot
