// A page of a list that a server sends in pages: scan-jobs, list-jobs, list-clients.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Largest number of items in a page that a server accepts.
inline constexpr std::uint64_t kPageItemsMax = 1000;

struct ListPage {
  std::uint64_t next = 0;  // First id of the next page; 0 after the last page.
  std::vector<StatsText> items;
};

// Reads a page whose list has the key `name`. Returns nothing if the text is no such answer, or an
// item in it has no id.
std::optional<ListPage> parse_list_page(std::string_view answer, std::string_view name);

}  // namespace haricot::tool
