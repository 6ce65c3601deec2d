#include "runner.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "escaped_text.hpp"

namespace haricot::conformance {
namespace {

// Only this many bytes of a long send go one by one; more in the middle of a body add nothing.
constexpr std::size_t kSingleBytesMax = 2048;
// Number of lines of the session in a message.
constexpr std::size_t kShownLinesMax = 24;

// The client's end of one connection.
struct Conversation {
  int connection = 0;
  std::string unread;  // Received, not expected by a step yet.
  bool ended = false;
  bool closed_by_us = false;
};

class Run {
 public:
  Run(const Script& script, Delivery delivery, Backend& backend)
      : script_(script), delivery_(delivery), backend_(backend) {}

  Outcome outcome();

 private:
  // Every method returns the error, or an empty text.
  std::string play(const Step& step);
  std::string send(const Step& step, Conversation& with);
  std::string expect_line(const Step& step, Conversation& with);
  std::string expect_bytes(const Step& step, Conversation& with);
  std::string expect_lines(const Step& step, Conversation& with);
  std::string expect_yaml(const Step& step, Conversation& with);
  std::uint64_t late_s() const;
  std::string expect_nothing(Conversation& with);
  std::string expect_end(Conversation& with);
  std::string expect_all_read();
  std::string restart(const Step& step);
  std::string act(const Step& step, Conversation& with);

  Conversation* find_or_open(const std::string& name);
  // Reads until `unread` has a line at or after `from`. Returns the line's end, including CR LF, or
  // 0 if none comes.
  std::size_t wait_for_line(Conversation& with, std::size_t from = 0);
  // Reads until `unread` has this many bytes. Returns false if they do not come.
  bool wait_for_bytes(Conversation& with, std::size_t count);
  void look(Conversation& with, Patience patience);

  void record(const std::string& line);
  std::string took(Conversation& with, const std::string& name, std::size_t count);
  static std::string mismatch(std::string_view expected, const Conversation& with);

  const Script& script_;
  Delivery delivery_;
  Backend& backend_;
  std::map<std::string, Conversation, std::less<>> conversations_;
  std::deque<std::string> session_;
};

Outcome Run::outcome() {
  std::string where = script_.file;
  std::string wrong;
  for (const Step& step : script_.steps) {
    where = script_.file + ":" + std::to_string(step.line);
    wrong = play(step);
    if (!wrong.empty()) break;
  }
  if (wrong.empty()) {
    where = script_.file + ": at the end";
    wrong = expect_all_read();
  }
  if (wrong.empty()) return {true, {}};

  std::string report = where + ": " + wrong + "\nthe session until then:\n";
  for (const std::string& line : session_) report += "  " + line + "\n";
  return {false, report};
}

std::string Run::play(const Step& step) {
  if (step.verb == Verb::advance) {
    record("advance " + std::to_string(step.duration / std::chrono::milliseconds(1)) + "ms");
    backend_.advance(step.duration);
    return {};
  }
  if (step.verb == Verb::drain) {
    record("signal drain");
    backend_.drain();
    return {};
  }
  if (step.verb == Verb::restart || step.verb == Verb::kill) return restart(step);
  Conversation* with = find_or_open(step.connection);
  if (with == nullptr) return "the server takes no connection";
  switch (step.verb) {
    case Verb::send:
      return send(step, *with);
    case Verb::expect_line:
      return expect_line(step, *with);
    case Verb::expect_bytes:
      return expect_bytes(step, *with);
    case Verb::expect_lines:
      return expect_lines(step, *with);
    case Verb::expect_yaml:
      return expect_yaml(step, *with);
    case Verb::expect_nothing:
      return expect_nothing(*with);
    case Verb::expect_end:
      return expect_end(*with);
    case Verb::open:
    case Verb::half_close:
    case Verb::close:
    case Verb::reset:
      return act(step, *with);
    case Verb::advance:
    case Verb::drain:
    case Verb::restart:
    case Verb::kill:
      break;
  }
  return {};
}

std::string Run::send(const Step& step, Conversation& with) {
  record(step.connection + "> " + escape(step.bytes));
  std::string_view bytes = step.bytes;
  if (delivery_ == Delivery::byte_by_byte) {
    const std::size_t single = std::min(bytes.size(), kSingleBytesMax);
    for (std::size_t i = 0; i < single; ++i) backend_.send(with.connection, bytes.substr(i, 1));
    bytes.remove_prefix(single);
  }
  if (!bytes.empty()) backend_.send(with.connection, bytes);
  return {};
}

std::string Run::expect_line(const Step& step, Conversation& with) {
  const std::size_t length = wait_for_line(with);
  if (length == 0 || with.unread.substr(0, length) != step.bytes) {
    return mismatch(escape(step.bytes), with);
  }
  return took(with, step.connection, length);
}

std::string Run::expect_bytes(const Step& step, Conversation& with) {
  const bool enough = wait_for_bytes(with, step.bytes.size());
  if (!enough || !with.unread.starts_with(step.bytes)) return mismatch(escape(step.bytes), with);
  return took(with, step.connection, step.bytes.size());
}

std::string Run::expect_lines(const Step& step, Conversation& with) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < step.count; ++i) {
    const std::size_t next = wait_for_line(with, length);
    if (next == 0) {
      return mismatch(std::to_string(step.count) + " lines, " + std::to_string(i) + " came", with);
    }
    length = next;
  }
  return took(with, step.connection, length);
}

std::string Run::expect_yaml(const Step& step, Conversation& with) {
  const std::size_t line = wait_for_line(with);
  std::size_t length = 0;
  const char* digits = with.unread.data() + 3;
  const char* end = with.unread.data() + line - 2;
  const bool counted = line > 5 && with.unread.starts_with("OK ") &&
                       std::from_chars(digits, end, length).ec == std::errc{} &&
                       with.unread.substr(0, line) == "OK " + std::to_string(length) + "\r\n";
  if (!counted) return mismatch("OK <bytes>\\r\\n and a YAML body", with);
  const std::size_t total = line + length + 2;
  if (!wait_for_bytes(with, total) || with.unread.substr(total - 2, 2) != "\r\n") {
    return mismatch("a body of " + std::to_string(length) + " bytes and CR LF", with);
  }
  const std::string body = with.unread.substr(line, length);
  const YamlMismatch wrong = check_yaml(step.yaml, body, late_s());
  if (wrong.text.empty()) return took(with, step.connection, total);
  const std::string place = wrong.line == 0 ? "" : "line " + std::to_string(wrong.line) + ": ";
  return place + wrong.text + "\nthe body:\n" + body;
}

// The slack of the script's times does not count.
std::uint64_t Run::late_s() const {
  const auto late = std::chrono::ceil<std::chrono::seconds>(backend_.lateness() - kLatenessMax);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(late.count(), 0));
}

std::string Run::expect_nothing(Conversation& with) {
  if (with.unread.empty()) look(with, Patience::for_silence);
  if (!with.unread.empty() || with.ended) return mismatch("nothing", with);
  record("(nothing came)");
  return {};
}

std::string Run::expect_end(Conversation& with) {
  while (!with.ended && with.unread.empty()) {
    const std::size_t before = with.unread.size();
    look(with, Patience::for_an_answer);
    if (!with.ended && with.unread.size() == before) break;
  }
  if (!with.ended || !with.unread.empty()) return mismatch("the end of the connection", with);
  record("(the server closed the connection)");
  return {};
}

std::string Run::expect_all_read() {
  for (auto& [name, with] : conversations_) {
    if (with.closed_by_us) continue;
    if (!with.ended) look(with, Patience::none);
    if (!with.unread.empty()) return "nothing more is expected by " + name + mismatch("", with);
  }
  return {};
}

std::string Run::restart(const Step& step) {
  std::string wrong = expect_all_read();
  if (!wrong.empty()) return wrong;
  record(step.verb == Verb::kill ? "kill" : "restart");
  conversations_.clear();
  return backend_.restart(step.verb == Verb::kill ? ServerEnd::kill : ServerEnd::stop, step.flags);
}

std::string Run::act(const Step& step, Conversation& with) {
  if (step.verb == Verb::open) return {};  // Opened by the lookup.
  with.closed_by_us = step.verb != Verb::half_close;
  if (step.verb == Verb::half_close) {
    record(step.connection + "!shutdown");
    backend_.half_close(with.connection);
    return {};
  }
  look(with, Patience::none);
  if (!with.unread.empty()) return "closed with an answer unread" + mismatch("", with);
  record(step.connection + (step.verb == Verb::close ? "!close" : "!reset"));
  if (step.verb == Verb::close) backend_.close(with.connection);
  if (step.verb == Verb::reset) backend_.reset(with.connection);
  return {};
}

Conversation* Run::find_or_open(const std::string& name) {
  const auto found = conversations_.find(name);
  if (found != conversations_.end()) return &found->second;
  const std::optional<int> connection = backend_.open();
  if (!connection) return nullptr;
  Conversation& with = conversations_[name];
  with.connection = *connection;
  record(name + "!open");
  return &with;
}

std::size_t Run::wait_for_line(Conversation& with, std::size_t from) {
  std::size_t searched = from;
  for (;;) {
    const std::size_t end = with.unread.find("\r\n", searched);
    if (end != std::string::npos) return end + 2;
    searched = std::max(from + 1, with.unread.size()) - 1;  // A CR may be there already.
    if (!wait_for_bytes(with, with.unread.size() + 1)) return 0;
  }
}

bool Run::wait_for_bytes(Conversation& with, std::size_t count) {
  while (with.unread.size() < count && !with.ended) {
    const std::size_t before = with.unread.size();
    look(with, Patience::for_an_answer);
    if (with.unread.size() == before) break;
  }
  return with.unread.size() >= count;
}

void Run::look(Conversation& with, Patience patience) {
  if (with.ended) return;
  with.ended = backend_.receive(with.connection, patience, with.unread) == Arrival::end;
}

void Run::record(const std::string& line) {
  session_.push_back(line);
  if (session_.size() > kShownLinesMax) session_.pop_front();
}

std::string Run::took(Conversation& with, const std::string& name, std::size_t count) {
  record(name + "< " + escape(std::string_view(with.unread).substr(0, count)));
  with.unread.erase(0, count);
  return {};
}

std::string Run::mismatch(std::string_view expected, const Conversation& with) {
  std::string text = "\n  expected: " + std::string(expected) + "\n       got: ";
  text += with.unread.empty() ? "nothing" : escape(with.unread, 2000);
  if (with.ended) text += ", and the server closed the connection";
  return text;
}

}  // namespace

Outcome run_script(const Script& script, Delivery delivery, Backend& backend) {
  if (delivery != Delivery::pipelined) return Run(script, delivery, backend).outcome();
  const Script joined = pipelined(script);
  return Run(joined, delivery, backend).outcome();
}

}  // namespace haricot::conformance
