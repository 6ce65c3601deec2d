// The daemon: sockets, signals and the clock around a service, and the event loop.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/rate_limit.hpp"
#include "haricot/base/time.hpp"
#include "haricot/service/service.hpp"
#include "haricot/service/service_transfer.hpp"
#include "os/binlog_folder.hpp"
#include "os/connection.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/notify.hpp"
#include "os/poller.hpp"
#include "os/send_shares.hpp"

namespace haricot::os {

class Daemon {
 public:
  // The service, the log, the notifier and the binlog outlive the daemon; without a binlog it is
  // null. `verbosity` is the number of -V: with two of them the log gets every command.
  Daemon(Service& service, std::vector<Listener> listeners, Log& log, Notifier& notifier,
         int verbosity, BinlogFolder* binlog = nullptr);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Sets up epoll and the signals. On failure false, and `error` says why.
  [[nodiscard]] bool open(std::string& error);

  // Other sources: a listener of another kind, a timer, a pipe. Their handlers are called in the
  // turn in which they are ready, after what is due, among the connections. A handler must not
  // block: everybody waits for it. It may end its own source and others, but not the daemon.
  //
  // Watches the source for these events (EPOLLIN, ...). The source outlives the daemon, or
  // remove_source() comes first, before its descriptor is closed. False: there is no memory for it,
  // or its descriptor cannot be watched; errno says why. Requires: open() was true.
  [[nodiscard]] bool add_source(EventSource& source, std::uint32_t events);
  // Watches it for other events from now on; 0: for none but an error or a hang-up. Requires: it
  // was added.
  void change_source(EventSource& source, std::uint32_t events) { poller_.change(source, events); }
  // Its handler is not called any more, not even for what is ready already. O(number of these
  // sources). Requires: it was added.
  void remove_source(EventSource& source);

  enum class End : std::uint8_t { asked, paused };
  // Serves until SIGTERM or SIGINT, or until pause(), after which it can go on. If the folder is
  // lost, it ends the process.
  End run();
  // Ends run() after this turn. For handlers.
  void pause() { is_paused_ = true; }
  // Ends all connections and other sources, tells the log, and ends the process with this status.
  // To close files may hang on the volume, so nothing else is done. Does not return.
  [[noreturn]] void end_fenced();
  static constexpr int kExitFenced = 75;
  // Sends those answers that were held back when run() ended and may be sent now.
  void send_last_answers();

  // To another process (hand_over.hpp). After run(), which may go on if that has not come to it:
  // Goes on with long tasks and answers that wait for the journal, and reads nothing. Nor does
  // anything that is due happen before run() has read again. False: after `patience` there still is
  // something.
  [[nodiscard]] bool come_to_rest(Duration patience);
  // When that was so.
  Instant rested_at() const { return now_; }
  // Before run(): a server was at rest, so nothing is late that comes in the first turn.
  void begin_after_rest() { is_after_rest_ = true; }
  std::vector<Listener>& listeners() { return listeners_; }
  // Accepts the connections that wait on another listener, and stops that one. Before run().
  void accept_rest(const Listener& listener);
  // Before run(): takes a connection over whose session the reader has next. False: it cannot be.
  [[nodiscard]] bool take_over(Descriptor socket, ServiceTransfer& transfer, StateReader& from);

 private:
  // The most that one read takes. With a larger bound, a client that reads no answers takes more
  // memory, and a command gets no faster.
  static constexpr std::size_t kScratchBytes = 32 * 1024;

  // What the sources call when they are ready.
  void handle_connection(EventSource& source, std::uint32_t events);
  void handle_signals(EventSource& source, std::uint32_t events);
  void handle_syncs(EventSource& source, std::uint32_t events);
  void accept_from(EventSource& listener, std::uint32_t events);
  [[nodiscard]] bool accept_one(int listener);

  void run_first_turn();
  void take_in(Descriptor socket, bool is_unix);
  void complain_of_limit();
  void pause_accepting(int error);
  void resume_accepting();
  void send_answers();
  void send_from(Connection& connection);
  void close(Connection& connection);
  void watch(Connection& connection);
  void log_oversized();
  void log_spent_jobs();
  void log_memory();
  void log_draining();
  Instant next_log_of_draining() const;
  static void end_by_fence(void* self) { static_cast<Daemon*>(self)->end_fenced(); }
  static void trace_command(void* self, const Session& session, std::string_view line);

  Service& service_;
  std::vector<Listener> listeners_;
  Log& log_;
  Notifier& notifier_;
  BinlogFolder* binlog_;

  Poller poller_;
  const EventHandler on_connection_ = EventHandler::to<&Daemon::handle_connection>(*this);
  const EventHandler on_listener_ = EventHandler::to<&Daemon::accept_from>(*this);
  const EventHandler on_signals_ = EventHandler::to<&Daemon::handle_signals>(*this);
  const EventHandler on_syncs_ = EventHandler::to<&Daemon::handle_syncs>(*this);
  std::vector<EventSource> listener_sources_;
  std::vector<EventSource*> other_sources_;  // Of add_source().
  Descriptor signals_;
  EventSource signal_source_{on_signals_, -1};
  EventSource sync_source_{on_syncs_, -1};
  // Every read goes into it. A session keeps the bytes that it does not use at once.
  std::unique_ptr<std::array<char, kScratchBytes>> scratch_;

  SendShares send_shares_;
  bool is_after_rest_ = false;  // No turn has come since.
  Instant now_;                 // Read once a turn, and after each connection that did much.
  bool has_begun_ = false;      // run() was called, so connections are its to end.
  bool running_ = true;
  bool is_paused_ = false;
  bool accepting_ = true;
  Instant accept_again_ = Instant::never();
  RateLimit accept_complaint_;           // Of the log lines about it,
  RateLimit oversized_complaint_;        // about jobs that are too big,
  RateLimit limit_complaint_;            // about the limit of connections,
  RateLimit memory_complaint_;           // and about that of memory.
  std::uint64_t refused_ = 0;            // For the limit of connections, since the last such line.
  bool draining_logged_ = false;         // The last that the log has of it: the server drains.
  Instant log_draining_again_;           // Not before then.
  bool memory_shortage_logged_ = false;  // And the log does not have its end yet.
};

}  // namespace haricot::os
