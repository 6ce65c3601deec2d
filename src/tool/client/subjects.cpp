#include "tool/client/subjects.hpp"

#include <algorithm>

#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"

namespace haricot::tool {

void Subjects::add_tube_flag(std::string_view help) {
  errand_.add({'t', "tube", "TUBE", help,
               [this](std::string_view value) {
                 tubes_.emplace_back(value);
                 return is_tube_name(value);
               },
               "a tube name"});
}

void add_pattern_flag(Errand& errand, std::vector<std::string>& to) {
  errand.add({'t', "tube", "TUBE", "tube or pattern, same as an operand",
              [&to](std::string_view value) {
                to.emplace_back(value);
                return !value.empty();
              },
              "a tube name or a pattern"});
}

std::optional<int> Subjects::take(std::size_t tubes_max, Ids ids, std::size_t others) {
  const std::vector<std::string_view>& words = errand_.operands();
  for (std::size_t i = 0; i + others < words.size(); ++i) {
    const std::string word(words[i]);
    const std::optional<std::uint64_t> id = ids == Ids::yes ? read_number(word) : std::nullopt;
    if (id) {
      ids_.push_back(*id);
    } else if (tubes_max > 0 && is_tube_name(word)) {
      tubes_.push_back(word);
    } else if (ids == Ids::no) {
      return errand_.mistake("'" + word + "' is not a tube name");
    } else {
      const std::string_view is =
          tubes_max > 0 ? "neither a tube name nor a job id" : "not a job id";
      return errand_.mistake("'" + word + "' is " + std::string(is));
    }
  }
  if (tubes_.size() > tubes_max) {
    return errand_.mistake(tubes_max == 1 ? "more than one tube"
                                          : "more than " + std::to_string(tubes_max) + " tubes");
  }
  for (auto at = tubes_.begin(); at != tubes_.end(); ++at) {
    if (std::find(tubes_.begin(), at, *at) != at) {
      return errand_.mistake("tube " + *at + " is given twice");
    }
  }
  return std::nullopt;
}

}  // namespace haricot::tool
