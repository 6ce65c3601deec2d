// The limits of a turn of the event loop: what one turn does at most, and what each thing counts.
//
// The unit of work is a step: about what a miss of the processor's cache costs, some 50 ns. A price
// grows with what is touched, from the first thing on. Whatever is not done when its budget is used
// up waits for the next turn.
//
// A turn has these parts:
//
//   time      what is due: TTRs, delays, pauses, waits           kStepsOfTime
//   tasks     long tasks, a piece of each in turn                kStepsOfTasks
//   reading   commands of sessions that were just read           kStepsOfReading, kStepsOfFirsts
//   backlog   sessions that have commands left, in their order   kStepsOfSessions
//   calls     what commands and closes begin of long tasks       kStepsOfCalls
//   idle      sessions whose idle timeout is over                kStepsOfIdle
//   answers   those whose records a sync has made safe           kStepsOfAnswers
//   folder    compaction, and spare files                        kStepsOfCompaction, kStepsOfSpares
//             or, after a failure, what is written again         kStepsOfRecovery
//
// What is done for the folder is counted by the binlog, for itself: what a command may cost does
// not depend on the files that are there.

#pragma once

#include <cstdint>

namespace haricot::turn_limits {

// Prices -----------------------------------------------------------------------------------------

// A small command of a batch: its line is read, and its answer is written.
inline constexpr std::uint32_t kStepsPerCommand = 8;
// To send what a session answers. By TCP on one machine a send takes 6 us, and a worker that is
// woken 7 with all that belongs to it: 134 steps.
inline constexpr std::uint32_t kStepsPerSend = 128;
// To look for a job that a command about several names.
inline constexpr std::uint32_t kStepsPerNamedJob = 2;
// To move a job, or a tube among the offers of one client.
inline constexpr std::uint32_t kStepsPerJob = 8;
// To deliver something to a client that waits: its answer is written and sent.
inline constexpr std::uint32_t kStepsPerDelivery = kStepsPerSend;
// To look at a timer that is due.
inline constexpr std::uint32_t kStepsPerTimer = 2;
// To drop a key that has outlived its job.
inline constexpr std::uint32_t kStepsPerEndedKey = 26;
// To find a job for a page, and to look at a tube for one.
inline constexpr std::uint32_t kStepsPerFoundJob = 12;
inline constexpr std::uint32_t kStepsPerTubeLook = 32;
// The same for a client: what it and its session say, and a call for its address.
inline constexpr std::uint32_t kStepsPerFoundClient = 32;
// The same with the text, as far as it is known beforehand.
inline constexpr std::uint32_t kStepsPerShownJob = 32;
inline constexpr std::uint32_t kStepsPerShownTube = 80;
inline constexpr std::uint32_t kStepsPerShownClient = 44;
// What is written of a report, and what is copied of a body, for one step.
inline constexpr std::uint32_t kReportBytesPerStep = 16;
inline constexpr std::uint32_t kBodyBytesPerStep = 64;
// To write the name of a tube into a list, and to add a page of such names to an answer.
inline constexpr std::uint32_t kStepsPerName = 1;
inline constexpr std::uint32_t kStepsPerPage = 1;
// To close a connection and free its session: 8 us for one that is idle, up to 28.
inline constexpr std::uint32_t kStepsPerClose = 2 * kStepsPerSend;
// To write a record beside what is copied of its job, and to make or remove a file.
inline constexpr std::uint32_t kStepsPerRecord = kStepsPerJob;
inline constexpr std::uint32_t kStepsPerFile = 512;
// What is written of records, and the space that is taken for files to come, for one step.
inline constexpr std::uint32_t kRecordBytesPerStep = kBodyBytesPerStep;
inline constexpr std::uint32_t kTakenBytesPerStep = 1'024;

// Budgets ----------------------------------------------------------------------------------------

inline constexpr std::uint32_t kStepsOfTime = 12'800;
inline constexpr std::uint32_t kStepsOfTasks = 12'800;
// Between two turns: of all commands and closes together. More of each is a long task.
inline constexpr std::uint32_t kStepsOfCalls = 12'800;
// A command about several jobs wakes workers at once for so many.
inline constexpr std::uint32_t kStepsOfWakes = 4'096;
// Its first piece: a thousand jobs, and those workers.
inline constexpr std::uint32_t kStepsOfBatch =
    1'000 * (kStepsPerNamedJob + kStepsPerJob) + kStepsOfWakes;
// One piece of a long task.
inline constexpr std::uint32_t kStepsPerPiece = 1'600;

// A command up to this price runs in the turn in which it arrives, if its session has none in front
// of it.
inline constexpr std::uint32_t kStepsOfCheap = 200;
// What all sessions that were just read have together, and what those in the backlog have. A
// command that is known to take more than what is left waits for its turn in the backlog.
inline constexpr std::uint32_t kStepsOfReading = 32'768;
inline constexpr std::uint32_t kStepsOfSessions = 65'536;
// Beyond that, so that a look at a few jobs does not wait for others' long ones: the first command
// of a session that was just read, if it is that cheap; and what all of these have together.
inline constexpr std::uint32_t kStepsOfFirst = 1'024;
inline constexpr std::uint32_t kStepsOfFirsts = 24'576;
// The share of one session: less where many want all of theirs.
inline constexpr std::uint32_t kStepsPerShare = 8'192;
inline constexpr std::uint32_t kStepsPerShareMin = 512;

// The answers that leave together because one sync has made their records safe; and the idle
// sessions that are looked at and closed.
inline constexpr std::uint32_t kStepsOfAnswers = 24'576;
inline constexpr std::uint32_t kStepsOfIdle = 8'192;

// What compaction moves in a turn: a piece always, and so much for each step that was recorded.
// What is taken ahead for files to come. What is written again after a failure.
inline constexpr std::uint32_t kStepsOfCompaction = kStepsPerPiece;
inline constexpr std::uint32_t kStepsMovedPerStep = 2;
inline constexpr std::uint32_t kStepsOfSpares = 2'048;
inline constexpr std::uint32_t kStepsOfRecovery = 16'384;
// When so much was recorded in a turn, puts with a body of their own wait for the next: 4 MiB.
inline constexpr std::uint32_t kStepsOfRecords = 65'536;

// What is counted in its own unit, as no client's command does it --------------------------------

// Timers that change their place in the wheel.
inline constexpr std::uint32_t kTimersMoved = 4'096;
// Sockets that are told to be ready, and new connections.
inline constexpr std::uint32_t kEvents = 128;
inline constexpr std::uint32_t kAccepts = 64;
// Bytes that one connection sends at most; that each may send in any case; and that all which send
// more have together.
inline constexpr std::uint64_t kSentBytes = 2 * 1024 * 1024;
inline constexpr std::uint64_t kSentBytesMin = 16 * 1024;
inline constexpr std::uint64_t kSentBytesOfAll = 2 * kSentBytes;
// Bytes of the memory that goes back to the system; or a share of it, if that is more.
inline constexpr std::uint64_t kFreedBytes = 384 * 1024;
inline constexpr std::uint64_t kFreedShare = 16;
// Of those bytes, for one step.
inline constexpr std::uint64_t kFreedBytesPerStep = 256;

// What all of it comes to. At 50 ns a step it is below 10 ms if everything comes at once, and no
// single part is above 4 ms.
inline constexpr std::uint64_t kStepsPerTurn =
    std::uint64_t{kStepsOfTime} + kStepsOfTasks + kStepsOfCalls + kStepsOfReading + kStepsOfFirsts +
    kStepsOfSessions + kStepsOfAnswers + kStepsOfIdle + kStepsOfCompaction + kStepsOfSpares;

static_assert(kStepsOfCheap >= kStepsPerCommand + kStepsPerDelivery,
              "a put that wakes one worker is cheap");
static_assert(kStepsOfCheap < kStepsOfFirst && kStepsOfFirst < kStepsOfReading);
static_assert(kStepsOfFirsts >= 24 * kStepsOfFirst, "some sessions find room in one turn");
static_assert(kStepsPerShareMin >= kStepsOfCheap, "every session that runs gets something done");
static_assert(kStepsPerShareMin <= kStepsPerShare && kStepsPerShare <= kStepsOfReading);
static_assert(kStepsOfSessions >= kStepsOfReading, "what waits goes in front of what comes");
static_assert(kStepsPerPiece * 2 <= kStepsOfTasks, "tasks take turns within a turn");
static_assert(kStepsOfTime == kStepsOfTasks && kStepsOfTasks == kStepsOfCalls,
              "as many jobs move in a call, whoever moves them");
static_assert(kFreedBytes / kFreedBytesPerStep <= kStepsPerPiece, "it is one piece");
static_assert(kStepsPerTurn < 200'000);
static_assert(kAccepts <= kEvents && kSentBytesMin < kSentBytes && kSentBytes < kSentBytesOfAll);
static_assert(kStepsOfCompaction < kStepsOfRecovery && kStepsOfRecovery < kStepsOfRecords,
              "less is written again, while clients are served, than is written for them");

}  // namespace haricot::turn_limits
