// The commands of the extended set: those that beanstalkd does not have.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/output.hpp"

namespace haricot {
namespace {

// No answer to reserve-batch is longer, but for one with a single large job: what is copied of it,
// and all of it.
constexpr std::size_t kCopiedBytesMax = 48 * 1024;
constexpr std::size_t kBatchBytesMax = 1024 * 1024;
// RESERVED, two numbers of 20 and 10 digits, and two line ends.
constexpr std::size_t kBytesAroundBody = 8 + 1 + 20 + 1 + 10 + 2 + 2;

// No page of stats-tubes is more work, but for one with a single tube. By this its length is
// bounded as well: a tube takes 32 steps at least, and 1 KiB at most.
constexpr std::uint64_t kPageSteps = 16 * 1024;

// How much of a batch's answer is used.
struct BatchUse {
  std::size_t copied = 0;
  std::size_t all = 0;

  // Takes a job in and says whether it fits.
  static bool fits(void* self, std::uint32_t body_bytes) {
    auto& use = *static_cast<BatchUse*>(self);
    const bool is_copied = body_bytes < Output::kBlobBytesMin;
    use.copied += kBytesAroundBody + (is_copied ? body_bytes : 0);
    use.all += kBytesAroundBody + body_bytes;
    return use.copied <= kCopiedBytesMax && use.all <= kBatchBytesMax;
  }
};

std::optional<JobState> state_of(StateWord word) {
  switch (word) {
    case StateWord::none:
      break;
    case StateWord::ready:
      return JobState::ready;
    case StateWord::reserved:
      return JobState::reserved;
    case StateWord::delayed:
      return JobState::delayed;
    case StateWord::buried:
      return JobState::buried;
  }
  return std::nullopt;
}

}  // namespace

// Who gets UNKNOWN_COMMAND knows that the server has none of it. What this client may not do is not
// among what it is told.
Reply Dispatcher::capabilities(CommandSet commands) {
  Report report(text_, info_.compat);
  for (const CommandRow& row : kCommandTable) {
    const bool is_own = row.set != CommandSet::standard && row.set <= commands;
    if (is_own && row.verb != Verb::capabilities) report.item(row.name());
  }
  for (const std::string_view tag : tag_words()) report.item(tag);
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::flush_tube(Client& client, const Command& command) {
  const StateWord word = command.state;
  const JobStates states = {.ready = word == StateWord::none || word == StateWord::ready,
                            .delayed = word == StateWord::none || word == StateWord::delayed,
                            .buried = word == StateWord::none || word == StateWord::buried};
  return flush(client, command.tube, states);
}

// A tube that does not exist has no jobs: so a flush can be repeated.
Reply Dispatcher::flush(Client& client, std::string_view tube_name, JobStates states) {
  const Outcome outcome = engine_.flush(client, tube_name, states);
  if (outcome == Outcome::not_found) return {.code = ReplyCode::flushed, .number = 0};
  return simple(outcome, ReplyCode::none);
}

void Dispatcher::write_jobs(Report& report, std::span<const JobRef> jobs, Instant now) {
  report.begin_list("jobs", jobs.empty());
  for (const JobRef job : jobs) write_listed_job(report, engine_.looks().report(job, now));
}

Reply Dispatcher::scan_jobs(const Command& command, Instant now) {
  Report report(text_, info_.compat);
  const Tube* tube = command.tube.empty() ? nullptr : engine_.find_tube(command.tube);
  batch_.clear();
  ScanResult result;
  if (tube != nullptr || command.tube.empty()) {
    result = engine_.looks().scan(command.id, command.bound, tube, state_of(command.state), batch_);
  }
  // Whoever goes on at `next` comes to an end.
  CHECK(batch_.size() <= command.bound && (result.next == 0 || result.next > command.id));
  report.integer("next", result.next);
  write_jobs(report, batch_, now);
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::list_jobs(const Command& command, Instant now) {
  const Tube* tube = engine_.find_tube(command.tube);
  if (tube == nullptr) return {ReplyCode::not_found};
  const std::optional<JobState> state = state_of(command.state);
  CHECK(state.has_value());
  batch_.clear();
  engine_.looks().list(*tube, *state, command.bound, batch_);
  CHECK(batch_.size() <= command.bound);
  Report report(text_, info_.compat);
  write_jobs(report, batch_, now);
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::stats_tube_detail(std::string_view tube_name, Instant now) {
  const Tube* tube = engine_.find_tube(tube_name);
  if (tube == nullptr) return {ReplyCode::not_found};
  Report report(text_, info_.compat);
  write_tube_detail(report, engine_.looks().detail(*tube, now));
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::stats_group(std::string_view name) {
  const Group* const group = engine_.find_group(name);
  if (group == nullptr) return {ReplyCode::not_found};
  Report report(text_, info_.compat);
  write_group_report(report, *group);
  return {.code = ReplyCode::ok, .text = text_};
}

// The tubes are in an order in which each has its place by its name alone. So whoever asks for the
// next page gets what is after this one, whatever came and went in between.
Reply Dispatcher::stats_tubes(const Command& command, Instant now) {
  const TubeTable& tubes = engine_.tubes();
  tubes_.clear();
  tubes_.reserve(command.bound);
  const Tube* next = tubes.first_from(command.tube);
  std::uint64_t steps = 0;
  for (; next != nullptr && tubes_.size() < command.bound; next = tubes.after(*next)) {
    steps += Times::detail_steps(*next) + next->many_watchers;
    if (!tubes_.empty() && steps > kPageSteps) break;
    tubes_.push_back(next);
  }
  CHECK(!tubes_.empty() || next == nullptr);  // Each page goes on from the one before.
  Report report(text_, info_.compat);
  // Whatever the names look like: a bare * is no YAML.
  const std::string_view next_name = next == nullptr ? "*" : std::string_view(next->name);
  report.word("next", '"' + std::string(next_name) + '"');
  report.begin_list("tubes", tubes_.empty());
  for (const Tube* tube : tubes_) {
    report.begin_item();
    write_tube_report(report, *tube, engine_.waiting_clients(*tube), now);
    write_tube_detail(report, engine_.looks().detail(*tube, now));
  }
  return {.code = ReplyCode::ok, .text = text_};
}

// An answer may have no job. Without a timeout it takes what is there.
Reply Dispatcher::reserve_batch(Client& client, const Command& command, Instant now) {
  batch_.clear();
  BatchUse use;
  const Instant wait_end = now + Duration::seconds(command.has_timeout ? command.seconds : 0);
  const Outcome outcome =
      engine_.reserve_batch(client, command.bound, {&BatchUse::fits, &use}, wait_end, now, batch_);
  const bool is_answered = outcome == Outcome::done || outcome == Outcome::timed_out;
  if (!is_answered) return simple(outcome, ReplyCode::none);
  CHECK(batch_.size() <= command.bound && batch_.empty() == (outcome == Outcome::timed_out));
  return {.code = ReplyCode::reserved_batch, .number = batch_.size()};
}

Reply Dispatcher::delete_batch(Client& client, const Command& command) {
  std::array<JobId, kBatchMax> ids;
  const std::size_t size = read_ids(command.ids, ids);
  return simple(engine_.delete_batch(client, std::span(ids).first(size)), ReplyCode::none);
}

// It is a `watch`, and is counted as one.
Reply Dispatcher::watch_by_weight(Client& client, const Command& command) {
  static_assert(kWatchWeightMax == WatchWeights::kWeightMax);
  count(Verb::watch);
  return simple(engine_.watch(client, command.tube, command.bound), ReplyCode::none);
}

Reply Dispatcher::set_draining(bool draining, ReplyCode code) {
  draining_ = draining;
  return {code};
}

}  // namespace haricot
