// State of the connections of a random command stream, so that its commands name existing tubes and
// jobs. It is learned from answers, and never used to predict one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::test {

struct ClientModel {
  std::string used = "default";
  std::vector<std::string> watched = {"default"};
  std::vector<std::uint64_t> held;  // Reserved jobs.
  bool waiting = false;             // Its reserve has no answer yet.
  bool has_tail = false;            // Commands were sent after that reserve.
};

class StreamModel final {
 public:
  explicit StreamModel(std::size_t connections) : clients_(connections) {}

  // Learns from the answer to a command line (both with or without CR LF).
  void note_answer(std::size_t connection, std::string_view line, std::string_view answer);

  // The connection was closed and opened again.
  void note_reopened(std::size_t connection) { clients_[connection] = ClientModel(); }

  void set_waiting(std::size_t connection, bool waiting, bool has_tail) {
    clients_[connection].waiting = waiting;
    clients_[connection].has_tail = has_tail;
  }

  const std::vector<ClientModel>& clients() const { return clients_; }
  std::uint64_t newest_id() const { return newest_id_; }

  bool any_waiting() const;

  // Returns true if a waiting client has commands after its reserve: they run as soon as it is
  // answered, concurrently with other commands.
  bool any_tail() const;

  // Returns true if this client and a waiting one watch a common tube: servers differ in which of
  // two waiting clients gets a job.
  bool shares_tube_with_waiting(std::size_t connection) const;

 private:
  std::vector<ClientModel> clients_;
  std::uint64_t newest_id_ = 0;
};

}  // namespace haricot::test
