// Gives back, before each test, the memory that earlier tests of the program have left for later: a
// test counts turns and steps, and to give memory back takes some.

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
