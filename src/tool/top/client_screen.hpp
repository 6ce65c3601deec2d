// The screen of the connections of a server: what the person has chosen of it, what keys do to it,
// and its lines.

#pragma once

#include <cstddef>
#include <vector>

#include "tool/client/stats_text.hpp"
#include "tool/top/key_reader.hpp"
#include "tool/top/screen_line.hpp"

namespace haricot::tool {

// What a server has said of its connections.
struct SeenClients {
  bool can_be_listed = true;       // False: the server does not know list-clients.
  std::vector<StatsText> clients;  // In the order of their ids.
};

struct ClientView {
  bool is_shown = false;
  std::size_t sort = 2;  // An index of kClientColumns: by jobs.
  bool reversed = false;
  std::size_t first_row = 0;  // May be too far down, if connections have gone.
};

// Of a key that sorts or scrolls. So many connections are there, and a page has so many rows.
void apply(Key key, std::size_t clients, std::size_t page, ClientView& view);

// How they are sorted, for the status line.
ScreenLine::Piece order_of(const SeenClients& seen, const ClientView& view);

// Titles, and at most so many rows below them. Numbers go from the largest down and words from A to
// Z, ids from the smallest up; those that are equal by their ids. Costs a look at each connection,
// and a sort of those down to the last row. The columns on the right leave first.
std::vector<ScreenLine> draw_clients(const SeenClients& seen, const ClientView& view,
                                     std::size_t rows, std::size_t columns);

}  // namespace haricot::tool
