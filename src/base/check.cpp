#include "haricot/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace haricot {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "haricotd: %s:%d: this must hold and does not: %s\n", file, line, condition);
  std::abort();
}

}  // namespace haricot
