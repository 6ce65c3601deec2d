#include "tool/work/work_run.hpp"

#include "tool/cli/safe_text.hpp"

namespace haricot::tool {

void WorkRun::say(const std::string& line) {
  error.add("haricot work: " + safe_lines(line) + "\n");
}

void WorkRun::end(int with_status) {
  if (status == 0) status = with_status;
  has_to_end = true;
}

bool WorkRun::is_choked() const {
  constexpr std::size_t kPendingBytesMax = 1024 * 1024;
  return output.pending_bytes() + error.pending_bytes() > kPendingBytesMax;
}

}  // namespace haricot::tool
