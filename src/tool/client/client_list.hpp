// The connections of a server, page by page (list-clients).

#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "tool/client/list_page.hpp"
#include "tool/client/list_table.hpp"
#include "tool/client/remote.hpp"

namespace haricot::tool {

// The columns of a table of connections.
inline constexpr std::array<ListColumn, 9> kClientColumns = {{{"id", "id", 6},
                                                              {"state", "state", 8},
                                                              {"jobs", "jobs", 5},
                                                              {"age", "age", 8},
                                                              {"idle", "idle", 8},
                                                              {"commands", "commands", 10},
                                                              {"watching", "watching", 8},
                                                              {"address", "address", 21},
                                                              {"used", "used", 0}}};

// Asks for the connections with ids from `from` on, at most `page_items` in a page, or
// kPageItemsMax if that is less. `take` gets each page and returns false to stop. Returns false if
// the server failed; server.failure() has the reason. Requires: page_items > 0.
[[nodiscard]] bool ask_clients(Remote& server, std::uint64_t from, std::uint64_t page_items,
                               const std::function<bool(ListPage& page)>& take);

}  // namespace haricot::tool
