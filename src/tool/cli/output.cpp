#include "tool/cli/output.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

// errno of the first failed write to stdout; 0 if there was none.
int write_error = 0;
bool is_reported = false;

void check_written(bool is_written) {
  if (!is_written && write_error == 0) write_error = errno;
}

}  // namespace

void print(std::string_view text) {
  check_written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void print_format(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  check_written(std::vfprintf(stdout, format, values) >= 0);
  va_end(values);
}

void flush() {
  check_written(std::fflush(stdout) == 0);
}

int end_output(std::string_view name, int status) {
  flush();
  if (write_error == 0) return status;
  if (write_error != EPIPE && !is_reported) {
    std::fprintf(stderr, "haricot %.*s: cannot write to stdout: %s\n",
                 static_cast<int>(name.size()), name.data(), std::strerror(write_error));
  }
  is_reported = true;
  return status == kExitDone ? static_cast<int>(kExitLocal) : status;
}

}  // namespace haricot::tool
