// The frame of a subcommand that asks a server: flags, help, connection, messages and exit
// status; and the tubes and jobs that its command line names.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/cli/command_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/remote.hpp"

namespace haricot::tool {

// Texts of --help, except the flags.
struct ErrandText {
  std::string_view name;
  std::string_view use;    // Follows `Use: haricot NAME`; one line for each form, indented from the
                           // second on.
  std::string_view about;  // Whole lines.
  std::string_view examples = {};  // One command on each line, indented. May be empty.
};

class Errand final {
 public:
  enum class Json : bool { no, yes };

  // Adds the flag --json if Json::yes.
  explicit Errand(const ErrandText& text, Json json = Json::yes) : text_(text), has_json_(json) {}

  // Adds a flag of the subcommand itself.
  void add(Flag flag) { flags_.push_back(std::move(flag)); }

  // Ends the flags at the first operand. Must be called before read().
  void take_flags_in_front() { places_ = FlagPlaces::in_front; }
  // Reads the words. Returns the exit status if the subcommand ends here, because of --help or a
  // mistake.
  std::optional<int> read(Words words);
  const std::vector<std::string_view>& operands() const { return operands_; }

  bool json() const { return json_; }
  Duration patience() const;
  // Returns true if --timeout was given.
  bool has_timeout() const { return has_timeout_; }
  // Replaces the addresses of flags and environment.
  void set_address(std::string_view list);
  // Allows several servers: --address more than once, or a comma-separated list. Must be called
  // before connect() and find().
  void allow_several() { allows_several_ = true; }

  // Connects to the server. On failure prints a message and returns the exit status.
  std::optional<int> connect();
  // Resolves the addresses into servers() without connecting. On failure prints a message and
  // returns the exit status.
  std::optional<int> find();
  // Requires: connect() or find() succeeded.
  Remote& server() { return servers_.front(); }
  // Longest wait of one command, in seconds. A caller that waits longer asks again, and so notices
  // that the server is gone.
  static constexpr std::uint64_t kTurnS = 30;
  // Asks server() a command that may be answered `seconds` later than other commands. Requires:
  // seconds <= kTurnS.
  std::optional<Response> ask_and_wait(std::string_view command, std::uint64_t seconds);
  // Returns the servers that were named, at least one, without repetitions.
  std::deque<Remote>& servers() { return servers_; }

  // Each prints a line to stderr and returns the exit status.
  int mistake(const std::string& reason) const;  // A mistake on the command line.
  int no(const std::string& reason) const;       // A negative result.
  int local(const std::string& reason) const;    // A local failure, such as a file.
  int failed() const;                            // The failure of server().
  int failed(const Remote& server) const;
  int failed(std::string_view advice) const;  // The failure of server(), and advice.
  void warn(const std::string& line) const;
  // Flushes stdout and returns `status`, or the status of an error if stdout could not be written.
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

// The tubes and jobs that the command line of a subcommand names.
//
// A tube is an operand or the value of --tube. Where ids of jobs are accepted, an operand of digits
// is an id, so a tube with such a name needs --tube.
class Subjects final {
 public:
  enum class Ids : bool { no, yes };
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  // Requires: the errand outlives the object, and the object exists until the errand's read()
  // returns.
  explicit Subjects(Errand& errand) : errand_(errand) {}

  // Adds --tube, which may be repeated. A subcommand with other operands does not call take().
  void add_tube_flag(std::string_view help = "tube, same as the operand");

  // Takes the operands of the errand, except the last `others`. On a mistake prints a message and
  // returns the exit status. Must be called after read() of the errand.
  std::optional<int> take(std::size_t tubes_max, Ids ids = Ids::no, std::size_t others = 0);

  // Values of --tube, then operands. No tube comes twice.
  const std::vector<std::string>& tubes() const { return tubes_; }
  // Returns the first tube, or an empty text if there is none.
  std::string tube() const { return tubes_.empty() ? std::string() : tubes_.front(); }
  const std::vector<std::uint64_t>& ids() const { return ids_; }
  bool empty() const { return tubes_.empty() && ids_.empty(); }

 private:
  Errand& errand_;
  std::vector<std::string> tubes_;
  std::vector<std::uint64_t> ids_;
};

// Adds --tube for subcommands that accept patterns of tubes, also as operands. Adds the values,
// which may be several, to `to`. Requires: `to` outlives the errand's read().
void add_pattern_flag(Errand& errand, std::vector<std::string>& to);

}  // namespace haricot::tool
