// A page of a list that a server shows page by page: scan-jobs, list-jobs, list-clients.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// The most items that a server takes for a page.
inline constexpr std::uint64_t kPageItemsMax = 1000;

struct ListPage {
  std::uint64_t next = 0;  // Where the next page begins; 0: this was the last one.
  std::vector<StatsText> items;
};

// `name` is the key under which the list stands. Nothing: it is no such answer, or an item in it
// has no id.
std::optional<ListPage> parse_list_page(std::string_view answer, std::string_view name);

}  // namespace haricot::tool
