// A session: bytes in, bytes out, no socket.
//
// It keeps what arrives until it is used (a RequestReader cuts it into requests), has complete
// commands run one after another, and collects the answers. It holds memory for input only while a
// command is incomplete or has to wait, and for output only until it is sent.
//
// A session stops running commands
//   - while its client does not take its output,
//   - while it waits for a job,
//   - when it has had its share of the turn,
//   - from the next turn on, while an answer of it is held back until a record is safe,
//   - while its next command is deferred, because the journal waits for its disk.
// What has arrived stays in the session then, and the connection reads no more than kInputBytesMax
// ahead.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "haricot/base/byte_buffer.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/time.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/output.hpp"
#include "haricot/service/request_reader.hpp"

namespace haricot {

class Service;

class Session {
 public:
  // Beyond this much of unread answers no command is run. The buffer doubles as it grows: with the
  // last answer it stays at 64 KiB.
  static constexpr std::size_t kOutputBytesMax = 48 * 1024;
  static constexpr std::size_t kOutputWithBodiesBytesMax = 1024 * 1024;
  // With this much of unused input no more is wanted.
  static constexpr std::size_t kInputBytesMax = 16 * 1024;
  Session(void* owner, CommandSet commands) : client_(this), owner_(owner), commands_(commands) {
    reader_.allow_batch_lines(commands != CommandSet::standard);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // As given to Service::open().
  void* owner() const { return owner_; }
  Output& output() { return output_; }
  // The output may be sent: what it reports is as safe as the operator asked for.
  bool may_send() const { return !is_held_back_; }
  bool has_output() const { return !output_.empty(); }
  // More input is welcome. If not, it will be again after output was sent or an answer came.
  bool wants_input() const {
    return !input_ended_ && !quit_ && input_.size() < input_bytes_max() && !output_is_full();
  }
  // Everything is answered, nothing more can come: to be closed as soon as the output is sent.
  bool is_finished() const {
    return !is_held_back_ && (quit_ || (input_ended_ && starved_ && !client_.is_busy()));
  }
  // The idle timeout has ended it: is_finished(), and what it had not read is thrown away.
  bool was_idle() const { return was_idle_; }

  // Where the body of a large put is under way: the place for its next bytes, so that they need no
  // copy. Empty at any other time.
  std::span<char> direct_space();
  // The size that the last put had, or has that is under way.
  std::size_t last_body_bytes() const { return reader_.put().body_bytes; }

 private:
  friend class Service;

  // A long list is the answer to the last command, and not all of it is written yet
  // (service_lists.cpp).
  enum class List : std::uint8_t { none, watched_tubes, all_tubes };

  bool output_is_full() const {
    return output_.owned_bytes() >= kOutputBytesMax ||
           output_.pending_bytes() >= kOutputWithBodiesBytesMax;
  }

  // What a line needs that is longer than others, or a little more than a turn's commands.
  std::size_t input_bytes_max() const {
    return reader_.is_in_batch_line() ? kBatchLineBytesMax : kInputBytesMax;
  }

  bool is_answered_in_pieces() const { return list_ != List::none; }

  Client client_;
  void* owner_;
  ByteBuffer input_;  // What has arrived and was not used yet.
  Output output_;

  List list_ = List::none;
  bool quit_ = false;
  bool half_closed_ = false;  // The peer will send no more than what is under way.
  bool input_ended_ = false;  // All of it has been received.
  bool starved_ = true;       // The last run ended because it needs more input.
  CommandSet commands_ : 2;   // What its client has.
  bool was_idle_ : 1 = false;
  bool was_occupied_ : 1 = false;  // When it was active or looked at last: see service_idle.cpp.
  bool is_put_off_ : 1 = false;    // Its next command is costly, and waits for a later turn.
  bool is_deferred_ = false;       // Its next command waits for the journal's disk.
  bool is_held_back_ = false;
  std::uint64_t held_back_until_ = 0;    // The record that has to be safe before anything is sent.
  std::uint32_t held_back_turn_ = 0;     // The turn in which that began.
  Output::Mark held_back_mark_;          // Where the answers begin that are held back,
  std::uint32_t held_back_answers_ = 0;  // and how many there are.

  RequestReader reader_;
  // watched_tubes: how many are left; all_tubes: the number of the list.
  std::uint64_t list_number_ = 0;

  Instant active_;     // With an idle timeout: since when nothing came or was taken.
  ListHook all_;       // In Service::sessions_.
  ListHook runnable_;  // In Service::runnable_: has commands to run; or in Service::deferred_.
  ListHook to_send_;   // In Service::to_send_: has output, or is finished.
  ListHook held_back_hook_;  // In Service::held_back_.
};

}  // namespace haricot
