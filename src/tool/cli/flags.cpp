#include "tool/cli/command_line.hpp"

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

}  // namespace haricot::tool
