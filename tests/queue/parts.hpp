// The parts of the engine without the engine, for most of their tests.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/backlog.hpp"
#include "haricot/queue/extras.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job_memory.hpp"
#include "haricot/queue/job_waits.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queries.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/restoring.hpp"
#include "haricot/queue/rules.hpp"
#include "haricot/queue/serving.hpp"
#include "haricot/queue/times.hpp"
#include "haricot/queue/tries.hpp"
#include "haricot/queue/watching.hpp"
#include "support/fake_journal.hpp"

namespace haricot::test {

class Parts : public ::testing::Test {
 protected:
  ~Parts() override {
    while (!clients_.empty()) close(*clients_.back());
  }

  // Makes a job of the tube "default" without a place.
  JobRef make(std::string_view tags = {}, std::uint32_t priority = 100) {
    const JobRef ref = state.jobs.create(++last_id_, {.bytes = "body", .blob = {}}, tags);
    Job& job = state.jobs[ref];
    job.created = state.now;
    job.priority = priority;
    job.ttr_s = 60;
    job.tube = tube.ref;
    if (tags.empty()) return ref;
    const ReadTags read{tags, tags_in(tags)};
    Keys::Found key;
    if (!read.tags.unique_key.empty()) key = keys.find(tube, read.tags.unique_key);
    EXPECT_TRUE(extras.take_up(tube, ref, read.tags, key));
    return ref;
  }
  JobRef make_ready(std::string_view tags = {}, std::uint32_t priority = 100) {
    const JobRef ref = make(tags, priority);
    EXPECT_TRUE(Places::allocate_ready(tube));
    places.to_ready(ref, Place::nowhere);
    return ref;
  }
  JobRef make_delayed(Duration delay) {
    const JobRef ref = make();
    EXPECT_TRUE(tube.delayed.allocate_one());
    places.to_delayed(ref, Place::nowhere, state.now + delay);
    return ref;
  }
  JobRef make_buried(std::string_view tags = {}) {
    const JobRef ref = make(tags);
    places.to_buried(ref, Place::nowhere, BurialCause::client);
    return ref;
  }
  // Gives the client the first ready job of the tube.
  JobRef give(Client& client) {
    EXPECT_TRUE(Places::allocate_reserved(client));
    return serving.give(tube, client);
  }
  void destroy(JobRef ref, Place from) {
    places.to_nowhere(ref, from);
    state.jobs.destroy(ref);
  }
  void destroy(JobRef ref) { destroy(ref, places.of(ref)); }

  Client& open() {
    clients_.push_back(std::make_unique<Client>(nullptr));
    EXPECT_TRUE(watching.open(*clients_.back()));
    return *clients_.back();
  }
  void close(Client& client) {
    backlog.close(client);
    std::erase_if(clients_, [&](const auto& owned) { return owned.get() == &client; });
  }
  // Makes the client wait for a job.
  void wait(Client& client, Instant until = Instant::never()) {
    backlog.allocate_delivery();
    watching.start_waiting(client, until, WaitFor::job);
  }
  void pass(Duration duration) {
    state.now = state.now + duration;
    backlog.advance();
  }

  FakeJournal journal;
  QueueState state{Instant::at(1'000'000'000'000), journal, {}};
  Flushes flushes{state};
  Tries tries{state, flushes};
  LaneOrder lanes{state, flushes, {}};
  Keys keys{state, flushes, {}};
  Groups groups{state.jobs, {}};
  Times times{state};
  Rules rules{state};
  Queries queries{state, flushes, lanes, times, rules};
  Extras extras{state, lanes, keys, groups};
  JobMemory memory{state, extras};
  JobWaits waits{state, HashKey{}};
  Places places{state, times, extras, waits};
  Restoring restoring{state, keys, groups, extras, places};
  Watching watching{state};
  Serving serving{state, flushes, tries, groups, places, watching};
  Backlog backlog{state, flushes, tries, keys, groups, places, watching, serving, lanes, waits};
  Tube& tube = *state.default_tube;

 private:
  JobId last_id_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace haricot::test
