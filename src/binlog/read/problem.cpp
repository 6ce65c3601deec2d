#include "haricot/binlog/read/problem.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace haricot::binlog {
namespace {

using Kind = Problem::Kind;

struct Row {
  Kind kind;
  // Words in capitals are replaced: FILE, OTHER and WHY by texts, OFFSET and ID by numbers, and
  // BYTES, LOST, JOBS and RECORDS by a number with its unit.
  std::string_view sentence;
};

constexpr std::array kRows = {
    Row{Kind::damaged, "FILE is damaged at offset OFFSET: BYTES cannot be readLOST"},
    Row{Kind::job_lost, "FILE: the body of job ID is damaged, the job is lost"},
    Row{Kind::unproven,
        "FILE: RECORDS of beanstalkd cannot be checked; the file is damaged, or has changed"},
    Row{Kind::torn,
        "FILE has lost what was not on the disk yet: BYTES at offset OFFSET, as a crash leaves "
        "them"},
    Row{Kind::late,
        "FILE was begun after OTHER, by a server that had lost the folder by then: FILE is left "
        "aside"},
    Row{Kind::unfit, "FILE WHY"},
    Row{Kind::in_doubt,
        "up to JOBS may have come back, or be in an old state: what is lost of FILE may have held "
        "their deletions"},
};
constexpr bool are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return kRows.size() == static_cast<std::size_t>(Kind::in_doubt) + 1;
}
static_assert(are_in_order());

std::string count(std::uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string_view template_of(const Problem& problem) {
  const bool is_empty = problem.kind == Kind::damaged && problem.bytes == 0 && problem.records == 0;
  if (is_empty) return "FILE is empty, and may have had records";
  return kRows[static_cast<std::size_t>(problem.kind)].sentence;
}

}  // namespace

bool is_damage(const Problem& problem) {
  return problem.kind != Kind::torn && problem.kind != Kind::late;
}

std::string to_sentence(const Problem& problem) {
  const std::pair<std::string_view, std::string> words[] = {
      {"FILE", problem.file},
      {"OTHER", problem.other},
      {"WHY", problem.why},
      {"OFFSET", std::to_string(problem.offset)},
      {"BYTES", count(problem.bytes, "byte")},
      {"LOST", problem.records > 0 ? ", " + count(problem.records, "record") + " lost" : ""},
      {"JOBS", count(problem.jobs, "job")},
      {"RECORDS", count(problem.jobs, "record")},
      {"ID", std::to_string(problem.id)},
  };
  std::string text;
  for (std::string_view rest = template_of(problem); !rest.empty();) {
    std::size_t bytes = 1;
    std::string_view next = rest.substr(0, 1);
    for (const auto& [word, value] : words) {
      if (!rest.starts_with(word)) continue;
      bytes = word.size();
      next = value;
    }
    text += next;
    rest.remove_prefix(bytes);
  }
  return text;
}

std::string refusal_of(const std::vector<Problem>& problems) {
  std::string text;
  std::uint64_t others = 0;
  for (const Problem& problem : problems) {
    if (problem.kind != Kind::unfit) continue;
    if (text.empty()) {
      text = to_sentence(problem);
    } else {
      ++others;
    }
  }
  return others == 0 ? text : text + ", and " + count(others, "other problem") + " of this kind";
}

std::string with_remedy(std::string error, const std::vector<Problem>& problems,
                        const std::string& folder) {
  if (refusal_of(problems).empty()) return error;
  return error + ". The folder was not changed; to write its jobs to a new folder, type: " +
         "haricot binlog repair " + folder + " NEW";
}

}  // namespace haricot::binlog
