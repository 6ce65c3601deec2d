// A server, asked one command or a few at a time and answered in full, as operators' subcommands
// need.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/protocol/reply.hpp"
#include "tool/client/address.hpp"
#include "tool/client/dialogue.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// An answer that owns its texts.
struct Response {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;
  std::string line;
  std::string body;
};

// A failure: its reason for a person, and the exit status for a script.
struct Failure {
  std::string reason;
  int status = 0;
};

// Each call that returns false or nothing has set failure(). If the server was unreachable or sent
// something unintelligible, the connection is closed.
class Remote final {
 public:
  // `patience` limits the time for each answer.
  Remote(Address address, Duration patience) : address_(std::move(address)), patience_(patience) {}

  // Changes the time limit, also of an open connection.
  void set_patience(Duration patience);

  [[nodiscard]] bool open();
  bool is_open() const { return dialogue_.has_value(); }
  void close() { dialogue_.reset(); }

  // See Dialogue::also_watch. Applies to later connections, too.
  void also_watch(std::vector<int> descriptors, std::function<bool()> on_ready);

  // Sends commands, each with its CR LF, and passes their answers to `take` in order.
  [[nodiscard]] bool ask(std::string_view name, std::string_view commands, std::uint64_t answers,
                         const std::function<void(const Answer&)>& take);

  // Sends one command without CR LF and returns its answer, whatever it is.
  std::optional<Response> ask(std::string_view command);
  // Sends one command without CR LF. An answer other than this code or NOT_FOUND is a failure.
  std::optional<Response> ask(std::string_view command, ReplyCode wanted);

  // Sends commands, each with its CR LF, and returns their answers in order, whatever they are.
  std::optional<std::vector<Response>> ask_together(std::string_view name,
                                                    std::string_view commands,
                                                    std::uint64_t answers);

  // Sends a command such as stats-tube. On NOT_FOUND returns no lines and sets `is_there` to false.
  std::optional<StatsText> ask_stats(std::string_view command, bool& is_there);
  std::optional<std::vector<std::string>> ask_list();

  // Sets failure() for an unwanted answer: the server does not know the command, or refuses it.
  void refuse(std::string_view command, ReplyCode code, std::string_view line);
  // Sets failure() for an answer that cannot be parsed: the server is no beanstalk server.
  void cannot_read(std::string_view command);

  const Failure& failure() const { return failure_; }
  const Address& address() const { return address_; }

 private:
  bool fail(std::string reason, int status);

  Address address_;
  Duration patience_;
  std::optional<Dialogue> dialogue_;
  std::vector<int> watched_;
  std::function<bool()> on_ready_;
  Failure failure_;
};

}  // namespace haricot::tool
