// Limits of a turn of the event loop: the maximum amount of work in a turn, and the price of each
// kind of work.
//
// The unit of work is a step: about the time of a cache miss, some 50 ns. Every element that is
// touched has a price. When a budget is used up, the rest of its work waits for the next turn.
//
// A turn has these parts:
//
//   time      due TTRs, delays, pauses and waits                 kStepsOfTime
//   tasks     long tasks, one piece after another                kStepsOfTasks
//   reading   commands of sessions that were just read           kStepsOfReading, kStepsOfFirsts
//   backlog   sessions with commands left, in their order        kStepsOfSessions
//   calls     first pieces of long tasks                         kStepsOfCalls
//   idle      sessions whose idle timeout is over                kStepsOfIdle
//   answers   answers whose records a sync made durable          kStepsOfAnswers
//   folder    compaction and spare files                         kStepsOfCompaction, kStepsOfSpares
//             or, after a failure, records written again         kStepsOfRecovery
//
// The binlog counts its work on the folder itself, so that the price of a command does not depend
// on the existing files.

#pragma once

#include <algorithm>
#include <cstdint>

namespace haricot {

// A limit on work, in steps.
//
// One counter of steps grows with all work, except that the binlog's work on its folder has a
// counter of its own. A budget is the value of the counter at which the work must stop. So code
// counts each step once, and thereby charges all budgets that apply: those of the turn, of the
// session, and of the piece of a task.
class Budget {
 public:
  // More steps than are ever counted.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0} / 2;

  // Allows that many steps from now on. `done` is the counter of all steps; it outlives the budget.
  Budget(const std::uint64_t& done, std::uint64_t steps) : done_(&done), end_(done + steps) {}

  bool is_used_up() const { return *done_ >= end_; }
  std::uint64_t left() const { return end_ - std::min(*done_, end_); }
  // Returns a part of the budget: at most that many steps from now on.
  Budget part(std::uint64_t steps) const { return {*done_, std::min(steps, left())}; }

 private:
  const std::uint64_t* done_;
  std::uint64_t end_;
};

namespace turn_limits {

// Prices -----------------------------------------------------------------------------------------

// A small command: reading its line and writing its answer.
inline constexpr std::uint32_t kStepsPerCommand = 8;
// Sending the answers of a session. On one machine, a send by TCP takes 6 us, or 7 us if it wakes a
// worker: 134 steps.
inline constexpr std::uint32_t kStepsPerSend = 128;
// Looking up one of the jobs that a command names.
inline constexpr std::uint32_t kStepsPerNamedJob = 2;
// Moving a job, or moving a tube among the offers of one client.
inline constexpr std::uint32_t kStepsPerJob = 8;
// A delivery to a waiting client: writing and sending its answer.
inline constexpr std::uint32_t kStepsPerDelivery = kStepsPerSend;
// Setting the note of a job, and writing its records: 23 short ones at most.
inline constexpr std::uint32_t kStepsPerNote = 64;
// Handling a due timer.
inline constexpr std::uint32_t kStepsPerTimer = 2;
// Removing a key that has outlived its job.
inline constexpr std::uint32_t kStepsPerEndedKey = 26;
// Finding a job for a page, and reading a tube for a page.
inline constexpr std::uint32_t kStepsPerFoundJob = 12;
inline constexpr std::uint32_t kStepsPerTubeScan = 32;
// Reading a client for a page: its state and that of its session, and a call for its address.
inline constexpr std::uint32_t kStepsPerFoundClient = 32;
// Finding and printing a job, tube or client for a page, as far as the price is known beforehand.
inline constexpr std::uint32_t kStepsPerShownJob = 32;
inline constexpr std::uint32_t kStepsPerShownTube = 80;
inline constexpr std::uint32_t kStepsPerShownClient = 44;
// Bytes of a report written, and bytes of a body copied, in one step.
inline constexpr std::uint32_t kReportBytesPerStep = 16;
inline constexpr std::uint32_t kBodyBytesPerStep = 64;
// Writing the name of a tube into a list, and adding a page of names to an answer.
inline constexpr std::uint32_t kStepsPerName = 1;
inline constexpr std::uint32_t kStepsPerPage = 1;
// Closing a connection and freeing its session: 8 us if it is idle, up to 28 us.
inline constexpr std::uint32_t kStepsPerClose = 2 * kStepsPerSend;
// Writing a record, besides copying its job; and making or removing a file.
inline constexpr std::uint32_t kStepsPerRecord = kStepsPerJob;
inline constexpr std::uint32_t kStepsPerFile = 512;
// Bytes of records written, and bytes of space taken for future files, in one step.
inline constexpr std::uint32_t kRecordBytesPerStep = kBodyBytesPerStep;
inline constexpr std::uint32_t kTakenBytesPerStep = 1'024;

// Budgets ----------------------------------------------------------------------------------------

inline constexpr std::uint32_t kStepsOfTime = 12'800;
inline constexpr std::uint32_t kStepsOfTasks = 12'800;
// All commands and closes between two turns together. The rest of a command becomes a long task.
inline constexpr std::uint32_t kStepsOfCalls = 12'800;
// Steps for waking clients within a command for several jobs.
inline constexpr std::uint32_t kStepsOfWakes = 4'096;
// First piece of such a command: a thousand jobs, and waking clients.
inline constexpr std::uint32_t kStepsOfBatch =
    1'000 * (kStepsPerNamedJob + kStepsPerJob) + kStepsOfWakes;
// One piece of a long task.
inline constexpr std::uint32_t kStepsPerPiece = 1'600;

// A command up to this price runs in the turn in which it arrives, if its session has no command
// before it.
inline constexpr std::uint32_t kStepsOfCheap = 200;
// Budgets of all sessions that were just read, and of all sessions in the backlog. A command whose
// price exceeds the rest of the first waits for its turn in the backlog.
inline constexpr std::uint32_t kStepsOfReading = 32'768;
inline constexpr std::uint32_t kStepsOfSessions = 65'536;
// Extra budget for the first command of each session that was just read, so that cheap queries do
// not wait for the long commands of others. kStepsOfFirst is the maximum price of such a command,
// kStepsOfFirsts the total of all.
inline constexpr std::uint32_t kStepsOfFirst = 1'024;
inline constexpr std::uint32_t kStepsOfFirsts = 24'576;
// Share of one session, and the minimum to which it shrinks when many sessions are busy.
inline constexpr std::uint32_t kStepsPerShare = 8'192;
inline constexpr std::uint32_t kStepsPerShareMin = 512;

// Answers that are sent together because one sync has made their records durable; and checking and
// closing idle sessions.
inline constexpr std::uint32_t kStepsOfAnswers = 24'576;
inline constexpr std::uint32_t kStepsOfIdle = 8'192;

// Compaction: a piece per turn, plus kStepsMovedPerStep for each step of records written. Space
// taken for future files. Records written again after a failure.
inline constexpr std::uint32_t kStepsOfCompaction = kStepsPerPiece;
inline constexpr std::uint32_t kStepsMovedPerStep = 2;
inline constexpr std::uint32_t kStepsOfSpares = 2'048;
inline constexpr std::uint32_t kStepsOfRecovery = 16'384;
// If this much was recorded in a turn (4 MiB), puts with a large body wait for the next one.
inline constexpr std::uint32_t kStepsOfRecords = 65'536;

// Limits in other units, for work that is not part of a command -----------------------------------

// Timers that move within the wheel.
inline constexpr std::uint32_t kTimersMoved = 4'096;
// Ready sockets, and new connections.
inline constexpr std::uint32_t kEvents = 128;
inline constexpr std::uint32_t kAccepts = 64;
// Bytes sent in a turn: the maximum of one connection, its minimum if it sends at all, and the
// total of all connections with larger answers. The kernel takes up to a millisecond for a
// megabyte.
inline constexpr std::uint64_t kSentBytes = 1024 * 1024;
inline constexpr std::uint64_t kSentBytesMin = 16 * 1024;
inline constexpr std::uint64_t kSentBytesOfAll = 2 * kSentBytes;
// Bytes of memory returned to the system, or one part in kFreedShare if that is more.
inline constexpr std::uint64_t kFreedBytes = 384 * 1024;
inline constexpr std::uint64_t kFreedShare = 16;
// Bytes of memory returned in one step.
inline constexpr std::uint64_t kFreedBytesPerStep = 256;

// Sum of the budgets. At 50 ns per step, a turn with everything takes less than 10 ms, and no part
// more than 4 ms.
inline constexpr std::uint64_t kStepsPerTurn =
    std::uint64_t{kStepsOfTime} + kStepsOfTasks + kStepsOfCalls + kStepsOfReading + kStepsOfFirsts +
    kStepsOfSessions + kStepsOfAnswers + kStepsOfIdle + kStepsOfCompaction + kStepsOfSpares;

static_assert(kStepsOfCheap >= kStepsPerCommand + kStepsPerDelivery,
              "a put that wakes one worker is cheap");
static_assert(kStepsOfCheap < kStepsOfFirst && kStepsOfFirst < kStepsOfReading);
static_assert(kStepsOfFirsts >= 24 * kStepsOfFirst, "some sessions find room in one turn");
static_assert(kStepsPerShareMin >= kStepsOfCheap, "every session that runs gets something done");
static_assert(kStepsPerShareMin <= kStepsPerShare && kStepsPerShare <= kStepsOfReading);
static_assert(kStepsOfSessions >= kStepsOfReading, "the backlog comes before new input");
static_assert(kStepsPerPiece * 2 <= kStepsOfTasks, "tasks take turns within a turn");
static_assert(kStepsOfTime == kStepsOfTasks && kStepsOfTasks == kStepsOfCalls,
              "a call moves as many jobs for each command");
static_assert(kFreedBytes / kFreedBytesPerStep <= kStepsPerPiece, "it is one piece");
static_assert(kStepsPerTurn < 200'000);
static_assert(kAccepts <= kEvents && kSentBytesMin < kSentBytes && kSentBytes < kSentBytesOfAll);
static_assert(kEvents * kSentBytesMin <= kSentBytesOfAll,
              "each socket with room sends in its turn");
static_assert(kStepsOfCompaction < kStepsOfRecovery && kStepsOfRecovery < kStepsOfRecords,
              "less is written again, while clients are served, than is written for them");

}  // namespace turn_limits

}  // namespace haricot
