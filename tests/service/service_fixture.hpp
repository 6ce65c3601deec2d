// Fixture for tests of several sessions.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "service/service_world.hpp"

namespace haricot::test {

class ServiceTest : public ::testing::Test {
 protected:
  void TearDown() override { world.service.engine().check_invariants(); }

  std::size_t lines_in(std::string_view text) const {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  ServiceWorld world{4 * 1024 * 1024};
  Service& service = world.service;
};

}  // namespace haricot::test
