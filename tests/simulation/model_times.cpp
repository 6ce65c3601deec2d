#include <algorithm>
#include <bit>
#include <string>

#include "haricot/base/sip_hash.hpp"
#include "mismatch.hpp"
#include "model.hpp"

// Times that jobs wait and are worked on, for stats-tube-detail and stats-tubes. The model keeps
// the instants themselves, and rounds them like the server only in reports.

namespace haricot::simulation {
namespace {

constexpr std::int64_t kPeriod = 300'000'000'000;
constexpr std::uint32_t kBuckets = 77;      // Buckets of one period.
constexpr std::size_t kReadyScanned = 256;  // Larger numbers are counted by windows.
constexpr std::int64_t kWindows = 16;       // Windows of each width.
constexpr std::uint32_t kWindowBits = 30;   // The smallest is 2^30 ns.

// The server keeps 27 bits of the time between the put and the moment of becoming ready, in units
// of 2^12 ns.
Instant kept(const ModelJob& job) {
  const std::int64_t nanoseconds = job.since.count() - job.created.count();
  if (nanoseconds <= 0) return job.created;
  std::int64_t unit = 4096;
  while (nanoseconds / unit >= 1 << 27) unit *= 2;
  return Instant::at(job.created.count() + nanoseconds / unit * unit);
}

// Boundaries of buckets, in 16ths of 2^22 ns; those below are 2^20 ns wide.
std::uint32_t bucket_of(std::int64_t nanoseconds) {
  if (nanoseconds <= 0) return 0;
  std::uint32_t bucket = 4;
  std::int64_t power = 1 << 22;
  if (nanoseconds < power) return static_cast<std::uint32_t>(nanoseconds >> 20);
  for (; nanoseconds / power >= 2; power *= 2) bucket += 4;
  const std::int64_t sixteenths = nanoseconds / (power / 16);
  for (const std::int64_t begin : {19, 23, 27}) bucket += sixteenths >= begin ? 1 : 0;
  return bucket;
}

std::uint64_t told_as_ms(std::uint32_t bucket) {
  if (bucket < 4) return bucket == 0 ? 0 : bucket + 1;
  const std::uint64_t hundredths[] = {1737, 2081, 2484, 2929};
  const std::uint64_t sixteenth = std::uint64_t{1} << (18 + (bucket - 4) / 4);
  return (sixteenth / 100 * hundredths[bucket % 4] + 500'000) / 1'000'000;
}

// The lowest buckets are joined if the highest is too far from them.
std::map<std::uint32_t, std::uint64_t> as_kept(const ModelPeriod& period) {
  std::map<std::uint32_t, std::uint64_t> lengths;
  if (period.lengths.empty()) return lengths;
  const std::uint32_t last = period.lengths.rbegin()->first;
  const std::uint32_t first = last < kBuckets ? 0 : last - (kBuckets - 1);
  for (const auto& [bucket, count] : period.lengths) lengths[std::max(bucket, first)] += count;
  return lengths;
}

// The counts of a period that is over have eight bits; remainders go to the next bucket.
std::map<std::uint32_t, std::uint64_t> as_kept_later(const ModelPeriod& period) {
  std::map<std::uint32_t, std::uint64_t> lengths = as_kept(period);
  std::uint64_t largest = 0;
  for (const auto& [bucket, count] : lengths) largest = std::max(largest, count);
  std::uint64_t part = 1;
  while (largest / part >= 255) part *= 2;
  std::uint64_t rest = 0;
  for (auto& [bucket, count] : lengths) {
    rest += count;
    count = rest / part * part;
    rest %= part;
  }
  return lengths;
}

std::string summary(const ModelTimes& times, const std::string& name, Instant now) {
  const std::int64_t period = now.count() / kPeriod;
  std::map<std::uint32_t, std::uint64_t> lengths;
  std::uint32_t longest = 0;
  for (const ModelPeriod* p : {&times.now, &times.before}) {
    if (p->number < period - 1 || p->lengths.empty()) continue;
    for (const auto& [bucket, count] : p->number == period ? as_kept(*p) : as_kept_later(*p)) {
      lengths[bucket] += count;
    }
    longest = std::max(longest, p->lengths.rbegin()->first);
  }
  std::uint64_t total = 0;
  for (const auto& [bucket, count] : lengths) total += count;
  const auto at_rank = [&](std::uint64_t rank) {
    std::uint64_t sum = 0;
    for (const auto& [bucket, count] : lengths) {
      sum += count;
      if (sum >= rank) return told_as_ms(bucket);
    }
    return std::uint64_t{0};
  };
  const bool is_empty = total == 0;
  const auto row = [&name](const char* key, std::uint64_t value) {
    return name + key + std::to_string(value) + "\n";
  };
  return row("-p50: ", is_empty ? 0 : at_rank((total + 1) / 2)) +
         row("-p99: ", is_empty ? 0 : at_rank(total - total / 100)) +
         row("-max: ", is_empty ? 0 : told_as_ms(longest));
}

// Sort key of pages: the hash, read from its last bit on, and then the name.
std::pair<std::string, std::string> place_of(const std::string& tube) {
  std::string digits;
  for (std::uint64_t hash = hash_of(HashKey{}, tube), i = 0; i < 64; ++i, hash /= 2) {
    digits += hash % 2 == 1 ? '1' : '0';
  }
  return {digits, tube};
}

// Indents each line of a list item except the first.
std::string as_item(const std::string& rows) {
  std::string item = "- ";
  for (const char c : rows) {
    if (item.back() == '\n') item += "  ";
    item += c;
  }
  return item;
}

}  // namespace

void Model::begin_ready(ModelJob& job, Instant now) {
  end_hold(job);
  job.state = JobState::ready;
  job.since = now;
  job.since = kept(job);
}

void Model::count_worked(const ModelJob& job, Instant now) {
  if (job.state != JobState::reserved) return;
  add_length(find_tube(job.tube)->worked, now.count() - job.since.count(), now);
}

void Model::add_length(ModelTimes& times, std::int64_t nanoseconds, Instant now) {
  const std::int64_t period = now.count() / kPeriod;
  if (times.now.number != period) {
    times.before = times.now;
    times.now = {.number = period};
  }
  ++times.now.lengths[bucket_of(nanoseconds)];
}

// Buried jobs ------------------------------------------------------------------------------------

void Model::begin_buried(ModelJob& job, BurialCause cause, Instant now) {
  bury_waited_for(job);
  job.state = JobState::buried;
  job.burial = ++burials_;
  job.burial_cause = cause;
  job.since = now;
  settle_group(job.group);
  const bool has_group_tags = !job.group.empty() || !job.after.empty();
  if (has_group_tags && !ended_groups_.empty()) refused_again_ = std::min(refused_again_, now);
}

// Reports ----------------------------------------------------------------------------------------

std::uint64_t Model::oldest_ready_s(const std::string& tube, Instant now) const {
  std::size_t ready = 0;
  Instant oldest = now;
  for (const auto& [id, job] : jobs_) {
    if (job.state != JobState::ready || job.flush != 0 || job.tube != tube) continue;
    ++ready;
    oldest = std::min(oldest, job.since);
  }
  if (ready <= kReadyScanned) return (now - oldest).whole_seconds();
  // The narrowest window around it that is among the last sixteen.
  std::uint32_t bits = kWindowBits;
  while ((now.count() >> bits) - (oldest.count() >> bits) >= kWindows) ++bits;
  const std::int64_t middle = (oldest.count() >> bits << bits) + (std::int64_t{1} << (bits - 1));
  return (now - Instant::at(middle)).whole_seconds();
}

// The server keeps 29 bits of the seconds. The last 2^20 of their values are times in the future.
std::uint64_t Model::buried_s(const ModelJob& job, Instant now) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  const std::int64_t seconds = now.count() / kPerSecond - job.since.count() / kPerSecond;
  const std::uint64_t kept = static_cast<std::uint64_t>(seconds) % (std::uint64_t{1} << 29);
  return kept < (std::uint64_t{1} << 29) - (std::uint64_t{1} << 20) ? kept : 0;
}

std::uint64_t Model::oldest_buried_s(const std::string& tube, Instant now) const {
  const ModelJob* first = nullptr;
  for (const auto& [id, job] : jobs_) {
    if (job.state != JobState::buried || job.flush != 0 || job.tube != tube) continue;
    if (first == nullptr || job.burial < first->burial) first = &job;
  }
  return first == nullptr ? 0 : buried_s(*first, now);
}

std::string Model::tube_detail(const std::string& name, Instant now) {
  ModelTube& tube = *find_tube(name);
  const std::string rule = rule_of(name);
  return "age-oldest-ready: " + std::to_string(oldest_ready_s(name, now)) + "\n" +
         "age-oldest-buried: " + std::to_string(oldest_buried_s(name, now)) + "\n" +
         summary(tube.queued, "queue-time", now) + summary(tube.worked, "work-time", now) +
         "buried-by-tries: " + std::to_string(tube.buried_by_tries) + "\n" +
         "current-jobs-blocked: " + std::to_string(blocked_jobs(name)) + "\n" +
         (rule.empty() ? "" : "rule: " + quoted(rule) + "\n");
}

std::string Model::stats_tube_detail(const std::string& name, Instant now) {
  if (find_tube(name) == nullptr) return kNotFound;
  const std::string text = "---\n" + tube_detail(name, now);
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string Model::stats_tubes(const Request& request, Instant now) {
  std::vector<std::string> names;
  for (const ModelTube& tube : tubes_) {
    const bool is_after = request.tube == "*" || place_of(tube.name) >= place_of(request.tube);
    if (is_after) names.push_back(tube.name);
  }
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return place_of(a) < place_of(b); });
  const std::size_t shown = std::min<std::size_t>(names.size(), request.bound);
  std::string text = "---\nnext: \"" + (shown < names.size() ? names[shown] : "*") + "\"\n";
  text += shown == 0 ? "tubes: []\n" : "tubes:\n";
  for (std::size_t i = 0; i < shown; ++i) {
    text += as_item(tube_rows(names[i], now).substr(4) + tube_detail(names[i], now));
  }
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string Model::pause(const Request& request, Instant now) {
  ModelTube* tube = find_tube(request.tube);
  if (tube == nullptr) return kNotFound;
  ++tube->pauses;
  tube->paused = request.seconds > 0;
  tube->pause_s = request.seconds;
  tube->pause_end = now + Duration::seconds(request.seconds);
  offer(request.tube, now);
  return "PAUSED\r\n";
}

}  // namespace haricot::simulation
