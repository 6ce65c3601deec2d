#include "tool/cli/command_line.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace haricot::tool {
namespace {

// Longer words are not compared: no mistyped name is so long.
constexpr std::size_t kWordBytesMax = 64;

// A shorter word is the beginning of too many others.
constexpr std::size_t kBeginningBytesMin = 3;

// Words that other tools use, such as redis-cli, ls, systemctl and clients of beanstalkd, and keys
// of jobs that other libraries use. A row applies if the first word of its meaning is valid.
struct OtherWord {
  std::string_view word;
  std::string_view meant;
};
constexpr OtherWord kOtherWords[] = {
    {"info", "stats"},
    {"status", "stats"},
    {"stat", "stats"},
    {"llen", "stats"},
    {"keys", "tubes"},
    {"list", "tubes"},
    {"ls", "tubes"},
    {"queues", "tubes"},
    {"count", "tubes"},
    {"len", "tubes"},
    {"scan", "jobs"},
    {"lrange", "jobs"},
    {"search", "jobs --match TEXT"},
    {"find", "jobs --match TEXT"},
    {"grep", "jobs --match TEXT"},
    {"monitor", "top"},
    {"watch", "top"},
    {"connections", "clients"},
    {"who", "clients"},
    {"workers", "clients"},
    {"get", "peek"},
    {"show", "peek"},
    {"cat", "peek"},
    {"lpush", "put"},
    {"rpush", "put"},
    {"push", "put"},
    {"add", "put"},
    {"set", "put"},
    {"publish", "put"},
    {"brpop", "reserve"},
    {"blpop", "reserve"},
    {"rpop", "reserve"},
    {"lpop", "reserve"},
    {"pop", "reserve"},
    {"take", "reserve"},
    {"run", "work"},
    {"touch", "work"},
    {"subscribe", "work"},
    {"retry", "kick"},
    {"del", "delete"},
    {"rm", "delete"},
    {"remove", "delete"},
    {"flushdb", "flush"},
    {"flushall", "flush"},
    {"purge", "flush"},
    {"clear", "flush"},
    {"mv", "move"},
    {"rename", "move"},
    {"dump", "export"},
    {"save", "export"},
    {"backup", "export"},
    {"restore", "import"},
    {"load", "import"},
    {"unpause", "pause TUBE 0"},
    {"resume", "pause TUBE 0"},
    {"undrain", "drain --stop"},
    {"benchmark", "bench"},
    {"latency", "ping"},
    {"version", "--version"},
    // The address contains host and port.
    {"--host", "--address HOST:PORT"},
    {"--server", "--address HOST:PORT"},
    {"--port", "--address HOST:PORT"},
    {"-p", "--address HOST:PORT"},
    {"-H", "--address HOST:PORT"},
    {"--queue", "--tube"},
    {"--retries", "--tries"},
    {"--max-tries", "--tries"},
    {"--attempts", "--tries"},
    {"--limit", "--count"},
    {"--force", "--yes"},
    {"priority", "pri"},
    {"queue", "tube"},
    {"data", "body"},
    {"payload", "body"},
};

// Requires different words, because only the first row of a word applies.
constexpr bool are_all_different() {
  for (const OtherWord& row : kOtherWords) {
    for (const OtherWord* other = kOtherWords; other != &row; ++other) {
      if (other->word == row.word) return false;
    }
  }
  return true;
}
static_assert(are_all_different());

std::string_view without_hyphens(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

std::string_view other_word(std::string_view mistyped, std::span<const std::string_view> words) {
  for (const OtherWord& row : kOtherWords) {
    const std::string_view first = row.meant.substr(0, row.meant.find(' '));
    const bool can_stand = std::find(words.begin(), words.end(), first) != words.end();
    if (row.word == mistyped && can_stand) return row.meant;
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
