// A session: bytes in, bytes out, no socket.
//
// It keeps what arrives until it is used (a RequestReader cuts it into requests), has complete
// commands run one after another, and collects the answers. It holds memory for input only while a
// command is incomplete or has to wait, and for output only until it is sent.
//
// Why it stops running commands is one fact: Session::Stopped. What has arrived stays in the
// session then, and the connection reads no more than kInputBytesMax ahead.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "haricot/base/byte_buffer.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/time.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/tube_list.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/output.hpp"
#include "haricot/service/request_reader.hpp"

namespace haricot {

class Service;

class Session {
 public:
  // Beyond this much of unread answers no command is run. The buffer doubles as it grows: with the
  // last answer it stays at 64 KiB, or at 1 MiB if that is a page.
  static constexpr std::size_t kOutputBytesMax = 48 * 1024;
  static constexpr std::size_t kOutputWithBodiesBytesMax = 1024 * 1024;
  // With this much of unused input no more is wanted.
  static constexpr std::size_t kInputBytesMax = 16 * 1024;
  // Bound of unread answers while the memory limit is reached. With the last answer the buffer
  // takes 8 KiB at most, unless that is a page.
  static constexpr std::size_t kOutputBytesAtLimit = 512;
  Session(void* owner, CommandSet commands) : client_(this), owner_(owner), commands_(commands) {
    reader_.allow_batch_lines(commands != CommandSet::standard);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // As given to Service::open().
  void* owner() const { return owner_; }
  const Client& client() const { return client_; }
  Output& output() { return output_; }
  // The output may be sent: what it reports is as safe as the operator asked for.
  bool may_send() const { return !is_held_back_; }
  bool has_output() const { return !output_.empty(); }
  // More input is welcome. If not, it will be again after output was sent or an answer came.
  bool wants_input() const {
    return peer_ != Peer::read_to_end && !is_ended() && input_.size() < input_bytes_max() &&
           !output_is_full();
  }
  // The peer may send more than what is under way, as far as is known.
  bool peer_may_write() const { return peer_ == Peer::open; }
  // Everything is answered, nothing more can come: to be closed as soon as the output is sent.
  bool is_finished() const {
    return !is_held_back_ &&
           (is_ended() || (peer_ == Peer::read_to_end && stopped_ == Stopped::needs_input));
  }
  // The idle timeout has ended it: is_finished(), and what it had not read is thrown away.
  bool was_idle() const { return stopped_ == Stopped::idle; }

  // For list-clients: what it does, how many lines of commands were run or refused, when it came,
  // and since when it has sent nothing, or since its wait began or ended.
  enum class Doing : std::uint8_t { idle, waiting, running, in_body };
  Doing doing() const {
    if (client_.is_waiting() || client_.is_waiting_for_end()) return Doing::waiting;
    if (stopped_ != Stopped::needs_input || is_held_back_) return Doing::running;
    return reader_.is_after_put() ? Doing::in_body : Doing::idle;
  }
  std::uint64_t commands_run() const { return commands_run_; }
  CoarseInstant came() const { return came_; }
  CoarseInstant still_since() const { return still_since_; }

  // Where the body of a large put is under way: the place for its next bytes, so that they need no
  // copy. Empty at any other time.
  std::span<char> direct_space();
  // The size that the last put had, or has that is under way.
  std::size_t last_body_bytes() const { return reader_.put().body_bytes; }

 private:
  friend class Service;
  friend class ServiceTransfer;

  // Why it runs no command now.
  enum class Stopped : std::uint8_t {
    not_stopped,  // It runs.
    needs_input,  // All that has arrived is used, or is the begin of something.
    deferred,     // Its next command waits for the journal's disk, or for memory.
    // It is in the backlog:
    has_had_share,  // of the turn, or something else has ended that stopped it;
    put_off,        // its next command is costly, and waits for a later turn.
    // An obstacle: it does not run even if it has commands. Whatever ends one wakes the session:
    waits_for_delivery,  // a job for a reserve that waits, or the end of a long task;
    held_back,           // an answer of an earlier turn waits until a record is safe;
    output_full,         // its client does not take its answers.
    // One that nothing ends:
    quit,  // by its client, or as there was no memory for what has to follow;
    idle,  // by the idle timeout.
  };
  friend constexpr Stopped last_of(Stopped) { return Stopped::idle; }
  // What is known of the peer's writing side.
  enum class Peer : std::uint8_t {
    open,
    half_closed,  // No more comes than what is under way.
    read_to_end,  // All of it has been received.
  };
  friend constexpr Peer last_of(Peer) { return Peer::read_to_end; }

  // A list that is the answer to the last command, and of which not all is written yet
  // (service_lists.cpp).
  enum class List : std::uint8_t { none, watched_tubes, all_tubes };
  friend constexpr List last_of(List) { return List::all_tubes; }
  struct LongList {
    List kind = List::none;
    // watched_tubes: how many are left; all_tubes: the number of the list.
    std::uint64_t number = 0;
    // all_tubes: the pages, as soon as they are complete, and the index of the next one.
    std::shared_ptr<const TubeList::Pages> pages = nullptr;
    std::size_t next_page = 0;

    bool waits_for_pages() const { return kind == List::all_tubes && pages == nullptr; }
  };

  bool output_is_full() const {
    const std::size_t bytes = output_.owned_bytes();
    return bytes >= kOutputBytesMax || output_.pending_bytes() >= kOutputWithBodiesBytesMax ||
           (bytes >= kOutputBytesAtLimit && Memory::is_at_limit());
  }

  // The longest line, or a little more than a turn's commands. While the memory limit is reached, a
  // session that cannot use its input gets no more.
  std::size_t input_bytes_max() const {
    if (reader_.is_in_batch_line()) return kBatchLineBytesMax;
    return stopped_ != Stopped::needs_input && Memory::is_at_limit() ? 1 : kInputBytesMax;
  }

  bool is_answered_in_pieces() const { return list_ != nullptr; }
  bool is_ended() const { return stopped_ >= Stopped::quit; }
  bool is_in_backlog() const {
    return stopped_ == Stopped::has_had_share || stopped_ == Stopped::put_off;
  }
  bool has_obstacle() const { return stopped_ >= Stopped::waits_for_delivery; }

  Client client_;
  void* owner_;
  ByteBuffer input_;  // What has arrived and was not used yet.
  Output output_;

  Stopped stopped_ = Stopped::needs_input;
  Peer peer_ = Peer::open;
  CommandSet commands_;        // What its client has.
  bool was_occupied_ = false;  // When it was active or looked at last: see service_idle.cpp.
  bool is_held_back_ = false;  // Its answers wait until a record is safe.
  bool lacks_memory_ = false;  // With Stopped::deferred: its next command waits for memory.
  bool has_page_ = false;      // Its last page is not sent, or not complete.
  std::uint64_t held_back_until_ = 0;    // The record that has to be safe before anything is sent.
  std::uint32_t held_back_turn_ = 0;     // The turn in which that began.
  Output::Mark held_back_mark_;          // Where the answers begin that are held back,
  std::uint32_t held_back_answers_ = 0;  // and how many there are.

  RequestReader reader_;
  std::unique_ptr<LongList> list_;

  std::uint64_t commands_run_ = 0;
  CoarseInstant came_;
  CoarseInstant still_since_;
  Instant active_;    // With an idle timeout: since when nothing came or was taken.
  ListHook all_;      // In Service::sessions_.
  ListHook to_run_;   // In Service::backlog_, Service::deferred_ or Service::short_of_memory_.
  ListHook to_send_;  // In Service::held_back_, as `is_held_back_` says, or in Service::to_send_.
};
static_assert(sizeof(Session) <= 384, "every idle connection pays for one");

}  // namespace haricot
