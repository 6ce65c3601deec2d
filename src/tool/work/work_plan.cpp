#include "tool/work/work_plan.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

#include "haricot/base/number.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kBodyMark = "{}";
// MAX_ARG_STRLEN of Linux, with the NUL at the end.
constexpr std::size_t kArgumentBytesMax = 128 * 1024;

int check_file(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return kExitNotFound;
  const bool is_good = S_ISREG(status.st_mode) && ::access(file.c_str(), X_OK) == 0;
  return is_good ? 0 : kExitNotExecuted;
}

// Position of the text that a program executes.
enum class TextPlace : std::uint8_t {
  at_flag,        // A flag before the first operand.
  at_late_flag,   // A flag, also after operands.
  first_operand,  // The first operand, or a flag.
  everywhere,     // All following words.
};

// A program that executes a text in its arguments.
struct Runner {
  std::string_view name;     // Also matches with a version after it.
  std::string_view letters;  // Flags that precede the text.
  TextPlace place = TextPlace::at_flag;
};

constexpr Runner kRunners[] = {{"sh", "c"},
                               {"ash", "c"},
                               {"bash", "c"},
                               {"dash", "c"},
                               {"ksh", "c"},
                               {"mksh", "c"},
                               {"zsh", "c"},
                               {"csh", "c"},
                               {"tcsh", "c"},
                               {"fish", "cC"},
                               {"su", "c", TextPlace::at_late_flag},
                               {"runuser", "c", TextPlace::at_late_flag},
                               {"flock", "c", TextPlace::at_late_flag},
                               {"env", "S"},
                               {"python", "c"},
                               {"perl", "eE"},
                               {"ruby", "e"},
                               {"lua", "e"},
                               {"node", "ep"},
                               {"nodejs", "ep"},
                               {"php", "rBRE"},
                               {"awk", "e", TextPlace::first_operand},
                               {"gawk", "e", TextPlace::first_operand},
                               {"mawk", "e", TextPlace::first_operand},
                               {"sed", "e", TextPlace::first_operand},
                               {"eval", "", TextPlace::everywhere},
                               {"parallel", "", TextPlace::everywhere},
                               {"ssh", "", TextPlace::everywhere}};

// Long names of such flags.
constexpr std::string_view kTextFlags[] = {
    "--command", "--session-command", "--init-command", "--split-string", "--eval", "--print",
    "--run",     "--expression",      "--source"};

const Runner* runner_called(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  if (slash != std::string_view::npos) word.remove_prefix(slash + 1);
  for (const Runner& runner : kRunners) {
    if (!word.starts_with(runner.name)) continue;
    const std::string_view version = word.substr(runner.name.size());
    if (version.find_first_not_of("0123456789.") == std::string_view::npos) return &runner;
  }
  return nullptr;
}

// Returns true if the text follows the flag, in the same word or the next one.
bool announces_text(const Runner& runner, std::string_view flag) {
  const std::string_view before = flag.substr(0, flag.find(kBodyMark));
  if (!flag.starts_with("--")) return before.find_first_of(runner.letters) != before.npos;
  const std::string_view name = before.substr(0, before.find('='));
  return std::find(std::begin(kTextFlags), std::end(kTextFlags), name) != std::end(kTextFlags);
}

// Returns true if the next word is the value of this flag.
bool has_value(const Runner& runner, std::string_view flag) {
  if (runner.place == TextPlace::first_operand) return flag == "-F" || flag == "-v";
  return flag == "-o" || flag == "+o" || flag == "-O" || flag == "+O";
}

// Returns the word with {} that `runner` would execute as a text, among the words after it; empty
// if there is none.
std::string_view word_executed_by(const Runner& runner, std::span<const std::string> words) {
  const bool is_everywhere = runner.place == TextPlace::everywhere;
  bool is_text_next = is_everywhere || runner.place == TextPlace::first_operand;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool has_mark = word.find(kBodyMark) != std::string_view::npos;
    const bool is_flag = word.size() > 1 && (word[0] == '-' || word[0] == '+');
    if (is_flag && !is_everywhere) {
      const bool announces = announces_text(runner, word);
      if (announces && has_mark) return word;
      is_text_next = is_text_next || announces;
      if (has_value(runner, word)) ++i;
      continue;
    }
    if (is_text_next && has_mark) return word;
    if (is_everywhere) continue;
    if (runner.place != TextPlace::at_late_flag) break;
    is_text_next = false;
  }
  return {};
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

std::optional<std::vector<StatusRange>> read_statuses(std::string_view list) {
  std::vector<StatusRange> ranges;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const std::size_t dash = item.find('-');
    const std::optional<std::uint64_t> first = read_number(item.substr(0, dash));
    const std::optional<std::uint64_t> last =
        dash == std::string_view::npos ? first : read_number(item.substr(dash + 1));
    if (!first || !last || *first < 1 || *last < *first || *last > 255) return std::nullopt;
    ranges.push_back({*first, *last});
    if (comma == std::string_view::npos) return ranges;
    list.remove_prefix(comma + 1);
  }
}

bool buries_at_once(const WorkPlan& plan, int status) {
  const auto number = static_cast<std::uint64_t>(status);
  return std::any_of(plan.burying.begin(), plan.burying.end(), [number](const StatusRange& range) {
    return number >= range.first && number <= range.last;
  });
}

std::string_view executed_word(const WorkPlan& plan) {
  const std::span<const std::string> words(plan.command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Runner* runner = runner_called(words[i]);
    if (runner == nullptr) continue;
    const std::string_view word = word_executed_by(*runner, words.subspan(i + 1));
    if (!word.empty()) return word;
  }
  return {};
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

int check_program(const std::string& program, const char* path) {
  if (program.find('/') != std::string::npos) return check_file(program);
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  int status = kExitNotFound;
  while (true) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    const int found = check_file((folder.empty() ? "." : std::string(folder)) + "/" + program);
    if (found == 0) return 0;
    if (found == kExitNotExecuted) status = found;
    if (folder.size() == rest.size()) return status;
    rest.remove_prefix(folder.size() + 1);
  }
}

}  // namespace haricot::tool
