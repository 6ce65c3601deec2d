#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/job_tags.hpp"
#include "haricot/service/statistic_rows.hpp"
#include "haricot/service/statistics.hpp"

// The rows of reports about jobs and groups.

namespace haricot {
namespace {

// stats-group -----------------------------------------------------------------------------------

using OfGroup = Rows<GroupFacts>;

constexpr std::array kGroupRows = {
    OfGroup::quoted(
        "name", [](const Group& g) { return std::string_view(g.name); }, "the name of the group"),
    OfGroup::integer(
        "ready", [](const Group& g) { return g.jobs_in(JobState::ready); },
        "its jobs in that state, in all tubes, with those that a flush has not deleted yet"),
    OfGroup::integer(
        "reserved", [](const Group& g) { return g.jobs_in(JobState::reserved); }, kSame),
    OfGroup::integer(
        "delayed", [](const Group& g) { return g.jobs_in(JobState::delayed); }, kSame),
    OfGroup::integer(
        "buried", [](const Group& g) { return g.jobs_in(JobState::buried); }, kSame),
    OfGroup::integer(
        "waiting-jobs", [](const Group& g) { return g.held; },
        "jobs that wait until the group has no job"),
};

// stats-job -------------------------------------------------------------------------------------

using OfJob = Rows<JobFacts>;

constexpr std::array kJobFactRows = {
    OfJob::integer(
        "id", [](const JobFacts& j) { return j.id; }, "its id and its tube"),
    OfJob::quoted(
        "tube", [](const JobFacts& j) { return std::string_view(j.tube->name); }, kSame),
    OfJob::word(
        "state", [](const JobFacts& j) { return std::string_view(name_of(j.state)); },
        "`ready`, `reserved`, `delayed` or `buried`"),
    OfJob::integer(
        "pri", [](const JobFacts& j) { return j.priority; }, "priority, 0 first"),
    OfJob::integer(
        "age", [](const JobFacts& j) { return j.age_s; }, "seconds since it was put"),
    OfJob::integer(
        "delay", [](const JobFacts& j) { return j.delay_s; }, "delay of its put or last release"),
    OfJob::integer(
        "ttr", [](const JobFacts& j) { return j.ttr_s; }, "seconds that a worker may take"),
    OfJob::integer(
        "time-left", [](const JobFacts& j) { return j.time_left_s; },
        "seconds until its TTR or its delay ends; 0 in other states"),
    OfJob::integer(
        "file", [](const JobFacts& j) { return j.file; },
        "number of the binlog file that has its body; 0 without `-b`"),
    OfJob::integer(
        "reserves", [](const JobFacts& j) { return j.reserves; },
        "how often that happened to it. Many `timeouts`: it exceeds its TTR, or kills its workers"),
    OfJob::integer(
        "timeouts", [](const JobFacts& j) { return j.timeouts; }, kSame),
    OfJob::integer(
        "releases", [](const JobFacts& j) { return j.releases; }, kSame),
    OfJob::integer(
        "buries", [](const JobFacts& j) { return j.buries; }, kSame),
    OfJob::integer(
        "kicks", [](const JobFacts& j) { return j.kicks; }, kSame),
};

// Returns the row of a tag, with its value from the text of the job's tags.
template <Tag kTag>
constexpr Statistic<JobFacts> tag_statistic(std::string_view meaning) {
  constexpr auto kIsShown = [](const JobFacts& j) { return !value_in(j.tags, kTag).empty(); };
  if constexpr (row_of(kTag).value.is_number()) {
    const auto number = [](const JobFacts& j) {
      return tags_in(j.tags).*row_of(kTag).value.number;
    };
    return OfJob::integer(row_of(kTag).word, number, meaning, kIsShown);
  } else {
    const auto value = [](const JobFacts& j) { return value_in(j.tags, kTag); };
    return OfJob::quoted(row_of(kTag).word, value, meaning, kIsShown);
  }
}

constexpr std::array kTagRows = {
#define HARICOT_TAG(tag, word, value, part, node, copied, flag, metavar, help, meaning) \
  tag_statistic<Tag::tag>("only of a job with this tag: " meaning),
#include "haricot/base/tag_rows.inc"
    OfJob::word(
        "held", [](const JobFacts&) { return std::string_view("true"); },
        "only of a job that still waits for that group",
        [](const JobFacts& j) { return j.is_held; }),
};

// Returns the rows of stats-job with the size of the job instead of its file.
constexpr auto make_listed_job_rows() {
  auto rows = kJobFactRows;
  for (auto& row : rows) {
    if (row.key != "file") continue;
    row = OfJob::integer(
        "bytes", [](const JobFacts& j) { return j.body_bytes; }, "the size of its body");
  }
  return rows;
}
constexpr std::array kHolderRows = {
    OfJob::integer(
        "holder",
        [](const JobFacts& j) { return std::uint64_t{static_cast<std::uint32_t>(j.holder)}; },
        "only of a reserved job: the id of the connection that holds it, as `list-clients` shows "
        "it",
        [](const JobFacts& j) { return j.holder != ClientRef{}; }),
};
constexpr auto kListedJobRows = joined(make_listed_job_rows(), kTagRows, kHolderRows);

static_assert(has_each_key_once(kGroupRows));
static_assert(has_each_key_once(kJobFactRows));
static_assert(has_each_key_once(kListedJobRows));

}  // namespace

std::span<const Statistic<GroupFacts>> group_statistics() {
  return kGroupRows;
}
std::span<const Statistic<JobFacts>> job_statistics() {
  return kJobFactRows;
}
std::span<const Statistic<JobFacts>> listed_job_statistics() {
  return kListedJobRows;
}

}  // namespace haricot
