// /api/search: one piece of a search over all jobs of a server.
//
// A piece takes a fifth of a second, or ends with some hundred hits. The caller asks for the next
// piece with the position at which this one ended, so the program keeps no state of a search.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

// Position of a search on a server that cannot list its jobs: from the number of puts down to 1,
// then up from there. As text: "down 17 3".
struct SearchCursor {
  bool is_up = false;
  std::uint64_t id = 0;     // The next id to ask for.
  std::uint64_t found = 0;  // Number of jobs that were found.

  static std::optional<SearchCursor> read(std::string_view text);
  std::string text() const;
};

Task answer_search(Server& server, std::shared_ptr<Exchange> exchange);

}  // namespace haricot::web
