// What a subcommand is about: the tubes and the jobs that its line names.
//
// A tube is an operand or the value of --tube, which mean the same. An operand that is digits is
// the id of a job, where ids are taken; there a tube whose name is digits has to be named by
// --tube.

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

  // The errand outlives the object, and the object the errand's read().
  explicit Subjects(Errand& errand) : errand_(errand) {}

  // Adds --tube, which may come more than once. For subcommands whose operands are something else,
  // it is all that there is to be called.
  void add_tube_flag(std::string_view help = "the tube, as a flag");

  // Takes the operands of the errand, but the last `others`. Something: a mistake, and the exit
  // status; its message is printed. To be called after read() of the errand.
  std::optional<int> take(std::size_t tubes_max, Ids ids = Ids::no, std::size_t others = 0);

  // Those of --tube, and then the operands. Each once.
  const std::vector<std::string>& tubes() const { return tubes_; }
  // The only one or the first one; empty: there is none.
  std::string tube() const { return tubes_.empty() ? std::string() : tubes_.front(); }
  const std::vector<std::uint64_t>& ids() const { return ids_; }
  bool empty() const { return tubes_.empty() && ids_.empty(); }

 private:
  Errand& errand_;
  std::vector<std::string> tubes_;
  std::vector<std::uint64_t> ids_;
};

// Adds --tube for subcommands that take patterns of tubes, and patterns as operands. More than one
// may come; they are added to `to`, which outlives the errand's read().
void add_pattern_flag(Errand& errand, std::vector<std::string>& to);

}  // namespace haricot::tool
