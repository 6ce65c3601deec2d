// The tubes and jobs that the command line of a subcommand names.
//
// A tube is an operand or the value of --tube. Where ids of jobs are accepted, an operand of digits
// is an id, so a tube with such a name needs --tube.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/errand.hpp"

namespace haricot::tool {

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
