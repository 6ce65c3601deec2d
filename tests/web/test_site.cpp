// A program with the flags, sockets and access rules of `haricot web`, and with routes for tests.
// Each route shows one behaviour.

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/number.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"
#include "web/web_options.hpp"
#include "web/web_run.hpp"

namespace haricot::web {
namespace {

using Shared = std::shared_ptr<Exchange>;

Response text(std::string body) {
  return {200, "text/plain; charset=utf-8", std::move(body), {}};
}

// Echoes the request.
void echo(void* /*self*/, Shared exchange) {
  const Request& request = exchange->request();
  std::string sum;
  if (!request.body.empty()) {
    sum = std::to_string(std::count(request.body.begin(), request.body.end(), 'x'));
  }
  exchange->respond(text("path=" + request.path + "\nq=" + request.parameter("q").value_or("none") +
                         "\nbody=" + std::to_string(request.body.size()) + "\nx=" + sum +
                         "\nmay_change=" + (request.may_change ? "yes" : "no") +
                         "\npeer=" + request.peer + "\n"));
}

void act(void* /*self*/, Shared exchange) {
  exchange->log_action("kick", "here:11300", "tube=\n" + exchange->request().body, "done=1");
  exchange->respond(text("done\n"));
}

void show_page(void* /*self*/, Shared exchange) {
  exchange->respond({200, "text/html; charset=utf-8", "<p>hello</p>", {{"ETag", "\"page-1\""}}});
}

// Sends a body of ?bytes=N in pieces, as fast as the peer reads.
void stream(void* /*self*/, Shared exchange) {
  auto left = std::make_shared<std::uint64_t>(
      read_number(exchange->request().parameter("bytes").value_or("0")).value_or(0));
  const auto send_more = [exchange, left] {
    while (*left > 0 && exchange->can_take()) {
      const std::size_t bytes = std::min<std::size_t>(*left, 10'000);
      if (!exchange->write(std::string(bytes, 'x'))) return;
      *left -= bytes;
    }
    if (*left == 0) exchange->end();
  };
  exchange->on_ready = send_more;
  exchange->begin_stream("text/plain");
  send_more();
}

// Sends a body of ?bytes=N at once.
void whole(void* /*self*/, Shared exchange) {
  const auto bytes = read_number(exchange->request().parameter("bytes").value_or("0")).value_or(0);
  exchange->respond(text(std::string(bytes, 'x')));
}

// Reports the system calls that the sandbox permits.
void try_calls(void* /*self*/, Shared exchange) {
  const auto describe = [](const char* name, long result) {
    return std::string(name) + "=" + (result >= 0 ? "done" : std::strerror(errno)) + "\n";
  };
  sockaddr_in unreachable{};
  unreachable.sin_family = AF_INET;
  unreachable.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  unreachable.sin_port = htons(1);
  const int tcp = ::socket(AF_INET, SOCK_STREAM, 0);
  const int again = ::socket(AF_INET, SOCK_STREAM, 0);
  std::string result =
      describe("read", ::open("/etc/passwd", O_RDONLY)) +
      describe("write", ::open("/tmp/web-was-here", O_WRONLY | O_CREAT, 0600)) +
      describe("fork", ::fork()) + describe("raw", ::socket(AF_PACKET, SOCK_RAW, 0)) +
      describe("netlink", ::socket(AF_NETLINK, SOCK_RAW, 0)) + describe("socket", tcp) +
      describe("connect",
               ::connect(tcp, reinterpret_cast<sockaddr*>(&unreachable), sizeof unreachable)) +
      describe("bind",
               ::bind(again, reinterpret_cast<sockaddr*>(&unreachable), sizeof unreachable)) +
      describe("exec", ::execl("/bin/true", "true", nullptr));
  ::close(tcp);
  ::close(again);
  exchange->respond(text(result));
}

// Streams of events, and requests that the next tick answers.
class Ticker final {
 public:
  Instant next_event() const { return next_; }
  void advance(Instant now) {
    if (now < next_) return;
    next_ = now + Duration::milliseconds(50);
    for (const Shared& exchange : std::exchange(waiting_, {})) exchange->respond(text("tick\n"));
    std::erase_if(streams_, [this](const Shared& exchange) {
      return !exchange->write("data: " + event_ + "\n\n");
    });
  }
  static void wait(void* self, Shared exchange) {
    static_cast<Ticker*>(self)->waiting_.push_back(std::move(exchange));
  }
  static void listen(void* self, Shared exchange) {
    auto& ticker = *static_cast<Ticker*>(self);
    exchange->on_gone = [&ticker, bare = exchange.get()] {
      std::erase_if(ticker.streams_, [bare](const Shared& each) { return each.get() == bare; });
      ++ticker.gone_;
    };
    exchange->begin_stream("text/event-stream");
    ticker.streams_.push_back(std::move(exchange));
  }
  static void count(void* self, Shared exchange) {
    const auto& ticker = *static_cast<Ticker*>(self);
    exchange->respond(text("streams=" + std::to_string(ticker.streams_.size()) +
                           "\ngone=" + std::to_string(ticker.gone_) + "\n"));
  }
  static void fatten(void* self, Shared exchange) {
    static_cast<Ticker*>(self)->event_ = std::string(50'000, 'e');
    exchange->respond(text(""));
  }

 private:
  Instant next_;
  std::string event_ = "tick";
  std::vector<Shared> waiting_;
  std::vector<Shared> streams_;
  int gone_ = 0;
};

}  // namespace
}  // namespace haricot::web

int main(int argc, char** argv) {
  using namespace haricot;
  using web::Method;
  os::open_standard_descriptors();
  os::ignore_broken_pipes();
  web::WebOptions options;
  const tool::Words words(argv + 1, static_cast<std::size_t>(argc - 1));
  if (const std::optional<int> over = web::read_web_options(words, options)) return *over;
  web::Ticker ticker;
  return web::run_web(options, [&ticker](web::WebStage& stage, std::string& /*error*/) {
    stage.loop.add(web::LoopPart::of(ticker));
    const auto change = [](std::string_view path, auto handle, bool is_change) {
      web::Route route{Method::post, path, handle, nullptr};
      route.is_change = is_change;
      route.body_bytes_max = SIZE_MAX;
      return route;
    };
    stage.routes = {
        {Method::get, "/echo", &web::echo, nullptr},
        change("/echo", &web::echo, false),
        {Method::get, "/api/echo", &web::echo, nullptr},
        change("/api/act", &web::act, true),
        {Method::get, "/", &web::show_page, nullptr},
        {Method::get, "/deep/down/page", &web::show_page, nullptr},
        {Method::get, "/open", &web::show_page, nullptr, false},
        {Method::get, "/stream", &web::stream, nullptr},
        {Method::get, "/whole", &web::whole, nullptr},
        {Method::get, "/calls", &web::try_calls, nullptr},
        {Method::get, "/wait", &web::Ticker::wait, &ticker},
        {Method::get, "/events", &web::Ticker::listen, &ticker, true, true},
        {Method::get, "/count", &web::Ticker::count, &ticker},
        {Method::get, "/fatten", &web::Ticker::fatten, &ticker},
        {Method::get, "/healthz", &web::show_page, nullptr, false, false, true},
    };
    return true;
  });
}
