// What a subcommand of `haricot` is: a name, a line for --help, and a function.

#pragma once

#include <span>
#include <string_view>

namespace haricot::tool {

// The exit statuses of `haricot`, the same for all subcommands.
enum ExitStatus : int {
  kExitDone = 0,
  kExitFailure = 1,   // The answer is no: not there, not empty in time, not all of it.
  kExitTorn = 2,      // binlog check: only what was not on the disk yet is lost.
  kExitNoServer = 3,  // Nobody listens, or not a beanstalk server, or silence.
  kExitRefused = 4,   // The server refuses the command, or does not know it.
  kExitUsage = 5,     // A mistake on the command line.
  kExitLocal = 6,     // This side: a file, a folder or stdout fails, or a limit of the process.
  kExitBuried = 7,    // Jobs were buried: those of `work`, or those that `wait` has waited for.
  // Of `work` alone, as of every program that runs another one:
  kExitNotExecuted = 126,  // The program is there, and cannot be executed.
  kExitNotFound = 127,     // There is no such program.
};

// The words after the subcommand's name.
using Words = std::span<const char* const>;

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(Words words);  // Returns the exit status.
  // Whether it has the usual flags (kUsualFlags), which then may stand before its name too.
  bool has_usual_flags = true;
};

// haricot bench: measures a server under a load (bench.cpp).
int bench(Words words);
// haricot binlog: looks into the files of a server (binlog.cpp).
int binlog(Words words);

// haricot web: serves a page, metrics and an API over HTTP (src/web/web.cpp).
int serve_web(Words words);
// haricot work: runs a program for each job (work.cpp).
int work(Words words);

// What an operator asks a server, each in a file of its own name.
int ping(Words words);
int stats(Words words);
int tubes(Words words);
int jobs(Words words);
int clients(Words words);
int top(Words words);
int peek(Words words);
int put(Words words);
int reserve(Words words);
int release(Words words);
int kick(Words words);
int delete_jobs(Words words);  // haricot delete
int flush_tube(Words words);   // haricot flush
int move_jobs(Words words);    // haricot move
int export_jobs(Words words);  // haricot export
int import_jobs(Words words);  // haricot import
int bury(Words words);
int pause_tube(Words words);  // haricot pause
int drain(Words words);
int group(Words words);
int wait_for_jobs(Words words);  // haricot wait

}  // namespace haricot::tool
