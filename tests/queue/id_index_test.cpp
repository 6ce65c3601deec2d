#include "haricot/queue/id_index.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::AllocationFailure;
using test::live_allocations;
using test::made_allocations;

JobRef ref(std::uint64_t number) {
  return static_cast<JobRef>(number);
}

TEST(IdIndex, FindsNothingInANewOne) {
  const IdIndex index;
  EXPECT_EQ(index.find(0), JobRef::none);
  EXPECT_EQ(index.find(1), JobRef::none);
  EXPECT_EQ(index.find(~JobId{0}), JobRef::none);
  EXPECT_EQ(index.first_from(0), JobRef::none);
  EXPECT_EQ(index.first_from(~JobId{0}), JobRef::none);
}

TEST(IdIndex, FindsDenseIds) {
  IdIndex index;
  for (JobId id = 1; id <= 5000; ++id) ASSERT_TRUE(index.insert(id, ref(id + 7)));
  for (JobId id = 1; id <= 5000; ++id) ASSERT_EQ(index.find(id), ref(id + 7));
  EXPECT_EQ(index.find(0), JobRef::none);
  EXPECT_EQ(index.find(5001), JobRef::none);
}

// The neighbours of every power of two: all heights of the tree, and both ends of the range.
TEST(IdIndex, FindsIdsAtEveryHeightOfTheTree) {
  std::vector<JobId> ids{0};
  for (unsigned bit = 1; bit < 64; ++bit) {
    ids.push_back((JobId{1} << bit) - 1);
    ids.push_back(JobId{1} << bit);
  }
  ids.push_back(~JobId{0});
  const std::vector<JobId> down(ids.rbegin(), ids.rend());
  for (const std::vector<JobId>& order : {ids, down}) {
    IdIndex index;
    std::map<JobId, JobRef> model;
    for (const JobId id : order) {
      if (model.count(id) != 0) continue;
      ASSERT_EQ(index.find(id), JobRef::none);
      ASSERT_TRUE(index.insert(id, ref(model.size() + 1)));
      model[id] = ref(model.size() + 1);
    }
    for (const auto& [id, job] : model) ASSERT_EQ(index.find(id), job) << id;
    while (!model.empty()) {
      index.erase(model.begin()->first);
      ASSERT_EQ(index.find(model.begin()->first), JobRef::none);
      model.erase(model.begin());
      for (const auto& [id, job] : model) ASSERT_EQ(index.find(id), job) << id;
    }
  }
}

// Gaps of every width, and both ends of them.
TEST(IdIndex, FindsTheFirstIdFromAnywhere) {
  IdIndex index;
  std::vector<JobId> ids;
  for (unsigned bit = 0; bit < 64; bit += 3) ids.push_back(JobId{1} << bit);
  ids.push_back(~JobId{0});
  for (const JobId id : ids) ASSERT_TRUE(index.insert(id, ref(id % 1000 + 1)));
  JobId before = 0;
  for (const JobId id : ids) {
    const JobRef expected = ref(id % 1000 + 1);
    EXPECT_EQ(index.first_from(before), expected) << id;
    EXPECT_EQ(index.first_from(before + (id - before) / 2), expected) << id;
    EXPECT_EQ(index.first_from(id - 1), expected) << id;
    EXPECT_EQ(index.first_from(id), expected) << id;
    before = id + 1;
  }
  index.erase(~JobId{0});
  EXPECT_EQ(index.first_from((JobId{1} << 63) + 1), JobRef::none);
  EXPECT_EQ(index.first_from(~JobId{0}), JobRef::none);
}

// The last empty leaf and the branches above it, which are ten in the highest tree.
constexpr std::int64_t kKeptNodesMax = 11;

TEST(IdIndex, HoldsOneLeafWhenTheLastIdIsErased) {
  const std::int64_t before = live_allocations();
  {
    IdIndex index;
    for (const JobId first : {JobId{1}, JobId{64}, JobId{5'000'000}, JobId{1} << 60, ~JobId{0}}) {
      ASSERT_TRUE(index.insert(first, ref(1)));
      index.erase(first);
      EXPECT_EQ(index.first_from(0), JobRef::none);
      EXPECT_LE(live_allocations(), before + kKeptNodesMax) << first;
    }
  }
  EXPECT_EQ(live_allocations(), before);
  IdIndex index;
  for (JobId id = 1; id < 10'000; ++id) ASSERT_TRUE(index.insert(id, ref(id)));
  for (JobId id = 1; id < 10'000; ++id) index.erase(id);
  EXPECT_EQ(live_allocations(), before + 3);  // In a tree of height three.
  EXPECT_TRUE(index.insert(3, ref(3)));
  EXPECT_EQ(index.find(3), ref(3));
}

// A queue that is empty most of the time.
TEST(IdIndex, AllocatesNothingForIdsThatComeAndGoWithinALeaf) {
  IdIndex index;
  ASSERT_TRUE(index.insert(6400, ref(1)));
  index.erase(6400);
  const std::int64_t before = made_allocations();
  for (JobId id = 6401; id < 6464; ++id) {
    ASSERT_TRUE(index.insert(id, ref(id)));
    ASSERT_EQ(index.find(id), ref(id));
    index.erase(id);
  }
  EXPECT_EQ(made_allocations(), before);
}

TEST(IdIndex, CostsOneNodeForSixtyFourIdsInARow) {
  IdIndex index;
  for (JobId id = 1; id <= 64 * 1000; ++id) ASSERT_TRUE(index.insert(id, ref(id)));
  const std::int64_t before = live_allocations();
  for (JobId id = 64 * 1000 + 1; id <= 64 * 1100; ++id) ASSERT_TRUE(index.insert(id, ref(id)));
  EXPECT_LE(live_allocations() - before, 100 + 3);
}

// Every allocation of every insertion fails once.
TEST(IdIndex, AFailedInsertionChangesNothing) {
  for (const JobId kept : {JobId{0}, JobId{1}, JobId{70}, JobId{5000}, JobId{1} << 40}) {
    for (const JobId wanted : {JobId{2}, JobId{100}, JobId{1} << 20, JobId{1} << 50, ~JobId{0}}) {
      for (int succeeding = 0;; ++succeeding) {
        IdIndex index;
        if (kept != 0) {
          ASSERT_TRUE(index.insert(kept, ref(1)));
        }
        const std::int64_t before = live_allocations();
        bool inserted = true;
        bool failed = false;
        {
          const AllocationFailure failure(succeeding);
          inserted = index.insert(wanted, ref(2));
          failed = failure.happened();
        }
        ASSERT_EQ(inserted, !failed);
        if (!failed) {
          ASSERT_EQ(index.find(wanted), ref(2));
          break;
        }
        ASSERT_EQ(live_allocations(), before) << kept << " " << wanted << " " << succeeding;
        ASSERT_EQ(index.find(wanted), JobRef::none);
        if (kept != 0) {
          ASSERT_EQ(index.find(kept), ref(1));
        }
        ASSERT_TRUE(index.insert(wanted, ref(3)));
        ASSERT_EQ(index.find(wanted), ref(3));
      }
    }
  }
}

TEST(IdIndexDeathTest, InsertingAnIdTwiceEndsTheProgram) {
  IdIndex index;
  ASSERT_TRUE(index.insert(5, ref(1)));
  EXPECT_DEATH((void)index.insert(5, ref(2)), "none");
}

TEST(IdIndexDeathTest, ErasingAnIdThatIsNotInItEndsTheProgram) {
  IdIndex index;
  EXPECT_DEATH(index.erase(5), "leaf");
  ASSERT_TRUE(index.insert(5, ref(1)));
  EXPECT_DEATH(index.erase(6), "none");
  EXPECT_DEATH(index.erase(500), "leaf");
}

TEST(IdIndex, BehavesLikeAMap) {
  test::Random random;
  const std::int64_t before = live_allocations();
  IdIndex index;
  std::map<JobId, JobRef> model;
  const auto random_id = [&]() -> JobId {
    switch (random.below(3)) {
      case 0:
        return random.below(3000);  // Dense.
      case 1:
        return random.bits() >> random.below(64);  // Sparse, at any height.
      default:                                     // Near an existing one.
        return model.empty() ? 0 : model.lower_bound(model.rbegin()->first / 2)->first + 1;
    }
  };
  for (int step = 0; step < 20'000; ++step) {
    const JobId id = random_id();
    const auto found = model.find(id);
    const auto next = model.lower_bound(id);
    ASSERT_EQ(index.first_from(id), next == model.end() ? JobRef::none : next->second) << id;
    ASSERT_EQ(index.find(id), found == model.end() ? JobRef::none : found->second);
    const bool growing = step % 4000 < 2500;
    if (found == model.end() && growing) {
      const JobRef job = ref(1 + random.below(4'000'000'000));
      ASSERT_TRUE(index.insert(id, job));
      model[id] = job;
    } else if (!model.empty() && !growing) {
      auto victim = model.lower_bound(id);
      if (victim == model.end()) victim = model.begin();
      index.erase(victim->first);
      model.erase(victim);
    }
  }
  for (const auto& [id, job] : model) ASSERT_EQ(index.find(id), job);
  while (!model.empty()) {
    index.erase(model.begin()->first);
    model.erase(model.begin());
  }
  EXPECT_LE(live_allocations(), before + kKeptNodesMax);
}

}  // namespace
}  // namespace haricot
