// Returns the memory that earlier tests have kept to the system before each test: tests count turns
// and steps, and returning memory takes some.

#include <gtest/gtest.h>

#include "haricot/base/memory.hpp"

namespace haricot::test {
namespace {

class FreshMemory : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override { Memory::give_all_back(); }
};

[[maybe_unused]] const bool kIsListening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new FreshMemory);
  return true;
}();

}  // namespace
}  // namespace haricot::test
