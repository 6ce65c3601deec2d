#include "request_play.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/check.hpp"
#include "web/http/exchange.hpp"
#include "web/http/message.hpp"
#include "web/http/request_parser.hpp"
#include "web/serve/site.hpp"

namespace haricot::fuzz {
namespace {

constexpr std::size_t kHeadMax = 1024;
constexpr std::size_t kBodyMax = 512;

struct Outcome {
  std::vector<web::Request> requests;
  std::uint16_t status = 200;
};

Outcome read_all(std::string_view bytes, std::size_t piece) {
  Outcome outcome;
  web::RequestParser parser(kHeadMax);
  while (!bytes.empty() && !parser.failure()) {
    bytes.remove_prefix(parser.feed(bytes.substr(0, piece)));
    if (parser.has_head()) parser.begin_body(kBodyMax);
    CHECK(parser.body_bytes() <= kBodyMax);
    if (parser.is_whole()) outcome.requests.push_back(parser.take());
  }
  if (parser.failure()) outcome.status = parser.failure()->status;
  return outcome;
}

bool is_same(const web::Request& a, const web::Request& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.body == b.body &&
         a.is_http10 == b.is_http10 && a.keeps_alive == b.keeps_alive &&
         std::equal(a.headers.begin(), a.headers.end(), b.headers.begin(), b.headers.end(),
                    [](const web::Header& x, const web::Header& y) {
                      return x.name == y.name && x.value == y.value;
                    });
}

void check_request(const web::Request& request) {
  CHECK(request.path.starts_with('/') && request.path.find('\0') == std::string::npos);
  CHECK(request.body.size() <= kBodyMax);
  std::size_t hosts = 0;
  for (const web::Header& header : request.headers) {
    CHECK(web::is_token(header.name) && web::is_field_value(header.value));
    CHECK(web::trim(header.value) == header.value);
    if (web::is_same_word(header.name, "Host")) ++hosts;
  }
  CHECK(hosts == 1 || (hosts == 0 && request.is_http10));
  (void)request.parameter("a");
  (void)web::find_parameter(request.body, "a");
}

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The head has as many lines as headers were given, whatever their text.
void answer(const web::Request& request, web::Site& site) {
  const web::Exchange::Server server{nullptr, nullptr, "X-Common: 1\r\n"};
  web::Exchange exchange(request, server, {nullptr, [](void*) {}});
  web::Request judged = request;
  const web::Site::Decision decision = site.decide(judged, "peer", Instant());
  CHECK(decision.refused.has_value() || decision.route != nullptr);
  exchange.respond({200,
                    request.path,
                    request.body,
                    {{"X-Query", request.query}, {"Location", request.path + request.body}}});
  const std::string_view output = exchange.output();
  const std::size_t end = output.find("\r\n\r\n");
  CHECK(end != std::string_view::npos);
  const std::string_view head = output.substr(0, end);
  // Status, type, length, two of its own, Cache-Control, the common one; perhaps Connection.
  const std::size_t lines = count_lines(head) + 1;
  CHECK(lines == 7 || lines == 8);
  CHECK(head.find('\0') == std::string_view::npos);
  const bool has_body = request.method != web::Method::head;
  CHECK(output.substr(end + 4) == (has_body ? std::string_view(request.body) : ""));
}

}  // namespace

std::size_t check_requests(std::string_view bytes) {
  static web::Site site({.base_path = "/queue",
                         .access = {.hosts = {"queue.example"},
                                    .token = web::Token("a-token-of-some-length"),
                                    .allows_changes = true,
                                    .is_behind_proxy = true}},
                        {{web::Method::get, "/", nullptr, nullptr, false},
                         {web::Method::post, "/api/actions", nullptr, nullptr}});
  const Outcome whole = read_all(bytes, std::string_view::npos);
  for (const std::size_t piece : {1U, 3U, 64U}) {
    const Outcome cut = read_all(bytes, piece);
    CHECK(cut.status == whole.status);
    CHECK(std::equal(cut.requests.begin(), cut.requests.end(), whole.requests.begin(),
                     whole.requests.end(), is_same));
  }
  for (const web::Request& request : whole.requests) {
    check_request(request);
    answer(request, site);
  }
  return whole.requests.size();
}

}  // namespace haricot::fuzz
