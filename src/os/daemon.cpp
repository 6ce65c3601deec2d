#include "os/daemon.hpp"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/protocol/command.hpp"
#include "os/address.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace haricot::os {
namespace {

constexpr Duration kAcceptPause = Duration::milliseconds(100);
constexpr Duration kLogInterval = Duration::seconds(6);  // Ten lines a minute.
constexpr Duration kDrainingInterval = Duration::seconds(1);
constexpr Duration kMemoryInterval = Duration::seconds(30);
constexpr Duration kOversizedInterval = Duration::seconds(60);

// Every session of the service belongs to a connection.
Connection& connection_of(const Session& session) {
  return *static_cast<Connection*>(session.owner());
}

}  // namespace

Daemon::Daemon(Service& service, std::vector<Listener> listeners, Log& log, Notifier& notifier,
               int verbosity, BinlogFolder* binlog)
    : service_(service),
      listeners_(std::move(listeners)),
      log_(log),
      notifier_(notifier),
      binlog_(binlog),
      scratch_(std::make_unique<std::array<char, kScratchBytes>>()),
      now_(read_clock()),
      accept_log_limit_(kLogInterval, now_),
      oversized_log_limit_(kOversizedInterval, now_),
      limit_log_limit_(kLogInterval, now_),
      memory_log_limit_(kMemoryInterval, now_) {
  if (verbosity >= 2) service_.set_trace({&Daemon::trace_command, this});
}

Daemon::~Daemon() {
  while (Session* session = service_.first_session()) close(connection_of(*session));
}

bool Daemon::open(std::string& error) {
  const sigset_t wanted = handled_signals();
  block_signals();
  signals_ = Descriptor(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
  signal_source_.descriptor = signals_.get();
  if (!signals_ || !poller_.open() || !poller_.add(signal_source_, EPOLLIN)) {
    error = std::string("cannot wait for events: ") + std::strerror(errno);
    return false;
  }
  if (binlog_ != nullptr) {
    binlog_->set_end(&Daemon::end_by_fence, this);
    sync_source_.descriptor = binlog_->sync_descriptor();
    if (!poller_.add(sync_source_, EPOLLIN)) {
      error = std::string("cannot wait for the binlog: ") + std::strerror(errno);
      return false;
    }
  }
  listener_sources_.reserve(listeners_.size());
  for (const Listener& listener : listeners_) {
    EventSource& source = listener_sources_.emplace_back(on_listener_, listener.descriptor());
    if (!poller_.add(source, EPOLLIN)) {
      error = "cannot wait on " + listener.name() + ": " + std::strerror(errno);
      return false;
    }
  }
  return true;
}

bool Daemon::add_source(EventSource& source, std::uint32_t events) {
  try {
    other_sources_.push_back(&source);
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return false;
  }
  if (poller_.add(source, events)) return true;
  other_sources_.pop_back();
  return false;
}

void Daemon::remove_source(EventSource& source) {
  const std::size_t erased = std::erase(other_sources_, &source);
  CHECK(erased == 1);
  poller_.remove(source);
}

// Runs one turn after another. The order within a turn:
Daemon::End Daemon::run() {
  is_paused_ = false;
  has_begun_ = true;
  if (std::exchange(is_after_rest_, false)) {
    turns_of_reading_ = service_.engine().counts().clients / Poller::kEventsMax + 1;
  }
  while (running_ && !is_paused_) {
    // Wait for input or for room to send, until the next deadline at most.
    Instant deadline = std::min({service_.next_event(), accept_again_, notifier_.next_keep_alive(),
                                 next_log_of_draining()});
    if (binlog_ != nullptr) deadline = std::min(deadline, binlog_->next_fence_check(now_));
    if (turns_of_reading_ > 0) deadline = now_;
    const std::span<const Poller::Event> events = poller_.wait(now_, deadline);

    // A server that is not sure of its folder runs nothing until it is.
    if (binlog_ != nullptr && !binlog_->pass_fence()) end_fenced();

    // The time is the same for everything in the turn (see handle_connection for the exception).
    now_ = read_clock();

    // Deadlines fire first: after the end of a TTR, the old holder must not touch the job.
    advance(events.size() < Poller::kEventsMax);
    send_shares_.begin_turn();
    if (accept_again_ <= now_) resume_accepting();
    notifier_.keep_alive(now_);

    // Read and run input, a bounded amount for each connection.
    for (const Poller::Event& event : events) event.handle();

    // Run sessions that had more than their share, or were woken by a command of another client.
    service_.run_backlog(now_);

    // The journal writes all records with one call, and starts a sync as its policy requires.
    service_.end_turn(now_);
    if (binlog_ != nullptr) binlog_->after_turn();

    if (binlog_ != nullptr && binlog_->is_fenced()) end_fenced();

    // Answers are sent last, so that all commands of a connection share one send, and each answer
    // only when its records are as durable as the journal's policy requires. Finished connections
    // are closed here.
    send_answers();

    log_oversized();
    log_spent_jobs();
    log_memory();
    log_draining();
    log_.flush();
  }
  return running_ ? End::paused : End::asked;
}

void Daemon::send_last_answers() {
  if (binlog_ != nullptr && binlog_->is_fenced()) end_fenced();
  do {
    send_shares_.begin_turn();
    service_.end_turn(now_);
    send_answers();
  } while (service_.has_safe_answers());
  log_.flush();
}

// Long work takes many turns. After a turn without work, the next one waits for the journal.
bool Daemon::quiesce(Duration patience) {
  constexpr Duration kPollInterval = Duration::milliseconds(5);
  const Instant end = read_clock() + patience;
  const ServiceSerializer serializer = service_.serializer();
  is_after_rest_ = true;
  while (!serializer.is_at_rest()) {
    if (now_ >= end) return false;
    const std::uint64_t steps_before = service_.engine().steps();
    now_ = read_clock();
    notifier_.keep_alive(now_);
    service_.advance_tasks(now_);
    send_shares_.begin_turn();
    service_.run_backlog(now_);
    service_.end_turn(now_);
    send_answers();
    const bool has_work = service_.engine().steps() != steps_before;
    if (!has_work) (void)notifier_.wait_for(sync_source_.descriptor, kPollInterval);
  }
  return true;
}

// While the server was at rest, time passed without the clients' knowledge. Their input since then,
// such as the deletion of a job whose TTR has ended meanwhile, was in time. So deadlines fire only
// after each connection was read once. `are_all_ready`: this turn reads all connections that are
// ready.
void Daemon::advance(bool are_all_ready) {
  if (turns_of_reading_ == 0) {
    service_.advance(now_);
    return;
  }
  service_.advance_tasks(now_);
  turns_of_reading_ = are_all_ready ? 0 : turns_of_reading_ - 1;
}

bool Daemon::take_over(Descriptor socket, ServiceSerializer& serializer, StateReader& from) {
  sockaddr own{};
  socklen_t length = sizeof own;
  const bool is_there = socket && ::getsockname(socket.get(), &own, &length) == 0;
  std::unique_ptr<Connection> connection;
  if (is_there) connection = std::make_unique<Connection>(on_connection_, std::move(socket));
  Session* session = nullptr;
  const bool is_unix = own.sa_family == AF_UNIX;
  if (!serializer.read_session(from, connection.get(), is_unix, now_, session)) return false;
  if (session == nullptr) return true;
  connection->attach(*session);
  connection->expect_output();
  if (!poller_.add(*connection, connection->wanted_events())) {
    service_.close(*session, now_);
    return false;
  }
  (void)connection.release();  // Owned by its session.
  return true;
}

// Clients come first: they have to move to the other server, even if this process cannot end.
void Daemon::end_fenced() {
  Session* session = service_.first_session();
  for (; session != nullptr; session = service_.session_after(*session)) {
    ::shutdown(connection_of(*session).descriptor, SHUT_RDWR);
  }
  listeners_.clear();
  // Peers of other sources must not wait until the process has ended.
  for (const EventSource* source : other_sources_) ::shutdown(source->descriptor, SHUT_RDWR);
  binlog_->log_fenced();
  ::_exit(kExitFenced);
}

// Does nothing: the event has woken the loop, and the end of the turn collects finished syncs.
void Daemon::handle_syncs(EventSource&, std::uint32_t) {}

// Connections -----------------------------------------------------------------------------------

void Daemon::handle_connection(EventSource& source, std::uint32_t events) {
  auto& connection = static_cast<Connection&>(source);
  if ((connection.registered & EPOLLIN) != 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    const Instant before = now_;
    if (connection.read(service_, *scratch_, now_) == Connection::Result::broken) {
      close(connection);
      return;
    }
    // A delay counts from the arrival of its command. So the clock is read again: otherwise, if a
    // turn has many connections, the delays of the last ones would end early.
    now_ = std::max(before, read_clock());
  } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    // The peer is gone and no input is read now, so no answer can be delivered.
    close(connection);
    return;
  } else if ((events & EPOLLRDHUP) != 0) {
    connection.mark_half_closed(service_);
  }
  if ((events & EPOLLOUT) != 0) {
    send_from(connection);
  } else {
    watch(connection);
  }
}

void Daemon::watch(Connection& connection) {
  poller_.change(connection, connection.wanted_events());
}

void Daemon::send_answers() {
  while (Session* session = service_.next_to_send()) {
    send_from(connection_of(*session));
  }
}

// Sends output, and closes the connection after its last answer if no more can come.
void Daemon::send_from(Connection& connection) {
  const bool broken = connection.send(service_, send_shares_) == Connection::Result::broken;
  const Session& session = connection.session();
  if (broken || (session.is_finished() && !session.has_output())) {
    close(connection);
    return;
  }
  watch(connection);
}

void Daemon::close(Connection& connection) {
  const char* const reason = connection.session().was_idle() ? "idle" : "end";
  log_.event(Level::debug, "closed", {{"connection", connection.descriptor}, {"reason", reason}});
  service_.close(connection.session(), now_);
  poller_.remove(connection);
  // A sealed state may have a duplicate of the socket, so closing it does not reach the client. A
  // server that has not begun only closes its duplicate, because the connection is not its own yet.
  if (has_begun_) ::shutdown(connection.descriptor, SHUT_RDWR);
  delete &connection;
  if (!accepting_) resume_accepting();
}

// Accepting -------------------------------------------------------------------------------------

void Daemon::accept_from(EventSource& listener, std::uint32_t) {
  for (std::uint32_t i = 0; i < turn_limits::kAccepts && accepting_; ++i) {
    if (!accept_one(listener.descriptor)) return;
  }
}

// The backlog is a bound, because clients may connect as fast as they are accepted.
void Daemon::accept_rest(const Listener& listener) {
  for (std::uint32_t i = 0; i < std::uint32_t{Listener::kBacklog} && accepting_; ++i) {
    if (!accept_one(listener.descriptor())) break;
  }
  listener.stop();
}

// Returns false if no connection waits, or none can be accepted now.
bool Daemon::accept_one(int listener) {
  sockaddr peer{};
  socklen_t length = sizeof peer;
  const int number = ::accept4(listener, &peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (number >= 0) {
    take_in(Descriptor(number), peer.sa_family == AF_UNIX);
    return true;
  }
  switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      pause_accepting(errno);
      return false;
    case EAGAIN:
      return false;
    default:
      return true;  // An error of this connection: it was reset before it was accepted.
  }
}

void Daemon::take_in(Descriptor socket, bool is_unix) {
  if (!service_.admit_connection()) {
    log_connection_limit();
    return;  // Closes the socket.
  }
  auto* connection = new (std::nothrow) Connection(on_connection_, std::move(socket));
  if (connection == nullptr) {
    pause_accepting(ENOMEM);
    return;
  }
  Session* session = service_.open(connection, is_unix);
  if (session == nullptr || !poller_.add(*connection, EPOLLIN)) {
    if (session != nullptr) service_.close(*session, now_);
    delete connection;
    pause_accepting(ENOMEM);
    return;
  }
  connection->attach(*session);
  if (log_.wants(Level::debug)) {
    log_.event(
        Level::debug, "opened",
        {{"connection", connection->descriptor}, {"peer", peer_name(connection->descriptor)}});
  }
}

// Without a free descriptor the listening socket stays readable, and the loop would spin. So it is
// not watched until a connection closes, or for a moment.
void Daemon::pause_accepting(int error) {
  CHECK(accepting_ && accept_again_ == Instant::never());
  accepting_ = false;
  accept_again_ = now_ + kAcceptPause;
  for (EventSource& listener : listener_sources_) poller_.change(listener, 0);
  if (!accept_log_limit_.take(now_)) return;
  log_.event(Level::warning, "accept-paused",
             {{"error", std::strerror(error)},
              {"connections", service_.engine().counts().clients},
              {"hint", error == EMFILE ? "raise the hard limit of open files (LimitNOFILE=)"
                                       : "the machine is short of memory or descriptors"}});
}

// Limited, because clients could fill the log.
void Daemon::log_connection_limit() {
  ++refused_;
  if (!limit_log_limit_.take(now_)) return;
  log_.event(Level::warning, "connections-refused",
             {{"count", refused_}, {"hint", "the limit of --connections-max is reached"}});
  refused_ = 0;
}

void Daemon::resume_accepting() {
  CHECK(!accepting_ && accept_again_ != Instant::never());
  accepting_ = true;
  accept_again_ = Instant::never();
  for (EventSource& listener : listener_sources_) poller_.change(listener, EPOLLIN);
}

// Signals and log -------------------------------------------------------------------------------

void Daemon::handle_signals(EventSource&, std::uint32_t) {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    switch (info.ssi_signo) {
      case SIGUSR1:
        service_.drain();
        break;
      case SIGHUP:
        if (reload_) {
          reload_();
          break;
        }
        // The operator wants new settings, not the end of the server.
        log_.event(Level::warning, "nothing-to-reload",
                   {{"signal", "SIGHUP"},
                    {"hint", "flags are read at the start; restart the server to change them"}});
        break;
      default:
        log_.event(Level::info, "stopping",
                   {{"signal", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM"}});
        running_ = false;
        break;
    }
  }
}

// The engine limits how many there are.
void Daemon::log_spent_jobs() {
  if (!service_.spent_jobs().has_something_to_log()) return;
  for (const SpentJobs& spent : service_.spent_jobs().take()) {
    log_.event(Level::warning, "buried-by-tries",
               {{"jobs", spent.jobs},
                {"last", spent.last_id},
                {"tube", spent.tube},
                {"others", spent.others},
                {"hint", "their tries are used up: inspect them, then kick or delete them"}});
  }
}

// Limited, because a producer could fill the log. But an operator whose jobs have grown has to
// know.
void Daemon::log_oversized() {
  if (!service_.has_oversized() || !oversized_log_limit_.take(now_)) return;
  const OversizedPuts puts = service_.take_oversized();
  const char* hint = puts.largest_bytes > kJobBytesMaxLimit
                         ? "no server accepts jobs of this size"
                         : "to accept jobs of this size, start with -z (--max-job-size)";
  log_.event(Level::warning, "job-too-big",
             {{"puts", puts.count},
              {"bytes", puts.largest_bytes},
              {"limit", puts.limit},
              {"tube", puts.tube},
              {"hint", hint}});
}

// A signal or a command turns draining on, and a command turns it off. A client that does both
// repeatedly must not fill the log, but its last line is always correct.
void Daemon::log_draining() {
  if (next_log_of_draining() > now_) return;
  log_draining_again_ = now_ + kDrainingInterval;
  draining_logged_ = service_.is_draining();
  if (draining_logged_) {
    log_.event(Level::info, "drain");
    notifier_.status("drain mode: no new jobs are accepted");
  } else {
    log_.event(Level::info, "drain-ended");
    notifier_.status("serving");
  }
}

// Returns when draining has to be logged again; never() if the log is up to date.
Instant Daemon::next_log_of_draining() const {
  return service_.is_draining() == draining_logged_ ? Instant::never() : log_draining_again_;
}

// Logs the begin and the end of a shortage. Omits most of them if shortages are frequent.
void Daemon::log_memory() {
  const Engine& engine = service_.engine();
  if (engine.memory().is_short() == memory_shortage_logged_) return;
  if (memory_shortage_logged_) {
    log_.event(Level::info, "memory-again",
               {{"used", engine.memory().used_bytes()}, {"refused", engine.counts().refused_puts}});
    memory_shortage_logged_ = false;
    return;
  }
  if (!memory_log_limit_.take(now_)) return;
  log_.event(Level::warning, "memory-full",
             {{"used", engine.memory().used_bytes()},
              {"refused", engine.counts().refused_puts},
              {"hint", "puts are refused: the limit of --memory-max is reached"}});
  memory_shortage_logged_ = true;
}

void Daemon::trace_command(void* self, const Session& session, std::string_view line) {
  const Connection& connection = connection_of(session);
  static_cast<Daemon*>(self)->log_.event(Level::debug, "command",
                                         {{"connection", connection.descriptor}, {"line", line}});
}

}  // namespace haricot::os
