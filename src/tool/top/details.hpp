// What the screen of a terminal shows of one server beside its samples, asked over a connection of
// its own: the next jobs of a tube, or the connections; and what the server can do.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/errand.hpp"
#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

class Details final {
 public:
  // Both outlive it. A key may change the view while a server is asked.
  Details(Errand& errand, const TopView& view);

  // Asks this server of the errand for what the view shows of it, at most so many jobs of a state.
  // If it fails, `state` has the trouble. Returns how long that took.
  Duration ask(std::size_t server, std::size_t jobs, TopState& state);

 private:
  // Both return false if the server failed.
  bool ask_for_jobs(Remote& server, std::size_t count, TopState& state);
  bool ask_for_clients(Remote& server, TopState& state);

  Errand& errand_;
  const TopView& view_;
  std::vector<bool> has_abilities_;  // Of each server, on this connection.
};

}  // namespace haricot::tool
