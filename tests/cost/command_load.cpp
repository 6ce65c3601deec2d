// Runs commands against the service in memory, whose instructions callgrind counts.
//
//   command_load single|batches|unique|unique-single
//
// `unique` is `batches` with a key in each put, and `unique-single` is `single` with keys.
//
// Only counted_turns() is counted. Texts are made before it, tables have grown and memory was used
// before it, and answers are checked after it. Prints the number of commands that it ran.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/queue/journal.hpp"
#include "haricot/service/service.hpp"
#include "support/command_turns.hpp"

namespace {

using namespace haricot;
using test::CommandLoad;
using test::CommandScript;
using test::play_turns;

constexpr std::size_t kCommands = 48'000;
constexpr std::size_t kWarmUpCommands = 9'600;

}  // namespace

// callgrind counts between entry and exit of this function, which it finds by name: the compiler
// must not clone it, and its last call must not become a jump.
extern "C" [[gnu::noinline, gnu::used]] std::uint64_t counted_turns(
    CommandLoad& load, std::span<const std::string> texts) {
  play_turns(load, texts);
  return load.answer_bytes;
}

namespace {

bool play(std::size_t batch, bool has_keys) {
  const Instant start = Instant::at(1'000'000'000'000);
  ServerInfo info;
  NoJournal journal;
  Service service(info, journal, start);
  Session* session = service.open(nullptr);
  if (session == nullptr) return false;
  CommandLoad load{service, *session, start};
  CommandScript script(batch, has_keys);
  play_turns(load, script.turns(kWarmUpCommands));
  const std::vector<std::string> counted = script.turns(kCommands);
  return counted_turns(load, counted) == script.answer_bytes();
}

struct NamedLoad {
  std::string_view name;
  std::size_t batch;
  bool has_keys;
};

constexpr std::array kLoads = {
    NamedLoad{"single", 1, false},
    NamedLoad{"batches", 64, false},
    NamedLoad{"unique", 64, true},
    NamedLoad{"unique-single", 1, true},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  const auto* const load = std::ranges::find(kLoads, name, &NamedLoad::name);
  if (load == kLoads.end()) {
    std::fputs("Use: command_load single|batches|unique|unique-single\n", stderr);
    return 5;
  }
  if (!play(load->batch, load->has_keys)) {
    std::fputs("command_load: the answers are not what they should be\n", stderr);
    return 1;
  }
  std::printf("%zu\n", kCommands);
}
