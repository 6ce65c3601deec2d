// Runs seeds one after another, and reports their results.
//
//   simulate [--runs N] [--commands N] [--seconds N] [--hand-overs 1] [--groups 1]
//
// HARICOT_SEED=S runs only that seed. A failed run prints the command that repeats it.

#include <array>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "haricot/protocol/command.hpp"
#include "mismatch.hpp"
#include "simulation.hpp"
#include "support/random.hpp"

namespace {

using haricot::simulation::Leaning;
using haricot::simulation::Mismatch;
using haricot::simulation::Simulation;

struct Options {
  std::uint64_t runs = 50;
  std::uint64_t commands = 20'000;  // Per run.
  std::uint64_t seconds = 0;        // Not 0: runs until the time is over.
  Leaning leaning;
  std::uint64_t series = 0;           // Determines the seeds; 0: new ones.
  std::optional<std::uint64_t> seed;  // Seed of the only run.
};

// Current run, for the message of a CHECK.
const Simulation* g_current = nullptr;
std::uint64_t g_seed = 0;
std::uint64_t g_commands = 0;
Leaning g_leaning;
const char* g_program = "simulate";

void tell_failure(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  if (g_current != nullptr) {
    std::fprintf(stderr, "seed %" PRIu64 ", step %" PRIu64 ", after:\n%s", g_seed,
                 g_current->steps(), g_current->last_events().c_str());
  }
  std::fprintf(stderr, "to repeat it: HARICOT_SEED=%" PRIu64 " %s --commands %" PRIu64 "%s%s\n",
               g_seed, g_program, g_commands, g_leaning.hands_over ? " --hand-overs 1" : "",
               g_leaning.has_groups ? " --groups 1" : "");
  std::fflush(stderr);
}

extern "C" void on_abort(int) {
  std::signal(SIGABRT, SIG_DFL);
  tell_failure("the server ended itself");
  std::abort();
}

struct Totals {
  std::uint64_t runs = 0, commands = 0, steps = 0, restarts = 0, hand_overs = 0, disk_faults = 0,
                refused = 0, put_off = 0, task_turns = 0, refused_flushes = 0, duplicates = 0,
                raises = 0, twins = 0, tombstone_duplicates = 0, tombstone_ends = 0,
                tombstones_back = 0, holds_ended = 0, holds_back = 0, any_ends = 0,
                groups_ended_before = 0, tags_from_rules = 0, quiet_burials = 0, notes = 0,
                notes_back = 0, backoffs = 0, backoffs_back = 0;
  bool has_extended = false;
  std::array<std::uint64_t, haricot::kVerbs> sent{};
};

// A run with this many commands sends each of them: the rarest is one in 300, or one in 1500 if
// most are for groups.
constexpr std::uint64_t kCommandsForAll = 20'000;
constexpr std::uint64_t kCommandsOfGroupsForAll = 100'000;

// Returns true if the clients sent every command: a new one has to be added to requests.cpp.
bool has_sent_all(const Totals& totals) {
  bool has_all = true;
  for (const haricot::CommandRow& row : haricot::kCommandTable) {
    if (totals.sent[static_cast<std::size_t>(row.verb)] > 0) continue;
    if (row.set != haricot::CommandSet::standard && !totals.has_extended) continue;
    const std::string name(row.name());
    std::fprintf(stderr, "no client sent %s\n", name.c_str());
    has_all = false;
  }
  if (totals.has_extended && (totals.duplicates == 0 || totals.raises == 0)) {
    std::fprintf(stderr, "no put came upon another job of its key, or none raised its priority\n");
    has_all = false;
  }
  const bool has_tombstones =
      totals.tombstone_duplicates > 0 && totals.tombstone_ends > 0 && totals.tombstones_back > 0;
  if (totals.has_extended && !has_tombstones) {
    std::fprintf(stderr, "no put came upon a kept key, none came to its end, or none came back\n");
    has_all = false;
  }
  const bool has_holds = totals.holds_ended > 0 && totals.holds_back > 0 && totals.any_ends > 0;
  if (totals.has_extended && !has_holds) {
    std::fprintf(stderr, "no hold ended, none came back, or none ended beside buried jobs\n");
    has_all = false;
  }
  if (totals.tags_from_rules == 0 || totals.quiet_burials == 0) {
    std::fprintf(stderr, "no job got a tag of a rule, or none was buried by it\n");
    has_all = false;
  }
  if (totals.has_extended && (totals.notes == 0 || totals.notes_back == 0)) {
    std::fprintf(stderr, "no note was written, or none came back\n");
    has_all = false;
  }
  if (totals.has_extended && (totals.backoffs == 0 || totals.backoffs_back == 0)) {
    std::fprintf(stderr, "no backoff delayed a job, or none came back with a kick\n");
    has_all = false;
  }
  return has_all;
}

// Returns the number of commands of the extended set.
std::uint64_t extended_sent(const Totals& totals) {
  std::uint64_t sent = 0;
  for (const haricot::CommandRow& row : haricot::kCommandTable) {
    const bool is_extended = row.set != haricot::CommandSet::standard;
    if (is_extended) sent += totals.sent[static_cast<std::size_t>(row.verb)];
  }
  return sent;
}

bool run_one(std::uint64_t seed, std::uint64_t commands, Totals& totals) {
  g_seed = seed;
  try {
    Simulation simulation(seed, g_leaning);
    g_current = &simulation;
    try {
      simulation.run(commands);
    } catch (const Mismatch& mismatch) {
      tell_failure(mismatch.what());
      g_current = nullptr;
      return false;
    }
    g_current = nullptr;
    ++totals.runs;
    totals.commands += simulation.commands_run();
    totals.steps += simulation.steps();
    totals.restarts += simulation.restarts();
    totals.hand_overs += simulation.hand_overs();
    totals.disk_faults += simulation.disk_faults();
    totals.refused += simulation.refused();
    for (std::size_t i = 0; i < totals.sent.size(); ++i) totals.sent[i] += simulation.sent()[i];
    totals.put_off += simulation.put_off();
    totals.task_turns += simulation.task_turns();
    totals.refused_flushes += simulation.refused_flushes();
    totals.duplicates += simulation.duplicates();
    totals.raises += simulation.raises();
    totals.twins += simulation.twins();
    totals.tombstone_duplicates += simulation.tombstone_duplicates();
    totals.tombstone_ends += simulation.tombstone_ends();
    totals.tombstones_back += simulation.tombstones_back();
    totals.holds_ended += simulation.holds_ended();
    totals.holds_back += simulation.holds_back();
    totals.any_ends += simulation.any_ends();
    totals.groups_ended_before += simulation.groups_ended_before();
    totals.tags_from_rules += simulation.tags_from_rules();
    totals.quiet_burials += simulation.quiet_burials();
    totals.notes += simulation.notes();
    totals.notes_back += simulation.notes_back();
    totals.backoffs += simulation.backoffs();
    totals.backoffs_back += simulation.backoffs_back();
    totals.has_extended = totals.has_extended || simulation.has_extended();
  } catch (const Mismatch& mismatch) {
    tell_failure(mismatch.what());
    return false;
  }
  return true;
}

bool read_options(int count, char** words, Options& options) {
  options.seed = haricot::test::given_seed();
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view word = words[i];
    const std::uint64_t value = std::strtoull(words[i + 1], nullptr, 10);
    if (word == "--runs") {
      options.runs = value;
    } else if (word == "--commands") {
      options.commands = value;
    } else if (word == "--seconds") {
      options.seconds = value;
    } else if (word == "--series") {
      options.series = value;
    } else if (word == "--hand-overs") {
      options.leaning.hands_over = value != 0;
    } else if (word == "--groups") {
      options.leaning.has_groups = value != 0;
    } else {
      return false;
    }
  }
  return count % 2 == 1;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!read_options(count, words, options)) {
    std::fprintf(stderr,
                 "usage: simulate [--runs N] [--commands N] [--seconds N] [--series N] "
                 "[--hand-overs 1] [--groups 1]\n");
    return 2;
  }
  g_program = words[0];
  g_commands = options.commands;
  g_leaning = options.leaning;
  std::signal(SIGABRT, on_abort);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  Totals totals;
  haricot::test::Random seeds(options.series != 0 ? options.series : haricot::test::new_seed());
  for (;;) {
    if (!run_one(options.seed.value_or(seeds.bits()), options.commands, totals)) return 1;
    if (options.seed) break;
    const bool is_over = options.seconds > 0 ? seconds() >= static_cast<double>(options.seconds)
                                             : totals.runs >= options.runs;
    if (is_over) break;
  }
  std::printf("%" PRIu64 " runs, %" PRIu64 " commands, %" PRIu64
              " sent of the extended set, %" PRIu64 " turns, %" PRIu64 " restarts (%" PRIu64
              " handed over), %" PRIu64 " disturbances of the disk, %" PRIu64
              " changes refused, %" PRIu64 " commands put off, %" PRIu64
              " long tasks left for later, %" PRIu64 " flushes refused, %" PRIu64
              " duplicates, %" PRIu64 " priorities raised, %" PRIu64
              " jobs back beside another one of their key, %" PRIu64 " puts of kept keys, %" PRIu64
              " kept keys free again, %" PRIu64 " kept keys back, %" PRIu64 " holds ended, %" PRIu64
              " jobs back that were held, %" PRIu64 " holds ended beside buried jobs, %" PRIu64
              " groups that had ended before, %" PRIu64 " delays by backoffs, %" PRIu64
              " of their jobs back after a kick, %.1f s, %.0f commands/s\n",
              totals.runs, totals.commands, extended_sent(totals), totals.steps, totals.restarts,
              totals.hand_overs, totals.disk_faults, totals.refused, totals.put_off,
              totals.task_turns, totals.refused_flushes, totals.duplicates, totals.raises,
              totals.twins, totals.tombstone_duplicates, totals.tombstone_ends,
              totals.tombstones_back, totals.holds_ended, totals.holds_back, totals.any_ends,
              totals.groups_ended_before, totals.backoffs, totals.backoffs_back, seconds(),
              static_cast<double>(totals.commands) / seconds());
  const bool has_handed_over =
      !options.leaning.hands_over || options.seed || totals.hand_overs >= totals.runs;
  if (!has_handed_over) std::fprintf(stderr, "too few servers were handed over\n");
  // Short runs end before tombstones do.
  const std::uint64_t wanted =
      options.leaning.has_groups ? kCommandsOfGroupsForAll : kCommandsForAll;
  const bool is_short = totals.commands < wanted || totals.commands / totals.runs < kCommandsForAll;
  const bool has_all = is_short || has_sent_all(totals);
  return has_all && has_handed_over ? 0 : 1;
}
