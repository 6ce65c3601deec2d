// Data of one server that a screen shows besides its sample, requested over a separate connection:
// the next jobs of a tube or the connections, and the abilities of the server.

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
  // Requires: both outlive the object. A key may change the view while a server is being asked.
  Details(Errand& errand, const TopView& view);

  // Asks this server of the errand for the data that the view shows, at most `jobs` jobs of each
  // state. On failure sets the trouble of `state`. Returns the time taken.
  Duration ask(std::size_t server, std::size_t jobs, TopState& state);

 private:
  // Return false if the server failed.
  bool ask_for_jobs(Remote& server, std::size_t count, TopState& state);
  bool ask_for_clients(Remote& server, TopState& state);

  Errand& errand_;
  const TopView& view_;
  // True for each server whose abilities are known on this connection.
  std::vector<bool> has_abilities_;
};

}  // namespace haricot::tool
