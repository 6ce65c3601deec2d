#include "simulation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "mismatch.hpp"

// The turns. Starts, stops and crashes of a server are in simulation_lives.cpp.

namespace haricot::simulation {
namespace {

constexpr std::size_t kClientsMax = 24;
constexpr std::size_t kUnreadBytesMax = 20'000;
constexpr std::size_t kEventsKept = 30;
constexpr std::size_t kPiecesMax = 1024;
constexpr int kTurnsToRestMax = 10'000;
// In a crowded run: number of puts at once, and maximum number of jobs.
constexpr int kPutsOfCrowd = 700;
constexpr std::size_t kCrowd = 3500;

// Returns the next whole millisecond: the engine's timers are no finer, so things happen then.
Instant whole_millisecond(Instant instant) {
  constexpr std::int64_t kUnit = 1'000'000;
  return Instant::at((instant.count() + kUnit - 1) / kUnit * kUnit);
}

std::string shortened(std::string text) {
  if (text.size() > 70) text = text.substr(0, 70) + "…";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = '.';
  }
  return text;
}

}  // namespace

void Simulation::run(std::uint64_t commands) {
  const std::uint64_t end = model_.commands_run() + commands;
  const std::uint64_t turns_of_life = leaning_.hands_over ? 60 : leaning_.has_groups ? 150 : 600;
  while (model_.commands_run() < end) {
    clients_act();
    turn();
    if (steps_ % 64 == 0) check_invariants();
    if (chance_.one_in(40)) disturb_disk();
    if (chance_.one_in(400)) come_to_rest();
    if (chance_.one_in(turns_of_life)) end_life();
    if (chance_.one_in(200) && !mix_.is_crowded) set_random_rules();
    pass_time();
  }
  come_to_rest();
  end_life();
}

void Simulation::note(std::string event) {
  events_.push_back(std::to_string(steps_) + " at " + std::to_string(now_.count() / 1'000'000) +
                    " ms: " + shortened(std::move(event)));
  if (events_.size() > kEventsKept) events_.pop_front();
}

std::string Simulation::last_events() const {
  std::string text;
  for (const std::string& event : events_) text += "  " + event + "\n";
  return text;
}

void Simulation::check_invariants() const {
  service_->engine().check_invariants();
  binlog_->check_invariants();
  model_.compare(service_->engine(), now_);
}

void Simulation::run_tape() {
  note_answers();
  model_.run(tape_, now_);
  for (auto& [number, wire] : wires_) find_drained_put(wire);
}

void Simulation::note_line(Wire& wire, std::string_view line) {
  tape_.add({.kind = Event::Kind::line, .client = wire.number, .line = std::string(line)});
  wire.keyed_put_is_open =
      line.starts_with("note ") ||
      (line.starts_with("put ") && line.find(" idp:") != std::string_view::npos);
  wire.bytes_at_put = answered_bytes(wire);
}

// Notes which clients were answered after the line of a put with a key, or of a note, because there
// may be no other sign of the moment.
void Simulation::note_answers() {
  for (auto& [number, wire] : wires_) {
    if (!wire.keyed_put_is_open || !model_.has_client(number)) continue;
    const std::uint64_t more = answered_bytes(wire) - wire.bytes_at_put;
    if (more == 0) continue;
    const std::string text = pending(wire);
    require(more <= text.size(), "more was answered than there is");
    tape_.add_answer({.kind = Event::Kind::answered,
                      .client = number,
                      .line = text.substr(text.size() - more),
                      .records = recorder_->records()});
    wire.keyed_put_is_open = false;
  }
}

std::uint64_t Simulation::answered_bytes(const Wire& wire) {
  return wire.sent_bytes + wire.session->output().pending_bytes();
}

// The tape has no event for a put that drain mode refuses, but the server's answers are longer than
// the model's, even if they are held back.
void Simulation::find_drained_put(Wire& wire) {
  if (!model_.has_client(wire.number)) return;  // It is being closed.
  while (!wire.may_have_failed && surplus(wire) > wire.known_surplus) {
    const auto more = static_cast<std::size_t>(surplus(wire) - wire.known_surplus);
    const std::string text = pending(wire);
    require(more <= text.size(), "more was answered than there is");
    if (!model_.run_silent(wire.number, text.substr(text.size() - more))) return;
  }
}

// Returns how many bytes more than the model's answers have come from the server. They differ if
// the disk turned answers into INTERNAL_ERROR.
std::int64_t Simulation::surplus(const Wire& wire) {
  return static_cast<std::int64_t>(answered_bytes(wire) -
                                   model_.client(wire.number).answered_bytes);
}

// A turn ------------------------------------------------------------------------------------------

void Simulation::turn() {
  ++steps_;
  advance();
  // In varying order, and not for all each time.
  std::vector<int> order;
  for (const auto& [number, wire] : wires_) order.push_back(number);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[chance_.below(i)]);
  for (const int number : order) {
    if (!chance_.one_in(4)) read(wires_.at(number));
    // The clock is read again after each connection.
    if (chance_.one_in(16)) now_ = now_ + Duration::milliseconds(1);
  }
  service_->run_backlog(now_);
  run_tape();
  ask_by_the_way();
  end_turn();
  while (service_->next_to_send() != nullptr) {
  }
  for (auto& [number, wire] : wires_) look_at_output(wire);
  for (const int number : order) {
    Wire& wire = wires_.at(number);
    look_at_output(wire);  // The close of another one may have left it a job.
    send(wire, wire.is_slow ? chance_.below(40) : 100'000);
    if (close_if_finished(wire)) wires_.erase(number);
  }
}

void Simulation::advance() {
  std::vector<std::pair<int, std::size_t>> waiting;
  for (const auto& [number, wire] : wires_) {
    if (model_.client(number).waiting || model_.client(number).waits_for_end_of != 0) {
      waiting.emplace_back(number, wire.session->output().pending_bytes());
    }
  }
  turn_began_ = now_;
  service_->advance(now_);
  std::vector<Observed> observed;
  for (const auto& [number, bytes] : waiting) {
    const Wire& wire = wires_.at(number);
    if (wire.session->output().pending_bytes() == bytes) continue;
    observed.push_back({number, pending(wire).substr(bytes)});
    note("client " + std::to_string(number) + " got " + observed.back().bytes);
  }
  model_.advance(now_, observed, tape_, service_->engine());
  run_tape();
}

std::string Simulation::pending(const Wire& wire) const {
  static thread_local std::array<std::string_view, kPiecesMax> pieces;
  const std::size_t count = wire.session->output().gather(pieces);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += pieces[i];
  require(text.size() == wire.session->output().pending_bytes(), "the output is not all there");
  return text;
}

// Returns all bytes, a few, any number, or up to the middle of a CR LF.
std::size_t Simulation::bytes_to_read(const std::string& arrived) {
  switch (chance_.below(6)) {
    case 0:
      return 1 + chance_.below(12);
    case 1:
      return 1 + chance_.below(arrived.size());
    case 2: {
      const std::size_t cr = arrived.find('\r', chance_.below(arrived.size()));
      return cr == std::string::npos ? arrived.size() : cr + 1;
    }
    default:
      return arrived.size();
  }
}

// Reads like a connection, in pieces of any size.
void Simulation::read(Wire& wire) {
  if (wire.end_was_read) return;
  Session& session = *wire.session;
  const bool is_wanted = session.wants_input();
  if (wire.to_server.empty() || (!is_wanted && !chance_.one_in(50))) {
    if (!wire.has_ended) return;
    model_.half_close(wire.number);
    if (is_wanted && wire.to_server.empty()) {
      wire.end_was_read = true;
      service_->end_of_input(session);
    } else {
      service_->peer_half_closed(session);
    }
    run_tape();
    return;
  }
  const std::size_t most = bytes_to_read(wire.to_server);
  std::string bytes = wire.to_server.substr(0, most);
  wire.to_server.erase(0, bytes.size());
  model_.read(wire.number, bytes.size());
  const std::span<char> direct = session.direct_space();
  const std::size_t direct_bytes = std::min(direct.size(), bytes.size());
  if (direct_bytes > 0) {
    std::memcpy(direct.data(), bytes.data(), direct_bytes);
    service_->receive_directly(session, direct_bytes);
  }
  bytes.erase(0, direct_bytes);
  if (!bytes.empty()) service_->receive(session, bytes, now_);
  run_tape();
}

// Held-back output may still change, and is checked when it may be sent.
void Simulation::look_at_output(Wire& wire) {
  const Session& session = *wire.session;
  if (!session.may_send()) return;
  const std::size_t bytes = wire.session->output().pending_bytes();
  require(bytes >= wire.output.size(), "answers were taken back that might have been sent");
  if (bytes > wire.output.size()) {
    const std::string text = pending(wire);
    require(text.starts_with(wire.output), "answers changed that might have been sent");
    wire.unexplained += text.substr(wire.output.size());
    wire.output = text;
  }
  explain(wire);
}

void Simulation::explain(Wire& wire) {
  ModelClient& client = model_.client(wire.number);
  const std::string who = "client " + std::to_string(wire.number);
  constexpr std::string_view kFailed = "INTERNAL_ERROR\r\n";
  while (!wire.unexplained.empty()) {
    if (client.answers.empty() && !model_.run_silent(wire.number, wire.unexplained)) {
      throw Mismatch(who + " got an answer to nothing: " + wire.unexplained.substr(0, 300));
    }
    const auto& [text, held_until] = client.answers.front();
    const bool fails = wire.unexplained.starts_with(kFailed);
    if (fails || wire.unexplained.starts_with("OUT_OF_MEMORY\r\n")) ++refused_;
    if (wire.unexplained.starts_with(text)) {
      require(recorder_->safe_records() >= held_until, who + " was told of a job that is not safe");
      wire.unexplained.erase(0, text.size());
    } else if (wire.may_have_failed && fails) {
      wire.unexplained.erase(0, kFailed.size());
    } else {
      throw Mismatch(who + " should get\n" + text.substr(0, 1500) + "\nand got\n" +
                     wire.unexplained.substr(0, 1500));
    }
    client.answers.pop_front();
  }
  require(client.answers.empty(), who + " got no answer; it should get " +
                                      (client.answers.empty() ? "" : client.answers.front().text));
  wire.may_have_failed = false;
  wire.known_surplus = surplus(wire);
}

void Simulation::send(Wire& wire, std::size_t room) {
  Session& session = *wire.session;
  if (!session.may_send() || !session.has_output() || room == 0) return;
  std::array<std::string_view, 16> pieces;
  const std::size_t count = session.output().gather(pieces);
  std::size_t sent = 0;
  for (const std::string_view piece : std::span(pieces).first(count)) {
    const std::string_view taken = piece.substr(0, room - sent);
    require(wire.output.substr(sent, taken.size()) == taken, "something else was sent");
    sent += taken.size();
    if (sent == room) break;
  }
  wire.output.erase(0, sent);
  service_->sent(session, sent);
  wire.sent_bytes += sent;
}

// A client that never changes a job is answered immediately, whatever the disk does. It sends cheap
// requests, because others may have to wait for a later turn.
void Simulation::ask_by_the_way() {
  if (!wires_.contains(bystander_)) return;
  Wire& wire = wires_.at(bystander_);
  ModelClient& client = model_.client(bystander_);
  const auto look = chance_.below(client.commands == CommandSet::standard ? 3 : 7);
  Request looks[] = {
      {.verb = Verb::stats, .line = "stats"},
      {.verb = Verb::list_tubes, .line = "list-tubes"},
      {.verb = Verb::peek_ready, .line = "peek-ready"},
      {.verb = Verb::scan_jobs, .id = 7, .bound = 6, .line = "scan-jobs 7 6"},
      {.verb = Verb::list_jobs,
       .bound = 5,
       .tube = "a",
       .state = StateWord::ready,
       .line = "list-jobs a ready 5"},
      {.verb = Verb::stats_tube_detail, .tube = "a", .line = "stats-tube-detail a"},
      {.verb = Verb::stats_tubes, .bound = 2, .tube = "*", .line = "stats-tubes * 2"},
  };
  Request& request = looks[look];
  request.bytes = request.line + "\r\n";
  client.bytes_sent += request.bytes.size();
  request.end = client.bytes_sent;
  client.requests.push_back(request);
  model_.read(bystander_, request.bytes.size());
  service_->receive(*wire.session, request.bytes, now_);
  run_tape();
  require(wire.session->may_send() && !client.answers.empty(),
          "a client that changes nothing has to wait");
  look_at_output(wire);
  send(wire, 1'000'000);
}

bool Simulation::close_if_finished(Wire& wire) {
  if (!wire.session->is_finished() || wire.session->has_output()) return false;
  if (!model_.can_close(wire.number)) return false;
  const ModelClient& client = model_.client(wire.number);
  require(client.quit || wire.end_was_read, "the server closes a connection without a reason");
  note("client " + std::to_string(wire.number) + " is finished");
  service_->close(*wire.session, now_);
  model_.close(wire.number, tape_, now_);
  run_tape();
  return true;
}

void Simulation::end_turn() {
  // A slow disk takes a hundred turns for a sync, which may be seconds.
  if (chance_.one_in(disk_is_slow_ ? 100 : 2)) disk_->complete_syncs(chance_.below(3));
  for (auto& [number, wire] : wires_) wire.was_held = !wire.session->may_send();
  const std::uint64_t held = recorder_->safe_records();
  service_->end_turn(now_);
  // Answers that were held back may have changed, with another length.
  for (auto& [number, wire] : wires_) wire.bytes_at_put = answered_bytes(wire);
  require(recorder_->safe_records() >= held, "what was safe is not any more");
  const bool is_in_doubt = recorder_->progress().doubtful > recorder_->safe_records();
  for (auto& [number, wire] : wires_) {
    if (wire.was_held && is_in_doubt) wire.may_have_failed = true;
  }
  note_synced();
  run_tape();
  records_at_end_of_turn_ = recorder_->records();
}

// Time --------------------------------------------------------------------------------------------

void Simulation::pass_time() {
  // If more jobs become due than a call handles, the model does not know their order.
  constexpr std::size_t kDeadlinesAtOnce = Engine::kJobsPerCall / 2;
  const std::uint64_t kind = chance_.below(100);
  const auto milliseconds = [&](std::uint64_t bound) {
    return Duration::milliseconds(static_cast<std::int64_t>(chance_.below(bound)));
  };
  Instant next = now_ + milliseconds(3);
  if (kind < 25) {
    const Instant event = service_->next_event();
    if (event < now_ + Duration::seconds(10)) next = whole_millisecond(std::max(now_, event));
  } else if (kind < 35) {
    next = now_ + milliseconds(400);
  } else if (kind < 38) {
    next = now_ + milliseconds(3000);
  } else if (years_left_ > 0 && chance_.one_in(3000) && model_.deadlines() < kDeadlinesAtOnce) {
    --years_left_;
    next = now_ + Duration::seconds(365 * 24 * 3600);
    note("a year passes");
  }
  now_ = next;
}

// Clients -----------------------------------------------------------------------------------------

void Simulation::clients_act() {
  if (wires_.size() < kClientsMax && chance_.one_in(wires_.size() < 6 ? 2 : 30)) {
    connect().is_slow = chance_.one_in(8);
  }
  if (bystander_ == 0) bystander_ = connect().number;
  if (!wires_.empty() && chance_.one_in(60)) {
    const auto gone =
        std::next(wires_.begin(), static_cast<std::ptrdiff_t>(chance_.below(wires_.size())));
    if (model_.can_close(gone->first)) {
      note("client " + std::to_string(gone->first) + " vanishes");
      if (gone->first == bystander_) bystander_ = 0;
      service_->close(*gone->second.session, now_);
      model_.close(gone->first, tape_, now_);
      run_tape();
      wires_.erase(gone);
    }
  }
  for (auto& [number, wire] : wires_) {
    if (number != bystander_ && chance_.one_in(3)) act(wire);
  }
  if (chance_.one_in(20'000)) {
    service_->drain();
    model_.drain();
    note("drain mode");
  }
}

Simulation::Wire& Simulation::connect() {
  const bool is_local = chance_.one_in(2);
  Wire& wire = wires_[next_client_];
  wire.number = next_client_++;
  wire.tape = &tape_;
  wire.session = service_->open(&wire, is_local);
  const bool may_drain = is_local && info_.commands == CommandSet::extended;
  model_.open(wire.number, may_drain ? CommandSet::operators : info_.commands,
              wire.session->client().ref(), turn_began_);
  return wire;
}

void Simulation::act(Wire& wire) {
  if (wire.has_ended || wire.to_server.size() > kUnreadBytesMax) return;
  ModelClient& client = model_.client(wire.number);
  if (client.requests.size() > 40) return;
  std::uint64_t count = chance_.one_in(4) ? 1 + chance_.below(12) : 1;
  // An occasional long pipeline: more than a session may run in one turn.
  if (chance_.one_in(2000)) count = 1500;
  const bool is_waiting = client.waiting || client.waits_for_end_of != 0;
  if (is_waiting && !chance_.one_in(10)) return;
  for (; count > 0; --count) {
    send_request(wire, random_request(chance_, mix_, model_, wire.number, job_bytes_max_));
  }
  if (mix_.is_crowded && model_.jobs().size() < kCrowd && chance_.one_in(60)) {
    for (int i = 0; i < kPutsOfCrowd; ++i)
      send_request(wire, small_put(chance_, mix_, wire.number));
  }
  if (chance_.one_in(300)) {
    Request quit{.verb = Verb::quit, .line = chance_.one_in(2) ? "quit" : "quit x"};
    quit.bytes = quit.line + "\r\n";
    send_request(wire, std::move(quit));
  }
  if (chance_.one_in(200)) {
    note("client " + std::to_string(wire.number) + " closes its side");
    wire.has_ended = true;
    if (chance_.one_in(2)) {
      wire.to_server.resize(wire.to_server.size() - chance_.below(wire.to_server.size()));
    }
  }
}

void Simulation::send_request(Wire& wire, Request request) {
  ModelClient& client = model_.client(wire.number);
  note("client " + std::to_string(wire.number) + " sends " + request.line);
  wire.to_server += request.bytes;
  client.bytes_sent += request.bytes.size();
  request.end = client.bytes_sent;
  if (request.kind == Request::Kind::command) ++sent_[static_cast<std::size_t>(request.verb)];
  client.requests.push_back(std::move(request));
}

// No faults for a while, all clients read, none sends: then everything has to be answered.
void Simulation::come_to_rest() {
  note("to rest");
  calm_disk();
  for (auto& [number, wire] : wires_) wire.is_slow = false;
  int quiet = 0;
  for (int turns = 0; quiet < 40; ++turns) {
    require(turns < kTurnsToRestMax, "the server does not come to rest");
    disk_->complete_syncs();
    turn();
    const Instant event = service_->next_event();
    // A folder that is much too large makes commands wait until enough of its files are removed.
    const bool has_syncs = disk_->syncs_under_way() > 0 || disk_->has_ended_syncs();
    bool is_busy = event <= now_ || binlog_->numbers().refusing || has_syncs;
    for (const auto& [number, wire] : wires_) {
      is_busy = is_busy || wire.session->has_output();
      is_busy = is_busy || (!wire.to_server.empty() && wire.session->wants_input());
    }
    quiet = is_busy ? 0 : quiet + 1;
    if (event > now_ && event < now_ + Duration::seconds(2)) now_ = whole_millisecond(event);
  }
  for (const auto& [number, wire] : wires_) {
    ModelClient& client = model_.client(number);
    if (client.waiting || client.waits_for_end_of != 0) continue;
    if (client.quit || wire.has_ended) continue;
    require(client.requests.empty() && !client.put_is_open,
            "client " + std::to_string(number) + " is not served: " +
                (client.requests.empty() ? client.put.line : client.requests.front().line));
  }
  require(!model_.has_tasks(), "a kick or a flush does not come to its end");
  for (auto& [number, wire] : wires_) wire.is_slow = number != bystander_ && chance_.one_in(8);
  check_invariants();
}

}  // namespace haricot::simulation
