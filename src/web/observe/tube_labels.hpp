// Tubes that are summed under one name (--tube-label 'emails-[0-9]+=emails'), for programs that
// keep creating tubes.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "web/observe/name_pattern.hpp"

namespace haricot::web {

class TubeLabels final {
 public:
  static constexpr std::size_t kLabelsMax = 100;
  // Name of the sum of all tubes without a series of their own. No tube and no label can have this
  // name.
  static constexpr std::string_view kRest = "*";

  // Adds REGEX=NAME. Returns false and sets `error` if it is invalid.
  [[nodiscard]] bool add(std::string_view text, std::string& error);

  // Returns the label of a tube, from 1 on: the label of the first pattern that matches its name,
  // or else the label with its name. Returns 0 if there is none.
  std::uint8_t label_of(std::string_view tube) const;
  // Returns the names; the first one belongs to label 1. Several patterns may share a name.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Row {
    std::unique_ptr<NamePattern> pattern;
    std::uint8_t label;
  };

  std::uint8_t label_at(std::vector<std::string>::const_iterator name) const {
    return static_cast<std::uint8_t>(name - names_.begin() + 1);
  }

  std::vector<Row> rows_;
  std::vector<std::string> names_;
};

}  // namespace haricot::web
