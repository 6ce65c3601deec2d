#include "tool/client/client_list.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace haricot::tool {

bool ask_clients(Remote& server, std::uint64_t from, std::uint64_t page_items,
                 const std::function<bool(ListPage& page)>& take) {
  while (true) {
    const std::string command = "list-clients " + std::to_string(from) + " " +
                                std::to_string(std::min(page_items, kPageItemsMax));
    const std::optional<Response> response = server.ask(command, ReplyCode::ok);
    if (!response) return false;
    std::optional<ListPage> page = parse_list_page(response->body, "clients");
    if (!page || (page->next != 0 && page->next <= from)) {
      server.cannot_read(command);
      return false;
    }
    if (!take(*page) || page->next == 0) return true;
    from = page->next;
  }
}

}  // namespace haricot::tool
