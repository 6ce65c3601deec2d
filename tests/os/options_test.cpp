#include "os/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace haricot::os {
namespace {

struct Parsed {
  bool good = false;
  Options options;
  std::string error;
};

Parsed parse(const std::vector<const char*>& words) {
  Parsed result;
  result.good = parse_options(words, result.options, result.error);
  return result;
}

// A flag with a value: its names, a value, and a check that the value is stored.
struct ValueFlag {
  const char* letter;
  const char* name;
  const char* value;
  bool (*arrived)(const Options& options);
};

constexpr ValueFlag kValueFlags[] = {
    {"b", "binlog", "/var/jobs", [](const Options& o) { return o.binlog_folder == "/var/jobs"; }},
    {"f", "fsync", "7", [](const Options& o) { return o.binlog_sync_ms == 7; }},
    {"l", "listen", "::1", [](const Options& o) { return o.listen == "::1"; }},
    {"p", "port", "11301", [](const Options& o) { return o.port == "11301"; }},
    {"u", "user", "nobody", [](const Options& o) { return o.user == "nobody"; }},
    {"z", "max-job-size", "70000", [](const Options& o) { return o.job_bytes_max == 70000; }},
    {"s", "binlog-size", "4096", [](const Options& o) { return o.binlog_bytes_max == 4096; }},
};

TEST(Options, NoWordsMeanTheDefaults) {
  const Parsed parsed = parse({});
  ASSERT_TRUE(parsed.good);
  const Options& options = parsed.options;
  EXPECT_EQ(options.action, Options::Action::serve);
  EXPECT_EQ(options.listen, "0.0.0.0");
  EXPECT_EQ(options.port, "11300");
  EXPECT_FALSE(options.listen_given);
  EXPECT_EQ(options.user, "");
  EXPECT_EQ(options.job_bytes_max, 65535U);
  EXPECT_EQ(options.verbosity, 0);
  EXPECT_EQ(options.compat, Compat::v1_13);
  EXPECT_EQ(options.commands, CommandSet::extended);
  EXPECT_EQ(options.binlog_folder, "");
  EXPECT_TRUE(options.binlog_sync);
  EXPECT_EQ(options.binlog_sync_ms, 50U);
  EXPECT_EQ(options.binlog_bytes_max, 10485760U);
  EXPECT_TRUE(options.warnings.empty());
}

TEST(Options, TheCommandsThatClientsHaveAreChosen) {
  EXPECT_EQ(parse({"--no-extensions"}).options.commands, CommandSet::standard);
  EXPECT_EQ(parse({"--no-extensions", "--no-extensions"}).options.commands, CommandSet::standard);
  EXPECT_EQ(parse({"--allow-drain"}).options.commands, CommandSet::operators);
  for (const auto& words : {std::vector<const char*>{"--no-extensions", "--allow-drain"},
                            std::vector<const char*>{"--allow-drain", "--no-extensions"}}) {
    const Parsed both = parse(words);
    EXPECT_FALSE(both.good);
    EXPECT_NE(both.error.find("--no-extensions and --allow-drain"), std::string::npos)
        << both.error;
  }
  EXPECT_FALSE(parse({"--no-extensions=1"}).good);
}

TEST(Options, AValueStandsBehindItsLetterOrInTheNextWord) {
  for (const ValueFlag& flag : kValueFlags) {
    SCOPED_TRACE(flag.name);
    const std::string letter = std::string("-") + flag.letter;
    const std::string joined = letter + flag.value;
    const Parsed behind = parse({joined.c_str()});
    EXPECT_TRUE(behind.good && flag.arrived(behind.options)) << behind.error;
    const Parsed next = parse({letter.c_str(), flag.value, "-V"});
    EXPECT_TRUE(next.good && flag.arrived(next.options)) << next.error;
    EXPECT_EQ(next.options.verbosity, 1) << "the word behind the value was not read";
  }
}

TEST(Options, AValueStandsBehindTheEqualsSignOfALongNameOrInTheNextWord) {
  for (const ValueFlag& flag : kValueFlags) {
    SCOPED_TRACE(flag.name);
    const std::string name = std::string("--") + flag.name;
    const std::string joined = name + "=" + flag.value;
    const Parsed behind = parse({joined.c_str()});
    EXPECT_TRUE(behind.good && flag.arrived(behind.options)) << behind.error;
    const Parsed next = parse({name.c_str(), flag.value, "--verbose"});
    EXPECT_TRUE(next.good && flag.arrived(next.options)) << next.error;
    EXPECT_EQ(next.options.verbosity, 1) << "the word behind the value was not read";
  }
}

TEST(Options, LettersCanBeJoined) {
  const Parsed parsed = parse({"-VVp11301", "-Vl", "::1", "-FVz5"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.verbosity, 4);
  EXPECT_EQ(parsed.options.port, "11301");
  EXPECT_EQ(parsed.options.listen, "::1");
  EXPECT_FALSE(parsed.options.binlog_sync);
  EXPECT_EQ(parsed.options.job_bytes_max, 5U);
}

TEST(Options, AValueMayBeginLikeAFlag) {
  const Parsed parsed = parse({"-u", "-V", "--binlog", "--port"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.user, "-V");
  EXPECT_EQ(parsed.options.binlog_folder, "--port");
  EXPECT_EQ(parsed.options.verbosity, 0);
}

TEST(Options, TheLastOfSeveralValuesCounts) {
  const Parsed parsed = parse({"-p1", "-p2", "--port=3", "-F", "-f0"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.port, "3");
  EXPECT_TRUE(parsed.options.binlog_sync);
  EXPECT_EQ(parsed.options.binlog_sync_ms, 0U);
}

TEST(Options, AValueThatALaterOneReplacesIsWarnedAbout) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"-l", "0.0.0.0", "-l", "127.0.0.1"},
       "-l 0.0.0.0 has no effect: -l 127.0.0.1 comes later; --listen-also adds an address"},
      {{"-p1", "--port=2"}, "-p 1 has no effect: -p 2 comes later"},
      {{"--binlog", "/a", "-b/b"}, "-b /a has no effect: -b /b comes later"},
      {{"-u", "a", "--user=b"}, "-u a has no effect: -u b comes later"},
      {{"-p", "", "-p2"}, "-p \"\" has no effect: -p 2 comes later"}};
  for (const auto& [words, warning] : cases) {
    const Parsed parsed = parse(words);
    ASSERT_TRUE(parsed.good) << parsed.error;
    EXPECT_EQ(parsed.options.warnings, std::vector<std::string>{warning});
  }
  EXPECT_EQ(parse({"-l", "0.0.0.0", "-l", "127.0.0.1"}).options.listen, "127.0.0.1");
  EXPECT_EQ(parse({"-l", "::1", "-p1", "-l", "::1", "-p1"}).options.warnings.size(), 0U);
  EXPECT_EQ(parse({"-l", "::1", "-p1", "-u", "a", "-b/b"}).options.warnings.size(), 0U);
  EXPECT_EQ(parse({"-l", "a", "-l", "b", "-l", "a"}).options.warnings.size(), 2U);
}

TEST(Options, StrictIsALongNameWithoutAValue) {
  EXPECT_FALSE(parse({"-b/jobs"}).options.binlog_strict);
  const Parsed parsed = parse({"--strict", "-b/jobs"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_TRUE(parsed.options.binlog_strict);
  EXPECT_EQ(parsed.options.binlog_folder, "/jobs");
  EXPECT_FALSE(parse({"--strict=1"}).good);
}

TEST(Options, FurtherAddressesAreCollected) {
  EXPECT_TRUE(parse({"-l", "::1"}).options.listen_also.empty());
  const Parsed parsed = parse({"--listen-also=::1", "-l", "127.0.0.1", "--listen-also", "unix:/s"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.listen, "127.0.0.1");
  EXPECT_EQ(parsed.options.listen_also, (std::vector<std::string>{"::1", "unix:/s"}));
  EXPECT_TRUE(parsed.options.warnings.empty());
  EXPECT_TRUE(parse({"--listen-also=::1"}).options.listen_given);
  EXPECT_FALSE(parse({"--listen-also="}).good);
  EXPECT_FALSE(parse({"--listen-also"}).good);
}

TEST(Options, QuestionsToTheProgramEndTheReading) {
  EXPECT_EQ(parse({"--reads-state", "--nonsense"}).options.action,
            Options::Action::show_state_versions);
  for (const auto& words : std::vector<std::vector<const char*>>{
           {"-v", "nonsense"}, {"-Vvp"}, {"--version", "--nonsense"}, {"-p1", "-v", "-z", "x"}}) {
    const Parsed parsed = parse(words);
    EXPECT_TRUE(parsed.good) << parsed.error;
    EXPECT_EQ(parsed.options.action, Options::Action::show_version);
  }
  for (const auto& words : std::vector<std::vector<const char*>>{
           {"-h", "x"}, {"-Vhq"}, {"--help", "-p"}, {"-h", "-v"}}) {
    const Parsed parsed = parse(words);
    EXPECT_TRUE(parsed.good) << parsed.error;
    EXPECT_EQ(parsed.options.action, Options::Action::show_help);
  }
}

TEST(Options, ACheckReadsAllFlags) {
  const Parsed parsed = parse({"--check", "-p1"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.action, Options::Action::check);
  EXPECT_EQ(parsed.options.port, "1");
  EXPECT_FALSE(parse({"--check", "--nonsense"}).good);
}

TEST(Options, AStartMayKeepNothingForTheNextOne) {
  EXPECT_TRUE(parse({}).options.hands_over);
  EXPECT_FALSE(parse({"--no-hand-over"}).options.hands_over);
}

TEST(Options, AMistakeInFrontOfVersionIsAMistake) {
  EXPECT_FALSE(parse({"nonsense", "-v"}).good);
  EXPECT_FALSE(parse({"-qv"}).good);
}

TEST(Options, UnknownFlagsAreRefusedByName) {
  for (const char* word : {"-q", "--q", "word", "-", "--", "", "--=1", "-Vq", "--po", "--ports=1",
                           "---port", "-\xff"}) {
    const Parsed parsed = parse({word});
    EXPECT_FALSE(parsed.good) << "'" << word << "'";
    EXPECT_TRUE(parsed.error.starts_with("unknown ")) << parsed.error;
  }
}

// Debian's unit, with settings in BEANSTALKD_EXTRA only.
TEST(Options, AnEmptyValueBeforeTheLastOneOnlyWarns) {
  const Parsed parsed = parse({"-l", "", "-p", "", "-b", "", "-u", "", "-l", "10.0.0.5", "-p",
                               "11300", "-b", "/jobs", "-u", "queue"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.listen, "10.0.0.5");
  EXPECT_EQ(parsed.options.port, "11300");
  EXPECT_EQ(parsed.options.binlog_folder, "/jobs");
  EXPECT_EQ(parsed.options.user, "queue");
  EXPECT_EQ(parsed.options.warnings.size(), 4U);
  EXPECT_FALSE(parse({"-l", "10.0.0.5", "-l", ""}).good);
  EXPECT_FALSE(parse({"-p", "11300", "-p", ""}).good);
}

TEST(Options, AMissingOrEmptyValueIsRefused) {
  for (const ValueFlag& flag : kValueFlags) {
    SCOPED_TRACE(flag.name);
    const std::string letter = std::string("-") + flag.letter;
    const std::string name = std::string("--") + flag.name;
    const std::string empty = name + "=";
    EXPECT_FALSE(parse({letter.c_str()}).good);
    EXPECT_FALSE(parse({letter.c_str(), ""}).good);
    EXPECT_FALSE(parse({name.c_str()}).good);
    EXPECT_FALSE(parse({name.c_str(), ""}).good);
    EXPECT_FALSE(parse({empty.c_str()}).good);
    EXPECT_FALSE(parse({name.c_str()}).error.empty());
  }
  EXPECT_FALSE(parse({"--compat"}).good);
  EXPECT_FALSE(parse({"--compat="}).good);
}

TEST(Options, AFlagWithoutValueTakesNone) {
  for (const char* word : {"--verbose=1", "--no-fsync=", "--version=1", "--help=x"}) {
    EXPECT_FALSE(parse({word}).good) << word;
  }
}

TEST(Options, ABadPortIsRefused) {
  for (const char* port : {"", "65536", "86446", "4294978596", "99999999999999999999", "80x", "-1",
                           "+1", "+0", " 1", "\t0", "1 ", "0x10", "-", "."}) {
    EXPECT_FALSE(parse({"-p", port}).good) << "'" << port << "'";
  }
}

TEST(Options, APortIsANumberOrAServiceName) {
  for (const char* port : {"0", "1", "65535", "00080", "http", "ssh"}) {
    const Parsed parsed = parse({"-p", port});
    EXPECT_TRUE(parsed.good) << parsed.error;
    EXPECT_EQ(parsed.options.port, port);
  }
}

TEST(Options, ABadNumberIsRefused) {
  for (const char* letter : {"-z", "-f", "-s"}) {
    for (const char* value : {"-1", "+1", " 1", "1 ", "1k", "0x10", "1.5", "x"}) {
      EXPECT_FALSE(parse({letter, value}).good) << letter << " '" << value << "'";
    }
  }
}

TEST(Options, TheLargestJobIsCappedWithAWarning) {
  const Parsed at_most = parse({"-z", "1073741824"});
  ASSERT_TRUE(at_most.good);
  EXPECT_EQ(at_most.options.job_bytes_max, 1073741824U);
  EXPECT_TRUE(at_most.options.warnings.empty());
  for (const char* value : {"1073741825", "4294967296", "18446744073709551615",
                            "18446744073709551616", "99999999999999999999999999"}) {
    const Parsed above = parse({"-z", value});
    ASSERT_TRUE(above.good) << value;
    EXPECT_EQ(above.options.job_bytes_max, 1073741824U);
    ASSERT_EQ(above.options.warnings.size(), 1U);
    EXPECT_NE(above.options.warnings[0].find("1073741824"), std::string::npos);
  }
}

TEST(Options, JobsOfNoBytesCanBeTheLargest) {
  const Parsed parsed = parse({"-z0"});
  ASSERT_TRUE(parsed.good);
  EXPECT_EQ(parsed.options.job_bytes_max, 0U);
}

TEST(Options, OldCompactionFlagsOnlyWarn) {
  const Parsed parsed = parse({"-c", "-n", "-V", "--compact", "--no-compact"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  ASSERT_EQ(parsed.options.warnings.size(), 4U);
  EXPECT_TRUE(parsed.options.warnings[0].starts_with("-c "));
  EXPECT_TRUE(parsed.options.warnings[1].starts_with("-n "));
  EXPECT_EQ(parsed.options.verbosity, 1);
}

TEST(Options, CompatIsOneOfTwoVersions) {
  EXPECT_EQ(parse({"--compat=1.12"}).options.compat, Compat::v1_12);
  EXPECT_EQ(parse({"--compat", "1.13"}).options.compat, Compat::v1_13);
  EXPECT_FALSE(parse({"--compat=1.11"}).good);
}

TEST(Options, TheLogIsTextOrJson) {
  EXPECT_EQ(parse({}).options.log_format, LogFormat::text);
  EXPECT_EQ(parse({"--log-format=text"}).options.log_format, LogFormat::text);
  EXPECT_EQ(parse({"--log-format", "json"}).options.log_format, LogFormat::json);
  for (const char* word : {"--log-format=xml", "--log-format=", "--log-format=JSON"}) {
    EXPECT_FALSE(parse({word}).good) << word;
  }
}

TEST(Options, LimitsAreOffUnlessTheyAreSet) {
  const Limits limits = parse({"-V"}).options.limits;
  EXPECT_EQ(limits.connections_max, 0U);
  EXPECT_EQ(limits.idle_timeout_s, 0U);
  EXPECT_EQ(limits.job_memory_bytes_max, 0U);
  EXPECT_EQ(limits.tries_max, 0U);
}

TEST(Options, AFenceHasSecondsAndNeedsAFolder) {
  EXPECT_EQ(parse({"-b", "/jobs"}).options.fence_after_s, 0U);
  EXPECT_EQ(parse({"--fence-after", "30", "-b", "/jobs"}).options.fence_after_s, 30U);
  EXPECT_TRUE(parse({"--fence-after", "0"}).good);
  EXPECT_FALSE(parse({"--fence-after", "30"}).good);
  EXPECT_FALSE(parse({"-b", "/jobs", "--fence-after", "x"}).good);
  EXPECT_FALSE(parse({"-b", "/jobs", "--fence-after", "-1"}).good);
}

TEST(Options, ATakeOverHasTwoSocketsAndExcludesAFence) {
  const Parsed parsed = parse({"--take-over-socket=/run/next", "--take-over", "/run/last"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.take_over_socket, "/run/next");
  EXPECT_EQ(parsed.options.take_over, "/run/last");
  EXPECT_TRUE(parse({}).options.take_over_socket.empty() && parse({}).options.take_over.empty());
  for (const char* flag : {"--take-over=", "--take-over-socket="}) {
    EXPECT_FALSE(parse({flag}).good) << flag;
    EXPECT_TRUE(parse({(flag + std::string(107, 'x')).c_str()}).good) << flag;
    EXPECT_FALSE(parse({(flag + std::string(108, 'x')).c_str()}).good) << flag;
    const std::string joined = std::string(flag) + "/run/x";
    const Parsed fenced = parse({"-b", "/jobs", "--fence-after=30", joined.c_str()});
    EXPECT_FALSE(fenced.good) << flag;
    EXPECT_EQ(fenced.error, "--fence-after excludes --take-over and --take-over-socket");
  }
}

TEST(Options, EachLimitIsANumber) {
  const Parsed parsed = parse({"--connections-max=4294967295", "--idle-timeout", "30",
                               "--memory-max", "1000", "--tries-max=65535"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  EXPECT_EQ(parsed.options.limits.connections_max, 4294967295U);
  EXPECT_EQ(parsed.options.limits.idle_timeout_s, 30U);
  EXPECT_EQ(parsed.options.limits.job_memory_bytes_max, 1000U);
  EXPECT_EQ(parsed.options.limits.tries_max, 65535U);
  EXPECT_FALSE(parse({"--tries-max", "65536"}).good);
  EXPECT_EQ(parse({"--tries-max", "70000"}).error, "invalid number for --tries-max: 70000");
  EXPECT_EQ(parse({"--idle-timeout", "x"}).error, "invalid number for --idle-timeout: x");
  EXPECT_EQ(parse({"--memory-max", "x"}).error, "invalid size for --memory-max: x");
  EXPECT_EQ(parse({"--max-job-size", "x"}).error, "invalid size for -z: x");
  EXPECT_EQ(parse({"-f", "x"}).error, "invalid number of milliseconds for -f: x");
  EXPECT_EQ(parse({"-p", "70000"}).error, "invalid port for -p: 70000");
  for (const char* name : {"--connections-max", "--idle-timeout", "--memory-max", "--tries-max"}) {
    EXPECT_TRUE(parse({name, "0"}).good) << name;
    for (const char* value : {"", "-1", "+1", " 1", "1 ", "0x10", "1.5", "x", "1kk", "1x",
                              "18446744073709551616", "99999999999999999999999"}) {
      const Parsed bad = parse({name, value});
      EXPECT_FALSE(bad.good) << name << " '" << value << "'";
      EXPECT_FALSE(bad.error.empty());
    }
  }
  for (const char* name : {"--connections-max", "--idle-timeout"}) {
    EXPECT_FALSE(parse({name, "4294967296"}).good) << name;
    EXPECT_FALSE(parse({name, "1k"}).good) << name;
  }
}

TEST(Options, MemoryHasUnits) {
  const std::pair<const char*, std::uint64_t> values[] = {
      {"1k", 1024},
      {"1K", 1024},
      {"512m", 536870912},
      {"3M", 3145728},
      {"2g", 2147483648},
      {"17179869183G", 17179869183U * (std::uint64_t{1} << 30)},
      {"18446744073709551615", 18446744073709551615U}};
  for (const auto& [text, bytes] : values) {
    const Parsed parsed = parse({"--memory-max", text});
    ASSERT_TRUE(parsed.good) << text << ": " << parsed.error;
    EXPECT_EQ(parsed.options.limits.job_memory_bytes_max, bytes) << text;
  }
  for (const char* text :
       {"k", "m", "g", "1t", "1kb", "-1k", "17179869184g", "18014398509481984k"}) {
    EXPECT_FALSE(parse({"--memory-max", text}).good) << text;
  }
}

TEST(Options, TheLastWordOnTheSandboxCounts) {
  using Confinement = Options::Confinement;
  EXPECT_EQ(parse({"-V"}).options.confinement, Confinement::automatic);
  EXPECT_EQ(parse({"--sandbox"}).options.confinement, Confinement::always);
  EXPECT_EQ(parse({"--sandbox", "--no-sandbox"}).options.confinement, Confinement::never);
  EXPECT_EQ(parse({"--no-sandbox", "--sandbox"}).options.confinement, Confinement::always);
  EXPECT_FALSE(parse({"--sandbox=1"}).good);
}

TEST(Options, ListenAddressAndPortAreEachNoticed) {
  EXPECT_TRUE(parse({"-l", "::1"}).options.listen_given);
  EXPECT_TRUE(parse({"--port=1"}).options.listen_given);
  EXPECT_FALSE(parse({"-z1", "-V"}).options.listen_given);
}

TEST(Options, RulesAreCheckedAndKeepTheirOrder) {
  const Parsed parsed =
      parse({"--rule", "mail-* try:5", "--rule=* con:key:2", "--rules=/etc/rules"});
  ASSERT_TRUE(parsed.good) << parsed.error;
  ASSERT_EQ(parsed.options.rules.size(), 2U);
  EXPECT_EQ(parsed.options.rules[0].pattern, "mail-*");
  EXPECT_EQ(parsed.options.rules[0].tags, "try:5");
  EXPECT_EQ(parsed.options.rules[1].tags, "con:key:2");
  EXPECT_EQ(parsed.options.rules_file, "/etc/rules");
  EXPECT_EQ(parse({"--rule", "* tries:5"}).error, "invalid rule: * tries:5: unknown tag: tries:5");
  EXPECT_EQ(parse({"--rule", ""}).error, "invalid rule: : invalid pattern of a tube: ");
  EXPECT_EQ(parse({"--rules="}).error, "empty value for --rules");
}

TEST(Options, HelpNamesEveryFlag) {
  const std::string help = help_text();
  for (const ValueFlag& flag : kValueFlags) {
    const std::string entry = std::string("-") + flag.letter + ", --" + flag.name + " ";
    EXPECT_NE(help.find(entry), std::string_view::npos) << entry;
  }
  for (const char* entry :
       {"-F, --no-fsync", "-c, --compact", "-n, --no-compact", "--compat ", "--log-format ",
        "--listen-also ", "--connections-max ", "--idle-timeout ", "--memory-max ", "--tries-max ",
        "--rule ", "--rules ", "--sandbox ", "--no-sandbox ", "-V, --verbose", "-v, --version",
        "-h, --help"}) {
    EXPECT_NE(help.find(entry), std::string_view::npos) << entry;
  }
}

}  // namespace
}  // namespace haricot::os
