// Tubes that are summed under one name (--tube-label 'emails-[0-9]+=emails'): for names that a
// program makes anew all the time.

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
  // What all tubes without a series of their own are called together. No tube can have this name,
  // and no label has it.
  static constexpr std::string_view kRest = "*";

  // Takes REGEX=NAME. False: `error` says why.
  [[nodiscard]] bool add(std::string_view text, std::string& error);

  // The label of a tube, from 1 on: of the first pattern that matches its name, or else the one
  // that is its name. 0: it has none.
  std::uint8_t label_of(std::string_view tube) const;
  // The names; the first one is that of label 1. Several patterns may have one name.
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
