#include "command_stream.hpp"

#include <array>
#include <string_view>

#include "malformed_lines.hpp"

namespace haricot::test {
namespace {

constexpr std::size_t kJobBytesMax = 65535;  // The servers' default.
constexpr std::size_t kBatchCommandsMax = 8;
constexpr std::uint64_t kRecentIds = 40;

constexpr unsigned kEndingPercent = 6;  // Share of the steps of a client that does not wait.
constexpr unsigned kMalformedPercent = 25;

const std::array<std::string, 8> kTubes = {"default", "default",    "mail", "thumbs",
                                           "a",       "B-+/;.$_()", "0",    std::string(200, 'z')};

// So different that the order of two deadlines does not depend on a second.
constexpr std::array kDurations = {"1000", "5000", "100000", "4294967295"};

constexpr std::array kPriorities = {"0", "0", "1", "10", "1023", "1024", "1025", "4294967295"};

// beanstalkd ends a pause in the first turn of its loop that begins a microsecond or more after the
// `pause-tube` of 0 seconds; until then the tube is paused, even if it was not before. A later
// command in the same packet may run before or after that, so there must be none. haricotd ends the
// pause at once; docs/compatibility.md.
bool ends_batch(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  if (!line.starts_with("pause-tube")) return false;
  const std::string_view seconds = line.substr(line.find_last_of(' ') + 1);
  return !seconds.empty() && seconds.find_first_not_of('0') == std::string_view::npos;
}

Command line_command(std::string line) {
  line += "\r\n";
  return {.bytes = std::move(line)};
}

}  // namespace

Step CommandStream::next() {
  Step step;
  step.connection = random_.below(model_.clients().size());
  const ClientModel& client = model_.clients()[step.connection];
  if (client.waiting) return step_of_waiting(step.connection);

  if (random_.chance(kEndingPercent) && !must_stay(step.connection)) {
    return ending_step(step.connection);
  }

  // While commands after an answered reserve run, only one other command may run: otherwise their
  // order is undefined.
  const bool alone = model_.any_tail() || random_.chance(80);
  const std::size_t count = alone ? 1 : random_.between(2, kBatchCommandsMax);
  add_commands(step, count);
  if (random_.chance(8)) add_waiting_command(step);
  if (random_.chance(4)) {
    std::size_t size = 0;
    for (const Command& command : step.commands) size += command.bytes.size();
    step.split_at = random_.below(size);
  }
  return step;
}

// Adds up to `count` commands. A command that ends a batch is the last.
void CommandStream::add_commands(Step& step, std::size_t count) {
  const ClientModel& client = model_.clients()[step.connection];
  for (std::size_t i = 0; i < count; ++i) {
    step.commands.push_back(any_command(client));
    if (ends_batch(step.commands.back().bytes)) return;
  }
}

// Inserts a command that may wait into a batch, unless two clients could then wait on one tube.
void CommandStream::add_waiting_command(Step& step) {
  if (model_.any_tail() || model_.shares_tube_with_waiting(step.connection)) return;
  for (const Command& command : step.commands) {
    if (command.bytes.starts_with("watch")) return;  // It could create a second one.
  }
  const bool may_be_last = step.commands.empty() || !ends_batch(step.commands.back().bytes);
  const std::size_t at = random_.below(step.commands.size() + (may_be_last ? 1 : 0));
  step.commands.insert(step.commands.begin() + static_cast<std::ptrdiff_t>(at), waiting_command());
}

// If a client leaves, servers differ in which of its jobs a waiting client gets;
// docs/compatibility.md.
bool CommandStream::must_stay(std::size_t connection) const {
  return model_.any_waiting() && model_.clients()[connection].held.size() > 1;
}

// A waiting client sends nothing; it can only leave.
Step CommandStream::step_of_waiting(std::size_t connection) {
  Step step;
  step.connection = connection;
  if (!random_.chance(15) || must_stay(connection)) return step;  // Nothing happens.
  step.kind = StepKind::half_close;
  // If the socket is closed, it is undefined whether commands after the reserve still run.
  if (!model_.clients()[connection].has_tail && random_.chance(40)) {
    step.kind = random_.chance(50) ? StepKind::close : StepKind::reset;
  }
  return step;
}

Step CommandStream::ending_step(std::size_t connection) {
  Step step;
  step.connection = connection;
  step.kind = StepKind::half_close;
  const std::uint64_t choice = random_.below(5);
  if (choice == 0) {
    step.kind = random_.chance(60) ? StepKind::close : StepKind::reset;
  } else if (choice == 1) {
    static constexpr std::array kQuits = {"quit\r\n", "quit now\r\n", "quit \r\n", "quitting\r\n",
                                          "quit\r\nuse never\r\n"};
    step.commands.push_back({.bytes = random_.pick(kQuits), .answers = 0});
  } else if (choice == 2) {
    static constexpr std::array kUnfinished = {"use unfinished", "put 0 0 1000 10\r\nabc",
                                               "put 0 0 1000 3\r\nabc\r",
                                               "put 0 0 1000 70000\r\nabc", "stats\r"};
    step.commands.push_back({.bytes = random_.pick(kUnfinished), .answers = 0});
  } else if (choice == 3) {
    // Commands sent before the end still run; a reserve that finds nothing does not wait.
    add_commands(step, 3);
  }
  return step;
}

Command CommandStream::any_command(const ClientModel& client) {
  if (!random_.chance(kMalformedPercent)) return valid_command(client);
  switch (random_.below(8)) {
    case 0:
      return put_with_a_wrong_end();
    case 1:
      return malformed_put();
    default:
      return malformed_line(client);
  }
}

Command CommandStream::valid_command(const ClientModel& client) {
  const std::uint64_t choice = random_.below(100);
  if (choice < 20) return put();
  if (choice < 58) return job_command(client);
  if (choice < 64) return line_command("use " + tube());
  if (choice < 69) return line_command("watch " + tube());
  if (choice < 73) {
    const bool known = random_.chance(70);
    return line_command("ignore " + (known ? std::string(random_.pick(client.watched)) : tube()));
  }
  if (choice < 79) {
    static constexpr std::array kPeeks = {"peek-ready", "peek-delayed", "peek-buried"};
    return line_command(random_.pick(kPeeks));
  }
  if (choice < 83) {
    static constexpr std::array kBounds = {"0",    "1",         "1",  "2",  "3",
                                           "7",    "+2",        "-1", "2x", "18446744073709551615",
                                           "0x10", "4294967296"};
    return line_command(std::string("kick ") + random_.pick(kBounds));
  }
  if (choice < 86) return line_command("pause-tube " + tube() + " " + duration());
  if (choice < 92) return line_command("stats-tube " + tube());
  static constexpr std::array kLists = {"stats",      "stats",          "list-tubes",
                                        "list-tubes", "list-tube-used", "list-tubes-watched"};
  return line_command(random_.pick(kLists));
}

Command CommandStream::job_command(const ClientModel& client) {
  const std::string id = job_id(client);
  switch (random_.below(16)) {
    case 0:
    case 1:
    case 2:
      return line_command("reserve-with-timeout 0");
    case 3: {
      // Text after the digits is ignored.
      static constexpr std::array kTimeouts = {"0", "0.5", "0 ", "0x", " 00,9", "0 7"};
      return line_command(std::string("reserve-with-timeout ") + random_.pick(kTimeouts));
    }
    case 4:
    case 5:
      return line_command("reserve-job " + id);
    case 6:
    case 7:
      return line_command("release " + id + " " + priority() + " " + duration());
    case 8:
    case 9:
      return line_command("bury " + id + " " + priority());
    case 10:
      return line_command("touch " + id);
    case 11:
      return line_command("peek " + id);
    case 12:
      return line_command("kick-job " + id);
    case 13:
      return line_command("stats-job " + id);
    default:
      return line_command("delete " + id);
  }
}

Command CommandStream::put() {
  const std::string text = body();
  // A TTR that ended during the test would end at a different moment on each server.
  std::string bytes = "put " + priority() + " " + duration() + " " +
                      std::string(random_.pick(kDurations)) + " " + std::to_string(text.size()) +
                      "\r\n" + text + "\r\n";
  return {.bytes = std::move(bytes)};
}

// A body longer or shorter than announced: there is an answer for the put, and another one for the
// bytes that the server reads as the next line.
Command CommandStream::put_with_a_wrong_end() {
  const std::size_t announced = random_.below(40);
  static constexpr std::string_view kAlphabet("abc \n\0x", 7);
  const std::string taken = random_.text_of(kAlphabet, announced + 2);
  std::string bytes = "put 0 0 1000 " + std::to_string(announced) + "\r\n" + taken;
  if (random_.chance(50)) return {.bytes = std::move(bytes)};
  static constexpr std::array kRests = {"", "b", "bbbbbbbb", "use mail", "list-tubes"};
  bytes += random_.pick(kRests);
  bytes += "\r\n";
  return {.bytes = std::move(bytes), .answers = 2};
}

// A malformed put line announces no body, so the body is read as a command.
Command CommandStream::malformed_put() {
  static constexpr std::array kLines = {"put 0 0 1000",
                                        "put 0 0 1000 x",
                                        "put 0 0 1000 -1",
                                        "put 0 0 1000 4294967296",

                                        "put 0 0 1000 3 ",
                                        "put 0 0 1000 3x",
                                        "put 0 0 1000 3 3",

                                        "put 4294967296 0 1000 3",
                                        "put -1 0 1000 3",
                                        "put 0 -1 1000 3",
                                        "put 0 4294967296 1000 3",
                                        "put 0 0 -1 3",
                                        "put 0 0 4294967296 3",
                                        "put 0 0 18446744073709551617 3",
                                        "put x 0 1000 3",

                                        "put\t0 0 1000 3",
                                        "Put 0 0 1000 3",

                                        "put 0\t0 1000 3",
                                        "put",
                                        "put ",
                                        "put 0",
                                        "put 0 0 0x3 3",
                                        " put 0 0 1000 3",
                                        "put 0 0 1000 99999999999999999"};
  if (random_.chance(10)) return put_too_big_with_garbage();
  static constexpr std::array kBodies = {"abc", "", "peek-ready", "use a", "delete 1", "a b c"};
  std::string bytes = random_.pick(kLines);
  if (random_.chance(10)) bytes += std::string("\0", 1);
  bytes += "\r\n";
  if (random_.chance(30)) return {.bytes = std::move(bytes)};
  bytes += random_.pick(kBodies);
  bytes += "\r\n";
  return {.bytes = std::move(bytes), .answers = 2};
}

// The size is checked before the text after it: the body is discarded.
Command CommandStream::put_too_big_with_garbage() {
  static constexpr std::array kGarbage = {" ", "x", " 0", ".5", "\t", " x y"};
  const std::size_t size = kJobBytesMax + random_.between(1, 3);
  std::string bytes = "put 0 0 1000 " + std::to_string(size) + random_.pick(kGarbage) + "\r\n";
  bytes.append(size, 'G');
  bytes += "\r\n";
  return {.bytes = std::move(bytes)};
}

Command CommandStream::malformed_line(const ClientModel& client) {
  for (;;) {
    Command command = valid_command(client);
    std::string_view line = command.bytes;
    line.remove_suffix(2);
    if (line.starts_with("put ")) continue;
    const std::string text = damaged(line, random_);
    if (is_comparable(text)) return line_command(text);
  }
}

Command CommandStream::waiting_command() {
  static constexpr std::array kLines = {"reserve", "reserve", "reserve-with-timeout 100000",
                                        "reserve-with-timeout 2147483647",
                                        "reserve-with-timeout 100000.5"};
  Command command = line_command(random_.pick(kLines));
  command.may_wait = true;
  return command;
}

std::string CommandStream::body() {
  std::string text;
  if (random_.chance(2)) {
    text.assign(random_.between(kJobBytesMax - 2, kJobBytesMax + 2), 'B');
    return text;
  }
  const std::size_t length = random_.chance(10) ? random_.below(5000) : random_.below(30);
  static constexpr std::string_view kTroublesome("\r\n\0ab \xff", 7);
  if (random_.chance(30)) return random_.text_of(kTroublesome, length);
  for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(random_.below(256));
  return text;
}

std::string CommandStream::job_id(const ClientModel& client) {
  const std::uint64_t newest = model_.newest_id();
  if (!client.held.empty() && random_.chance(60)) return std::to_string(random_.pick(client.held));
  if (random_.chance(5)) {
    static constexpr std::array kIds = {"0", "18446744073709551615", "4294967296", "007"};
    return random_.pick(kIds);
  }
  const std::uint64_t oldest = newest > kRecentIds ? newest - kRecentIds : 0;
  return std::to_string(random_.between(oldest, newest + 1));
}

std::string CommandStream::tube() {
  return random_.pick(kTubes);
}

std::string CommandStream::priority() {
  return random_.pick(kPriorities);
}

// Half of all delays and pauses are 0.
std::string CommandStream::duration() {
  return random_.chance(50) ? "0" : random_.pick(kDurations);
}

}  // namespace haricot::test
