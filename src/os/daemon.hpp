// The daemon: sockets, signals and the clock around a service, and the event loop.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/service/service.hpp"
#include "haricot/service/service_serializer.hpp"
#include "os/binlog_folder.hpp"
#include "os/connection.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/poller.hpp"
#include "os/service_manager.hpp"

namespace haricot::os {

class Daemon {
 public:
  // Requires: the service, the log, the notifier and the binlog outlive the daemon. `binlog` is
  // null if there is none. `verbosity` is the number of -V; from two on, every command is logged.
  Daemon(Service& service, std::vector<Listener> listeners, Log& log, Notifier& notifier,
         int verbosity, BinlogFolder* binlog = nullptr);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Sets up epoll and the signals. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(std::string& error);

  // Other sources of events: a listener of another kind, a timer, a pipe. Their handlers are called
  // in the turn in which they are ready, after due deadlines, among the connections. A handler must
  // not block, because all clients would wait. It may remove its own source and others, but must
  // not destroy the daemon.
  //
  // Watches the source for these events (EPOLLIN, ...). Returns false and sets errno if memory is
  // short or the descriptor cannot be watched. Requires: open() returned true; the source outlives
  // the daemon, or remove_source() is called before its descriptor is closed.
  [[nodiscard]] bool add_source(EventSource& source, std::uint32_t events);
  // Changes the watched events; 0: only errors and hang-ups. Requires: the source was added.
  void change_source(EventSource& source, std::uint32_t events) { poller_.change(source, events); }
  // Removes a source. Its handler is not called any more, even if it is ready now. O(number of
  // added sources). Requires: the source was added.
  void remove_source(EventSource& source);

  enum class End : std::uint8_t { asked, paused };
  // Serves until SIGTERM or SIGINT, or until pause(), after which run() may be called again. Ends
  // the process if the folder is lost.
  End run();
  // Sets the function that SIGHUP calls. Without one, SIGHUP only logs that nothing is reread.
  void on_reload(std::function<void()> reload) { reload_ = std::move(reload); }
  // Makes run() return after this turn. For handlers.
  void pause() { is_paused_ = true; }
  // Shuts down all connections and other sources, logs why, and ends the process with kExitFenced.
  // Does nothing else, because closing a file may hang on the volume. Does not return.
  [[noreturn]] void end_fenced();
  static constexpr int kExitFenced = 75;
  // Sends the answers that were held back when run() ended and may be sent now.
  void send_last_answers();

  // Prepares the hand-over (hand_over.hpp). Called after run(), which may be called again if the
  // hand-over fails. Finishes long tasks, and sends answers that wait for the journal. Reads
  // nothing; no deadline fires until run() has read again. Returns false if work is left after
  // `patience`.
  [[nodiscard]] bool quiesce(Duration patience);
  // Returns the time at which quiesce() has ended.
  Instant rested_at() const { return now_; }
  // Makes run() read all connections once before a deadline fires, because no server has read them
  // for a while. Called before run().
  void begin_after_rest() { is_after_rest_ = true; }
  std::vector<Listener>& listeners() { return listeners_; }
  // Accepts the pending connections of another listener, and stops it. Called before run().
  void accept_rest(const Listener& listener);
  // Takes over the connection whose session the reader has next. Returns false if that is
  // impossible. Called before run().
  [[nodiscard]] bool take_over(Descriptor socket, ServiceSerializer& serializer, StateReader& from);

 private:
  // Maximum bytes of a read. A larger value costs memory for clients that do not read their
  // answers, and does not make commands faster.
  static constexpr std::size_t kScratchBytes = 32 * 1024;

  // Handlers of sources.
  void handle_connection(EventSource& source, std::uint32_t events);
  void handle_signals(EventSource& source, std::uint32_t events);
  void handle_syncs(EventSource& source, std::uint32_t events);
  void accept_from(EventSource& listener, std::uint32_t events);
  [[nodiscard]] bool accept_one(int listener);

  void advance(bool are_all_ready);
  void take_in(Descriptor socket, bool is_unix);
  void log_connection_limit();
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
  std::function<void()> reload_;

  Poller poller_;
  const EventHandler on_connection_ = EventHandler::to<&Daemon::handle_connection>(*this);
  const EventHandler on_listener_ = EventHandler::to<&Daemon::accept_from>(*this);
  const EventHandler on_signals_ = EventHandler::to<&Daemon::handle_signals>(*this);
  const EventHandler on_syncs_ = EventHandler::to<&Daemon::handle_syncs>(*this);
  std::vector<EventSource> listener_sources_;
  std::vector<EventSource*> other_sources_;  // See add_source().
  Descriptor signals_;
  EventSource signal_source_{on_signals_, -1};
  EventSource sync_source_{on_syncs_, -1};
  // Buffer of every read. A session copies bytes that it does not use at once.
  std::unique_ptr<std::array<char, kScratchBytes>> scratch_;

  SendShares send_shares_;
  bool is_after_rest_ = false;  // The next turn is the first one after a rest.
  // Number of turns until all connections that were ready after a rest are read.
  std::size_t turns_of_reading_ = 0;
  Instant now_;             // Read once per turn, and after each connection.
  bool has_begun_ = false;  // run() was called: it owns the connections.
  bool running_ = true;
  bool is_paused_ = false;
  bool accepting_ = true;
  Instant accept_again_ = Instant::never();
  RateLimit accept_log_limit_;           // Limits logging of errors of accept.
  RateLimit oversized_log_limit_;        // Limits logging of jobs that are too big.
  RateLimit limit_log_limit_;            // Limits logging of refused connections.
  RateLimit memory_log_limit_;           // Limits logging of shortages of memory.
  std::uint64_t refused_ = 0;            // Connections refused since the last log line.
  bool draining_logged_ = false;         // The last log line about draining says that it is on.
  Instant log_draining_again_;           // Earliest time of the next log line about draining.
  bool memory_shortage_logged_ = false;  // A shortage of memory was logged, but not yet its end.
};

}  // namespace haricot::os
