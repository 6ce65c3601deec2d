#include "tool/bench/bench_options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

struct Parsed {
  bool good = false;
  BenchOptions options;
  std::string error;
};

Parsed parse(const std::vector<const char*>& words) {
  Parsed parsed;
  parsed.good = parse_bench_options(words, parsed.options, parsed.error);
  return parsed;
}

// Parses the words and the required address.
Parsed load(std::vector<const char*> words) {
  words.push_back("one:1");
  return parse(words);
}

TEST(BenchOptions, WithoutAnAddressNothingIsLoaded) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{}, {"-n", "5"}, {"--workload", "take"}}) {
    const Parsed parsed = parse(words);
    EXPECT_FALSE(parsed.good);
    EXPECT_NE(parsed.error.find("requires the address of the server"), std::string::npos)
        << parsed.error;
  }
  EXPECT_TRUE(parse({"--help"}).good);
}

TEST(BenchOptions, AnAddressAloneMeansTheDefaults) {
  const Parsed parsed = parse({"one:1"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  const BenchOptions& o = parsed.options;
  EXPECT_EQ(o.action, BenchOptions::Action::run);
  EXPECT_EQ(o.address, "one:1");
  EXPECT_EQ(o.workload, Workload::cycle);
  EXPECT_EQ(o.connections, 16U);
  EXPECT_EQ(o.depth, 1U);
  EXPECT_EQ(o.body_bytes, 100U);
  EXPECT_EQ(o.tubes, 1U);
  EXPECT_EQ(o.count, 0U);
  EXPECT_EQ(o.milliseconds, 5000U);
  EXPECT_EQ(o.warm_up, 10'000U);
  EXPECT_EQ(o.pid, 0);
  EXPECT_FALSE(o.json);
  EXPECT_FALSE(o.keep);
}

TEST(BenchOptions, EveryFlagArrives) {
  const Parsed parsed = parse({"--workload",
                               "put",
                               "-c",
                               "8",
                               "--depth",
                               "64",
                               "--body-size",
                               "16k",
                               "--tubes",
                               "4",
                               "-n1M",
                               "--pid",
                               "77",
                               "-j",
                               "--keep",
                               "--histogram",
                               "-i",
                               "1",
                               "--watch=5",
                               "--reserve-mode=weighted",
                               "--warm-up=3",
                               "--timeout=1.5",
                               "--ready=1M",
                               "--delayed=2M",
                               "--idle-tubes=3",
                               "--waiting=4",
                               "--waiting-together=5",
                               "--idle-connections=6",
                               "-a",
                               "unix:/run/x"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  const BenchOptions& o = parsed.options;
  EXPECT_EQ(o.address, "unix:/run/x");
  EXPECT_EQ(o.workload, Workload::put);
  EXPECT_EQ(o.connections, 8U);
  EXPECT_EQ(o.depth, 64U);
  EXPECT_EQ(o.body_bytes, 16'000U);
  EXPECT_EQ(o.tubes, 4U);
  EXPECT_EQ(o.watched_tubes, 5U);
  EXPECT_EQ(o.reserve_mode, ReserveMode::weighted);
  EXPECT_EQ(o.count, 1'000'000U);
  EXPECT_EQ(o.warm_up, 3U);
  EXPECT_EQ(o.patience_ms, 1500U);
  EXPECT_EQ(o.pid, 77);
  EXPECT_TRUE(o.json);
  EXPECT_TRUE(o.keep);
  EXPECT_TRUE(o.histogram);
  EXPECT_EQ(o.interval_ms, 1000U);
  EXPECT_EQ(o.surroundings.ready, 1'000'000U);
  EXPECT_EQ(o.surroundings.delayed, 2'000'000U);
  EXPECT_EQ(o.surroundings.idle_tubes, 3U);
  EXPECT_EQ(o.surroundings.waiting, 4U);
  EXPECT_EQ(o.surroundings.waiting_together, 5U);
  EXPECT_EQ(o.surroundings.idle_connections, 6U);
}

TEST(BenchOptions, TheWarmUpIsNoLongerThanTheRun) {
  EXPECT_EQ(load({"-n", "50"}).options.warm_up, 50U);
  EXPECT_EQ(load({"-n", "1M"}).options.warm_up, 10'000U);
  EXPECT_EQ(load({"--seconds", "0.1"}).options.warm_up, 10'000U);
  EXPECT_EQ(load({"-n", "50", "--warm-up", "0"}).options.warm_up, 0U);
}

TEST(BenchOptions, TakingNeedsACountBecauseTheJobsComeFirst) {
  EXPECT_EQ(load({"--workload", "take"}).options.count, 100'000U);
  EXPECT_EQ(load({"--workload", "take", "-n", "5"}).options.count, 5U);
  EXPECT_FALSE(load({"--workload", "take", "--seconds", "5"}).good);
}

TEST(BenchOptions, ConflictingFlagsAreRefused) {
  EXPECT_EQ(load({"-n5", "--seconds=5"}).error, "--count and --seconds exclude each other");
  EXPECT_FALSE(load({"-c", "2", "--tubes", "3"}).good);
  EXPECT_FALSE(load({"--depth", "1000", "--body-size", "2M"}).good);
  EXPECT_TRUE(load({"--depth", "1", "--body-size", "1073741824"}).good);
  EXPECT_EQ(parse({"one:1", "two:2", "three"}).error, "more than two addresses: three");
  EXPECT_EQ(parse({"-a", "one:1", "-a", "2", "3"}).error, "more than two addresses: 3");
  EXPECT_EQ(parse({"-a", "one:1", "two:2"}).options.address, "one:1");
  EXPECT_EQ(parse({"-a", "one:1", "two:2"}).options.other_address, "two:2");
  EXPECT_EQ(parse({"one:1", "two:2"}).options.other_address, "two:2");
  EXPECT_EQ(parse({"one:1"}).options.other_address, "");
  EXPECT_EQ(parse({"one", "two", "--pid", "1"}).error,
            "--pid, --histogram and --interval require a single server");
  EXPECT_EQ(parse({"one:1"}).options.address, "one:1");
}

TEST(BenchOptions, BadValuesAreRefusedByName) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"-c", "0"},
                                             {"--depth", "0"},
                                             {"--depth", "100001"},
                                             {"--body-size", "1073741825"},
                                             {"--tubes", "0"},
                                             {"-n", "0"},
                                             {"--seconds", "0"},
                                             {"--seconds", "x"},
                                             {"--workload", "get"},
                                             {"--pid", "0"},
                                             {"--pid", "-1"},
                                             {"--ready", "-1"},
                                             {"--reserve-mode", "own-tube"},
                                             {"--timeout", "0"}}) {
    const Parsed parsed = parse(words);
    EXPECT_FALSE(parsed.good) << words[0] << words[1];
    EXPECT_NE(parsed.error.find(words[0]), std::string::npos) << parsed.error;
  }
}

TEST(BenchOptions, HelpListsEveryFlagDespiteOtherErrors) {
  EXPECT_EQ(parse({"-h"}).options.action, BenchOptions::Action::show_help);
  EXPECT_EQ(parse({"--workload", "take", "--seconds=5", "--help"}).options.action,
            BenchOptions::Action::show_help);
  const std::string help = bench_help();
  for (const char* name : {"--workload",
                           "--connections",
                           "--depth",
                           "--body-size",
                           "--tubes",
                           "--watch",
                           "--reserve-mode",
                           "--count",
                           "--seconds",
                           "--warm-up",
                           "--ready",
                           "--delayed",
                           "--idle-tubes",
                           "--waiting",
                           "--waiting-together",
                           "--idle-connections",
                           "--pid",
                           "--timeout",
                           "--address",
                           "--interval",
                           "--histogram",
                           "--keep",
                           "--json",
                           "--help"}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace haricot::tool
