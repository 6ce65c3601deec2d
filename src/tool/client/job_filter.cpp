#include "tool/client/job_filter.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "os/clock.hpp"
#include "tool/cli/clock_time.hpp"
#include "tool/client/json_object.hpp"
#include "tool/client/sample.hpp"

namespace haricot::tool {
namespace {

// Largest number of tubes that are scanned one by one. Beyond it, scanning all jobs costs less.
constexpr std::ptrdiff_t kScansMax = 16;

JobStates state_named(std::string_view name) {
  const auto found = std::find(std::begin(kJobStates), std::end(kJobStates), name);
  return found == std::end(kJobStates) ? 0U : 1U << (found - std::begin(kJobStates));
}

std::uint64_t id_of(const StatsText& job) {
  return job.number("id").value_or(0);
}

// Returns the number of jobs in the states by statistics of a tube or of the server.
std::uint64_t jobs_in(const StatsText& stats, JobStates states) {
  std::uint64_t jobs = 0;
  for (const std::string_view name : kJobStates) {
    if ((states & state_named(name)) == 0) continue;
    jobs += stats.number("current-jobs-" + std::string(name)).value_or(0);
  }
  return jobs;
}

std::uint64_t jobs_in(const TubeStats& tube, JobStates states) {
  return ((states & kReady) != 0 ? tube.ready : 0) +
         ((states & kReserved) != 0 ? tube.reserved : 0) +
         ((states & kDelayed) != 0 ? tube.delayed : 0) +
         ((states & kBuried) != 0 ? tube.buried : 0);
}

// Returns true if the lists of these states show all such jobs of the tube. Some servers cannot
// list reserved jobs.
bool is_short(const TubeStats& tube, JobStates states) {
  if ((states & kReserved) != 0) return false;
  const std::uint64_t longest = std::max({(states & kReady) != 0 ? tube.ready : 0,
                                          (states & kDelayed) != 0 ? tube.delayed : 0,
                                          (states & kBuried) != 0 ? tube.buried : 0});
  return longest <= kPageJobsMax;
}

// Returns true if `name` is the class or its last part: SendMail of App\Jobs\SendMail.
bool is_class(std::string_view name, std::string_view full) {
  if (!full.ends_with(name)) return false;
  return full.size() == name.size() ||
         std::string_view("\\.:/").find(full[full.size() - name.size() - 1]) !=
             std::string_view::npos;
}

}  // namespace

std::string names_of(JobStates states, std::string_view word) {
  std::string text;
  for (const std::string_view name : kJobStates) {
    const JobStates state = state_named(name);
    if ((states & state) == 0) continue;
    const bool is_last = states < 2 * state;
    if (!text.empty()) text += is_last ? " " + std::string(word) + " " : ", ";
    text += name;
  }
  return text;
}

std::string class_in(std::string_view body) {
  std::string error;
  const auto object = JsonObject::parse(body, error, JsonObject::Nested::skipped);
  if (!object) return {};
  for (const std::string_view name : {"displayName", "job", "class"}) {
    const JsonObject::Value* value = object->find(name);
    if (value != nullptr && value->kind == JsonObject::Value::Kind::string) return value->text;
  }
  return {};
}

std::string_view first_line_of(std::string_view note) {
  return note.substr(0, note.find_first_of("\r\n"));
}

// The filter --------------------------------------------------------------------------------------

void JobFilter::add_flags(Errand& errand, JobStates possible) {
  wanted_ = names_of(possible, "or");
  if (possible != kBuried) {
    errand.add({'s', "state", "STATE", "only jobs in this state",
                [this, possible](std::string_view value) {
                  states_ = state_named(value) & possible;
                  return states_ != 0;
                },
                wanted_});
  }
  errand.add({'m', "match", "TEXT", "only jobs with this text in the body", set(text_), "a text"});
  errand.add({0, "note", "TEXT", "only jobs with this text in the note", set(note_), "a text"});
  errand.add(
      {0, "class", "NAME", "only jobs of this class, by their JSON body", set(class_), "a name"});
  errand.add({0, "since", "TIME", "only jobs buried, or else put, since then", set_past(since_s_),
              kPastWanted});
  errand.add({0, "older", "TIME", "only jobs buried, or else put, before then", set_past(older_s_),
              kPastWanted});
}

bool JobFilter::has_more_than_state() const {
  return needs_body() || needs_note() || since_s_ || older_s_;
}

bool JobFilter::may_match(const StatsText& job, std::int64_t now_s) const {
  const std::string* state = job.find("state");
  if (states_ != 0 && (state == nullptr || state_named(*state) != states_)) return false;
  if (needs_note() && job.find("note") == nullptr) return false;
  if (!since_s_ && !older_s_) return true;
  const std::optional<std::uint64_t> buried_s = job.number("buried-ago");
  const std::uint64_t age_s = buried_s ? *buried_s : job.number("age").value_or(0);
  const std::int64_t at_s = now_s - static_cast<std::int64_t>(age_s);
  return (!since_s_ || at_s >= *since_s_) && (!older_s_ || at_s < *older_s_);
}

bool JobFilter::matches_body(std::string_view body) const {
  if (!class_.empty() && !is_class(class_, class_in(body))) return false;
  if (body.find(text_) != std::string_view::npos) return true;
  return body.find('\\') != std::string_view::npos &&
         without_json_escapes(body).find(text_) != std::string::npos;
}

// The search --------------------------------------------------------------------------------------

bool JobSearch::run(const std::vector<std::string>& tubes, const Take& take) {
  Remote& server = errand_.server();
  if (states_ == kAllStates) {
    for (const std::string& tube : tubes.empty() ? std::vector<std::string>{{}} : tubes) {
      bool is_there = false;
      const std::string command = tube.empty() ? "stats" : "stats-tube " + tube;
      const auto stats = server.ask_stats(command, is_there);
      if (!stats) return false;
      if (is_there) all_ += jobs_in(*stats, states_);
    }
    for (const std::string& tube : tubes) {
      if (!is_over_ && !scan(tube, take)) return false;
    }
    return !tubes.empty() || scan({}, take);
  }
  Sample sample;
  if (tubes.empty() && !take_sample(server, {}, sample)) return false;
  for (const std::string& tube : tubes) {
    const std::optional<Response> stats = server.ask("stats-tube " + tube, ReplyCode::ok);
    if (!stats) return false;
    std::optional<TubeStats> parsed;
    if (stats->code == ReplyCode::ok) parsed = tube_stats(tube, stats->body);
    if (parsed) sample.tubes.push_back(std::move(*parsed));
  }
  std::erase_if(sample.tubes,
                [this](const TubeStats& tube) { return jobs_in(tube, states_) == 0; });
  for (const TubeStats& tube : sample.tubes) all_ += jobs_in(tube, states_);
  const auto is_long = [this](const TubeStats& tube) { return !is_short(tube, states_); };
  const auto scans = std::count_if(sample.tubes.begin(), sample.tubes.end(), is_long);
  if (tubes.empty() && scans > kScansMax) return scan({}, take);
  for (const TubeStats& tube : sample.tubes) {
    if (is_over_) break;
    if (!(is_long(tube) ? scan(tube.name, take) : list(tube.name, take))) return false;
  }
  return true;
}

bool JobSearch::run_next(const std::string& tube, const Take& take, bool& is_there) {
  const std::string command = "list-jobs " + tube + " " + names_of(states_, "") + " ";
  const auto response = errand_.server().ask(command + std::to_string(page_), ReplyCode::ok);
  if (!response) return false;
  is_there = response->code == ReplyCode::ok;
  if (!is_there) return true;
  std::optional<JobPage> page = parse_job_page(response->body);
  if (page) return take_page(std::move(page->jobs), take);
  errand_.server().cannot_read(command);
  return false;
}

// Searches all jobs of the server, or of a tube, in the order of their ids. scan-jobs accepts a
// state only after a tube.
bool JobSearch::scan(const std::string& tube, const Take& take) {
  std::string more = tube.empty() ? "" : " " + tube;
  const std::string state = names_of(states_, "or");
  if (!tube.empty() && state_named(state) != 0) more += " " + state;
  for (std::uint64_t from = from_; from != 0 && !is_over_;) {
    const std::string command =
        "scan-jobs " + std::to_string(from) + " " + std::to_string(page_) + more;
    const std::optional<Response> response = errand_.server().ask(command, ReplyCode::ok);
    if (!response) return false;
    std::optional<JobPage> page;
    if (response->code == ReplyCode::ok) page = parse_job_page(response->body);
    if (!page) {
      errand_.server().cannot_read(command);
      return false;
    }
    from = page->next;
    if (!take_page(std::move(page->jobs), take)) return false;
  }
  return true;
}

// Searches all jobs of a tube in the states, each of which has at most kPageJobsMax.
bool JobSearch::list(const std::string& tube, const Take& take) {
  std::vector<StatsText> jobs;
  for (const std::string_view state : kJobStates) {
    if ((states_ & state_named(state)) == 0) continue;
    const std::string command =
        "list-jobs " + tube + " " + std::string(state) + " " + std::to_string(kPageJobsMax);
    const std::optional<Response> response = errand_.server().ask(command, ReplyCode::ok);
    if (!response) return false;
    if (response->code == ReplyCode::not_found) break;  // The tube was deleted meanwhile.
    std::optional<JobPage> page = parse_job_page(response->body);
    if (!page) {
      errand_.server().cannot_read(command);
      return false;
    }
    jobs.insert(jobs.end(), std::move_iterator(page->jobs.begin()),
                std::move_iterator(page->jobs.end()));
  }
  const auto by_id = [](const StatsText& a, const StatsText& b) { return id_of(a) < id_of(b); };
  std::stable_sort(jobs.begin(), jobs.end(), by_id);
  // A job that changed its state meanwhile may be in two lists.
  const auto is_same = [](const StatsText& a, const StatsText& b) { return id_of(a) == id_of(b); };
  jobs.erase(std::unique(jobs.begin(), jobs.end(), is_same), jobs.end());
  return take_page(std::move(jobs), take);
}

bool JobSearch::take_page(std::vector<StatsText> jobs, const Take& take) {
  searched_ += jobs.size();
  progress_.show(os::read_clock(), searched_, std::max(all_, searched_));
  const std::int64_t now_s = clock_now_s();
  std::erase_if(jobs, [&](const StatsText& job) {
    const std::string* state = job.find("state");
    const bool is_other = state == nullptr || (state_named(*state) & states_) == 0;
    return id_of(job) < from_ || is_other || !filter_.may_match(job, now_s);
  });
  if (!keep_matches(jobs)) return false;
  if (!take(jobs)) is_over_ = true;
  return true;
}

// Keeps the jobs whose note and body match. Returns false if the server failed.
bool JobSearch::keep_matches(std::vector<StatsText>& jobs) {
  using Ask = bool (*)(Remote&, std::span<StatsText>, const TakeText&);
  const auto keep = [&](Ask ask, const std::function<bool(std::string_view)>& is_match) {
    std::vector<StatsText> matching;
    const auto take = [&](StatsText& job, std::string_view text) {
      if (is_match(text)) matching.push_back(std::move(job));
    };
    for (std::size_t begin = 0; begin < jobs.size(); begin += kTextsAtOnce) {
      const std::size_t count = std::min(kTextsAtOnce, jobs.size() - begin);
      if (!ask(errand_.server(), std::span(jobs).subspan(begin, count), take)) return false;
    }
    jobs = std::move(matching);
    return true;
  };
  if (filter_.needs_note() &&
      !keep(ask_notes, [this](std::string_view note) { return filter_.matches_note(note); })) {
    return false;
  }
  return !filter_.needs_body() ||
         keep(ask_bodies, [this](std::string_view body) { return filter_.matches_body(body); });
}

}  // namespace haricot::tool
