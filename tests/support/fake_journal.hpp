// A journal that stores its records, and refuses room on demand.
//
// It checks its own contract: room is taken for one change at a time, every record has room, and
// recorded promises were promised. Tests can inspect its promises.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "haricot/queue/journal.hpp"

namespace haricot::test {

class FakeJournal final : public Journal {
 public:
  FakeJournal() : Journal(false) { jobs_.reserve(1000); }

  enum class Kind : std::uint8_t { put, update, deletion };

  // Copy of a record, made while it was valid.
  struct Record {
    Kind kind;
    JobId id;
    std::string tube;
    JobState state;
    std::uint32_t priority;
    std::uint32_t delay_s;
    std::uint32_t ttr_s;
    Instant deadline;
  };

  // Copy of a key that outlives its job.
  struct Kept {
    JobId id;
    std::string tube;
    std::string key;
    std::uint32_t seconds;
    Instant end;
  };

  std::vector<Record> written;
  std::vector<Kept> tombstone;    // The deletions of these jobs are in `written`.
  std::vector<JobRef> forgotten;  // Forgotten tombstones.
  TombstoneRoom tombstone_room;   // Room in the last request.
  // Number of requests for room, and the sizes of the last one.
  std::uint64_t asked = 0;
  PutRoom put_room;
  std::size_t note_bytes = 0;
  // Maximum number of deletions in one request.
  std::uint32_t deletions_together_max = 1000;

  // From the n-th request on (1: the next one), refuses all with this status, until accept() is
  // called.
  void refuse_from(std::uint64_t n, JournalStatus with) {
    refuse_at_ = asked + n;
    refusal_ = with;
  }
  void accept() { refuse_at_ = 0; }

  // Stops making records safe: safe_records() stays until make_safe().
  void hold_back() { holding_back_ = true; }
  void make_safe() { safe_ = written.size(); }
  void make_safe(std::uint64_t records) { safe_ = records; }
  // Marks this many records as in doubt.
  void doubt(std::uint64_t records) { doubtful_ = records; }

  JournalNumbers journal_numbers;
  std::uint64_t file = 0;
  Instant last_turn;  // Time of the last end_turn().
  Instant wants_turn_at = Instant::never();

  // Returns true if room was taken, but neither used nor returned.
  bool has_open_room() const { return room_ != Room::none; }
  // Copies the records and promises of another journal.
  void go_on_from(const FakeJournal& other) {
    written = other.written;
    tombstone = other.tombstone;
    jobs_ = other.jobs_;
    safe_ = other.safe_;
    holding_back_ = other.holding_back_;
  }
  // Returns the number of jobs with a promised burial, and the room for keys that put jobs will
  // leave.
  std::uint64_t promised_burials() const {
    return static_cast<std::uint64_t>(std::count_if(
        jobs_.begin(), jobs_.end(), [](const PromisedTo& job) { return job.burial; }));
  }
  // Returns the number of jobs with a promised end of a hold.
  std::uint64_t promised_hold_ends() const {
    return static_cast<std::uint64_t>(std::count_if(
        jobs_.begin(), jobs_.end(), [](const PromisedTo& job) { return job.hold_end; }));
  }
  TombstoneRoom promised_keys() const {
    TombstoneRoom sum;
    for (const PromisedTo& job : jobs_) {
      if (job.key_bytes > 0) sum.add(job.key_bytes);
    }
    return sum;
  }

  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef&) override {
    put_room = put;
    return take(Room::put, put.may_be_buried ? Promise::burial : Promise::nothing);
  }
  JournalStatus take_room_for_update(Promise promise) override {
    return take(Room::update, promise);
  }
  JournalStatus take_room_for_note(JobRef, std::size_t bytes) override {
    note_bytes = bytes;
    return take(Room::update, Promise::nothing);
  }
  JournalStatus take_promised_room(const Promised& promised) override {
    if (promised.burial != nullptr) {
      EXPECT_EQ(promised.deletions, 0U);
      EXPECT_EQ(promised.tombstones, TombstoneRoom{});
      return take(Room::update, Promise::nothing);
    }
    if (promised.deletions == 0) return take(Room::hold_end, Promise::nothing);
    if (promised.deletions > deletions_together_max) {
      ++asked;
      return JournalStatus::full;
    }
    const JournalStatus status = take(Room::deletion, Promise::nothing);
    tombstone_room = promised.tombstones;
    if (status == JournalStatus::ok) tombstones_left_ = promised.tombstones.keys;
    if (status == JournalStatus::ok) more_deletions_ = promised.deletions - 1;
    return status;
  }
  // Allows retrying requests that refuse_from() has answered `later`.
  void let_try_again() { may_try_again_ = true; }
  bool may_try_again() override { return std::exchange(may_try_again_, false); }
  void release_room() override {
    EXPECT_NE(room_, Room::none) << "room is given back that was not taken";
    room_ = Room::none;
    tombstones_left_ = 0;
  }
  void record(JobChange change, const JournaledJob& job) override {
    const Room needed = change == JobChange::put ? Room::put : Room::update;
    const PromisedTo* const before = find(job.job.id);
    const bool ends_hold = room_ == Room::hold_end && change == JobChange::update;
    EXPECT_TRUE(room_ == needed || ends_hold) << "a change is recorded without room";
    EXPECT_TRUE(!ends_hold || before->hold_end)
        << "a hold ends, and nobody has promised its record";
    room_ = Room::none;
    promise(change, job);
    write(change == JobChange::put ? Kind::put : Kind::update, job);
  }
  void record_deletion(const JournaledJob& job, const Tombstone* left) override {
    EXPECT_EQ(room_, Room::deletion) << "a deletion is recorded without room";
    if (left != nullptr) note_tombstone(job, *left);
    if (more_deletions_ == 0) room_ = Room::none;
    if (more_deletions_ > 0) --more_deletions_;
    if (PromisedTo* promised = find(job.job.id)) *promised = {.id = promised->id};
    write(Kind::deletion, job);
    EXPECT_TRUE(room_ != Room::none || tombstones_left_ == 0) << "room for a key is left";
  }
  void forget_tombstone(JobRef tombstone_ref) override { forgotten.push_back(tombstone_ref); }
  JournalProgress progress() const override {
    return {.records = written.size(),
            .safe = holding_back_ ? safe_ : written.size(),
            .doubtful = doubtful_};
  }
  void end_turn(Instant now) override { last_turn = now; }
  Instant next_event() const override { return wants_turn_at; }
  JournalNumbers numbers() const override { return journal_numbers; }
  std::uint64_t file_of(JobRef) const override { return file; }

 private:
  enum class Room : std::uint8_t { none, put, update, deletion, hold_end };
  std::uint32_t more_deletions_ = 0;   // Deletions beyond the first with room.
  std::uint64_t tombstones_left_ = 0;  // Keys with room that are not recorded yet.
  Promise promise_ = Promise::nothing;
  // Promises to all recorded jobs, by id.
  struct PromisedTo {
    JobId id;
    std::uint64_t key_bytes = 0;  // Includes the tube's name. 0: it will leave no key.
    bool burial = false;
    bool hold_end = false;
  };
  std::vector<PromisedTo> jobs_;

  JournalStatus take(Room room, Promise promise) {
    ++asked;
    EXPECT_EQ(room_, Room::none) << "room is taken twice";
    if (refuse_at_ != 0 && asked >= refuse_at_) return refusal_;
    room_ = room;
    promise_ = promise;
    return JournalStatus::ok;
  }

  void promise(JobChange change, const JournaledJob& job) {
    const JobId id = job.job.id;
    if (find(id) == nullptr) jobs_.insert(place_of(id), {.id = id});
    PromisedTo& promised = *find(id);
    if (change == JobChange::put && put_room.tombstone_key_bytes > 0) {
      promised.key_bytes = put_room.tombstone_key_bytes + put_room.tube_name_bytes;
    }
    if (change == JobChange::in_place || change == JobChange::note) return;
    const bool is_held = change == JobChange::put && put_room.is_held;
    promised.hold_end = is_held && job.job.state() == JobState::delayed;
    if (job.job.state() == JobState::buried) {
      promised.burial = false;
    } else if (promise_ == Promise::burial) {
      promised.burial = true;
    }
  }
  std::vector<PromisedTo>::iterator place_of(JobId id) {
    return std::lower_bound(jobs_.begin(), jobs_.end(), id,
                            [](const PromisedTo& job, JobId other) { return job.id < other; });
  }
  PromisedTo* find(JobId id) {
    const auto place = place_of(id);
    return place == jobs_.end() || place->id != id ? nullptr : &*place;
  }

  void note_tombstone(const JournaledJob& job, const Tombstone& key) {
    EXPECT_GT(tombstones_left_, 0U) << "a key is kept without room";
    EXPECT_EQ(key.id, job.job.id) << "a key of another job is kept";
    --tombstones_left_;
    tombstone.push_back({.id = key.id,
                         .tube = std::string(key.tube_name),
                         .key = std::string(key.key),
                         .seconds = key.seconds,
                         .end = key.end});
  }

  void write(Kind kind, const JournaledJob& job) {
    written.push_back(Record{.kind = kind,
                             .id = job.job.id,
                             .tube = std::string(job.tube_name),
                             .state = job.job.state(),
                             .priority = job.job.priority,
                             .delay_s = job.job.delay_s,
                             .ttr_s = job.job.ttr_s,
                             .deadline = job.deadline});
  }

  Room room_ = Room::none;
  std::uint64_t refuse_at_ = 0;
  JournalStatus refusal_ = JournalStatus::ok;
  bool may_try_again_ = false;
  bool holding_back_ = false;
  std::uint64_t safe_ = 0;
  std::uint64_t doubtful_ = 0;
};

}  // namespace haricot::test
