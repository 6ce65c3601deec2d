#include "job_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

// Number of commands that are sent at once.
constexpr std::uint64_t kBatch = 500;

JobFacts facts_from(const std::string& report, const std::string& found) {
  JobFacts facts;
  facts.id = report_number(report, "id");
  facts.tube = report_value(report, "tube");
  facts.state = report_value(report, "state");
  facts.priority = report_number(report, "pri");
  facts.delay = report_number(report, "delay");
  facts.ttr = report_number(report, "ttr");
  facts.age = report_number(report, "age");
  facts.time_left = report_number(report, "time-left");
  facts.file = report_number(report, "file");
  std::size_t at = 0;
  for (const char* key : {"reserves", "timeouts", "releases", "buries", "kicks"}) {
    facts.counters[at++] = report_number(report, key);
  }
  EXPECT_TRUE(found.starts_with("FOUND ")) << found;
  const std::size_t body = found.find("\r\n") + 2;
  facts.body = found.substr(body, found.size() - body - 2);
  return facts;
}

// The range of whole seconds by which a time may have changed, and a second of tolerance, because
// servers store times in different units.
struct Seconds {
  Seconds(const Moment& before, const Moment& after) {
    constexpr std::int64_t kRounding = 1;
    using std::chrono::seconds;
    const auto least = std::chrono::floor<seconds>(after.begin - before.end).count() - kRounding;
    const auto most = std::chrono::ceil<seconds>(after.end - before.begin).count() + kRounding;
    low = static_cast<std::uint64_t>(std::max<std::int64_t>(least, 0));
    high = static_cast<std::uint64_t>(most);
  }
  // Returns true if a growing time may have changed from `from` to `to`.
  bool fit(std::uint64_t from, std::uint64_t to) const {
    return from + low <= to && to <= from + high;
  }
  // Returns true if a time that decreases to 0 may have changed from `from` to `to`.
  bool fit_less(std::uint64_t from, std::uint64_t to) const {
    return from - std::min(from, high) <= to && to <= from - std::min(from, low);
  }
  std::string text() const {
    return " after " + std::to_string(low) + " to " + std::to_string(high) + " s";
  }

  std::uint64_t low;
  std::uint64_t high;
};

bool is_near(std::uint64_t a, std::uint64_t b, std::uint64_t most) {
  return std::max(a, b) - std::min(a, b) <= most;
}

std::string differences(const JobFacts& before, const JobFacts& after, Allowance allowed) {
  std::string text;
  const auto compare = [&](const char* what, const auto& was, const auto& is) {
    if (was == is) return;
    if constexpr (std::is_integral_v<std::decay_t<decltype(was)>>) {
      text += std::string(" ") + what + " " + std::to_string(was) + " -> " + std::to_string(is);
    } else {
      text += std::string(" ") + what + " " + escaped(was) + " -> " + escaped(is);
    }
  };
  compare("tube", before.tube, after.tube);
  compare("body", before.body, after.body);
  compare("state", before.state, after.state);
  compare("priority", before.priority, after.priority);
  compare("delay", before.delay, after.delay);
  compare("ttr", before.ttr, after.ttr);
  for (std::size_t i = 0; i < before.counters.size(); ++i) {
    static constexpr const char* kNames[] = {"reserves", "timeouts", "releases", "buries", "kicks"};
    constexpr std::size_t kBuries = 3;
    const bool is_allowed = i == kBuries && allowed.beanstalkd_counted && after.state == "buried" &&
                            is_near(before.counters[i], after.counters[i], 1);
    if (!is_allowed) compare(kNames[i], before.counters[i], after.counters[i]);
  }
  const Seconds gone_by(before.seen, after.seen);
  if (!gone_by.fit(before.age, after.age)) {
    compare("age", before.age, after.age);
    text += gone_by.text();
  }
  if (!gone_by.fit_less(before.time_left, after.time_left)) {
    compare("time left", before.time_left, after.time_left);
    text += gone_by.text();
  }
  return text;
}

}  // namespace

Jobs read_jobs(WireClient& client, std::uint64_t highest) {
  Jobs jobs;
  for (std::uint64_t first = 1; first <= highest; first += kBatch) {
    const std::uint64_t last = std::min(highest, first + kBatch - 1);
    const Moment asked;
    std::string questions;
    for (std::uint64_t id = first; id <= last; ++id) {
      const std::string number = std::to_string(id);
      questions += "stats-job " + number + "\r\npeek " + number + "\r\n";
    }
    client.send(questions);
    for (std::uint64_t id = first; id <= last; ++id) {
      const auto report = client.read_answer();
      const auto found = client.read_answer();
      if (!report || !found) {
        ADD_FAILURE() << "no answer about job " << id << ": " << client.failure();
        return jobs;
      }
      if (*report == "NOT_FOUND\r\n" && *found == "NOT_FOUND\r\n") continue;
      jobs[id] = facts_from(*report, *found);
      jobs[id].seen.begin = asked.begin;
      EXPECT_EQ(jobs[id].id, id);
    }
  }
  return jobs;
}

std::string differences(const Jobs& before, const Jobs& after, Allowance allowed) {
  std::string text;
  for (const auto& [id, facts] : before) {
    const auto other = after.find(id);
    const std::string name = "job " + std::to_string(id) + ":";
    if (other == after.end()) {
      text += name + " is gone\n";
      continue;
    }
    const std::string changed = differences(facts, other->second, allowed);
    if (!changed.empty()) text += name + changed + "\n";
  }
  for (const auto& [id, facts] : after) {
    if (!before.contains(id)) text += "job " + std::to_string(id) + ": was not there\n";
  }
  return text;
}

std::uint64_t inserted_id(const std::string& answer) {
  constexpr std::string_view kWord = "INSERTED ";
  return answer.starts_with(kWord) ? std::strtoull(answer.c_str() + kWord.size(), nullptr, 10) : 0;
}

}  // namespace haricot::test
