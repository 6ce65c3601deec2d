// A server that is asked, and whose answers are wanted as a whole: for what an operator does.

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

// An answer that may be kept.
struct Response {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;
  std::string line;
  std::string body;
};

// What went wrong, in words for a person, and the exit status that says it to a script.
struct Failure {
  std::string reason;
  int status = 0;
};

// All calls that return false or nothing have set failure(). One that could not reach the server,
// or did not understand it, has closed the connection.
class Remote final {
 public:
  // How long the server may stay silent.
  Remote(Address address, Duration patience) : address_(std::move(address)), patience_(patience) {}

  // The same from now on, also on an open connection.
  void set_patience(Duration patience);

  [[nodiscard]] bool open();
  bool is_open() const { return dialogue_.has_value(); }
  void close() { dialogue_.reset(); }

  // See Dialogue::also_watch; holds for connections that are opened later.
  void also_watch(std::vector<int> descriptors, std::function<bool()> on_ready);

  // Sends commands, each with its CR LF, and hands over their answers in order.
  [[nodiscard]] bool ask(std::string_view name, std::string_view commands, std::uint64_t answers,
                         const std::function<void(const Answer&)>& take);

  // Sends one command, without CR LF. Whatever the server answers is good.
  std::optional<Response> ask(std::string_view command);
  // The same, but an answer with another code than this or NOT_FOUND is a failure.
  std::optional<Response> ask(std::string_view command, ReplyCode wanted);

  // Sends commands, each with its CR LF, and returns their answers in order. Whatever the server
  // answers is good.
  std::optional<std::vector<Response>> ask_together(std::string_view name,
                                                    std::string_view commands,
                                                    std::uint64_t answers);

  // Such commands as stats-tube. NOT_FOUND is no failure: `is_there` is false then, and there are
  // no lines.
  std::optional<StatsText> ask_stats(std::string_view command, bool& is_there);
  std::optional<std::vector<std::string>> ask_list();

  // Sets failure() for an answer that is not what was hoped for: the server is too old, or it says
  // no for a reason of its own.
  void refuse(std::string_view command, ReplyCode code, std::string_view line);
  // The same for an answer that cannot be read: no beanstalk server gives it.
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
