// Keys and tombstones under random commands, compared with a model.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "queue/engine_keys.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::Again;
using test::deleted;
using test::Random;
using test::tombstone;

class EngineTombstonesRandom : public test::EngineKeys {
 protected:
  using Place = std::pair<std::string, std::string>;  // A tube and a key.
  struct KnownJob {
    Place place;
    std::uint32_t seconds;
  };
  struct Left {
    JobId id;
    Instant end;
  };

  void step() {
    switch (random.below(10)) {
      case 0:
        return flush();
      case 1:
        return let_time_pass();
      case 2:
      case 3:
        return remove_some();
      case 4:
      case 5:
        return remove_one();
      default:
        return put_one(producer);
    }
  }

  void put_one(Client& client) {
    static constexpr std::array kTubes{"default", "a", "b"};
    static constexpr std::array kKeys{"", "a", "b", "c"};
    const Place place{random.pick(kTubes), random.pick(kKeys)};
    const auto seconds = random.coin() ? random.below32(4) : 0;
    std::string tags = random.one_in(4) ? "con:lane" : "";
    if (!place.second.empty()) {
      tags += (tags.empty() ? "idp:" : " idp:") + place.second;
      if (seconds > 0) tags += ':' + std::to_string(seconds);
    }
    ASSERT_EQ(engine.use(client, place.first), Outcome::done);
    const Again expected = expected_of(place);
    const JobId id = engine.take_id();
    const Outcome outcome = world.try_put(client, id, {.tags = tags});
    Again got{outcome};
    if (outcome == Outcome::duplicate) {
      const DuplicatePut& duplicate = engine.duplicate();
      got = {outcome, world.id_of(duplicate.job), duplicate.is_raised, duplicate.is_deleted};
    }
    ASSERT_EQ(got, expected);
    if (outcome != Outcome::done) return;
    jobs[id] = {place, seconds};
    if (place.second.empty()) return;
    holders[place] = id;
    left.erase(place);
  }

  Again expected_of(const Place& place) const {
    if (place.second.empty()) return {Outcome::done};
    if (const auto holder = holders.find(place); holder != holders.end()) {
      return tombstone(holder->second);
    }
    const auto tombstone_ref = left.find(place);
    const bool is_left = tombstone_ref != left.end() && tombstone_ref->second.end > world.now;
    return is_left ? deleted(tombstone_ref->second.id) : Again{Outcome::done};
  }

  void forget(JobId id, bool leaves_key) {
    const KnownJob job = jobs.at(id);
    jobs.erase(id);
    const auto holder = holders.find(job.place);
    if (holder == holders.end() || holder->second != id) return;
    holders.erase(holder);
    if (leaves_key && job.seconds > 0) {
      left[job.place] = {id, world.now + Duration::seconds(job.seconds)};
    }
  }

  JobId any_job() {
    auto job = jobs.begin();
    std::advance(job, static_cast<std::ptrdiff_t>(random.below(jobs.size())));
    return job->first;
  }
  bool refuse_perhaps() {
    if (!random.one_in(4)) return false;
    journal.refuse_from(1, random.coin() ? JournalStatus::failed : JournalStatus::later);
    return true;
  }

  void remove_one() {
    if (jobs.empty()) return;
    const JobId id = any_job();
    const bool is_refused = refuse_perhaps();
    engine.set_now(world.now);
    const Outcome outcome = engine.delete_job(producer, id);
    journal.accept();
    ASSERT_EQ(outcome != Outcome::done, is_refused);
    if (!is_refused) forget(id, true);
  }

  void remove_some() {
    if (jobs.empty()) return;
    std::vector<JobId> ids;
    for (std::uint64_t i = random.between(1, 5); i > 0; --i) ids.push_back(any_job());
    const bool is_refused = refuse_perhaps();
    engine.set_now(world.now);
    const test::Ended result = world.delete_batch(producer, ids);
    journal.accept();
    ASSERT_EQ(result.outcome != Outcome::done, is_refused);
    if (is_refused && !producer.is_busy()) return;
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    if (is_refused) {
      engine.check_invariants();
      engine.resume_tasks(world.now);
      ASSERT_EQ(world.take_deliveries(),
                (test::Gots{{&producer, Delivery::Kind::batch_deleted, 0, ids.size()}}));
    } else {
      ASSERT_EQ(result.jobs, ids.size());
    }
    for (const JobId id : ids) forget(id, true);
  }

  // While one waits for the disk, others take the keys of its jobs.
  void flush() {
    if (jobs.empty()) return;
    const std::string tube = jobs.at(any_job()).place.first;
    const bool has_to_wait = random.coin();
    if (has_to_wait) journal.refuse_from(1, JournalStatus::later);
    const test::Ended result = world.flush(worker, tube, kAll);
    journal.accept();
    ASSERT_EQ(result.outcome == Outcome::waiting, has_to_wait);
    std::vector<JobId> flushed;
    for (const auto& [id, job] : jobs) {
      if (job.place.first == tube) flushed.push_back(id);
    }
    for (const JobId id : flushed) forget(id, false);
    if (!has_to_wait) return;
    engine.check_invariants();
    put_one(producer);
    put_one(producer);
    engine.resume_tasks(world.now);
    finish();
    (void)world.take_deliveries();
  }

  void let_time_pass() {
    const Duration duration = Duration::milliseconds(500 * std::int64_t{random.below32(4)});
    if (random.coin()) {
      world.now = world.now + duration;  // Expired tombstones were not freed.
      return;
    }
    world.pass(duration);
    std::erase_if(left, [&](const auto& entry) { return entry.second.end <= world.now; });
    ASSERT_EQ(engine.jobs().tombstones(), left.size());
  }

  Random random;
  std::map<JobId, KnownJob> jobs;
  std::map<Place, JobId> holders;
  std::map<Place, Left> left;
};

TEST_F(EngineTombstonesRandom, MatchesTheModel) {
  for (int i = 0; i < 20'000; ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    if (HasFailure()) return;
    engine.check_invariants();
    ASSERT_EQ(engine.jobs().size(), jobs.size());
    if (jobs.size() > 30) flush();
  }
  EXPECT_GT(journal.tombstone.size(), 100U);
  EXPECT_GT(journal.forgotten.size(), 100U);
  world.pass_s(4);
  EXPECT_EQ(engine.jobs().tombstones(), 0U);
}

}  // namespace
}  // namespace haricot
