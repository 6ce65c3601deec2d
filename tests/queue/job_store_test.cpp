#include "haricot/queue/job_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/memory.hpp"
#include "support/allocations.hpp"
#include "support/blob_of.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::blob_of;

constexpr std::size_t kInlineMax = JobStore::kInlineBodyBytesMax;

JobRef create(JobStore& store, JobId id, const std::string& body) {
  if (body.size() > kInlineMax) return store.create(id, {.bytes = {}, .blob = blob_of(body)});
  return store.create(id, {.bytes = body, .blob = {}});
}

// Returns a body that contains its job's id, so that mixed up memory shows.
std::string body_of(JobId id, std::size_t bytes) {
  std::string body = std::to_string(id) + ":";
  body.resize(bytes, static_cast<char>('a' + id % 26));
  return body;
}

TEST(NewBody, HasTheSizeOfItsBytesOrItsBlob) {
  EXPECT_EQ((NewBody{.bytes = {}, .blob = {}}).size(), 0u);
  EXPECT_EQ((NewBody{.bytes = "abc", .blob = {}}).size(), 3u);
  EXPECT_EQ((NewBody{.bytes = {}, .blob = blob_of("abcd")}).size(), 4u);
}

TEST(JobStore, ANewJobHasItsIdAndItsBodyAndNoHistory) {
  JobStore store;
  const JobRef ref = create(store, 7, "body");
  ASSERT_NE(ref, JobRef::none);
  EXPECT_EQ(store.size(), 1u);
  EXPECT_EQ(store.find(7), ref);
  EXPECT_EQ(store[ref].id, 7u);
  EXPECT_EQ(store.body(ref), "body");
  for (const JobEvent event :
       {JobEvent::reserve, JobEvent::timeout, JobEvent::release, JobEvent::bury, JobEvent::kick}) {
    EXPECT_EQ(store.counted(ref, event), 0u);
  }
}

TEST(JobStore, TheMemoryOfJobsIsCountedAsTheyComeAndGo) {
  for (const bool with_notes : {false, true}) {
    JobStore store(with_notes);
    std::uint64_t expected = 0;
    std::vector<std::pair<JobRef, std::uint64_t>> jobs;
    JobId id = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, kInlineMax,
                                    kInlineMax + 1, std::size_t{1'000'000}}) {
      const std::uint64_t of_it = store.memory_bytes_for(bytes);
      EXPECT_GE(of_it, bytes + 52 + 16);
      EXPECT_LE(of_it, bytes + 52 + 16 + 60);
      expected += of_it;
      ++id;
      jobs.emplace_back(create(store, id, body_of(id, bytes)), of_it);
      EXPECT_EQ(store.memory_bytes(), expected);
    }
    for (const auto& [ref, of_it] : jobs) {
      store.destroy(ref);
      expected -= of_it;
      EXPECT_EQ(store.memory_bytes(), expected);
    }
    EXPECT_EQ(store.memory_bytes(), 0u);
  }
}

TEST(JobStore, ADestroyedJobIsNotFound) {
  JobStore store;
  const JobRef ref = create(store, 7, "body");
  store.destroy(ref);
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(store.find(7), JobRef::none);
}

TEST(JobStore, BodiesOfEverySizeComeBackAsTheyWere) {
  JobStore store;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 0; bytes < 100; ++bytes) sizes.push_back(bytes);
  for (std::size_t bytes = kInlineMax - 20; bytes < kInlineMax + 20; ++bytes) {
    sizes.push_back(bytes);
  }
  sizes.push_back(65535);
  sizes.push_back(1'000'000);
  std::map<JobId, std::pair<JobRef, std::string>> jobs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string body = body_of(i + 1, sizes[i]);
    const JobRef ref = create(store, i + 1, body);
    ASSERT_NE(ref, JobRef::none);
    jobs[i + 1] = {ref, body};
  }
  for (const auto& [id, job] : jobs) {
    ASSERT_EQ(store.find(id), job.first);
    ASSERT_EQ(store.body(job.first), job.second);
    ASSERT_EQ(store[job.first].body_bytes, job.second.size());
  }
}

TEST(JobStore, ABodyMayBeAnyBytes) {
  JobStore store;
  std::string body;
  for (int value = 0; value < 256; ++value) body += static_cast<char>(value);
  EXPECT_EQ(store.body(create(store, 1, body)), body);
}

TEST(JobStore, ASmallBodyIsInlineAndALargeOneABlob) {
  JobStore store;
  const JobRef small = create(store, 1, std::string(kInlineMax, 's'));
  const JobRef large = create(store, 2, std::string(kInlineMax + 1, 'l'));
  EXPECT_FALSE(store.body_blob(small));
  EXPECT_TRUE(store.body_blob(large));
  EXPECT_EQ(store.body_blob(large).view(), std::string(kInlineMax + 1, 'l'));
}

TEST(JobStore, ALargeBodyIsNotCopied) {
  JobStore store;
  BlobRef blob = blob_of(std::string(5000, 'x'));
  const char* bytes = blob.data();
  const JobRef ref = store.create(1, {.bytes = {}, .blob = std::move(blob)});
  EXPECT_EQ(store.body(ref).data(), bytes);
}

TEST(JobStore, ALargeBodyOutlivesItsJobWhileItIsReferenced) {
  BlobRef held;
  {
    JobStore store;
    const JobRef ref = create(store, 1, std::string(5000, 'x'));
    held = store.body_blob(ref);
    EXPECT_EQ(held.owners(), 2u);
    store.destroy(ref);
    EXPECT_EQ(held.owners(), 1u);
    held = store.body_blob(create(store, 2, std::string(6000, 'y')));
  }
  EXPECT_EQ(held.owners(), 1u);  // The store has released it at its end.
  EXPECT_EQ(held.view(), std::string(6000, 'y'));
}

TEST(JobStoreDeathTest, ABodyOfTheWrongKindForItsSizeEndsTheProgram) {
  JobStore store;
  const std::string large(kInlineMax + 1, 'x');
  EXPECT_DEATH((void)store.create(1, {.bytes = large, .blob = {}}), "kInlineBodyBytesMax");
  EXPECT_DEATH((void)store.create(1, {.bytes = {}, .blob = blob_of("small")}),
               "kInlineBodyBytesMax");
}

TEST(JobStore, CountersContinueBeyondTheRangeOfAJob) {
  JobStore store;
  const JobRef ref = create(store, 1, "body");
  store[ref].set_state(JobState::buried);
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    store.count(ref, JobEvent::reserve);
    ASSERT_EQ(store.counted(ref, JobEvent::reserve), i);
  }
  for (int i = 0; i < 4095; ++i) store.count(ref, JobEvent::kick);
  EXPECT_EQ(store.counted(ref, JobEvent::kick), 4095u);
  store.count(ref, JobEvent::kick);
  EXPECT_EQ(store.counted(ref, JobEvent::kick), 4096u);
  EXPECT_EQ(store.counted(ref, JobEvent::reserve), 10'000u);
  EXPECT_EQ(store.counted(ref, JobEvent::bury), 0u);
  EXPECT_EQ(store[ref].state(), JobState::buried);
}

TEST(JobStore, EachCounterIsItsOwn) {
  JobStore store;
  const JobRef ref = create(store, 1, "body");
  const JobEvent events[] = {JobEvent::reserve, JobEvent::timeout, JobEvent::release,
                             JobEvent::bury, JobEvent::kick};
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    for (std::size_t times = 0; times < 5000 + i; ++times) store.count(ref, events[i]);
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    EXPECT_EQ(store.counted(ref, events[i]), 5000 + i);
  }
}

TEST(JobStore, CountersThatAreSetAreReported) {
  JobStore store;
  const JobRef ref = create(store, 1, "body");
  store[ref].set_state(JobState::buried);
  const JobCounts all_counts[] = {{1, 2, 3, 4, 5},
                                  {4095, 4096, 0, 8191, 4'294'967'295},
                                  {4095, 4095, 4095, 4095, 4095},
                                  {0, 0, 0, 0, 0}};
  for (const JobCounts& counts : all_counts) {
    store.set_counted(ref, counts);
    for (std::size_t i = 0; i < kJobEvents; ++i) {
      ASSERT_EQ(store.counted(ref, static_cast<JobEvent>(i)), counts[i]) << i;
    }
  }
  EXPECT_EQ(store[ref].state(), JobState::buried);
  {
    const JobRef other = create(store, 200, "body");
    const test::AllocationFailure failure;
    store.set_counted(other, {7, 5000, 0, 0, 0});
    EXPECT_EQ(store.counted(other, JobEvent::reserve), 7U);
    EXPECT_EQ(store.counted(other, JobEvent::timeout), 4095U);
  }
}

TEST(JobStore, CountersBeyondTheRangeOfAJobTakeMemoryWhileTheJobExists) {
  constexpr std::uint64_t kPieceAndIndexBytes = 80 + 5;
  JobStore store;
  const JobRef first = create(store, 1, "body");
  const JobRef second = create(store, 2, "body");
  const std::uint64_t before = store.memory_bytes();
  for (const JobRef ref : {first, second}) store.set_counted(ref, {4095, 4096, 4097, 0, 0});
  store.set_counted(first, {1, 2, 3, 4, 5000});
  EXPECT_EQ(store.memory_bytes(), before + 2 * kPieceAndIndexBytes);
  store.destroy(first);
  EXPECT_EQ(store.counted(second, JobEvent::release), 4097u);
  store.destroy(second);
  EXPECT_EQ(store.memory_bytes(), 0u);
}

TEST(JobStore, AJobThatTakesAnotherOnesPlaceDoesNotInheritItsCounters) {
  JobStore store;
  for (int round = 0; round < 2; ++round) {
    const JobRef ref = create(store, 1, "body");
    ASSERT_EQ(store.counted(ref, JobEvent::release), 0u);
    for (int i = 0; i < 5000; ++i) store.count(ref, JobEvent::release);
    ASSERT_EQ(store.counted(ref, JobEvent::release), 5000u);
    store.destroy(ref);
  }
}

TEST(JobStore, WithoutMemoryACounterStopsInsteadOfTurningOver) {
  JobStore store;
  const JobRef ref = create(store, 1, "body");
  for (int i = 0; i < 4095; ++i) store.count(ref, JobEvent::release);
  {
    const test::AllocationFailure failure;
    store.count(ref, JobEvent::release);
  }
  EXPECT_EQ(store.counted(ref, JobEvent::release), 4095u);
  store.count(ref, JobEvent::release);
  EXPECT_EQ(store.counted(ref, JobEvent::release), 4096u);
}

// Every allocation of operator new in it fails once, beginning with an empty store.
TEST(JobStore, AFailedCreationChangesNothing) {
  JobStore store;
  int failures = 0;
  JobId id = 1;
  for (int i = 0; i < 300; ++i, id += 40) {
    // Increasing sizes, so that each needs a chunk of its own.
    const std::string body = body_of(id, static_cast<std::size_t>(i) * 8 % kInlineMax);
    for (int succeeding = 0;; ++succeeding) {
      JobRef ref = JobRef::none;
      bool failed = false;
      {
        const test::AllocationFailure failure(succeeding);
        ref = store.create(id, {.bytes = body, .blob = {}});
        failed = failure.happened();
      }
      if (ref != JobRef::none) {
        ASSERT_EQ(store.body(ref), body);
        break;
      }
      ASSERT_TRUE(failed);
      ++failures;
      ASSERT_EQ(store.size(), static_cast<std::uint64_t>(i));
      ASSERT_EQ(store.find(id), JobRef::none);
    }
  }
  EXPECT_GT(failures, 100);
}

TEST(JobStore, ABlobThatCouldNotBecomeAJobIsFreed) {
  JobStore store;
  const BlobRef blob = blob_of(std::string(5000, 'x'));
  JobRef ref = JobRef::none;
  NewBody body{.bytes = {}, .blob = blob};
  {
    const test::AllocationFailure failure;
    ref = store.create(1, std::move(body));
  }
  EXPECT_EQ(ref, JobRef::none);
  body.blob = BlobRef();
  EXPECT_EQ(blob.owners(), 1u);
}

// A reference is a chunk's number and a piece's. If the numbers of freed chunks were not reused,
// they would run out after 2^19 chunks.
TEST(JobStore, NumbersOfChunksThatWereGivenBackAreUsedAgain) {
  JobStore store;
  const auto chunk_of = [](JobRef ref) { return static_cast<std::uint32_t>(ref) >> 13; };
  std::uint32_t highest = 0;
  JobId id = 1;
  for (int round = 0; round < 5; ++round) {
    std::vector<JobRef> jobs;
    for (int i = 0; i < 2000; ++i) {
      jobs.push_back(create(store, id, body_of(id, 1000)));
      ++id;
    }
    std::uint32_t reached = 0;
    for (const JobRef ref : jobs) reached = std::max(reached, chunk_of(ref));
    if (round == 0) highest = reached;
    ASSERT_GE(highest, 7u);
    ASSERT_LE(reached, highest + 1);
    for (const JobRef ref : jobs) store.destroy(ref);
  }
}

TEST(JobStore, ChunksThatAreKeptEmptyGoBackWhenAskedFor) {
  Memory::limit(1'000'000'000);
  void* const ballast = Memory::allocate(Memory::kOwnBytes);
  JobStore store;
  const JobRef stays = create(store, 1, std::string(100, 'x'));
  const std::size_t before = Memory::used_bytes();
  store.destroy(create(store, 2, std::string(500, 'x')));
  const std::size_t tombstone = Memory::used_bytes();
  EXPECT_GT(tombstone, before + 200'000);
  store.give_empty_chunks_back();
  EXPECT_LT(Memory::used_bytes(), tombstone - 200'000);
  EXPECT_EQ(store.body(stays), std::string(100, 'x'));
  EXPECT_NE(create(store, 3, std::string(500, 'x')), JobRef::none);
  Memory::free(ballast);
  Memory::limit(SIZE_MAX);
}

TEST(JobStore, ReferencesStayValidWhileOthersComeAndGo) {
  JobStore store;
  const JobRef tombstone = create(store, 1, "kept");
  const Job* place = &store[tombstone];
  std::vector<JobRef> others;
  for (JobId id = 2; id < 20'000; ++id) others.push_back(create(store, id, "gone"));
  for (const JobRef ref : others) store.destroy(ref);
  EXPECT_EQ(&store[tombstone], place);
  EXPECT_EQ(store.body(tombstone), "kept");
}

TEST(JobStore, RemembersWhereAHeapMovedAJobTo) {
  struct Entry {
    JobRef job;
  };
  JobStore store;
  const JobRef ref = create(store, 1, "body");
  store.moved(Entry{ref}, 12345);
  EXPECT_EQ(store[ref].heap_index(), 12345u);
}

TEST(JobStore, BehavesLikeAMap) {
  test::Random random;
  JobStore store;
  struct Known {
    JobRef ref;
    std::string body;
    std::uint64_t kicks;
  };
  std::map<JobId, Known> model;
  JobId next = 1;
  for (int step = 0; step < 30'000; ++step) {
    const bool growing = step % 10'000 < 6000;
    if (model.empty() || random.below(10) < (growing ? 8u : 2u)) {
      std::size_t bytes = random.below(200);
      if (random.one_in(5)) bytes = random.below(kInlineMax * 2);
      const std::string body = body_of(next, bytes);
      const JobRef ref = create(store, next, body);
      ASSERT_NE(ref, JobRef::none);
      model[next] = {ref, body, 0};
      next += 1 + random.below(3);
    } else {
      auto chosen = model.lower_bound(random.below(next));
      if (chosen == model.end()) chosen = model.begin();
      auto& [ref, body, kicks] = chosen->second;
      ASSERT_EQ(store.find(chosen->first), ref);
      ASSERT_EQ(store[ref].id, chosen->first);
      ASSERT_EQ(store.body(ref), body);
      ASSERT_EQ(store.counted(ref, JobEvent::kick), kicks);
      if (random.one_in(3)) {
        store.count(ref, JobEvent::kick);
        ++kicks;
      } else {
        store.destroy(ref);
        ASSERT_EQ(store.find(chosen->first), JobRef::none);
        model.erase(chosen);
      }
    }
    ASSERT_EQ(store.size(), model.size());
  }
  for (const auto& [id, job] : model) ASSERT_EQ(store.body(store.find(id)), job.body);
}

// A text with these tags, each with a value of its form.
std::string text_of(unsigned bits) {
  std::string text;
  for (const TagRow& row : kTagTable) {
    if ((bits >> static_cast<unsigned>(row.tag) & 1) == 0) continue;
    text += (text.empty() ? "" : " ") + std::string(row.word) + ":";
    text += row.value.head.exists() ? "7" : "key-of-" + std::string(row.word);
  }
  return text;
}

struct Range {
  const std::byte* begin;
  const std::byte* end;
};

template <Tag kTag>
void add_node(const StoredTags& tags, std::vector<Range>& nodes) {
  if constexpr (!std::is_same_v<TagNode<kTag>, NoNode>) {
    if (!tags.has(kTag)) return;
    auto& node = tags.node<kTag>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&node) % alignof(TagNode<kTag>), 0U);
    const std::string zeros(sizeof node, '\0');
    EXPECT_EQ(std::memcmp(&node, zeros.data(), sizeof node), 0) << "a new node is all zero";
    const auto* const begin = reinterpret_cast<const std::byte*>(&node);
    nodes.push_back({begin, begin + sizeof node});
  }
}

std::vector<Range> nodes_of(const StoredTags& tags) {
  std::vector<Range> nodes;
#define HARICOT_TAG(tag, ...) add_node<Tag::tag>(tags, nodes);
#include "haricot/base/tag_rows.inc"
  return nodes;
}

// Each set of tags, at each alignment of the end of the text.
TEST(StoredTags, NodesOfAllSetsStandInFrontOfTheTextAndApart) {
  alignas(8) std::array<std::byte, 512> memory{};
  for (unsigned bits = 1; bits < 1U << kTags; ++bits) {
    const std::string text = text_of(bits);
    const ReadTags read{text, tags_in(text)};
    ASSERT_EQ(read.tags.set.bits(), bits);
    for (std::size_t end_at = 480; end_at < 488; ++end_at) {
      SCOPED_TRACE(text + " at " + std::to_string(end_at));
      memory.fill(std::byte{0xff});
      std::byte* const end = &memory[end_at];
      const StoredTags tags = StoredTags::write(end, read);
      EXPECT_EQ(tags.text(), text);
      EXPECT_EQ(tags.set().bits(), bits);
      EXPECT_FALSE(tags.leaves_key());
      const std::byte* front = end - text.size();
      for (const Range& node : nodes_of(tags)) {
        EXPECT_LE(node.end, front);
        front = node.begin;
      }
      EXPECT_GE(front, end - StoredTags::bytes_of(read));
      EXPECT_EQ(end[StoredTags::kEndBytes], std::byte{0xff});
      EXPECT_LE(StoredTags::bytes_of(read), StoredTags::bytes_max());
    }
  }
}

TEST(StoredTags, HaveAMarkOfAKeyThatOutlivesItsJob) {
  JobStore store(false);
  for (const std::string_view text : {"idp:k:60", "try:3 idp:k:60 grp:g", "idp:k", "try:3"}) {
    const JobRef ref = store.create(store.size() + 1, {}, text);
    EXPECT_EQ(store.leaves_tombstone(ref), tags_in(text).tombstone_s > 0) << text;
  }
}

TEST(StoredTags, OfATagWithoutANodeTakeItsTextAlone) {
  const std::string_view text = "try:3";
  EXPECT_EQ(StoredTags::bytes_of({text, tags_in(text)}), text.size());
}

}  // namespace

}  // namespace haricot
