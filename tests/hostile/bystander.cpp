#include "bystander.hpp"

#include <poll.h>

#include <algorithm>
#include <string>

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCommandsMin = 600;  // Enough for a meaningful slowest hundredth.

}  // namespace

Bystander::Bystander(std::uint16_t port) {
  was_served_ = client_.connect_tcp(port) &&
                client_.ask("use bystander") == "USING bystander\r\n" &&
                client_.ask("watch bystander") == "WATCHING 2\r\n" &&
                client_.ask("ignore default") == "WATCHING 1\r\n";
  if (was_served_) thread_ = std::thread(&Bystander::run, this);
}

void Bystander::run() {
  while (was_served_ && (!stopping_ || times_.size() < kCommandsMin)) {
    was_served_ = ask("put 0 0 60 3\r\njob", "INSERTED ") && ask("reserve", "RESERVED ");
    // The job's id is in the last answer.
    was_served_ = was_served_ && ask(nullptr, "DELETED\r\n");
    ::poll(nullptr, 0, 1);
  }
}

bool Bystander::ask(const char* command, const char* answer) {
  const std::string text =
      command != nullptr ? command : "delete " + last_.substr(9, last_.find(' ', 9) - 9);
  const auto begun = Clock::now();
  last_ = client_.ask(text);
  times_.push_back(Clock::now() - begun);
  return last_.starts_with(answer);
}

void Bystander::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

Bystander::Milliseconds Bystander::longest() {
  stop();
  return times_.empty() ? Milliseconds::max() : *std::max_element(times_.begin(), times_.end());
}

Bystander::Milliseconds Bystander::p99() {
  stop();
  if (times_.empty()) return Milliseconds::max();
  std::sort(times_.begin(), times_.end());
  return times_[times_.size() * 99 / 100];
}

}  // namespace haricot::test
