// The connections of a server, as list-clients shows them page by page.

#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "tool/client/list_page.hpp"
#include "tool/client/list_table.hpp"
#include "tool/client/remote.hpp"

namespace haricot::tool {

// What is shown of each.
inline constexpr std::array<ListColumn, 9> kClientColumns = {{{"id", "id", 6},
                                                              {"state", "state", 8},
                                                              {"jobs", "jobs", 5},
                                                              {"age", "age", 8},
                                                              {"idle", "idle", 8},
                                                              {"commands", "commands", 10},
                                                              {"watching", "watching", 8},
                                                              {"address", "address", 21},
                                                              {"used", "used", 0}}};

// Asks for those whose ids are not below `from`, at most so many a page, or as many as a page can
// have. `take` gets each page, and returns whether it wants the next one. False: the server failed,
// and server.failure() says how. Requires: page_items > 0.
[[nodiscard]] bool ask_clients(Remote& server, std::uint64_t from, std::uint64_t page_items,
                               const std::function<bool(ListPage& page)>& take);

}  // namespace haricot::tool
