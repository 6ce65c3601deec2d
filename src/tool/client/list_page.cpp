#include "tool/client/list_page.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "haricot/base/number.hpp"

namespace haricot::tool {
namespace {

// Adds the item that these lines describe. Returns false if they are malformed.
bool add_item(const std::string& lines, ListPage& page) {
  std::optional<StatsText> item = StatsText::parse(std::string(kYamlBegin) + lines);
  if (!item || !item->number("id")) return false;
  page.items.push_back(std::move(*item));
  return true;
}

// Returns true if a line of an item, without its first two characters, is a key with lines below
// it, or one of these lines. Only a newer server could send such keys.
bool is_nested(std::string_view line) {
  const bool is_key_alone = line.ends_with(":\n") && line.find(':') + 2 == line.size();
  return is_key_alone || line.starts_with(' ') || line.starts_with("- ");
}

}  // namespace

std::optional<ListPage> parse_list_page(std::string_view answer, std::string_view name) {
  if (!answer.starts_with(kYamlBegin) || !answer.ends_with('\n')) return std::nullopt;
  answer.remove_prefix(kYamlBegin.size());
  const std::string begin = std::string(name) + ":\n";
  const std::string empty = std::string(name) + ": []\n";
  ListPage page;
  bool has_list = false;
  bool is_in_list = false;
  std::string lines;  // Lines of the current item.
  while (!answer.empty()) {
    const std::size_t bytes = answer.find('\n') + 1;
    std::string_view line = answer.substr(0, bytes);
    answer.remove_prefix(bytes);
    const bool is_first = line.starts_with("- ");
    if (is_first || line.starts_with("  ")) {
      if (!is_in_list) continue;  // Belongs to an unknown key, from a newer server.
      if (is_first && !lines.empty() && !add_item(lines, page)) return std::nullopt;
      if (is_first) lines.clear();
      if (!is_first && lines.empty()) return std::nullopt;
      line.remove_prefix(2);
      if (is_first || !is_nested(line)) lines += line;
      continue;
    }
    is_in_list = line == begin;
    has_list = has_list || is_in_list || line == empty;
    if (line.starts_with("next: ")) {
      line.remove_prefix(6);
      line.remove_suffix(1);
      const std::optional<std::uint64_t> next = read_number(line);
      if (!next) return std::nullopt;
      page.next = *next;
    } else if (line.find(':') == std::string_view::npos) {
      return std::nullopt;
    }  // Ignores other keys, which a newer server may send.
  }
  if (!lines.empty() && !add_item(lines, page)) return std::nullopt;
  return has_list ? std::optional(std::move(page)) : std::nullopt;
}

}  // namespace haricot::tool
