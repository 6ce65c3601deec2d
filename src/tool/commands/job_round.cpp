#include "tool/commands/job_round.hpp"

namespace haricot::tool {

void JobRound::add(std::uint64_t id, bool is_done) {
  if (is_done) {
    ++count_;
  } else {
    missing_.push_back(id);
  }
}

void JobRound::add_quiet_flag(Errand& errand, bool& to) {
  errand.add({'q', "quiet", "", "do not print the number of jobs", set(to)});
}

void JobRound::report() {
  if (is_quiet_) return;
  if (!errand_.json()) {
    print(std::string(done_) + " " + std::to_string(count_) + "\n");
    return;
  }
  std::string text = "{\"" + std::string(done_) + "\":" + std::to_string(count_);
  text += ",\"not_found\":[";
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(missing_[i]);
  }
  print(text + "]}\n");
}

int JobRound::end(std::string_view or_what) {
  report();
  for (const std::uint64_t id : missing_) {
    errand_.warn("job " + std::to_string(id) + " does not exist, " + std::string(or_what));
  }
  return errand_.done(missing_.empty() ? kExitDone : kExitFailure);
}

int JobRound::end_without(const std::string& tube) {
  errand_.warn("there is no tube " + tube);
  return end("");
}

int JobRound::fail() {
  report();
  return errand_.failed();
}

}  // namespace haricot::tool
