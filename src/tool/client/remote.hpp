// A connection to a server that waits for the answers.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/protocol/reply.hpp"
#include "os/descriptor.hpp"
#include "tool/client/address.hpp"
#include "tool/client/answer_parser.hpp"
#include "tool/client/link.hpp"
#include "tool/client/pipeline.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Returns a message about an unexpected answer to the command.
std::string describe_unexpected(std::string_view command, const Answer& answer);

// An answer that owns its texts.
struct Response {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;
  std::string line;
  std::string body;
};
Response copy_of(const Answer& answer);

// A failure: its reason for a person, and the exit status for a script.
struct Failure {
  std::string reason;
  int status = 0;
};

// A server as operators' subcommands use it: they send commands, and wait for the answers.
//
// Each call that returns false or nothing has set failure(). If the server was unreachable or sent
// something unintelligible, the connection is closed.
class Remote final {
 public:
  // `patience` limits the time for each answer, and for each 64 KiB that are sent or received until
  // it is complete. Smaller progress does not count, so a server that trickles bytes is late too.
  Remote(Address address, Duration patience);

  // Changes the time limit, also of an open connection.
  void set_patience(Duration patience) { patience_ = patience; }

  // Connects, within the time limit for each address of the host.
  [[nodiscard]] bool open();
  bool is_open() const { return link_.is_connected(); }
  void close() { link_.close(); }
  // For a caller that does not wait: it asks the link itself, and calls fail_by_loss() when the
  // connection is lost, which sets failure() and returns false. `name` describes the commands.
  Link& link() { return link_; }
  bool fail_by_loss(std::string_view name);
  // Hands the open connection over to the caller.
  os::Descriptor release() { return link_.release(); }

  // While a call waits for the server, calls `on_ready` when one of the descriptors is readable. If
  // it returns false, the call gives up.
  void also_watch(std::vector<int> descriptors, std::function<bool()> on_ready) {
    watched_ = std::move(descriptors);
    on_ready_ = std::move(on_ready);
  }

  // Sends commands, each with its CR LF, and passes their answers to `take` in order. `name`
  // describes the commands in messages.
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

  // For a benchmark. On failure they set `error`, which does not name the server. `check` returns
  // true if the answer is acceptable.
  [[nodiscard]] bool open(std::string& error);
  using Check = std::function<bool(const Answer& answer)>;
  [[nodiscard]] bool run(std::string_view name, std::string_view commands, std::uint64_t answers,
                         const Check& check, std::string& error);
  // Sends commands that must all be answered with this code.
  [[nodiscard]] bool run(std::string_view name, std::string_view commands, std::uint64_t answers,
                         ReplyCode code, std::string& error);

  // Sets failure() for an unwanted answer: the server does not know the command, or refuses it.
  void refuse(std::string_view command, ReplyCode code, std::string_view line);
  // Sets failure() for an answer that cannot be parsed: the server is no beanstalk server.
  void cannot_read(std::string_view command);

  const Failure& failure() const { return failure_; }
  const Address& address() const { return address_; }

 private:
  bool fail(std::string reason, int status);
  void wait_once();
  void give_up(std::string_view reason);
  std::string describe_loss(std::string_view name) const;

  Address address_;
  Duration patience_;
  std::unique_ptr<char[]> buffer_;
  Link link_;
  Loss loss_;            // End of the last connection that was lost.
  std::string gave_up_;  // Reason why the call stopped waiting; empty if it did not.
  std::vector<int> watched_;
  std::function<bool()> on_ready_;
  Failure failure_;
};

}  // namespace haricot::tool
