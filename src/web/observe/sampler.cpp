#include "web/observe/sampler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "haricot/base/number.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::web {
namespace {

// Tubes of a page, about 60 KB. Server and program handle it in a fraction of a millisecond.
constexpr std::string_view kTubesOfPage = "50";
constexpr std::string_view kPages = "stats-tubes";
constexpr std::size_t kPageBytesMax = 1024 * 1024;
constexpr std::size_t kListBytesMax = 24 * 1024 * 1024;
// Time limit for an answer.
constexpr Duration kPatience = Duration::seconds(5);

// Requires: before <= now.
std::optional<double> rate_of(std::uint64_t before, std::uint64_t now, double seconds) {
  if (seconds <= 0) return std::nullopt;
  return static_cast<double>(now - before) / seconds;
}

// Returns the time of the next sample: sampling takes at most a tenth of the time.
Instant due_again(Instant began, Instant ended, Duration interval) {
  const Duration rest = Duration::nanoseconds((ended - began).count() * 9);
  return std::max(began + interval, ended + rest);
}

}  // namespace

void Facts::go_down(std::string reason, Instant now) {
  if (state != ServerState::down) since = now;
  state = ServerState::down;
  error = std::move(reason);
  rates = {};
}

bool Facts::is_haricot() const {
  return sample && sample->server.find("haricot-version") != nullptr;
}

bool Facts::can(std::string_view word) const {
  return std::find(capabilities.begin(), capabilities.end(), word) != capabilities.end();
}

bool Facts::has_reserve_job() const {
  if (!capabilities.empty()) return true;
  const std::string* version = sample ? sample->server.find("version") : nullptr;
  if (version == nullptr) return false;
  std::string_view text = *version;
  const std::optional<std::uint64_t> major = take_number(text);
  if (!major || !text.starts_with('.')) return false;
  text.remove_prefix(1);
  const std::uint64_t minor = take_number(text).value_or(0);
  return *major > 1 || (*major == 1 && minor >= 12);
}

std::string Facts::software() const {
  if (!sample) return {};
  const std::string* ours = sample->server.find("haricot-version");
  if (ours != nullptr) return "haricot " + *ours;
  const std::string* version = sample->server.find("version");
  return version == nullptr ? std::string() : "beanstalkd " + *version;
}

bool Facts::is_refusing() const {
  if (!sample) return false;
  const tool::StatsText& stats = sample->server;
  return stats.is_true("binlog-refusing") || stats.is_true("binlog-no-space") ||
         stats.is_true("memory-full");
}

std::string process_of(const tool::StatsText& stats) {
  std::string text;
  for (const char* key : {"id", "pid"}) {
    const std::string* value = stats.find(key);
    text += value == nullptr ? "-" : *value;
    text += ' ';
  }
  return text;
}

// Sampler -----------------------------------------------------------------------------------------

bool Sampler::wants_tubes(Instant now) const {
  return facts_.state == ServerState::up && (facts_.can(kPages) || has_demand(now));
}

bool Sampler::keeps_tubes(Instant now) const {
  return facts_.can(kPages) || now < demanded_ + kTubesKeptFor;
}

Instant Sampler::tubes_due(Instant now) const {
  return due_again(tubes_began_, tubes_ended_, has_demand(now) ? options_.interval : kIdleInterval);
}

Sampler::Sampler(tool::Pipeline& pipeline, Facts& facts, const SamplerOptions& options)
    : pipeline_(pipeline),
      facts_(facts),
      options_(options),
      capabilities_request_(request<&Sampler::take_capabilities>(kStatsBytesMax)),
      stats_request_(request<&Sampler::take_stats>(kStatsBytesMax)),
      page_request_(request<&Sampler::take_page>(kPageBytesMax)),
      list_request_(request<&Sampler::take_list>(kListBytesMax)),
      tubes_request_(request<&Sampler::take_tube>(kPageBytesMax)) {
  capabilities_request_.commands = "capabilities\r\n";
  stats_request_.commands = "stats\r\n";
  list_request_.commands = "list-tubes\r\n";
}

// Returns a request whose answers the method takes.
template <void (Sampler::*kMethod)(const tool::Answer& answer)>
tool::Request Sampler::request(std::uint64_t body_bytes_max) {
  const auto take = [](void* self, tool::Request& /*request*/, const tool::Answer* answer) {
    auto& sampler = *static_cast<Sampler*>(self);
    if (answer == nullptr) return;  // The connection is lost, so stop() follows.
    sampler.now_ = std::max(sampler.now_, sampler.pipeline_.received());
    (sampler.*kMethod)(*answer);
  };
  return {.take = {take, this}, .patience = kPatience, .body_bytes_max = body_bytes_max};
}

void Sampler::restart(Instant now) {
  now_ = now;
  is_running_ = true;
  is_asking_stats_ = false;
  stats_due_ = now;
  tubes_began_ = tubes_ended_ = Instant::at(std::numeric_limits<std::int64_t>::min());  // Due now.
  building_.reset();
  pipeline_.ask(capabilities_request_);
  ask_stats();
}

void Sampler::stop() {
  is_running_ = false;
  building_.reset();
  before_.reset();
}

void Sampler::demand_tubes(Instant now) {
  demanded_ = now;
  was_demanded_ = true;
}

Instant Sampler::next_event() const {
  if (!is_running_) return Instant::never();
  Instant next = is_asking_stats_ ? stats_asked_ + kStatsPatience : stats_due_;
  if (is_asking_stats_ && facts_.state == ServerState::down) next = Instant::never();
  if (!building_ && wants_tubes(now_)) next = std::min(next, tubes_due(now_));
  if (facts_.tubes != nullptr && !facts_.can(kPages)) {
    next = std::min(next, demanded_ + kTubesKeptFor);
  }
  return next;
}

void Sampler::advance(Instant now) {
  now_ = now;
  if (facts_.tubes != nullptr && !keeps_tubes(now)) facts_.tubes.reset();
  if (!is_running_) return;
  if (!is_asking_stats_ && now >= stats_due_) ask_stats();
  if (is_asking_stats_ && facts_.state != ServerState::down &&
      now >= stats_asked_ + kStatsPatience) {
    facts_.go_down("the server did not send its statistics in time", now);
  }
  if (!building_ && wants_tubes(now) && now >= tubes_due(now)) begin_tubes();
}

void Sampler::ask_stats() {
  is_asking_stats_ = true;
  stats_asked_ = now_;
  pipeline_.ask(stats_request_);
}

void Sampler::take_capabilities(const tool::Answer& answer) {
  facts_.capabilities.clear();
  if (answer.code != ReplyCode::ok) return;
  facts_.capabilities = tool::parse_list(answer.body).value_or(std::vector<std::string>{});
}

void Sampler::take_stats(const tool::Answer& answer) {
  is_asking_stats_ = false;
  stats_due_ = due_again(stats_asked_, now_, options_.interval);
  if (answer.body_bytes > kStatsBytesMax)
    return facts_.go_down("the statistics are too long", now_);
  std::optional<tool::StatsText> stats = tool::StatsText::parse(answer.body);
  if (answer.code != ReplyCode::ok || !stats) {
    return facts_.go_down("the server does not report statistics", now_);
  }
  tool::Sample sample{.at = now_, .server = std::move(*stats), .tubes = {}};
  facts_.rates = {};
  if (facts_.sample) facts_.rates = tool::rates_between(*facts_.sample, sample);
  // A new server process may have taken over the connection, with other commands.
  const bool is_up = facts_.state == ServerState::up;
  if (is_up && process_of(facts_.sample->server) != process_of(sample.server)) {
    pipeline_.ask(capabilities_request_);
  }
  facts_.sample = std::move(sample);
  if (facts_.state != ServerState::up) facts_.since = now_;
  facts_.state = ServerState::up;
  facts_.error.clear();
  ++samples_;
}

// Tubes -------------------------------------------------------------------------------------------

void Sampler::begin_tubes() {
  building_ = std::make_shared<TubeSample>(options_.key);
  building_->began = now_;
  pages_ = 0;
  facts_.warning.clear();
  building_->process = process_of(facts_.sample->server);
  building_->has_details = facts_.can(kPages);
  before_ = facts_.tubes;
  if (before_ && before_->process != building_->process) before_.reset();
  seconds_ = before_ ? static_cast<double>((now_ - before_->began).count()) / 1e9 : 0;
  if (facts_.tubes) {
    const TubeRows& rows = facts_.tubes->rows;
    building_->rows.reserve(rows.size() + rows.size() / 32 + 16,
                            rows.bytes() + rows.bytes() / 32 + 512);
  }
  // Without a previous sample, increments are unknown, so the counters start again.
  if (!facts_.tubes) facts_.labels.clear();
  facts_.labels.resize(options_.labels.names().size());
  names_.clear();
  names_read_ = 0;
  next_ = "*";
  if (building_->has_details) {
    ask_page();
    return;
  }
  pipeline_.ask(list_request_);
}

void Sampler::ask_page() {
  page_command_ = kPages;
  page_command_ += ' ';
  page_command_ += next_;
  page_command_ += ' ';
  page_command_ += kTubesOfPage;
  page_command_ += "\r\n";
  page_request_.commands = page_command_;
  pipeline_.ask(page_request_);
}

void Sampler::take_page(const tool::Answer& answer) {
  const bool is_good = answer.code == ReplyCode::ok &&
                       read_tubes_page(answer.body, next_, [this](TubeRow& row) { add(row); });
  ++pages_;
  if (!is_good || answer.body_bytes > kPageBytesMax) {
    abort_tubes();
  } else if (next_.empty() || is_too_much()) {
    finish_tubes();
  } else {
    ask_page();
  }
}

void Sampler::take_list(const tool::Answer& answer) {
  if (answer.code != ReplyCode::ok || !answer.body.starts_with(tool::kYamlBegin)) {
    abort_tubes();
    return;
  }
  if (answer.body_bytes > kListBytesMax) {
    facts_.warning = "the list of tubes is too long";
    abort_tubes();
    return;
  }
  names_ = answer.body;
  names_read_ = tool::kYamlBegin.size();
  ask_some();
}

// Asks for the next tubes of the list.
void Sampler::ask_some() {
  tubes_asked_.clear();
  tubes_commands_.clear();
  while (tubes_asked_.size() < kTubesAtOnce && names_read_ < names_.size() && !is_too_much()) {
    const std::size_t end = std::min(names_.find('\n', names_read_), names_.size());
    std::string_view name = std::string_view(names_).substr(names_read_, end - names_read_);
    names_read_ = end + 1;
    if (name.starts_with("- ")) name.remove_prefix(2);
    if (!tool::can_be_asked_for(name)) continue;
    tubes_asked_.push_back(name);
    tubes_commands_ += "stats-tube ";
    tubes_commands_ += name;
    tubes_commands_ += "\r\n";
  }
  if (tubes_asked_.empty()) return finish_tubes();
  tubes_request_.commands = tubes_commands_;
  tubes_request_.answers = tubes_asked_.size();
  pipeline_.ask(tubes_request_);
}

// Returns true and sets the warning if the sample exceeds a bound.
bool Sampler::is_too_much() {
  const TubeRows& rows = building_->rows;
  if (rows.size() < kTubesMax && rows.bytes() < kTubeBytesMax && pages_ < kPagesMax) return false;
  facts_.warning = "too many tubes: only " + std::to_string(rows.size()) + " are shown";
  return true;
}

void Sampler::take_tube(const tool::Answer& answer) {
  TubeRow row;
  row.name = tubes_asked_[tubes_request_.answered];
  // Skips tubes that were deleted meanwhile.
  if (answer.code == ReplyCode::ok && read_tube(answer.body, row)) add(row);
  if (!tubes_request_.is_pending()) ask_some();
}

void Sampler::add(TubeRow& row) {
  // A page that begins at a deleted tube may repeat a tube.
  if (building_->rows.find(row.name)) return;
  const std::optional<std::size_t> found =
      before_ ? before_->rows.find(row.name) : std::optional<std::size_t>();
  TubeRow old;
  if (found) old = before_->rows.at(*found);
  // If a counter went back, this is another tube with the same name.
  const bool is_same = found && row[TubeField::puts] >= old[TubeField::puts] &&
                       row[TubeField::deletes] >= old[TubeField::deletes];
  if (is_same) {
    row.put_rate = rate_of(old[TubeField::puts], row[TubeField::puts], seconds_);
    row.delete_rate = rate_of(old[TubeField::deletes], row[TubeField::deletes], seconds_);
  }
  row.label = found ? old.label : options_.labels.label_of(row.name);
  if (row.label != 0) {
    const TubeRow nothing;
    const TubeRow& from = is_same ? old : nothing;
    LabelCounts& counts = facts_.labels[row.label - 1U];
    counts.puts += row[TubeField::puts] - from[TubeField::puts];
    counts.deletes += row[TubeField::deletes] - from[TubeField::deletes];
    counts.pauses +=
        row[TubeField::pauses] - std::min(from[TubeField::pauses], row[TubeField::pauses]);
  }
  if (row.paused_s() > 0) ++building_->paused;
  building_->rows.add(row);
}

void Sampler::finish_tubes() {
  if (!building_) return;
  building_->at = now_;
  building_->rows.shrink();
  tubes_began_ = building_->began;
  tubes_ended_ = now_;
  facts_.tubes = std::move(building_);
  building_.reset();
  before_.reset();
  names_ = {};
}

void Sampler::abort_tubes() {
  tubes_began_ = building_->began;
  tubes_ended_ = now_;
  building_.reset();
  before_.reset();
  names_ = {};
}

}  // namespace haricot::web
