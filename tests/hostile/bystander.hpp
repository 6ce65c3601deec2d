// A well-behaved client that measures its service while others misbehave.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/wire_client.hpp"

namespace haricot::test {

class Bystander final {
 public:
  using Milliseconds = std::chrono::duration<double, std::milli>;

  // Begins to put, reserve and delete jobs in a tube of its own, one command at a time, in a
  // thread.
  explicit Bystander(std::uint16_t port);
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander() { stop(); }

  // Ends it. Returns the time that only one command in a hundred exceeded.
  Milliseconds p99();
  // Ends it. Returns the longest time of a command.
  Milliseconds longest();
  // Returns true if every answer was right. Requires: it has ended.
  bool was_served() const { return was_served_; }

 private:
  void run();
  void stop();
  bool ask(const char* command, const char* answer);  // Null: deletes the reserved job.

  WireClient client_;
  std::string last_;  // Answer.
  std::vector<Milliseconds> times_;
  bool was_served_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace haricot::test
