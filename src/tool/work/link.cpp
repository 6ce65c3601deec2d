#include "tool/work/link.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "haricot/base/check.hpp"
#include "tool/cli/output.hpp"

namespace haricot::tool {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::size_t kForeignBytesShown = 60;

}  // namespace

bool Link::open(const Address& address, Duration patience) {
  close();
  failure_.clear();
  socket_ = address.connect(failure_, patience);
  parser_.restart();
  parser_.keep_bodies();
  buffer_.resize(kBufferBytes);
  return is_open();
}

void Link::close() {
  socket_.reset();
  unsent_.clear();
  received_ = {};
}

Link::Event Link::lose(std::string reason) {
  failure_ = std::move(reason);
  close();
  return Event::lost;
}

void Link::send(std::string_view command) {
  CHECK(command.find_first_of("\r\n") == std::string_view::npos);
  unsent_ += command;
  unsent_ += "\r\n";
  send_some();
}

void Link::send_some() {
  while (is_open() && !unsent_.empty()) {
    const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    // next() reports a failure when it receives.
    if (sent < 0) return;
    CHECK(static_cast<std::size_t>(sent) <= unsent_.size());
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

// Returns false if there is no input or the connection is lost.
bool Link::receive() {
  CHECK(received_.empty());
  const ssize_t count = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
  if (count > 0) {
    received_ = {buffer_.data(), static_cast<std::size_t>(count)};
    return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  lose(count == 0 ? "the server closed the connection"
                  : std::string("cannot receive: ") + std::strerror(errno));
  return false;
}

Link::Event Link::next(Answer& answer) {
  if (!is_open()) return Event::lost;
  send_some();
  while (true) {
    if (received_.empty() && !receive()) return is_open() ? Event::nothing : Event::lost;
    switch (parser_.next(received_, answer)) {
      case AnswerParser::Result::answer:
        return Event::answer;
      case AnswerParser::Result::more:
        break;
      case AnswerParser::Result::malformed:
        return lose("not a beanstalk server; it sent: " +
                    safe_word(answer.line.substr(0, kForeignBytesShown)));
    }
  }
}

}  // namespace haricot::tool
