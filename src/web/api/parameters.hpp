// The parameters of a request, checked.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/request.hpp"

namespace haricot::web {

// Reads parameters one by one. The first mistake becomes error().
class Parameters final {
 public:
  explicit Parameters(const Request& request) : request_(request) {}

  // Returns `otherwise` if it is not given.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise, std::uint64_t max);
  std::string text(std::string_view name);
  // Returns a valid tube name; empty if it is not given.
  std::string tube(std::string_view name);
  // Returns a valid tube name, which is mandatory.
  std::string wanted_tube(std::string_view name);
  // Returns ready, reserved, delayed or buried; empty if it is not given.
  std::string state(std::string_view name);
  std::optional<std::uint64_t> optional_number(std::string_view name);

  // Returns an empty text if there was no mistake.
  const std::string& error() const { return error_; }
  void complain(std::string_view what);

 private:
  const Request& request_;
  std::string error_;
};

}  // namespace haricot::web
