#include "haricot/base/blob.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "support/blob_of.hpp"

namespace haricot {
namespace {

using test::blob_of;

TEST(BlobRef, ANewOneIsNull) {
  const BlobRef blob;
  EXPECT_FALSE(blob);
}

TEST(BlobRef, HoldsTheBytesWrittenIntoIt) {
  const BlobRef blob = blob_of("bytes");
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob.size(), 5u);
  EXPECT_EQ(blob.view(), "bytes");
  EXPECT_EQ(blob.owners(), 1u);
}

TEST(BlobRef, MayHaveNoBytes) {
  const BlobRef blob = BlobRef::allocate(0);
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob.view(), "");
}

TEST(BlobRef, CopiesShareTheBytes) {
  BlobRef first = blob_of("bytes");
  {
    const BlobRef second = first;
    EXPECT_EQ(second.view().data(), first.view().data());
    EXPECT_EQ(first.owners(), 2u);
  }
  EXPECT_EQ(first.owners(), 1u);
}

TEST(BlobRef, TheBytesLiveAsLongAsAnyOwner) {
  BlobRef first = blob_of("bytes");
  const BlobRef second = first;
  first = BlobRef();
  EXPECT_FALSE(first);
  EXPECT_EQ(second.view(), "bytes");
  EXPECT_EQ(second.owners(), 1u);
}

TEST(BlobRef, MovingKeepsTheNumberOfOwners) {
  BlobRef first = blob_of("bytes");
  const BlobRef second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): the test is about it.
  EXPECT_EQ(second.owners(), 1u);
}

TEST(BlobRef, AssigningItselfChangesNothing) {
  BlobRef blob = blob_of("bytes");
  const BlobRef& same = blob;
  blob = same;
  EXPECT_EQ(blob.view(), "bytes");
  EXPECT_EQ(blob.owners(), 1u);
}

TEST(BlobRef, ADetachedShareIsAdoptedOnce) {
  BlobRef first = blob_of("bytes");
  BlobRef second = first;
  void* detached = second.detach();
  EXPECT_FALSE(second);
  EXPECT_EQ(first.owners(), 2u);
  {
    const BlobRef shared = BlobRef::share(detached);
    EXPECT_EQ(shared.view(), "bytes");
    EXPECT_EQ(first.owners(), 3u);
  }
  EXPECT_EQ(first.owners(), 2u);
  { const BlobRef adopted = BlobRef::adopt(detached); }
  EXPECT_EQ(first.owners(), 1u);
}

TEST(BlobRef, AdoptingNothingGivesNull) {
  EXPECT_FALSE(BlobRef::adopt(BlobRef().detach()));
}

TEST(BlobRef, IsNullWhereThereIsNoMemory) {
  // Not a constant for the compiler, which would warn of the absurd size.
  const volatile std::size_t absurd = std::numeric_limits<std::size_t>::max() / 4;
  // Called indirectly, so that the compiler cannot remove an allocation whose memory is unused.
  BlobRef (*volatile allocate)(std::size_t) = &BlobRef::allocate;
  EXPECT_FALSE(allocate(absurd));
}

TEST(BlobRef, ItsMemoryIsFreedOnlyWithItsLastOwner) {
  constexpr std::size_t kBytes = Memory::kSlabBytesMax + 1;
  Memory::give_all_back();
  BlobRef first = BlobRef::allocate(kBytes);
  BlobRef second = first;
  first = BlobRef();
  EXPECT_EQ(Memory::kept_bytes(), 0U);
  second = BlobRef();
  EXPECT_GE(Memory::kept_bytes(), kBytes);
}

}  // namespace
}  // namespace haricot
