#include "os/options.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "haricot/base/check.hpp"
#include "haricot/base/flag_text.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/number.hpp"
#include "os/port.hpp"
#include "os/unix_address.hpp"

namespace haricot::os {
namespace {

using Flag = FlagText;

constexpr Flag kFlags[] = {
    {'b', "binlog", "DIR", "keep jobs in the folder DIR, so that they survive a restart"},
    {'f', "fsync", "MS",
     "sync the binlog at most MS milliseconds after a write (50); 0: before each answer"},
    {'F', "no-fsync", "", "never sync the binlog"},
    {'l', "listen", "ADDR", "listen on an address, a host name or unix:PATH (0.0.0.0)"},
    {0, "listen-also", "ADDR", "listen on this address too; can be given several times"},
    {'p', "port", "PORT", "listen on this port (11300)"},
    {'u', "user", "USER", "become this user and its groups"},
    {'z', "max-job-size", "BYTES", "the largest body of a job (65535, at most 1073741824)"},
    {'s', "binlog-size", "BYTES", "the size of a binlog file (10485760)"},
    {0, "fence-after", "SECONDS",
     "end when another server has the folder, or its volume hangs for so long (0: never)"},
    {0, "strict", "", "start only if nothing in the binlog is lost or in doubt"},
    {'c', "compact", "", "accepted for old scripts; does nothing"},
    {'n', "no-compact", "", "accepted for old scripts; does nothing"},
    {0, "connections-max", "N", "serve so many connections at once, close others (0: no limit)"},
    {0, "idle-timeout", "SECONDS", "close connections that are idle for so long (0: never)"},
    {0, "memory-max", "BYTES",
     "refuse puts when the server has taken so many bytes: 512m, 2g (0: none)"},
    {0, "tries-max", "N", "bury a job that was reserved so often (0: no limit, at most 65535)"},
    {0, "sandbox", "",
     "drop privileges that are not needed; default as root with -u and in systemd"},
    {0, "no-sandbox", "", "keep all privileges"},
    {0, "compat", "VERSION", "write reports as beanstalkd 1.13 or 1.12 does (1.13)"},
    {0, "no-hand-over", "", "keep nothing for the next start: a restart ends all connections"},
    {0, "take-over-socket", "PATH",
     "let the next server take everything over, when it asks on this unix socket"},
    {0, "take-over", "PATH", "take everything over from the server that listens on this socket"},
    {0, "reads-state", "", "show which versions of a server's state it can take over, and exit"},
    {0, "no-extensions", "", "have only the commands of beanstalkd"},
    {0, "allow-drain", "",
     "let all clients use drain and undrain, not only those of a unix socket"},
    {0, "log-format", "FORMAT", "write the log as text, which is key=value, or as json (text)"},
    {'V', "verbose", "", "log connections; given twice: log commands too"},
    {'v', "version", "", "show the version and exit"},
    {'h', "help", "", "show this help and exit"},
};

// The first flag that fits is taken, so no two may fit.
constexpr bool are_all_different() {
  for (const Flag& flag : kFlags) {
    for (const Flag* other = kFlags; other != &flag; ++other) {
      if (other->name == flag.name || (flag.letter != 0 && other->letter == flag.letter))
        return false;
    }
  }
  return true;
}
static_assert(are_all_different());

const Flag* find_flag(char letter) {
  for (const Flag& flag : kFlags) {
    if (flag.letter == letter) return &flag;
  }
  return nullptr;
}

const Flag* find_flag(std::string_view name) {
  for (const Flag& flag : kFlags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

// As read_number(), but a number that is too large for its type is the largest one.
std::optional<std::uint64_t> read_number_or_max(std::string_view text) {
  const bool all_digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const std::optional<std::uint64_t> number = read_number(text);
  return number || !all_digits ? number : std::numeric_limits<std::uint64_t>::max();
}

class Parser {
 public:
  Parser(Options& options, std::string& error) : options_(options), error_(error) {}

  bool parse(std::span<const char* const> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (word.size() < 2 || word[0] != '-') return fail("unknown argument: " + std::string(word));
      const char* next = i + 1 < words.size() ? words[i + 1] : nullptr;
      bool used_next = false;
      const bool good = word.starts_with("--") ? parse_long(word.substr(2), next, used_next)
                                               : parse_short(word.substr(1), next, used_next);
      if (!good) return false;
      if (used_next) ++i;
      // As in beanstalkd, what follows -v or -h is not looked at.
      if (options_.action != Options::Action::serve) return true;
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

 private:
  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  bool parse_long(std::string_view text, const char* next, bool& used_next) {
    const std::size_t equals = text.find('=');
    const Flag* flag = text.empty() ? nullptr : find_flag(text.substr(0, equals));
    if (flag == nullptr) return fail("unknown flag: --" + std::string(text));
    const bool joined = equals != std::string_view::npos;
    if (flag->value.empty()) {
      if (joined) return fail("flag takes no value: --" + std::string(flag->name));
      return apply(*flag, {});
    }
    if (joined) return apply(*flag, text.substr(equals + 1));
    if (next == nullptr) return fail("flag requires an argument: --" + std::string(flag->name));
    used_next = true;
    return apply(*flag, next);
  }

  // Letters up to the first one that takes a value, which is the rest of the word or the next one.
  bool parse_short(std::string_view letters, const char* next, bool& used_next) {
    while (!letters.empty()) {
      const Flag* flag = find_flag(letters[0]);
      if (flag == nullptr) return fail(std::string("unknown flag: -") + letters[0]);
      letters.remove_prefix(1);
      if (flag->value.empty()) {
        if (!apply(*flag, {})) return false;
        if (options_.action != Options::Action::serve) return true;
        continue;
      }
      if (!letters.empty()) return apply(*flag, letters);
      if (next == nullptr) {
        return fail(std::string("flag requires an argument: -") + flag->letter);
      }
      used_next = true;
      return apply(*flag, next);
    }
    return true;
  }

  bool apply(const Flag& flag, std::string_view value) {
    if (flag.letter == 0) return apply_long_only(flag, value);
    switch (flag.letter) {
      case 'b':
        replace(flag, options_.binlog_folder, value);
        break;
      case 'F':
        options_.binlog_sync = false;
        break;
      case 'l':
        replace(flag, options_.listen, value);
        break;
      case 'p':
        return apply_port(value);
      case 'u':
        replace(flag, options_.user, value);
        break;
      case 'z':
        return apply_job_bytes(value);
      case 'f':
        return apply_sync(value);
      case 's':
        return apply_binlog_bytes(value);
      case 'V':
        ++options_.verbosity;
        break;
      case 'v':
        options_.action = Options::Action::show_version;
        break;
      case 'h':
        options_.action = Options::Action::show_help;
        break;
      case 'c':
      case 'n':
        options_.warnings.push_back(std::string("-") + flag.letter +
                                    " does nothing: the binlog is always compacted");
        break;
      default:
        return fail("unknown flag");
    }
    if (flag.letter == 'l') options_.listen_given = true;
    return true;
  }

  // Fails if the last value of a flag is empty. An earlier one may be: Debian's unit passes
  // -l "" -p "" if the settings name no address and no port, and the flags of BEANSTALKD_EXTRA
  // follow.
  bool has_values() {
    for (const char letter : given_) {
      const bool is_empty = (letter == 'l' && options_.listen.empty()) ||
                            (letter == 'p' && options_.port.empty()) ||
                            (letter == 'b' && options_.binlog_folder.empty()) ||
                            (letter == 'u' && options_.user.empty());
      if (!is_empty) continue;
      const Flag* const flag = find_flag(letter);
      CHECK(flag != nullptr);
      return fail("empty value for --" + std::string(flag->name));
    }
    return true;
  }

  bool apply_long_only(const Flag& flag, std::string_view value) {
    if (flag.name == "listen-also") return apply_listen_also(value);
    if (flag.name == "compat") return apply_compat(value);
    if (flag.name == "no-extensions") return apply_commands(CommandSet::standard);
    if (flag.name == "allow-drain") return apply_commands(CommandSet::operators);
    if (flag.name == "log-format") return apply_log_format(value);
    if (flag.name == "connections-max") return apply_limit(value, options_.limits.connections_max);
    if (flag.name == "idle-timeout") return apply_limit(value, options_.limits.idle_timeout_s);
    if (flag.name == "memory-max") return apply_memory(value);
    if (flag.name == "fence-after") return apply_limit(value, options_.fence_after_s);
    if (flag.name == "tries-max") return apply_tries(value);
    if (flag.name == "take-over-socket")
      return apply_socket(flag, value, options_.take_over_socket);
    if (flag.name == "take-over") return apply_socket(flag, value, options_.take_over);
    if (flag.name == "reads-state") {
      options_.action = Options::Action::show_state_versions;
      return true;
    }
    if (flag.name == "strict") {
      options_.binlog_strict = true;
      return true;
    }
    if (flag.name == "no-hand-over") {
      options_.hands_over = false;
      return true;
    }
    if (flag.name == "sandbox") {
      options_.confinement = Options::Confinement::always;
      return true;
    }
    if (flag.name == "no-sandbox") {
      options_.confinement = Options::Confinement::never;
      return true;
    }
    return fail("unknown flag: --" + std::string(flag.name));
  }

  static std::string quoted(std::string_view value) {
    return value.empty() ? "\"\"" : std::string(value);
  }

  // As in beanstalkd the last value counts, but not in silence. A second -l does not add an
  // address: it may stand there to close the one before, such as 0.0.0.0 in a distribution's
  // settings.
  void replace(const Flag& flag, std::string& to, std::string_view value) {
    CHECK(flag.letter != 0);
    const bool is_first = given_.find(flag.letter) == std::string::npos;
    if (is_first) {
      given_ += flag.letter;
    } else if (to != value) {
      const char* more = flag.letter == 'l' ? "; --listen-also adds an address" : "";
      options_.warnings.push_back(std::string("-") + flag.letter + " " + quoted(to) +
                                  " has no effect: -" + flag.letter + " " + quoted(value) +
                                  " comes later" + more);
    }
    to = value;
  }

  bool apply_listen_also(std::string_view value) {
    if (value.empty()) return fail("empty value for --listen-also");
    options_.listen_also.emplace_back(value);
    options_.listen_given = true;
    return true;
  }

  bool apply_socket(const Flag& flag, std::string_view value, std::string& path) {
    if (!is_unix_path(value)) {
      return fail("the path of --" + std::string(flag.name) +
                  " has to have 1 to 107 bytes: " + std::string(value));
    }
    path = value;
    return true;
  }

  // What is larger than the type holds is no limit that anybody could reach, so it is a mistake.
  bool apply_limit(std::string_view value, std::uint32_t& limit) {
    const std::optional<std::uint64_t> number = read_number(value);
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
      return fail("invalid number: " + std::string(value));
    }
    limit = static_cast<std::uint32_t>(*number);
    return true;
  }

  bool apply_memory(std::string_view value) {
    const std::optional<std::uint64_t> bytes = read_bytes(value);
    if (!bytes) return fail("invalid size: " + std::string(value));
    options_.limits.job_memory_bytes_max = *bytes;
    return true;
  }

  bool apply_tries(std::string_view value) {
    if (!apply_limit(value, options_.limits.tries_max)) return false;
    if (options_.limits.tries_max > kTriesMax) return fail("invalid number: " + std::string(value));
    return true;
  }

  bool apply_commands(CommandSet commands) {
    if (options_.commands != CommandSet::extended && options_.commands != commands) {
      return fail("--no-extensions and --allow-drain exclude each other");
    }
    options_.commands = commands;
    return true;
  }

  bool apply_compat(std::string_view value) {
    if (value == "1.13") {
      options_.compat = Compat::v1_13;
    } else if (value == "1.12") {
      options_.compat = Compat::v1_12;
    } else {
      return fail("unknown version for --compat: " + std::string(value));
    }
    return true;
  }

  bool apply_log_format(std::string_view value) {
    if (value == "text") {
      options_.log_format = LogFormat::text;
    } else if (value == "json") {
      options_.log_format = LogFormat::json;
    } else {
      return fail("unknown format for --log-format: " + std::string(value));
    }
    return true;
  }

  bool apply_port(std::string_view value) {
    if (!value.empty() && !is_port(value)) return fail("invalid port: " + std::string(value));
    const Flag* flag = find_flag('p');
    CHECK(flag != nullptr);
    replace(*flag, options_.port, value);
    options_.listen_given = true;
    return true;
  }

  bool apply_job_bytes(std::string_view value) {
    const std::optional<std::uint64_t> number = read_number_or_max(value);
    if (!number) return fail("invalid size: " + std::string(value));
    static_assert(kJobBytesMaxLimit <= std::numeric_limits<std::uint32_t>::max());
    const auto allowed = std::min<std::uint64_t>(*number, kJobBytesMaxLimit);
    options_.job_bytes_max = static_cast<std::uint32_t>(allowed);
    if (*number > kJobBytesMaxLimit) {
      options_.warnings.push_back("the largest job size is set to " + std::to_string(allowed));
    }
    return true;
  }

  bool apply_sync(std::string_view value) {
    const std::optional<std::uint64_t> number = read_number(value);
    if (!number) return fail("invalid number of milliseconds: " + std::string(value));
    options_.binlog_sync = true;
    options_.binlog_sync_ms = *number;
    return true;
  }

  bool apply_binlog_bytes(std::string_view value) {
    const std::optional<std::uint64_t> number = read_number(value);
    if (!number) return fail("invalid size: " + std::string(value));
    options_.binlog_bytes_max = *number;
    return true;
  }

  Options& options_;
  std::string& error_;
  std::string given_;  // The letters of the flags that have replaced their default.
};

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
  for (const Flag& flag : kFlags) text += to_line(flag, " ");
  text += "\nSIGUSR1 stops taking new jobs (drain mode); SIGTERM and SIGINT end the server.\n";
  return text;
}

}  // namespace haricot::os
