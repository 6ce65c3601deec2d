// Starts a server with a binlog in memory, whose instructions callgrind counts.
//
//   start_load start
//
// It is a separate program, because command_load has only the journal that does nothing, and the
// compiler optimises for that. Only counted_turns() is counted. Prints the number of jobs that it
// restored.

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/engine.hpp"
#include "support/sim_disk.hpp"

namespace {

using namespace haricot;

constexpr std::size_t kBodyBytes = 100;
constexpr std::size_t kJobs = 200'000;
constexpr std::size_t kJobsInATurn = 64;

struct Server {
  explicit Server(binlog::SimDisk& disk)
      : binlog(disk, {.sync = binlog::SyncPolicy::never}), engine(now, binlog) {}

  bool open(std::uint64_t random) {
    std::string error;
    return binlog.open(engine, Duration::seconds(1'700'000'000), now, random, {}, error);
  }

  Instant now = Instant::at(1'000'000'000'000);
  binlog::Binlog binlog;
  Engine engine;
};

bool put_jobs(Server& server) {
  Client client(nullptr);
  if (!server.engine.open(client)) return false;
  const std::string body(kBodyBytes, 'x');
  for (std::size_t i = 0; i < kJobs; ++i) {
    const NewJob job{.id = server.engine.take_id(), .priority = 1024, .ttr_s = 60};
    NewBody new_body{.bytes = body, .blob = {}};
    if (server.engine.put(client, job, std::move(new_body), server.now) != Outcome::done) {
      return false;
    }
    server.now = server.now + Duration::milliseconds(1);
    if (i % kJobsInATurn == 0) server.binlog.end_turn(server.now);
  }
  server.engine.close(client, server.now);
  return server.binlog.close(server.now);
}

}  // namespace

// The counted function, as in command_load.cpp.
extern "C" [[gnu::noinline, gnu::used]] std::uint64_t counted_turns(Server& server) {
  return server.open(2) ? server.engine.jobs().size() : 0;
}

int main() {
  binlog::SimDisk disk;
  {
    Server before(disk);
    if (!before.open(1) || !put_jobs(before)) return 1;
  }
  Server server(disk);
  if (counted_turns(server) != kJobs) {
    std::fputs("start_load: not all jobs are back\n", stderr);
    return 1;
  }
  std::printf("%zu\n", kJobs);
}
