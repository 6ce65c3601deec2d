// The frame of a subcommand that asks a server: its own flags, the flags that all of them have, its
// help, the connection, and its messages and status on failure.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/cli/flags.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/remote.hpp"

namespace haricot::tool {

// What --help says of one, without the flags.
struct ErrandText {
  std::string_view name;
  std::string_view use;    // After `Use: haricot NAME`, a line each; further ones are indented.
  std::string_view about;  // Full lines.
  std::string_view examples = {};  // Commands, a line each, indented. May be empty.
};

class Errand final {
 public:
  enum class Json : bool { no, yes };

  // With Json::yes there is a flag --json.
  explicit Errand(const ErrandText& text, Json json = Json::yes) : text_(text), has_json_(json) {}

  // The subcommand's own flags.
  void add(Flag flag) { flags_.push_back(std::move(flag)); }

  // To be called before read(): the first operand ends the flags.
  void take_flags_in_front() { places_ = FlagPlaces::in_front; }
  // Reads the words. Something: the subcommand is over, with this exit status, because it was
  // --help or a mistake.
  std::optional<int> read(Words words);
  const std::vector<std::string_view>& operands() const { return operands_; }

  bool json() const { return json_; }
  Duration patience() const;
  // Whether the line has --timeout.
  bool has_timeout() const { return has_timeout_; }
  // Instead of what flags and environment say.
  void set_address(std::string_view list);
  // From now on several servers are no mistake: --address more than once, or a list with commas. To
  // be called before connect() and find().
  void allow_several() { allows_several_ = true; }

  // Connects. Something: that failed, and the message is printed.
  std::optional<int> connect();
  // Makes the servers without connecting.
  std::optional<int> find();
  // Requires: connect() or find() went well.
  Remote& server() { return servers_.front(); }
  // Who waits for longer than this asks again, so that a server that is gone is noticed.
  static constexpr std::uint64_t kTurnS = 30;
  // Asks server() what it may answer so many seconds later than other commands. At most kTurnS.
  std::optional<Response> ask_and_wait(std::string_view command, std::uint64_t seconds);
  // All that were named, at least one; each once, however often it was named.
  std::deque<Remote>& servers() { return servers_; }

  // Each prints a line to stderr and returns the exit status.
  int mistake(const std::string& reason) const;  // On the command line.
  int no(const std::string& reason) const;       // The answer is no.
  int local(const std::string& reason) const;    // A file fails, say.
  int failed() const;                            // What server() says.
  int failed(const Remote& server) const;
  int failed(std::string_view advice) const;  // What server() says, and what would help.
  void warn(const std::string& line) const;
  // The end of a subcommand whose results are written: the status, unless they could not be.
  int done(int status = 0) const;

 private:
  void add_usual_flags();

  ErrandText text_;
  Json has_json_;
  FlagPlaces places_ = FlagPlaces::anywhere;
  std::vector<Flag> flags_;
  std::vector<std::string_view> operands_;
  std::vector<std::string> addresses_;
  bool allows_several_ = false;
  std::uint64_t patience_ms_ = 10'000;
  bool has_timeout_ = false;
  bool json_ = false;
  bool help_ = false;
  std::deque<Remote> servers_;
};

}  // namespace haricot::tool
