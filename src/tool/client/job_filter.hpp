// A choice of jobs by state, age, body, note and class, and the search for them on a server. The
// subcommands that list or change jobs share its flags.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// States of jobs, a bit each, in the order of kJobStates.
using JobStates = unsigned;
inline constexpr std::string_view kJobStates[] = {"ready", "reserved", "delayed", "buried"};
inline constexpr JobStates kReady = 1;
inline constexpr JobStates kReserved = 2;
inline constexpr JobStates kDelayed = 4;
inline constexpr JobStates kBuried = 8;
inline constexpr JobStates kAllStates = kReady | kReserved | kDelayed | kBuried;

// Returns the names of the states with `word` before the last: "ready, delayed or buried".
std::string names_of(JobStates states, std::string_view word);

// Returns the class in a JSON body: the value of displayName, job or class in its outermost object,
// the first that is text; empty if there is none.
std::string class_in(std::string_view body);

// Returns the first line of a note.
std::string_view first_line_of(std::string_view note);

class JobFilter final {
 public:
  // Adds --match, --note, --class, --since, --older, and --state unless `possible`, its values, are
  // only buried.
  // Requires: the filter outlives the errand's read().
  void add_flags(Errand& errand, JobStates possible);

  // Returns true if one of these flags was given.
  bool is_given() const { return states_ != 0 || has_more_than_state(); }
  bool has_more_than_state() const;
  // Returns the states of --state, or `others` without it.
  JobStates states_or(JobStates others) const { return states_ != 0 ? states_ : others; }

  bool needs_body() const { return !text_.empty() || !class_.empty(); }
  bool needs_note() const { return !note_.empty(); }
  // Returns false if the listed keys of a job exclude it. `now_s`: seconds since 1970.
  bool may_match(const StatsText& job, std::int64_t now_s) const;
  bool matches_body(std::string_view body) const;
  bool matches_note(std::string_view note) const {
    return note.find(note_) != std::string_view::npos;
  }

 private:
  JobStates states_ = 0;  // 0: not given.
  std::string wanted_;    // Values of --state.
  std::string text_;
  std::string note_;
  std::string class_;
  std::optional<std::int64_t> since_s_;  // Seconds since 1970, as older_s_.
  std::optional<std::int64_t> older_s_;
};

// Finds the jobs of a server that a filter matches. Requires haricotd, because beanstalkd cannot
// list jobs.
class JobSearch final {
 public:
  // Takes a page of jobs that match. Returns false to end the search.
  using Take = std::function<bool(std::vector<StatsText>& jobs)>;

  // Requires: the arguments outlive the object.
  JobSearch(Errand& errand, const JobFilter& filter, JobStates states, Progress& progress)
      : errand_(errand), filter_(filter), states_(states), progress_(progress) {}

  // Begins with this id.
  void set_from(std::uint64_t id) { from_ = id; }
  // Sets the number of jobs in a page to be requested, for a caller that needs only some.
  void set_page(std::uint64_t jobs) { page_ = jobs; }

  // Searches the tubes, or all tubes if there are none, in the order of ids within a tube, and of
  // the server if all states of all tubes are searched. A tube that does not exist has no jobs.
  // Returns false if the server failed.
  [[nodiscard]] bool run(const std::vector<std::string>& tubes, const Take& take);
  // Searches the next jobs of a tube in the order of service, at most kPageJobsMax. Sets `is_there`
  // to false if there is no such tube. Returns false if the server failed.
  [[nodiscard]] bool run_next(const std::string& tube, const Take& take, bool& is_there);
  // Returns the number of jobs that were compared with the filter.
  std::uint64_t searched() const { return searched_; }

 private:
  bool scan(const std::string& tube, const Take& take);
  bool list(const std::string& tube, const Take& take);
  bool take_page(std::vector<StatsText> jobs, const Take& take);
  bool keep_matches(std::vector<StatsText>& jobs);

  Errand& errand_;
  const JobFilter& filter_;
  JobStates states_;
  Progress& progress_;
  std::uint64_t from_ = 1;
  std::uint64_t page_ = kPageJobsMax;
  std::uint64_t searched_ = 0;
  std::uint64_t all_ = 0;  // Number of jobs to search; 0: unknown.
  bool is_over_ = false;   // `take` has ended the search.
};

}  // namespace haricot::tool
