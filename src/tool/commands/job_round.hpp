// Counts the jobs that a subcommand handles one by one, and reports them.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/errand.hpp"

namespace haricot::tool {

class JobRound final {
 public:
  // `done` is the participle for the report, such as "deleted".
  JobRound(Errand& errand, std::string_view done) : errand_(errand), done_(done) {}

  // Adds the flag --quiet, which suppresses the report of success. Pass `to` to quiet().
  static void add_quiet_flag(Errand& errand, bool& to);
  void quiet(bool is_quiet) { is_quiet_ = is_quiet; }
  bool is_quiet() const { return is_quiet_; }

  // Records the result for a job that was requested by id.
  void add(std::uint64_t id, bool is_done);
  // Adds jobs that were not requested by id.
  void count(std::uint64_t jobs = 1) { count_ += jobs; }
  std::uint64_t counted() const { return count_; }

  // Prints `deleted 3` to stdout, and a line to stderr for each id that was not found, with
  // `or_what` as another possible reason. Returns the exit status: 0 if all ids were found. A tube
  // without jobs is no failure.
  int end(std::string_view or_what);
  // Prints the report after a failure of the server, and returns its exit status.
  int fail();
  // Reports that the tube does not exist, and returns the exit status 0: a tube vanishes with its
  // last job.
  int end_without(const std::string& tube);

  Errand& errand() { return errand_; }

 private:
  void report();

  Errand& errand_;
  std::string_view done_;
  bool is_quiet_ = false;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> missing_;
};

}  // namespace haricot::tool
