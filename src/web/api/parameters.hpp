// The parameters of a request, checked.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/request.hpp"

namespace haricot::web {

// Reads one after another; what is wrong with the first wrong one is error().
class Parameters final {
 public:
  explicit Parameters(const Request& request) : request_(request) {}

  // Not given: `otherwise`.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise, std::uint64_t max);
  std::string text(std::string_view name);
  // A name that the protocol allows; empty: not given.
  std::string tube(std::string_view name);
  // Such a name, which has to be given.
  std::string wanted_tube(std::string_view name);
  // ready, reserved, delayed or buried; empty: not given.
  std::string state(std::string_view name);
  std::optional<std::uint64_t> optional_number(std::string_view name);

  // Empty: nothing was wrong.
  const std::string& error() const { return error_; }
  void complain(std::string_view what);

 private:
  const Request& request_;
  std::string error_;
};

}  // namespace haricot::web
