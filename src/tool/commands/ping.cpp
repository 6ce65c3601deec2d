// haricot ping: checks if a server answers.

#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "haricot/base/encoding.hpp"
#include "haricot/base/number.hpp"
#include "os/clock.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "ping", "[OPTIONS] [ADDRESS]",
    "Asks the server for its statistics. Prints that it answered, its software (haricotd or\n"
    "beanstalkd), its version, its uptime, and the time of the answer. haricotd has two\n"
    "versions: its own, and that of the beanstalkd that it replaces. With --writable, a server\n"
    "that refuses puts is a failure, too; with the limits, so is one that has a tube beyond them.\n"
    "--tube limits these to some tubes. For Nagios, a failure (1) is a warning, and a server that\n"
    "does not answer (3) is unknown.\n",
    "    haricot ping\n"
    "    haricot -a queue1,queue2 ping --writable\n"
    "    haricot ping --wait 30 --quiet                      # after a start\n"
    "    haricot ping --tube mail --max-oldest 5m --max-buried 100\n"};

constexpr int kRetryMs = 100;

std::optional<StatsText> ask(Remote& server) {
  bool is_there = false;
  if (!server.is_open() && !server.open()) return std::nullopt;
  return server.ask_stats("stats", is_there);
}

std::string text_of(const StatsText* stats, const char* key) {
  const std::string* value = stats->find(key);
  return value == nullptr ? "unknown" : *value;
}

// Returns the reason why the server accepts no jobs, from its statistics; empty if it accepts them.
std::string refusal_of(const StatsText& stats) {
  const auto is_set = [&stats](const char* key) { return stats.number(key).value_or(0) != 0; };
  if (text_of(&stats, "draining") == "true") return "it is in drain mode";
  if (is_set("binlog-no-space")) return "the disk of its binlog is full";
  if (is_set("binlog-refusing")) return "the disk of its binlog fails";
  if (is_set("memory-full")) return "it has reached --memory-max";
  return "";
}

struct Limits {
  std::optional<std::uint64_t> ready;
  std::optional<std::uint64_t> buried;
  std::optional<std::uint64_t> oldest_s;  // Time that a job may be ready.
  std::vector<std::string> tubes;         // Names or patterns; empty: all tubes.

  bool are_given() const { return ready || buried || oldest_s; }
};

// Returns the first tube beyond the limits and its number; empty if there is none. Returns nothing
// if the server failed.
std::optional<std::string> excess_of(Remote& server, const Limits& limits) {
  Sample sample;
  if (!take_sample(server, limits.tubes, sample)) return std::nullopt;
  if (limits.oldest_s && !take_times(server, sample)) return std::nullopt;
  const auto excess = [](const TubeStats& tube, std::uint64_t number,
                         const std::optional<std::uint64_t>& limit, const std::string& what) {
    if (!limit || number <= *limit) return std::string();
    return "tube " + safe_word(tube.name) + " has " + what + ": " + std::to_string(number) +
           ", more than " + std::to_string(*limit);
  };
  for (const TubeStats& tube : sample.tubes) {
    if (limits.oldest_s && !tube.times) return "the server does not report ages";
    for (const std::string& found : {excess(tube, tube.ready, limits.ready, "ready jobs"),
                                     excess(tube, tube.buried, limits.buried, "buried jobs"),
                                     excess(tube, tube.times ? tube.times->oldest_ready_s : 0,
                                            limits.oldest_s, "a job that is ready for seconds")}) {
      if (!found.empty()) return found;
    }
  }
  return "";
}

struct Choice {
  bool quiet = false;
  bool writable = false;
  Limits limits;
};

// The result of the checks beyond the answer.
struct Verdict {
  std::string refusal;  // Reason why the server accepts no jobs; empty: it does, or was not asked.
  std::string excess;   // See excess_of().

  bool is_good() const { return refusal.empty() && excess.empty(); }
};

std::string json_of(const Choice& choice, const Verdict& verdict) {
  std::string text;
  if (choice.writable) {
    text += verdict.refusal.empty() ? ",\"writable\":true" : ",\"writable\":false";
  }
  if (choice.limits.are_given()) {
    text += verdict.excess.empty() ? ",\"within_limits\":true" : ",\"within_limits\":false";
  }
  const std::string& reason = verdict.refusal.empty() ? verdict.excess : verdict.refusal;
  return reason.empty() ? text : text + ",\"reason\":" + json_string(reason);
}

// `more` are further members of the JSON.
void report(const Errand& errand, const std::string& address, const StatsText& stats, Duration time,
            const std::string& more) {
  char milliseconds[40];
  std::snprintf(milliseconds, sizeof milliseconds, "%.3f", static_cast<double>(time.count()) / 1e6);
  const std::string* ours = stats.find("haricot-version");
  const std::string draining = text_of(&stats, "draining");
  if (errand.json()) {
    print("{\"address\":" + json_string(address) +
          ",\"server\":" + json_string(server_kind(stats)) +
          ",\"version\":" + json_string(text_of(&stats, "version")) +
          (ours == nullptr ? "" : ",\"haricot-version\":" + json_string(*ours)) +
          ",\"uptime\":" + std::to_string(stats.number("uptime").value_or(0)) +
          ",\"draining\":" + (draining == "true" ? "true" : "false") +
          ",\"milliseconds\":" + milliseconds + more + "}\n");
  } else {
    print(safe_word(address) + " answers: " + server_words(stats) + ", up " +
          std::to_string(stats.number("uptime").value_or(0)) + " s, " + milliseconds + " ms" +
          (draining == "true" ? ", in drain mode" : "") + "\n");
  }
}

// Retries until the answer is good, or until `end`. Prints the result and returns the exit status.
int ping_one(const Errand& errand, Remote& server, const Choice& choice, Instant end) {
  while (true) {
    const Instant begin = os::read_clock();
    const std::optional<StatsText> stats = ask(server);
    const Duration time = os::read_clock() - begin;
    Verdict verdict;
    std::optional<std::string> excess = "";
    if (stats && choice.writable) verdict.refusal = refusal_of(*stats);
    if (stats && choice.limits.are_given()) excess = excess_of(server, choice.limits);
    if (excess) verdict.excess = *excess;
    const bool is_late = os::read_clock() >= end;
    if (stats && excess && (verdict.is_good() || is_late)) {
      const std::string address = safe_word(server.address().name());
      if (!choice.quiet) {
        report(errand, server.address().name(), *stats, time, json_of(choice, verdict));
      }
      if (verdict.is_good()) return errand.done();
      return errand.no(verdict.refusal.empty()
                           ? address + ": " + verdict.excess
                           : address + " accepts no new jobs: " + verdict.refusal);
    }
    if (is_late) return errand.failed(server);
    ::poll(nullptr, 0, kRetryMs);
  }
}

}  // namespace

int ping(Words words) {
  Errand errand(kText);
  std::uint64_t wait_ms = 0;
  Choice choice;
  errand.add({'w', "wait", "S", "retry for S seconds until the answer is good (0)",
              set_milliseconds(wait_ms, 0), kTimeWanted});
  errand.add({'q', "quiet", "", "print nothing if the server answers", set(choice.quiet)});
  errand.add(
      {'W', "writable", "", "also fail if the server accepts no new jobs", set(choice.writable)});
  const auto set_limit = [](std::optional<std::uint64_t>& to) {
    return [&to](std::string_view value) { return (to = read_number(value)).has_value(); };
  };
  constexpr std::string_view kNumberWanted = "a number of jobs";
  errand.add({0, "max-ready", "N", "also fail if a tube has more ready jobs",
              set_limit(choice.limits.ready), kNumberWanted});
  errand.add({0, "max-buried", "N", "also fail if a tube has more buried jobs",
              set_limit(choice.limits.buried), kNumberWanted});
  errand.add({0, "max-oldest", "TIME", "also fail if a job is ready for longer; requires haricotd",
              [&choice](std::string_view value) {
                return (choice.limits.oldest_s = read_seconds(value)).has_value();
              },
              kTimeWanted});
  add_pattern_flag(errand, choice.limits.tubes);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (errand.operands().size() > 1) return errand.mistake("more than one address");
  if (!errand.operands().empty()) errand.set_address(errand.operands().front());
  errand.allow_several();
  if (const std::optional<int> over = errand.find()) return *over;

  const Instant end = os::read_clock() + Duration::milliseconds(static_cast<std::int64_t>(wait_ms));
  int status = 0;
  std::size_t good = 0;
  for (Remote& server : errand.servers()) {
    const int of_this = ping_one(errand, server, choice, end);
    if (of_this == 0) ++good;
    if (status == 0) status = of_this;
  }
  const std::size_t all = errand.servers().size();
  if (all > 1 && !choice.quiet && !errand.json()) {
    print(std::to_string(good) + " of " + std::to_string(all) + " servers are good\n");
  }
  return errand.done(status);
}

}  // namespace haricot::tool
