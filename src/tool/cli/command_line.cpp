#include "tool/cli/command_line.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/flag_text.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"

namespace haricot::tool {
namespace {

class Reader {
 public:
  Reader(std::span<const Flag> flags, Words words, std::string& error)
      : flags_(flags), words_(words), error_(error) {}

  bool read(std::vector<std::string_view>& operands, FlagPlaces places) {
    bool only_operands = false;
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_++];
      if (only_operands || word.size() < 2 || word[0] != '-') {
        operands.push_back(word);
        if (places == FlagPlaces::in_front) only_operands = true;
      } else if (word == "--") {
        only_operands = true;
      } else if (!(word[1] == '-' ? read_long(word.substr(2)) : read_letters(word.substr(1)))) {
        return false;
      }
    }
    return true;
  }

 private:
  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  bool read_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string written = "--" + std::string(text.substr(0, equals));
    for (const Flag& flag : flags_) {
      if (flag.name != text.substr(0, equals)) continue;
      if (equals == std::string_view::npos) return apply(flag, written, {});
      if (flag.value.empty()) return fail(written + " takes no value");
      return apply(flag, written, text.substr(equals + 1));
    }
    return unknown(written);
  }

  bool unknown(const std::string& written) {
    std::vector<std::string> names;
    for (const Flag& flag : flags_) names.push_back("--" + std::string(flag.name));
    const std::vector<std::string_view> words(names.begin(), names.end());
    return fail("unknown flag: " + written + suggestion(written, words));
  }

  // Reads joined letters up to the first one with a value. The value is the rest of the word, or
  // the next word.
  bool read_letters(std::string_view letters) {
    while (!letters.empty()) {
      const Flag* flag = find_letter(letters[0]);
      const std::string written = std::string("-") + letters[0];
      if (flag == nullptr) return unknown(written);
      letters.remove_prefix(1);
      if (!flag->value.empty()) {
        return apply(*flag, written,
                     letters.empty() ? std::nullopt : std::optional<std::string_view>(letters));
      }
      if (!apply(*flag, written, {})) return false;
    }
    return true;
  }

  const Flag* find_letter(char letter) const {
    for (const Flag& flag : flags_) {
      if (flag.letter == letter) return &flag;
    }
    return nullptr;
  }

  bool apply(const Flag& flag, const std::string& written, std::optional<std::string_view> value) {
    if (!flag.value.empty() && !value) {
      if (at_ == words_.size()) return fail(written + " needs a value");
      value = words_[at_++];
    }
    if (flag.apply(value.value_or(std::string_view{}))) return true;
    return fail(written + ": '" + std::string(*value) + "' is not " + std::string(flag.wanted));
  }

  std::span<const Flag> flags_;
  Words words_;
  std::string& error_;
  std::size_t at_ = 0;
};

}  // namespace

bool read_flags(std::span<const Flag> flags, Words words, std::vector<std::string_view>& operands,
                std::string& error, FlagPlaces places) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    CHECK(!flags[i].name.empty() && flags[i].apply);
    for (std::size_t other = 0; other < i; ++other) {
      CHECK(flags[i].name != flags[other].name);
      CHECK(flags[i].letter == '\0' || flags[i].letter != flags[other].letter);
    }
  }
  return Reader(flags, words, error).read(operands, places);
}

std::vector<Flag> usual_flags() {
  std::vector<Flag> flags;
  for (const UsualFlag& usual : kUsualFlags) {
    flags.push_back({usual.letter, usual.name, usual.has_value ? "VALUE" : "", "",
                     [](std::string_view) { return true; }});
  }
  return flags;
}

std::size_t count_usual_flags(Words words) {
  const std::vector<Flag> flags = usual_flags();
  std::size_t count = 0;
  while (count < words.size()) {
    const std::string_view word = words[count];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    // Try the word alone, then with the next word as its value.
    std::size_t taken = 0;
    for (const std::size_t size : {1U, 2U}) {
      std::vector<std::string_view> operands;
      std::string error;
      if (count + size > words.size()) break;
      if (!read_flags(flags, words.subspan(count, size), operands, error)) continue;
      taken = operands.empty() ? size : 0;
      break;
    }
    if (taken == 0) break;
    count += taken;
  }
  return count;
}

std::string describe_flags(std::span<const Flag> flags) {
  std::string text;
  for (const Flag& flag : flags) {
    text += to_line({flag.letter, flag.name, flag.value, flag.help}, "  ");
  }
  return text;
}

std::function<bool(std::string_view)> set(bool& to) {
  return [&to](std::string_view) { return to = true; };
}

std::function<bool(std::string_view)> set(std::string& to) {
  return [&to](std::string_view value) {
    to = value;
    return !value.empty();
  };
}

std::function<bool(std::string_view)> set_count(std::uint64_t& to, std::uint64_t min,
                                                std::uint64_t max) {
  return [&to, min, max](std::string_view value) {
    const std::optional<std::uint64_t> number = read_count(value);
    if (!number || *number < min || *number > max) return false;
    to = *number;
    return true;
  };
}

Flag count_flag(std::string_view help, std::uint64_t& to, char letter) {
  const auto apply = [&to](std::string_view value) {
    return set_count(to, 1, std::numeric_limits<std::uint64_t>::max())(value);
  };
  return {letter, "count", "N", help, apply, "a number of at least 1"};
}

Flag from_flag(std::uint64_t& to) {
  const auto apply = [&to](std::string_view value) {
    to = read_number(value).value_or(0);
    return to > 0;
  };
  return {'i', "from", "ID", "begin with this id (1)", apply, "an id of at least 1"};
}

std::function<bool(std::string_view)> set_milliseconds(std::uint64_t& to, std::uint64_t min,
                                                       std::uint64_t max) {
  return [&to, min, max](std::string_view value) {
    const std::optional<std::uint64_t> number = read_milliseconds(value);
    if (!number || *number < min || *number > max) return false;
    to = *number;
    return true;
  };
}

std::function<bool(std::string_view)> set_seconds(std::uint64_t& to) {
  return [&to](std::string_view value) {
    const std::optional<std::uint64_t> seconds = read_seconds(value);
    to = seconds.value_or(0);
    return seconds.has_value();
  };
}

std::optional<std::uint64_t> read_seconds(std::string_view text) {
  const std::optional<std::uint64_t> milliseconds = read_milliseconds(text);
  if (!milliseconds || *milliseconds > kSecondsMax * 1000) return std::nullopt;
  return (*milliseconds + 999) / 1000;
}

std::function<bool(std::string_view)> set_tube(std::string& to) {
  return [&to](std::string_view value) {
    to = value;
    return is_tube_name(value);
  };
}

namespace {

// Longer words are not compared: no mistyped name is so long.
constexpr std::size_t kWordBytesMax = 64;

// A shorter word is the beginning of too many others.
constexpr std::size_t kBeginningBytesMin = 3;

// Words that other tools use, such as redis-cli, ls, systemctl and clients of beanstalkd, and keys
// of jobs that other libraries use, for a meaning. A row applies if the first word of its meaning
// is valid.
struct OtherWords {
  std::string_view meant;
  std::string_view words;  // With a space between two.
};
constexpr OtherWords kOtherWords[] = {
    {"stats", "info status stat llen"},
    {"tubes", "keys list ls queues count len"},
    {"jobs", "scan lrange"},
    {"jobs --match TEXT", "search find grep"},
    {"top", "monitor watch"},
    {"clients", "connections who workers"},
    {"peek", "get show cat"},
    {"put", "lpush rpush push add set publish"},
    {"reserve", "brpop blpop rpop lpop pop take"},
    {"work", "run touch subscribe"},
    {"kick", "retry"},
    {"delete", "del rm remove"},
    {"flush", "flushdb flushall purge clear"},
    {"move", "mv rename"},
    {"export", "dump save backup"},
    {"import", "restore load"},
    {"pause TUBE 0", "unpause resume"},
    {"drain --stop", "undrain"},
    {"bench", "benchmark"},
    {"ping", "latency"},
    {"--version", "version"},
    // The address contains host and port.
    {"--address HOST:PORT", "--host --server --port -p -H"},
    {"--tube", "--queue"},
    {"--tries", "--retries --max-tries --attempts"},
    {"--count", "--limit"},
    {"--yes", "--force"},
    {"pri", "priority"},
    {"tube", "queue"},
    {"body", "data payload"},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0, end = 0; begin < words.size(); begin = end + 1) {
    end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
  }
  return false;
}

std::string_view without_hyphens(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

std::string_view other_word(std::string_view mistyped, std::span<const std::string_view> words) {
  for (const OtherWords& row : kOtherWords) {
    const std::string_view first = row.meant.substr(0, row.meant.find(' '));
    const bool can_stand = std::find(words.begin(), words.end(), first) != words.end();
    if (can_stand && has_word(row.words, mistyped)) return row.meant;
  }
  return {};
}

// Returns the only word that begins with the mistyped one; empty if there is none, or several.
std::string_view only_beginning(std::string_view mistyped,
                                std::span<const std::string_view> words) {
  if (without_hyphens(mistyped).size() < kBeginningBytesMin) return {};
  std::string_view found;
  for (const std::string_view word : words) {
    if (!word.starts_with(mistyped)) continue;
    if (!found.empty()) return {};
    found = word;
  }
  return found;
}

std::size_t changes_allowed(std::string_view word) {
  return std::clamp<std::size_t>(without_hyphens(word).size() / 3, 1, 2);
}

}  // namespace

std::size_t typing_distance(std::string_view from, std::string_view to) {
  // Row i has the distances from the first i letters to all beginnings of the other word.
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_exchange =
          i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (is_exchange) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[to.size()];
}

std::string_view nearest_word(std::string_view mistyped, std::span<const std::string_view> words) {
  if (mistyped.size() > kWordBytesMax) return {};
  std::string_view nearest;
  std::size_t least = kWordBytesMax;
  for (const std::string_view word : words) {
    const std::size_t distance = typing_distance(mistyped, word);
    if (distance > changes_allowed(word) || distance >= least) continue;
    nearest = word;
    least = distance;
  }
  return nearest;
}

std::string suggestion(std::string_view mistyped, std::span<const std::string_view> words) {
  std::string_view meant = other_word(mistyped, words);
  if (meant.empty()) meant = only_beginning(mistyped, words);
  if (meant.empty()) meant = nearest_word(mistyped, words);
  return meant.empty() ? std::string() : " (did you mean " + std::string(meant) + "?)";
}

}  // namespace haricot::tool
