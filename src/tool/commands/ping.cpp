// haricot ping: checks if a server answers.

#include <poll.h>

#include <cstdio>
#include <string>

#include "haricot/base/encoding.hpp"
#include "os/clock.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "ping", "[OPTIONS] [ADDRESS]",
    "Asks the server for its statistics. Prints that it answered, its software (haricotd or\n"
    "beanstalkd), its version, its uptime, and the time of the answer. haricotd has two\n"
    "versions: its own, and that of the beanstalkd that it replaces. With --writable, a server\n"
    "that refuses puts is a failure, too.\n",
    "    haricot ping\n"
    "    haricot -a queue1,queue2 ping --writable\n"
    "    haricot ping --wait 30 --quiet                      # after a start\n"};

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

std::string writable_json(const std::string* refusal) {
  if (refusal == nullptr) return "";
  if (refusal->empty()) return ",\"writable\":true";
  return ",\"writable\":false,\"reason\":" + json_string(*refusal);
}

// `refusal` is null without --writable.
void report(const Errand& errand, const std::string& address, const StatsText& stats, Duration time,
            const std::string* refusal) {
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
          ",\"milliseconds\":" + milliseconds + writable_json(refusal) + "}\n");
  } else {
    print(safe_word(address) + " answers: " + server_words(stats) + ", up " +
          std::to_string(stats.number("uptime").value_or(0)) + " s, " + milliseconds + " ms" +
          (draining == "true" ? ", in drain mode" : "") + "\n");
  }
}

struct Choice {
  bool quiet = false;
  bool writable = false;
};

// Retries until the answer is good, or until `end`. Prints the result and returns the exit status.
int ping_one(const Errand& errand, Remote& server, const Choice& choice, Instant end) {
  while (true) {
    const Instant begin = os::read_clock();
    const std::optional<StatsText> stats = ask(server);
    const Duration time = os::read_clock() - begin;
    const std::string refusal = stats && choice.writable ? refusal_of(*stats) : "";
    const bool is_over = stats ? refusal.empty() || os::read_clock() >= end : false;
    if (is_over) {
      const std::string& address = server.address().name();
      if (!choice.quiet) {
        report(errand, address, *stats, time, choice.writable ? &refusal : nullptr);
      }
      if (refusal.empty()) return errand.done();
      return errand.no(safe_word(address) + " accepts no new jobs: " + refusal);
    }
    if (os::read_clock() >= end) return errand.failed(server);
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
