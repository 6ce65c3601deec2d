// A session: the input and the output of a client, without a socket.
//
// A session keeps its input until it is used (a RequestReader cuts it into requests), runs complete
// commands in order, and collects the answers. It has memory for input only while a command is
// incomplete or has to wait, and for output only until it is sent.
//
// Session::Stopped is the reason why a session runs no command. A stopped session keeps its input,
// and its connection reads at most kInputBytesMax ahead.
//
// Each part of the service that has data of a session has a node in it. A part changes only its own
// node; tests/structure enforces this.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "haricot/base/byte_buffer.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/base/serialization.hpp"
#include "haricot/base/time.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/tube_table.hpp"
#include "haricot/service/output.hpp"
#include "haricot/service/request_reader.hpp"

namespace haricot {

// The current turn of the event loop, shared by all parts of the service.
struct Turn {
  std::uint32_t number = 0;  // Compared with the number that a session remembers. Wraps around.
  Instant began;

  void begin(Instant now) {
    ++number;
    began = now;
  }
};

class Session {
 public:
  // Bytes of unread answers at which the session stops. The buffer doubles as it grows: with the
  // last answer it takes at most 64 KiB, or 1 MiB if that answer is a page.
  static constexpr std::size_t kOutputBytesMax = 48 * 1024;
  static constexpr std::size_t kOutputWithBodiesBytesMax = 1024 * 1024;
  // Bytes of unused input at which no more is wanted.
  static constexpr std::size_t kInputBytesMax = 16 * 1024;
  // Bytes of unread answers at which the session stops while the memory limit is reached. With the
  // last answer the buffer takes at most 8 KiB, unless that answer is a page.
  static constexpr std::size_t kOutputBytesAtLimit = 512;

  Session(void* owner, CommandSet commands, Instant now)
      : client_(this), owner_(owner), opened_(now), idle_since_(now) {
    idle.active = now;
    requests.commands = commands;
    requests.reader.allow_batch_lines(commands != CommandSet::standard);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // For the connection ---------------------------------------------------------------------------

  // Owner from Service::open().
  void* owner() const { return owner_; }
  const Client& client() const { return client_; }
  Output& output() { return output_; }
  const Output& output() const { return output_; }
  // Returns true if the output may be sent: the records of all changes that it reports are safe.
  bool may_send() const { return !is_held_back(); }
  bool has_output() const { return !output_.empty(); }
  // Returns true if the connection should read more. The result can become true again only after a
  // send or a new answer.
  bool wants_input() const {
    return requests.peer != Peer::read_to_end && !is_ended() &&
           requests.input.size() < input_bytes_max() && !output_is_full();
  }
  // Returns true unless the peer is known to have closed its writing side.
  bool peer_may_write() const { return requests.peer == Peer::open; }
  // Returns true if all commands are answered and no more input can arrive: the connection is to be
  // closed when the output is sent.
  bool is_finished() const {
    return !is_held_back() && (is_ended() || (requests.peer == Peer::read_to_end &&
                                              stopped() == Stopped::needs_input));
  }
  // Returns true if the idle timeout has ended the session. Then it is finished, and unread answers
  // were dropped.
  bool was_idle() const { return stopped() == Stopped::idle; }

  // Returns the memory for the next bytes of an incomplete large body, so that they need no copy.
  // Empty at any other time, and while older input is kept.
  std::span<char> direct_space() {
    return requests.input.empty() ? requests.reader.direct_space() : std::span<char>();
  }
  // Returns the size of the body of the last put, complete or not.
  std::size_t last_body_bytes() const { return requests.reader.put().body_bytes; }

  // For list-clients -----------------------------------------------------------------------------

  enum class Doing : std::uint8_t { idle, waiting, running, in_body };
  Doing doing() const {
    if (client_.is_waiting() || client_.is_waiting_for_end()) return Doing::waiting;
    if (stopped() != Stopped::needs_input || is_held_back()) return Doing::running;
    return requests.reader.is_after_put() ? Doing::in_body : Doing::idle;
  }
  // Returns the number of command lines that were run or refused.
  std::uint64_t commands_run() const { return commands_run_; }
  CoarseInstant opened_at() const { return opened_; }
  // Returns the time of the last input, or of the last begin or end of a wait if that is later.
  CoarseInstant idle_since() const { return idle_since_; }

  // For the parts of the service -----------------------------------------------------------------

  // Reason why a session runs no command now. The numbers are part of the state format.
  enum class Stopped : std::uint8_t {
    not_stopped,  // It runs.
    needs_input,  // The input has no complete request.
    deferred,     // The next command waits for the journal's disk or for memory, or is in
                  // the backlog for a retry.
    // The session is in the backlog:
    has_had_share,  // It has used its share of the turn, or was woken.
    put_off,        // The next command is expensive, and waits for a later turn.
    // Obstacles: the session does not run even if it has commands. When an obstacle ends, the
    // session is woken.
    waits_for_delivery,  // A reserve waits for a job, or a long task is in progress.
    held_back,           // An answer of an earlier turn waits until a record is safe.
    output_full,         // The client does not read its answers.
    // Obstacles that never end:
    quit,  // The client has quit, or memory was short for an answer or for input.
    idle,  // The idle timeout has ended the session.
  };
  friend constexpr Stopped last_of(Stopped) { return Stopped::idle; }

  // Known state of the peer's writing side.
  enum class Peer : std::uint8_t {
    open,
    half_closed,  // Closed; earlier input is still to be received.
    read_to_end,  // Closed; all input was received.
  };
  friend constexpr Peer last_of(Peer) { return Peer::read_to_end; }

  Client& client() { return client_; }
  Stopped stopped() const { return requests.stopped; }
  // Changes the reason of a session that is in no list of RunQueue.
  void stop(Stopped why) { requests.stopped = why; }
  bool is_ended() const { return stopped() >= Stopped::quit; }
  bool has_obstacle() const { return stopped() >= Stopped::waits_for_delivery; }
  // Returns the obstacle of the session in that turn; not_stopped if it has none.
  //
  // A session whose answers are held back runs until the end of the turn, so that one sync covers
  // all commands that a client has sent at once. It stops then, because each new record would delay
  // the answers further.
  Stopped obstacle(std::uint32_t turn) const {
    if (is_ended()) [[unlikely]]
      return stopped();
    if (client_.is_busy()) return Stopped::waits_for_delivery;
    if (is_held_back() && send.turn != turn) return Stopped::held_back;
    return output_is_full() ? Stopped::output_full : Stopped::not_stopped;
  }
  // Returns true if the session has kept input, or the rest of an answer.
  bool has_work() const { return !requests.input.empty() || is_answered_in_pieces(); }
  bool is_held_back() const { return send.until != SendNode::kNothing; }
  // Returns true if the answer to the last command is not complete.
  bool is_answered_in_pieces() const { return list != nullptr; }
  // Returns true if the client waits for the server or holds jobs: it is not idle, even without
  // input.
  bool is_occupied() const {
    return client_.is_busy() || client_.held_jobs() > 0 || is_held_back() || to_run.linked();
  }

  void restart_idle_time(Instant now) { idle_since_ = CoarseInstant(now); }
  void count_command() { ++commands_run_; }
  void uncount_command() { --commands_run_; }

 private:
  bool output_is_full() const {
    const std::size_t bytes = output_.owned_bytes();
    if (bytes >= kOutputBytesAtLimit && (bytes >= kOutputBytesMax || Memory::is_at_limit())) {
      return true;
    }
    return output_.pending_bytes() >= kOutputWithBodiesBytesMax;
  }
  // Returns the maximum of kept input: the longest line, or a little more than the commands of a
  // turn. While the memory limit is reached, a session that cannot use its input gets no more.
  std::size_t input_bytes_max() const {
    if (requests.reader.is_in_batch_line()) return kBatchLineBytesMax;
    return stopped() != Stopped::needs_input && Memory::is_at_limit() ? 1 : kInputBytesMax;
  }

  Client client_;
  void* owner_;
  Output output_;
  std::uint64_t commands_run_ = 0;
  CoarseInstant opened_;
  CoarseInstant idle_since_;

 public:
  using FactFields = FieldList<&Session::commands_run_, &Session::opened_, &Session::idle_since_>;

  // Nodes of the parts ---------------------------------------------------------------------------

  // requests: input of the session, and the reason why it is stopped.
  struct RequestNode {
    [[no_unique_address]] ByteBuffer input;      // Unused input.
    CommandSet commands = CommandSet::standard;  // Commands that the client may use.
    Peer peer = Peer::open;
    Stopped stopped = Stopped::needs_input;  // See stop().
    RequestReader reader;
  };
  RequestNode requests;

  ListHook to_run;  // RunQueue: link of the list that the session is in.

  // Outbox: link of the sessions that may send or whose answers are held back.
  struct SendNode {
    static constexpr std::uint64_t kNothing = 0;

    ListHook hook;
    // Number of the record that has to be safe before a send; kNothing: no answer is held back.
    std::uint64_t until = kNothing;
    // Start of the answers that may have to be held back, and their number.
    Output::Mark mark;
    std::uint32_t answers = 0;
    std::uint32_t turn = 0;  // Number of the turn in which the hold began.
  };
  SendNode send;

  // IdleWatch: link of the list of all sessions.
  struct IdleNode {
    ListHook hook;
    // With an idle timeout: the time of the last input or send, or of a later check; and the value
    // of is_occupied() at that time.
    Instant active;
    bool was_occupied = false;
  };
  [[no_unique_address]] IdleNode idle;

  bool has_page = false;  // PageLimit: a page is not complete or not sent.

  // LongLists: a list that answers the last command and is not complete.
  enum class List : std::uint8_t { none, watched_tubes, all_tubes };
  friend constexpr List last_of(List) { return List::all_tubes; }
  struct LongList {
    List kind = List::none;
    // watched_tubes: number of tubes left. all_tubes: number of the list (TubeList::ask).
    std::uint64_t number = 0;
    // all_tubes: the pages, null until they are complete, and the index of the next page.
    std::shared_ptr<const TubeList::Pages> pages = nullptr;
    std::size_t next_page = 0;

    bool waits_for_pages() const { return kind == List::all_tubes && pages == nullptr; }
  };
  std::unique_ptr<LongList> list;
};
static_assert(sizeof(Session) <= 384, "every idle connection pays for one");

}  // namespace haricot
