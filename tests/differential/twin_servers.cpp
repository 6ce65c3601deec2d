#include "twin_servers.hpp"

#include <signal.h>

#include <algorithm>
#include <optional>

#include "answer_comparison.hpp"

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kDifferencesMax = 5;
constexpr std::size_t kLogEntriesMax = 2000;
constexpr std::size_t kOwnEntriesShown = 60;  // A command and its answer are two: 30 commands.
constexpr std::size_t kOtherEntriesShown = 30;
constexpr std::size_t kShownBytesMax = 160;
constexpr std::chrono::milliseconds kInTime{500};  // Answers up to this time are not late.

std::string shortened(std::string_view bytes) {
  if (bytes.size() <= kShownBytesMax) return escaped(bytes);
  return escaped(bytes.substr(0, kShownBytesMax)) + "... (" + std::to_string(bytes.size()) +
         " bytes)";
}

std::string shown(const std::optional<std::string>& answer, const std::string& failure) {
  return answer ? escaped(*answer) : "<" + failure + ">";
}

}  // namespace

TwinServers::TwinServers(std::size_t connections, std::chrono::milliseconds answer_deadline)
    : answer_deadline_(answer_deadline) {
  for (std::size_t i = 0; i < connections; ++i) {
    connections_.push_back(std::make_unique<Connection>());
  }
}

bool TwinServers::start(const ServerOptions& left, const ServerOptions& right, std::size_t spare) {
  if (!left_.start(left) || !right_.start(right)) {
    differences_.push_back("a server did not start: " + left_.failure() + right_.failure());
    broken_ = true;
    return false;
  }
  for (std::size_t i = 0; i < spare; ++i) open(i);
  open(observer());
  return !broken_;
}

void TwinServers::open(std::size_t connection) {
  Connection& both = *connections_[connection];
  if (!both.left.connect(left_) || !both.right.connect(right_)) {
    note(connection, "cannot connect: " + both.left.failure() + both.right.failure());
    broken_ = true;
    return;
  }
  ++open_;
  log(connection, "(opened)");
  // The connection may not be accepted yet; after an answer it is.
  ask(connection, "list-tube-used");
}

void TwinServers::send(std::size_t connection, std::string_view bytes) {
  ++commands_sent_;
  log(connection, shortened(bytes));
  Connection& both = *connections_[connection];
  if (!both.left.send(bytes) || !both.right.send(bytes)) {
    note(connection,
         "cannot send; left: " + both.left.failure() + ", right: " + both.right.failure());
    broken_ = true;
  }
}

std::string TwinServers::expect_answer(std::size_t connection) {
  return expect_answer_to(connection, std::nullopt);
}

std::string TwinServers::expect_answer_to(std::size_t connection,
                                          std::optional<Clock::time_point> asked) {
  if (broken_) return "";
  Connection& both = *connections_[connection];
  const auto left = both.left.read_answer(answer_deadline_);
  const auto right = both.right.read_answer(answer_deadline_);
  if (asked) slowest_ = std::max<Clock::duration>(slowest_, Clock::now() - *asked);
  if (!left || !right) lost_answer_ = broken_ = true;
  if (broken_ || !answers_agree(*left, *right, late_s())) {
    note(connection, "left:  " + shown(left, both.left.failure()) +
                         "\nright: " + shown(right, both.right.failure()) +
                         (left && right ? "\n" + disagreeing_lines(*left, *right, late_s()) : ""));
    return left.value_or("");
  }
  ++kinds_[left->substr(0, left->find_first_of(" \r"))];
  log(connection, "  -> " + shortened(*left));
  return *left;
}

std::string TwinServers::ask(std::size_t connection, std::string_view line) {
  const auto asked = Clock::now();
  send(connection, std::string(line) + "\r\n");
  return expect_answer_to(connection, asked);
}

// A duration has a begin and an end. At both, one server may read its clock later than the other,
// at most by the time that both needed together to answer.
std::uint64_t TwinServers::late_s() const {
  constexpr int kLooks = 2;
  const auto late = std::max<Clock::duration>(slowest_ * kLooks - kInTime, {});
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(late).count());
}

bool TwinServers::has_answer(std::size_t connection) {
  Connection& both = *connections_[connection];
  constexpr std::chrono::milliseconds kAtOnce{0};
  return both.left.has_input_within(kAtOnce) || both.right.has_input_within(kAtOnce);
}

void TwinServers::expect_silence(std::size_t connection) {
  if (broken_ || !has_answer(connection)) return;
  Connection& both = *connections_[connection];
  constexpr std::chrono::milliseconds kSoon{200};
  const auto left = both.left.read_answer(kSoon);
  const auto right = both.right.read_answer(kSoon);
  note(connection, "more than was asked for; left: " + shown(left, both.left.failure()) +
                       "\nright: " + shown(right, both.right.failure()));
  broken_ = true;
}

void TwinServers::end_input(std::size_t connection) {
  log(connection, "(half-closed)");
  connections_[connection]->left.shutdown_write();
  connections_[connection]->right.shutdown_write();
}

void TwinServers::expect_end(std::size_t connection) {
  if (broken_) return;
  Connection& both = *connections_[connection];
  const bool left = both.left.at_eof(answer_deadline_);
  const bool right = both.right.at_eof(answer_deadline_);
  if (!left || !right) {
    note(connection,
         std::string("not closed by ") + (left ? "" : "left ") + (right ? "" : "right"));
    broken_ = true;
  }
  both.left.close();
  both.right.close();
  --open_;
}

void TwinServers::close(std::size_t connection) {
  log(connection, "(closed)");
  connections_[connection]->left.close();
  connections_[connection]->right.close();
  --open_;
  wait_for_stats("\ncurrent-connections: " + std::to_string(open_) + "\n", "a close to be seen");
}

void TwinServers::reset(std::size_t connection) {
  log(connection, "(reset)");
  connections_[connection]->left.reset();
  connections_[connection]->right.reset();
  --open_;
  wait_for_stats("\ncurrent-connections: " + std::to_string(open_) + "\n", "a reset to be seen");
}

// A server answers a command after all effects of earlier ones, so an answer here proves that
// others have theirs. Sent twice, because a server may answer several connections in any order
// within a turn. The command changes nothing and is not counted, so it can run beside any others.
void TwinServers::settle() {
  ask(observer(), "kick-job 0");
  ask(observer(), "kick-job 0");
}

void TwinServers::drain() {
  log(observer(), "(SIGUSR1)");
  left_.signal(SIGUSR1);
  right_.signal(SIGUSR1);
  wait_for_stats("\ndraining: true\n", "drain mode");
}

void TwinServers::compare_overview() {
  ask(observer(), "stats");
  ask(observer(), "list-tubes");
}

void TwinServers::stop() {
  for (ServerProcess* server : {&left_, &right_}) {
    const std::string name = server == &left_ ? "left" : "right";
    if (!server->running()) note(observer(), name + " has ended by itself");
    server->stop();
    const std::string errors = server->standard_error();
    for (const char* word : {"Sanitizer", "runtime error"}) {
      if (errors.find(word) == std::string::npos) continue;
      note(observer(), name + " has written:\n" + errors);
      break;
    }
  }
}

// Sends `stats` to both equally often, because it is counted, until both answers have this line.
void TwinServers::wait_for_stats(std::string_view line, const std::string& what) {
  const auto deadline = Clock::now() + answer_deadline_;
  Connection& both = *connections_[observer()];
  while (!broken_) {
    const std::string left = both.left.ask("stats", answer_deadline_);
    const std::string right = both.right.ask("stats", answer_deadline_);
    const bool left_has = left.find(line) != std::string::npos;
    const bool right_has = right.find(line) != std::string::npos;
    if (left_has && right_has) return;
    if (Clock::now() < deadline) continue;
    note(observer(), "waited in vain for " + what + ", missing in " + (left_has ? "" : "left ") +
                         (right_has ? "" : "right"));
    broken_ = true;
  }
}

void TwinServers::note(std::size_t connection, const std::string& what) {
  differences_.push_back("command " + std::to_string(commands_sent_) + ", connection " +
                         std::to_string(connection) + "\n" + what + "\n" + history_of(connection));
  if (differences_.size() >= kDifferencesMax) broken_ = true;
}

void TwinServers::log(std::size_t connection, std::string text) {
  log_.push_back({.index = commands_sent_, .connection = connection, .text = std::move(text)});
  if (log_.size() > kLogEntriesMax) log_.pop_front();
}

std::string TwinServers::history_of(std::size_t connection) const {
  std::vector<const LogEntry*> chosen;
  std::size_t own = 0;
  std::size_t others = 0;
  for (auto entry = log_.rbegin(); entry != log_.rend(); ++entry) {
    const bool is_own = entry->connection == connection;
    if (is_own ? own++ < kOwnEntriesShown : others++ < kOtherEntriesShown) {
      chosen.push_back(&*entry);
    }
  }
  std::reverse(chosen.begin(), chosen.end());
  std::string text = "what was sent and answered before, by connection:\n";
  for (const LogEntry* entry : chosen) {
    text += "  " + std::to_string(entry->index) + "  [" + std::to_string(entry->connection) + "] " +
            entry->text + "\n";
  }
  return text;
}

}  // namespace haricot::test
