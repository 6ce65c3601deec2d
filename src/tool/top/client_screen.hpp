// The screen of the connections of a server: the user's choices, the keys that change them, and the
// lines.

#pragma once

#include <cstddef>
#include <vector>

#include "tool/client/stats_text.hpp"
#include "tool/top/key_reader.hpp"
#include "tool/top/screen_line.hpp"

namespace haricot::tool {

// Connections as the server has listed them.
struct SeenClients {
  bool can_be_listed = true;       // False if the server does not know list-clients.
  std::vector<StatsText> clients;  // In the order of their ids.
};

struct ClientView {
  bool is_shown = false;
  std::size_t sort = 2;  // Index into kClientColumns; by default jobs.
  bool reversed = false;
  std::size_t first_row = 0;  // May be too large if connections have closed.
};

// Applies a key that sorts or scrolls. `clients` is the number of connections, `page` the number of
// rows of a page.
void apply(Key key, std::size_t clients, std::size_t page, ClientView& view);

// Returns the number of connections and their order, for the status line.
ScreenLine::Piece order_of(const SeenClients& seen, const ClientView& view);

// Returns a line of titles and at most `rows` lines below it. Sorts numbers from the largest down,
// words from A to Z, ids from the smallest up, and equal ones by id. On a narrow screen omits the
// columns on the right. Costs one visit of each connection, and a sort down to the last row.
std::vector<ScreenLine> draw_clients(const SeenClients& seen, const ClientView& view,
                                     std::size_t rows, std::size_t columns);

}  // namespace haricot::tool
