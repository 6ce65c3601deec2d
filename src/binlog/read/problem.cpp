#include "haricot/binlog/read/problem.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace haricot::binlog {
namespace {

struct Row {
  Problem::Kind kind;
  const char* name;
  // FILE and OTHER are names, OFFSET and ID numbers, BYTES, LOST, JOBS and RECORDS numbers of such.
  std::string_view sentence;
  bool is_left_aside = false;
};

using Kind = Problem::Kind;
constexpr std::array kRows = {
    Row{Kind::damaged, "damaged", "FILE is damaged at offset OFFSET: BYTES cannot be readLOST"},
    Row{Kind::job_lost, "job-lost", "FILE: the body of job ID is damaged, the job is lost"},
    Row{Kind::unproven, "unproven",
        "FILE: RECORDS of beanstalkd cannot be checked; the file is damaged, or has changed"},
    Row{Kind::torn, "torn",
        "FILE has lost what was not on the disk yet: BYTES at offset OFFSET, as a crash leaves "
        "them"},
    Row{Kind::missing, "file-missing", "FILE is missing"},
    Row{Kind::emptied, "file-emptied",
        "FILE is empty (a crash at the moment it was begun leaves this, too)"},
    Row{Kind::displaced, "file-displaced", "FILE was written as OTHER and is read in its place"},
    Row{Kind::duplicate, "file-duplicate", "FILE is a copy of OTHER and is left aside", true},
    Row{Kind::foreign, "file-foreign", "FILE was written in another folder and is left aside",
        true},
    Row{Kind::contradicted, "file-contradicted",
        "FILE is not the file that OTHER followed: one of the two is from a copy of the folder; "
        "FILE is left aside",
        true},
    Row{Kind::other_run, "file-of-other-run",
        "FILE was not begun by the server that used this folder last: it is from a copy of the "
        "folder, or newer files are missing"},
    Row{Kind::unidentified, "file-unidentified",
        "nothing tells which file FILE is: it is left aside, and `haricot binlog repair` can read "
        "it",
        true},
    Row{Kind::late, "file-late",
        "FILE was begun after OTHER, by a server that had lost the folder by then: FILE is left "
        "aside",
        true},
    Row{Kind::misnamed, "file-misnamed", "FILE has a number that no server gives and is not read"},
    Row{Kind::in_doubt, "in-doubt",
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

const Row& row_of(Problem::Kind kind) {
  return kRows[static_cast<std::size_t>(kind)];
}

std::string count(std::uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

bool is_damage(const Problem& problem) {
  return problem.kind != Problem::Kind::torn;
}

bool is_left_aside(Problem::Kind kind) {
  return row_of(kind).is_left_aside;
}

const char* name_of(Problem::Kind kind) {
  return row_of(kind).name;
}

std::string to_sentence(const Problem& problem) {
  const std::pair<std::string_view, std::string> words[] = {
      {"FILE", problem.file},
      {"OTHER", problem.other},
      {"OFFSET", std::to_string(problem.offset)},
      {"BYTES", count(problem.bytes, "byte")},
      {"LOST", problem.records > 0 ? ", " + count(problem.records, "record") + " lost" : ""},
      {"JOBS", count(problem.jobs, "job")},
      {"RECORDS", count(problem.jobs, "record")},
      {"ID", std::to_string(problem.id)},
  };
  std::string text;
  for (std::string_view rest = row_of(problem.kind).sentence; !rest.empty();) {
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

}  // namespace haricot::binlog
