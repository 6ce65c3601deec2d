// What a random command stream has to know about the connections it drives, to hit something with
// its commands: the tubes and jobs that exist. It is learned from answers and never used to predict
// one.

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
  std::vector<std::uint64_t> held;  // Jobs it has reserved.
  bool waiting = false;             // A reserve of it is not answered yet.
  bool has_tail = false;            // More commands were sent after that reserve.
};

class StreamModel final {
 public:
  explicit StreamModel(std::size_t connections) : clients_(connections) {}

  // Learns from the answer to a command line (both without or with their CR LF).
  void note_answer(std::size_t connection, std::string_view line, std::string_view answer);

  // The connection was closed and another one opened in its place.
  void note_reopened(std::size_t connection) { clients_[connection] = ClientModel(); }

  void set_waiting(std::size_t connection, bool waiting, bool has_tail) {
    clients_[connection].waiting = waiting;
    clients_[connection].has_tail = has_tail;
  }

  const std::vector<ClientModel>& clients() const { return clients_; }
  std::uint64_t newest_id() const { return newest_id_; }

  bool any_waiting() const;

  // Whether a client that waits has commands after its reserve: they run as soon as it is
  // answered, at the same time as whatever else is under way.
  bool any_tail() const;

  // Whether this client and one that waits watch a tube in common: which of two waiting clients a
  // job goes to is not the same in all servers.
  bool shares_tube_with_waiting(std::size_t connection) const;

 private:
  std::vector<ClientModel> clients_;
  std::uint64_t newest_id_ = 0;
};

}  // namespace haricot::test
