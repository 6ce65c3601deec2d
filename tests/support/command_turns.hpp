// Turns of a service in which a client puts, reserves and deletes jobs in batches: a script made in
// advance, and a loop that plays it without allocating.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/service/service.hpp"

namespace haricot::test {

// Makes the texts of the turns: batches of puts, reserves and deletes by turns. Counts the bytes of
// the expected answers.
class CommandScript {
 public:
  CommandScript(std::size_t batch, bool has_keys) : batch_(batch), has_keys_(has_keys) {}

  std::vector<std::string> turns(std::size_t commands) {
    const std::string size = std::to_string(kBodyBytes);
    const std::string put = "put 1024 0 60 " + size;
    const std::string body = "\r\n" + std::string(kBodyBytes, 'x') + "\r\n";
    std::vector<std::string> result;
    for (std::size_t made = 0; made < commands; made += 3 * batch_) {
      std::string puts;
      std::string reserves;
      std::string deletes;
      for (std::size_t i = 0; i < batch_; ++i) {
        const std::string id = std::to_string(next_id_++);
        puts += put + (has_keys_ ? " idp:" + std::to_string(kFirstKey + next_id_) : "") + body;
        reserves += "reserve\r\n";
        deletes += "delete " + id + "\r\n";
        answer_bytes_ += ("INSERTED " + id + "\r\n").size();
        answer_bytes_ += ("RESERVED " + id + " " + size + "\r\n").size() + kBodyBytes + 2;
        answer_bytes_ += std::string_view("DELETED\r\n").size();
      }
      result.insert(result.end(), {puts, reserves, deletes});
    }
    return result;
  }
  std::uint64_t answer_bytes() const { return answer_bytes_; }

 private:
  static constexpr std::size_t kBodyBytes = 100;
  static constexpr std::uint64_t kFirstKey = 10'000'000;  // So that all keys have the same length.

  std::size_t batch_;
  bool has_keys_;
  std::uint64_t next_id_ = 1;
  std::uint64_t answer_bytes_ = 0;
};

struct CommandLoad {
  Service& service;
  Session& session;
  Instant now;
  std::uint64_t answer_bytes = 0;
};

// Plays texts, each of which is the input of one turn.
inline void play_turns(CommandLoad& load, std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    load.now = load.now + Duration::milliseconds(1);
    load.service.advance(load.now);
    load.service.receive(load.session, text, load.now);
    load.service.run_backlog(load.now);
    load.service.end_turn(load.now);
    while (Session* session = load.service.next_to_send()) {
      while (session->has_output() && session->may_send()) {
        std::array<std::string_view, 64> pieces;
        const std::size_t count = session->output().gather(pieces);
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].size();
        load.service.sent(*session, bytes);
        load.answer_bytes += bytes;
      }
    }
  }
}

}  // namespace haricot::test
