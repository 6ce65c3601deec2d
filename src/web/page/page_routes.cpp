#include "web/page/page_routes.hpp"

#include <memory>
#include <string>
#include <utility>

namespace haricot::web {

namespace {

void answer_file(void* self, std::shared_ptr<Exchange> exchange) {
  const std::shared_ptr<Exchange> taken = std::move(exchange);
  const PageFile& file = *static_cast<const PageFile*>(self);
  Response response;
  response.type = file.type;
  response.body = file.bytes;
  response.more.push_back({.name = "ETag", .value = std::string(file.etag)});
  // Browsers check for a new version each time, so none runs the page of an older program.
  response.more.push_back({.name = "Cache-Control", .value = "no-cache"});
  taken->respond(std::move(response));
}

}  // namespace

std::vector<Route> page_routes() {
  std::vector<Route> routes;
  for (const PageFile& file : page_files()) {
    Route route;
    route.method = Method::get;
    route.path = file.path;
    route.handle = &answer_file;
    // answer_file() only reads it.
    route.self = const_cast<PageFile*>(&file);
    route.needs_login = file.path == "/";
    route.is_page = true;
    routes.push_back(route);
  }
  return routes;
}

}  // namespace haricot::web
