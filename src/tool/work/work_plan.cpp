#include "tool/work/work_plan.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace haricot::tool {
namespace {

constexpr std::string_view kBodyMark = "{}";
// Linux: MAX_ARG_STRLEN, the NUL at the end included.
constexpr std::size_t kArgumentBytesMax = 128 * 1024;

bool is_program(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(file.c_str(), X_OK) == 0;
}

std::string with_body(std::string_view word, std::string_view body) {
  std::string text;
  for (std::size_t at = 0; (at = word.find(kBodyMark)) != std::string_view::npos;) {
    text += word.substr(0, at);
    text += body;
    word.remove_prefix(at + kBodyMark.size());
  }
  text += word;
  return text;
}

}  // namespace

std::uint64_t delay_of_release(const WorkPlan& plan, std::uint64_t reserves) {
  std::uint64_t delay = std::min(plan.delay_s, plan.delay_max_s);
  for (std::uint64_t i = 1; i < reserves && delay > 0 && delay < plan.delay_max_s; ++i) {
    delay = std::min(delay * 2, plan.delay_max_s);
  }
  return delay;
}

bool is_last_try(const WorkPlan& plan, std::uint64_t reserves) {
  return plan.tries > 0 && reserves >= plan.tries;
}

bool has_body_mark(const WorkPlan& plan) {
  return std::any_of(plan.command.begin() + 1, plan.command.end(), [](const std::string& word) {
    return word.find(kBodyMark) != std::string::npos;
  });
}

std::optional<std::vector<std::string>> words_for(const WorkPlan& plan, std::string_view body) {
  if (!has_body_mark(plan)) return plan.command;
  if (body.find('\0') != std::string_view::npos) return std::nullopt;
  std::vector<std::string> words = {plan.command.front()};
  for (std::size_t i = 1; i < plan.command.size(); ++i) {
    words.push_back(with_body(plan.command[i], body));
    if (words.back().size() >= kArgumentBytesMax) return std::nullopt;
  }
  return words;
}

std::vector<std::string> environment_of(const WorkJob& job) {
  return {"HARICOT_JOB_ID=" + std::to_string(job.id), "HARICOT_JOB_TUBE=" + job.tube,
          "HARICOT_JOB_PRIORITY=" + std::to_string(job.priority),
          "HARICOT_JOB_RESERVES=" + std::to_string(job.reserves),
          "HARICOT_JOB_TTR=" + std::to_string(job.ttr_s)};
}

bool can_be_run(const std::string& program, const char* path) {
  if (program.find('/') != std::string::npos) return is_program(program);
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  while (true) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (is_program((folder.empty() ? "." : std::string(folder)) + "/" + program)) return true;
    if (folder.size() == rest.size()) return false;
    rest.remove_prefix(folder.size() + 1);
  }
}

}  // namespace haricot::tool
