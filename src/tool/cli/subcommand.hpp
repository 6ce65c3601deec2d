// A subcommand of `haricot`: its name, its line for --help, and its function.

#pragma once

#include <span>
#include <string_view>

namespace haricot::tool {

// The exit statuses of `haricot`, with the same meaning in all subcommands.
enum ExitStatus : int {
  kExitDone = 0,
  kExitFailure = 1,   // A negative result: not found, not empty in time, or not complete.
  kExitTorn = 2,      // binlog check: only data that was not durable yet is lost.
  kExitNoServer = 3,  // No listener, no beanstalk server, or no answer in time.
  kExitRefused = 4,   // The server refuses the command, or does not know it.
  kExitUsage = 5,     // A mistake on the command line.
  kExitLocal = 6,     // A local failure: a file, a folder, stdout, or a limit of the process.
  kExitBuried = 7,    // `work` has buried jobs, or `wait` has waited for a job that was buried.
  // Statuses of `work` only, by the convention of programs that run other programs:
  kExitNotExecuted = 126,  // The program exists but cannot be executed.
  kExitNotFound = 127,     // The program does not exist.
};

// The words after the subcommand's name.
using Words = std::span<const char* const>;

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(Words words);  // Returns the exit status.
  // True if it has the usual flags (kUsualFlags). They may then also stand before its name.
  bool has_usual_flags = true;
};

// haricot bench: measures a server under load (bench.cpp).
int bench(Words words);
// haricot binlog: inspects the files of a server (binlog.cpp).
int binlog(Words words);

// haricot web: serves a page, metrics and an API over HTTP (src/web/web.cpp).
int serve_web(Words words);
// haricot work: runs a program for each job (work.cpp).
int work(Words words);

// Requests to a server, each in a file of its own name (src/tool/commands, src/tool/top).
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
int note(Words words);
int failures(Words words);
int drain(Words words);
int group(Words words);
int wait_for_jobs(Words words);  // haricot wait

}  // namespace haricot::tool
