#include "os/options.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "haricot/base/check.hpp"
#include "haricot/base/flag_text.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/number.hpp"
#include "os/address.hpp"

namespace haricot::os {
namespace {

// Returns read_number(text), or the largest number if the digits do not fit.
std::optional<std::uint64_t> read_number_or_max(std::string_view text) {
  const bool all_digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const std::optional<std::uint64_t> number = read_number(text);
  return number || !all_digits ? number : std::numeric_limits<std::uint64_t>::max();
}

struct FlagRow;
const FlagRow* find_flag(char letter);
const FlagRow* find_flag(std::string_view name);

class Parser {
 public:
  // Stores the value of a flag; `value` is empty for a flag that takes none. Returns false and sets
  // the error if the value is wrong.
  using Setter = bool (Parser::*)(const FlagText& flag, std::string_view value);

  Parser(Options& options, std::string& error) : options_(options), error_(error) {}

  bool parse(std::span<const char* const> words);

  // Setters, one for each kind of value. Each row of kFlags names its own.

  template <auto kMember, auto kValue>
  bool assign(const FlagText&, std::string_view) {
    options_.*kMember = kValue;
    return true;
  }

  template <auto kMember>
  bool text(const FlagText& flag, std::string_view value) {
    return replace(flag, options_.*kMember, value);
  }

  // Rejects a number that its type cannot hold: no server reaches such a limit, so it is a mistake.
  template <auto kMember>
  bool limit(const FlagText& flag, std::string_view value) {
    const std::optional<std::uint64_t> number = read_number(value);
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
      return fail_at(flag, "invalid number", value);
    }
    if constexpr (requires { options_.*kMember; }) {
      options_.*kMember = static_cast<std::uint32_t>(*number);
    } else {
      options_.limits.*kMember = static_cast<std::uint32_t>(*number);
    }
    return true;
  }

  template <auto kMember>
  bool socket_path(const FlagText& flag, std::string_view value) {
    if (!is_unix_path(value)) {
      return fail("the path of --" + std::string(flag.name) +
                  " must have 1 to 107 bytes: " + std::string(value));
    }
    options_.*kMember = value;
    return true;
  }

  template <CommandSet kSet>
  bool commands(const FlagText&, std::string_view) {
    if (options_.commands != CommandSet::extended && options_.commands != kSet) {
      return fail("--no-extensions and --allow-drain exclude each other");
    }
    options_.commands = kSet;
    return true;
  }

  bool listen(const FlagText& flag, std::string_view value);
  bool listen_also(const FlagText& flag, std::string_view value);
  bool port(const FlagText& flag, std::string_view value);
  bool job_bytes(const FlagText& flag, std::string_view value);
  bool sync(const FlagText& flag, std::string_view value);
  bool binlog_bytes(const FlagText& flag, std::string_view value);
  bool memory(const FlagText& flag, std::string_view value);
  bool tries(const FlagText& flag, std::string_view value);
  bool rule(const FlagText& flag, std::string_view value);
  bool rules_file(const FlagText& flag, std::string_view value);
  bool compat(const FlagText& flag, std::string_view value);
  bool log_format(const FlagText& flag, std::string_view value);
  bool verbose(const FlagText& flag, std::string_view value);
  bool without_effect(const FlagText& flag, std::string_view value);

 private:
  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  bool is_decided() const;
  // Reports a wrong value in beanstalkd's words, with its flag.
  bool fail_at(const FlagText& flag, std::string_view what, std::string_view value) {
    const std::string name =
        flag.letter != 0 ? std::string("-") + flag.letter : "--" + std::string(flag.name);
    return fail(std::string(what) + " for " + name + ": " + std::string(value));
  }

  bool parse_long(std::string_view text, const char* next, bool& used_next);
  bool parse_short(std::string_view letters, const char* next, bool& used_next);
  bool apply(const FlagRow& flag, std::string_view value);
  bool replace(const FlagText& flag, std::string& to, std::string_view value);
  bool has_values();

  // A given flag with a text value, and its last value.
  struct GivenText {
    const FlagText* flag;
    const std::string* value;
  };

  Options& options_;
  std::string& error_;
  std::vector<GivenText> given_;
};

// One row for each flag, in the order of --help.
struct FlagRow {
  FlagText text;
  Parser::Setter set;
};

constexpr FlagRow kFlags[] = {
    {{'b', "binlog", "DIR", "keep jobs in the folder DIR, so that they survive a restart"},
     &Parser::text<&Options::binlog_folder>},
    {{'f', "fsync", "MS",
      "sync the binlog at most MS milliseconds after a write (50); 0: before each answer"},
     &Parser::sync},
    {{'F', "no-fsync", "", "never sync the binlog"}, &Parser::assign<&Options::binlog_sync, false>},
    {{'l', "listen", "ADDR", "listen on an address, a host name or unix:PATH (0.0.0.0)"},
     &Parser::listen},
    {{0, "listen-also", "ADDR", "listen on this address too; can be given several times"},
     &Parser::listen_also},
    {{'p', "port", "PORT", "listen on this port (11300)"}, &Parser::port},
    {{'u', "user", "USER", "become this user and its groups"}, &Parser::text<&Options::user>},
    {{'z', "max-job-size", "BYTES", "the largest body of a job (65535, at most 1073741824)"},
     &Parser::job_bytes},
    {{'s', "binlog-size", "BYTES", "the size of a binlog file (10485760)"}, &Parser::binlog_bytes},
    {{0, "fence-after", "SECONDS",
      "exit if another server takes over the folder, or the volume hangs for SECONDS (0: never)"},
     &Parser::limit<&Options::fence_after_s>},
    {{0, "strict", "", "start only if nothing in the binlog is lost or in doubt"},
     &Parser::assign<&Options::binlog_strict, true>},
    {{'c', "compact", "", "accepted for old scripts; does nothing"}, &Parser::without_effect},
    {{'n', "no-compact", "", "accepted for old scripts; does nothing"}, &Parser::without_effect},
    {{0, "connections-max", "N", "limit the number of concurrent connections to N (0: no limit)"},
     &Parser::limit<&Limits::connections_max>},
    {{0, "idle-timeout", "SECONDS", "close connections that are idle for SECONDS (0: never)"},
     &Parser::limit<&Limits::idle_timeout_s>},
    {{0, "memory-max", "BYTES",
      "refuse puts when the server has allocated BYTES: 512m, 2g (0: no limit)"},
     &Parser::memory},
    {{0, "tries-max", "N", "bury a job after N reserves (0: no limit, at most 65535)"},
     &Parser::tries},
    {{0, "rule", "RULE",
      "give tags to puts: 'PATTERN TAG...', as in 'mail-* try:5'; can be given several times"},
     &Parser::rule},
    {{0, "rules", "FILE", "read more rules from FILE, one a line, and again at SIGHUP"},
     &Parser::rules_file},
    {{0, "sandbox", "",
      "drop privileges that are not needed; default as root with -u and in systemd"},
     &Parser::assign<&Options::confinement, Options::Confinement::always>},
    {{0, "no-sandbox", "", "keep all privileges"},
     &Parser::assign<&Options::confinement, Options::Confinement::never>},
    {{0, "compat", "VERSION", "write reports as beanstalkd 1.13 or 1.12 does (1.13)"},
     &Parser::compat},
    {{0, "no-hand-over", "", "keep nothing for the next start: a restart ends all connections"},
     &Parser::assign<&Options::hands_over, false>},
    {{0, "take-over-socket", "PATH",
      "let the successor take everything over, when it asks on this unix socket"},
     &Parser::socket_path<&Options::take_over_socket>},
    {{0, "take-over", "PATH", "take everything over from the server that listens on this socket"},
     &Parser::socket_path<&Options::take_over>},
    {{0, "reads-state", "", "show which versions of a server's state it can take over, and exit"},
     &Parser::assign<&Options::action, Options::Action::show_state_versions>},
    {{0, "check", "",
      "check flags, folder and addresses beside a running server, and exit as the start would"},
     &Parser::assign<&Options::action, Options::Action::check>},
    {{0, "no-extensions", "", "accept only the commands of beanstalkd"},
     &Parser::commands<CommandSet::standard>},
    {{0, "allow-drain", "",
      "let all clients use drain and undrain, not only those of a unix socket"},
     &Parser::commands<CommandSet::operators>},
    {{0, "log-format", "FORMAT", "write the log as text (key=value) or as json (text)"},
     &Parser::log_format},
    {{'V', "verbose", "", "log connections; given twice: log commands too"}, &Parser::verbose},
    {{'v', "version", "", "show the version and exit"},
     &Parser::assign<&Options::action, Options::Action::show_version>},
    {{'h', "help", "", "show this help and exit"},
     &Parser::assign<&Options::action, Options::Action::show_help>},
};

// The first flag that matches is used, so names and letters must differ.
constexpr bool are_all_different() {
  for (const FlagRow& flag : kFlags) {
    for (const FlagRow* other = kFlags; other != &flag; ++other) {
      if (other->text.name == flag.text.name) return false;
      if (flag.text.letter != 0 && other->text.letter == flag.text.letter) return false;
    }
  }
  return true;
}
static_assert(are_all_different());

const FlagRow* find_flag(char letter) {
  for (const FlagRow& flag : kFlags) {
    if (flag.text.letter == letter) return &flag;
  }
  return nullptr;
}

const FlagRow* find_flag(std::string_view name) {
  for (const FlagRow& flag : kFlags) {
    if (flag.text.name == name) return &flag;
  }
  return nullptr;
}

// Words ------------------------------------------------------------------------------------------

bool Parser::parse(std::span<const char* const> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-') return fail("unknown argument: " + std::string(word));
    const char* next = i + 1 < words.size() ? words[i + 1] : nullptr;
    bool used_next = false;
    const bool good = word.starts_with("--") ? parse_long(word.substr(2), next, used_next)
                                             : parse_short(word.substr(1), next, used_next);
    if (!good) return false;
    if (used_next) ++i;
    // As in beanstalkd, words after -v or -h are ignored.
    if (is_decided()) return true;
  }
  if (!has_values()) return false;
  if (options_.fence_after_s > 0 && options_.binlog_folder.empty()) {
    return fail("--fence-after needs a folder: -b");
  }
  const bool takes_over = !options_.take_over.empty() || !options_.take_over_socket.empty();
  if (options_.fence_after_s > 0 && takes_over) {
    return fail("--fence-after excludes --take-over and --take-over-socket");
  }
  return true;
}

// Returns true if the program only prints something, so that no other flag matters.
bool Parser::is_decided() const {
  return options_.action != Options::Action::serve && options_.action != Options::Action::check;
}

bool Parser::parse_long(std::string_view text, const char* next, bool& used_next) {
  const std::size_t equals = text.find('=');
  const FlagRow* flag = text.empty() ? nullptr : find_flag(text.substr(0, equals));
  if (flag == nullptr) return fail("unknown flag: --" + std::string(text));
  const bool joined = equals != std::string_view::npos;
  if (flag->text.value.empty()) {
    if (joined) return fail("flag takes no value: --" + std::string(flag->text.name));
    return apply(*flag, {});
  }
  if (joined) return apply(*flag, text.substr(equals + 1));
  if (next == nullptr) return fail("flag requires an argument: --" + std::string(flag->text.name));
  used_next = true;
  return apply(*flag, next);
}

// Reads letters up to the first one that takes a value: the rest of the word, or the next word.
bool Parser::parse_short(std::string_view letters, const char* next, bool& used_next) {
  while (!letters.empty()) {
    const FlagRow* flag = find_flag(letters[0]);
    if (flag == nullptr) return fail(std::string("unknown flag: -") + letters[0]);
    letters.remove_prefix(1);
    if (flag->text.value.empty()) {
      if (!apply(*flag, {})) return false;
      if (is_decided()) return true;
      continue;
    }
    if (!letters.empty()) return apply(*flag, letters);
    if (next == nullptr) {
      return fail(std::string("flag requires an argument: -") + flag->text.letter);
    }
    used_next = true;
    return apply(*flag, next);
  }
  return true;
}

bool Parser::apply(const FlagRow& flag, std::string_view value) {
  return (this->*flag.set)(flag.text, value);
}

// Returns the value, or a pair of quotes for an empty one.
std::string or_quotes(std::string_view value) {
  return value.empty() ? "\"\"" : std::string(value);
}

// Replaces a value. As in beanstalkd the last value counts, but a warning names the one without
// effect. A second -l does not add an address, because it may be meant to replace the first one,
// such as 0.0.0.0 in a distribution's settings.
bool Parser::replace(const FlagText& flag, std::string& to, std::string_view value) {
  CHECK(flag.letter != 0);
  const auto is_same = [&](const GivenText& text) { return text.flag == &flag; };
  if (std::ranges::none_of(given_, is_same)) {
    given_.push_back({&flag, &to});
  } else if (to != value) {
    const char* more = flag.letter == 'l' ? "; --listen-also adds an address" : "";
    options_.warnings.push_back(std::string("-") + flag.letter + " " + or_quotes(to) +
                                " has no effect: -" + flag.letter + " " + or_quotes(value) +
                                " comes later" + more);
  }
  to = value;
  return true;
}

// Fails if the last value of a flag is empty. An earlier one may be: Debian's unit passes
// -l "" -p "" if the settings name no address and no port, and the flags of BEANSTALKD_EXTRA
// follow.
bool Parser::has_values() {
  for (const GivenText& text : given_) {
    if (text.value->empty()) return fail("empty value for --" + std::string(text.flag->name));
  }
  return true;
}

// Setters ----------------------------------------------------------------------------------------

bool Parser::listen(const FlagText& flag, std::string_view value) {
  options_.listen_given = true;
  return replace(flag, options_.listen, value);
}

bool Parser::listen_also(const FlagText&, std::string_view value) {
  if (value.empty()) return fail("empty value for --listen-also");
  options_.listen_also.emplace_back(value);
  options_.listen_given = true;
  return true;
}

bool Parser::port(const FlagText& flag, std::string_view value) {
  if (!value.empty() && !is_port(value)) return fail_at(flag, "invalid port", value);
  options_.listen_given = true;
  return replace(flag, options_.port, value);
}

bool Parser::job_bytes(const FlagText& flag, std::string_view value) {
  const std::optional<std::uint64_t> number = read_number_or_max(value);
  if (!number) return fail_at(flag, "invalid size", value);
  static_assert(kJobBytesMaxLimit <= std::numeric_limits<std::uint32_t>::max());
  const auto allowed = std::min<std::uint64_t>(*number, kJobBytesMaxLimit);
  options_.job_bytes_max = static_cast<std::uint32_t>(allowed);
  if (*number > kJobBytesMaxLimit) {
    options_.warnings.push_back("the largest job size is set to " + std::to_string(allowed));
  }
  return true;
}

bool Parser::sync(const FlagText& flag, std::string_view value) {
  const std::optional<std::uint64_t> number = read_number(value);
  if (!number) return fail_at(flag, "invalid number of milliseconds", value);
  options_.binlog_sync = true;
  options_.binlog_sync_ms = *number;
  return true;
}

bool Parser::binlog_bytes(const FlagText& flag, std::string_view value) {
  const std::optional<std::uint64_t> number = read_number(value);
  if (!number) return fail_at(flag, "invalid size", value);
  options_.binlog_bytes_max = *number;
  return true;
}

bool Parser::memory(const FlagText& flag, std::string_view value) {
  const std::optional<std::uint64_t> bytes = read_bytes(value);
  if (!bytes) return fail_at(flag, "invalid size", value);
  options_.limits.job_memory_bytes_max = *bytes;
  return true;
}

bool Parser::tries(const FlagText& flag, std::string_view value) {
  if (!limit<&Limits::tries_max>(flag, value)) return false;
  if (options_.limits.tries_max > kTriesMax) return fail_at(flag, "invalid number", value);
  return true;
}

bool Parser::rule(const FlagText&, std::string_view value) {
  std::string why;
  options_.rules.emplace_back();
  if (parse_rule(value, options_.rules.back(), why)) return true;
  return fail("invalid rule: " + std::string(value) + ": " + why);
}

bool Parser::rules_file(const FlagText&, std::string_view value) {
  if (value.empty()) return fail("empty value for --rules");
  options_.rules_file = value;
  return true;
}

bool Parser::compat(const FlagText&, std::string_view value) {
  if (value == "1.13") {
    options_.compat = Compat::v1_13;
  } else if (value == "1.12") {
    options_.compat = Compat::v1_12;
  } else {
    return fail("unknown version for --compat: " + std::string(value));
  }
  return true;
}

bool Parser::log_format(const FlagText&, std::string_view value) {
  if (value == "text") {
    options_.log_format = LogFormat::text;
  } else if (value == "json") {
    options_.log_format = LogFormat::json;
  } else {
    return fail("unknown format for --log-format: " + std::string(value));
  }
  return true;
}

bool Parser::verbose(const FlagText&, std::string_view) {
  ++options_.verbosity;
  return true;
}

bool Parser::without_effect(const FlagText& flag, std::string_view) {
  options_.warnings.push_back(std::string("-") + flag.letter +
                              " does nothing: the binlog is always compacted");
  return true;
}

}  // namespace

bool parse_options(std::span<const char* const> words, Options& options, std::string& error) {
  return Parser(options, error).parse(words);
}

std::string help_text(std::string_view program) {
  std::string text = "Use: ";
  text += program;
  text +=
      " [OPTIONS]\n\n"
      "A work queue that speaks the beanstalk protocol.\n\n"
      "Options:\n";
  for (const FlagRow& flag : kFlags) text += to_line(flag.text, " ");
  text += "\nSIGUSR1 stops taking new jobs (drain mode); SIGTERM and SIGINT end the server.\n";
  return text;
}

}  // namespace haricot::os
