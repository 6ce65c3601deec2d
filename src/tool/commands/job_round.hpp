// What a subcommand has done to one job after the other, and its report of that.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/errand.hpp"

namespace haricot::tool {

class JobRound final {
 public:
  // `done` is the word for what was done to a job: deleted, say.
  JobRound(Errand& errand, std::string_view done) : errand_(errand), done_(done) {}

  // The flag --quiet: what went well is not printed. `to` is for quiet().
  static void add_quiet_flag(Errand& errand, bool& to);
  void quiet(bool is_quiet) { is_quiet_ = is_quiet; }
  bool is_quiet() const { return is_quiet_; }

  // A job was asked for by its id.
  void add(std::uint64_t id, bool is_done);
  // Jobs that were come upon were done.
  void count(std::uint64_t jobs = 1) { count_ += jobs; }
  std::uint64_t counted() const { return count_; }

  // Prints `deleted 3`, and each id that was not found, `or` something else, to stderr. Returns the
  // exit status: 0 if no id was missing. That a tube has nothing to do is no failure.
  int end(std::string_view or_what);
  // The same, where the server failed in between.
  int fail();
  // The same for a tube that is not there, which is said: it has no jobs. No failure either,
  // because a tube goes with its last job.
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
