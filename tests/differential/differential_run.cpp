#include "differential_run.hpp"

#include <string_view>
#include <utility>

#include "command_stream.hpp"
#include "stream_model.hpp"
#include "timed_scene.hpp"
#include "twin_servers.hpp"

namespace haricot::test {
namespace {

constexpr std::size_t kClients = 6;
constexpr std::size_t kConnections = kClients + kSceneConnections + 1;  // And the observer.
constexpr std::size_t kCommandsBetweenScenes = 1300;
constexpr std::size_t kDrainFromPercent = 95;

// A pending answer.
struct Due {
  std::string line;  // Line of the command, for the model.
  bool may_wait = false;
};

class Run {
 public:
  explicit Run(const DifferentialOptions& options)
      : options_(options),
        servers_(kConnections, options.answer_deadline),
        model_(kClients),
        stream_(options.seed, model_),
        due_(kClients) {}

  DifferentialResult play();

 private:
  void take(const Step& step);
  void send(const Step& step);
  void read_due(std::size_t connection);
  void read_one_due(std::size_t connection);
  void serve_waiting();
  void end();
  bool is_waiting(std::size_t connection) const { return model_.clients()[connection].waiting; }

  DifferentialOptions options_;
  TwinServers servers_;
  StreamModel model_;
  CommandStream stream_;
  std::vector<std::vector<Due>> due_;  // By connection, the next answer first.
};

DifferentialResult Run::play() {
  DifferentialResult result;
  const bool started = servers_.start(options_.left, options_.right, kClients);
  std::size_t next_scene = kCommandsBetweenScenes / 2;
  bool draining = false;
  while (started && !servers_.broken() && servers_.commands_sent() < options_.commands) {
    take(stream_.next());
    serve_waiting();
    if (servers_.commands_sent() >= next_scene && !draining) {
      next_scene += kCommandsBetweenScenes;
      const std::string name = "timed-" + std::to_string(next_scene) + "-";
      const bool in_time = play_timed_scene(servers_, kClients, name);
      result.conclusive = in_time || servers_.lost_answer();
      if (!result.conclusive) return result;
      servers_.compare_overview();
    }
    if (!draining && servers_.commands_sent() * 100 >= options_.commands * kDrainFromPercent) {
      draining = true;
      servers_.drain();
    }
  }
  end();
  if (started) servers_.stop();
  result.differences = servers_.differences();
  result.commands = servers_.commands_sent();
  result.kinds_of_answers = servers_.kinds_of_answers();
  return result;
}

void Run::take(const Step& step) {
  const std::size_t connection = step.connection;
  switch (step.kind) {
    case StepKind::exchange:
      if (step.commands.empty()) return;
      send(step);
      read_due(connection);
      if (!is_waiting(connection)) servers_.expect_silence(connection);
      return;
    case StepKind::half_close:
      send(step);
      servers_.end_input(connection);
      while (!due_[connection].empty() && !servers_.broken()) read_one_due(connection);
      servers_.expect_end(connection);
      break;
    case StepKind::close:
      servers_.close(connection);
      break;
    case StepKind::reset:
      servers_.reset(connection);
      break;
  }
  due_[connection].clear();
  model_.note_reopened(connection);
  if (!servers_.broken()) servers_.open(connection);
}

void Run::send(const Step& step) {
  std::string bytes;
  for (const Command& command : step.commands) {
    bytes += command.bytes;
    const std::string line = command.bytes.substr(0, command.bytes.find("\r\n"));
    for (std::size_t i = 0; i < command.answers; ++i) {
      due_[step.connection].push_back({.line = line, .may_wait = command.may_wait});
    }
  }
  if (bytes.empty()) return;
  const std::string_view all = bytes;
  if (step.split_at > 0) {
    servers_.send(step.connection, all.substr(0, step.split_at));
    servers_.settle();
  }
  servers_.send(step.connection, all.substr(step.split_at));
}

// Reads pending answers up to a command that waits.
void Run::read_due(std::size_t connection) {
  auto& due = due_[connection];
  while (!due.empty() && !servers_.broken()) {
    if (due.front().may_wait) {
      servers_.settle();
      if (!servers_.has_answer(connection)) {
        model_.set_waiting(connection, true, due.size() > 1);
        return;
      }
    }
    read_one_due(connection);
  }
}

void Run::read_one_due(std::size_t connection) {
  auto& due = due_[connection];
  const std::string answer = servers_.expect_answer(connection);
  model_.note_answer(connection, due.front().line, answer);
  due.erase(due.begin());
}

// After each step: a waiting client that was answered by one server must be answered by both.
void Run::serve_waiting() {
  bool settled = false;
  for (std::size_t i = 0; i < kClients && !servers_.broken(); ++i) {
    if (!is_waiting(i)) continue;
    if (!settled) servers_.settle();
    settled = true;
    if (!servers_.has_answer(i)) continue;
    model_.set_waiting(i, false, false);
    read_one_due(i);
    read_due(i);
    servers_.expect_silence(i);
  }
}

// Ends all connections, first waiting ones, so that none of them gets the jobs of another. A
// connection that cannot end without that stays until the servers end.
void Run::end() {
  for (const bool waiting : {true, false}) {
    for (std::size_t i = 0; i < kClients && !servers_.broken(); ++i) {
      if (is_waiting(i) != waiting || stream_.must_stay(i)) continue;
      take({.kind = StepKind::half_close, .connection = i});
      serve_waiting();
    }
  }
  if (!servers_.broken()) servers_.compare_overview();
}

}  // namespace

DifferentialResult run_differential(const DifferentialOptions& options) {
  return Run(options).play();
}

}  // namespace haricot::test
