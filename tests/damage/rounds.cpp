// Damages folders at random, and checks the result of reading them.
//
//   damage_rounds [--runs N] [--seconds N] [--series N]
//
// The seeds of a series are always the same. Without one, each run has new seeds.
// HARICOT_SEED=S runs only that seed. A failed round prints the command that repeats it.

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "judge.hpp"
#include "random_hurts.hpp"
#include "support/random.hpp"

namespace {

using haricot::damage::Depth;

std::uint64_t g_seed = 0;
const char* g_program = "damage_rounds";

void tell_failure(const char* what) {
  std::fprintf(stderr, "%s\nto repeat it: HARICOT_SEED=%" PRIu64 " %s\n", what, g_seed, g_program);
  std::fflush(stderr);
}

extern "C" void on_abort(int) {
  std::signal(SIGABRT, SIG_DFL);
  tell_failure("the server ended itself");
  std::abort();
}

bool judge_one(std::uint64_t seed) {
  g_seed = seed;
  const auto verdict =
      haricot::damage::judge(haricot::damage::hurt_at_random(seed), Depth::starts, seed);
  if (verdict.wrong.empty()) return true;
  tell_failure(verdict.wrong.c_str());
  return false;
}

}  // namespace

int main(int count, char** words) {
  std::uint64_t runs = 2000;
  std::uint64_t seconds = 0;  // Duration. 0: limited by --runs.
  std::uint64_t series = 0;   // 0: new seeds.
  for (int i = 1; i < count; i += 2) {
    const std::string_view word = words[i];
    std::uint64_t* value = nullptr;
    if (word == "--runs") value = &runs;
    if (word == "--seconds") value = &seconds;
    if (word == "--series") value = &series;
    if (value == nullptr || i + 1 == count) {
      std::fprintf(stderr, "usage: damage_rounds [--runs N] [--seconds N] [--series N]\n");
      return 2;
    }
    *value = std::strtoull(words[i + 1], nullptr, 10);
  }
  g_program = words[0];
  std::signal(SIGABRT, on_abort);
  if (const auto seed = haricot::test::given_seed()) return judge_one(*seed) ? 0 : 1;
  haricot::test::Random seeds(series != 0 ? series : haricot::test::new_seed());
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::uint64_t judged = 0;
  while (seconds > 0 ? passed() < static_cast<double>(seconds) : judged < runs) {
    if (!judge_one(seeds.bits())) return 1;
    ++judged;
  }
  std::printf("%" PRIu64 " damaged folders, %.1f s, %.0f folders/s\n", judged, passed(),
              static_cast<double>(judged) / passed());
  return 0;
}
