// Jobs, tubes, waiting workers and connections that a server holds while it is measured. They are
// created before the load and removed after it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/descriptor.hpp"
#include "tool/bench/bench_options.hpp"
#include "tool/bench/bench_tubes.hpp"
#include "tool/client/address.hpp"
#include "tool/client/remote.hpp"

namespace haricot::tool {

// Ids of jobs, as ranges, because the ids of a batch are usually consecutive.
class JobIds {
 public:
  struct Range {
    std::uint64_t first;
    std::uint64_t last;
  };

  void add(std::uint64_t id) {
    if (!ranges_.empty() && ranges_.back().last + 1 == id) {
      ranges_.back().last = id;
    } else {
      ranges_.push_back({id, id});
    }
  }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

class Background final {
 public:
  Background(const BenchOptions& options, const Address& address, const BenchTubes& tubes,
             std::string_view body);

  // Creates everything. On failure returns false and sets `error`; clear() removes what exists.
  [[nodiscard]] bool build(std::string& error);

  // Returns connections that should never receive anything.
  const std::vector<os::Descriptor>& silent_connections() const { return silent_; }

  // Closes the connections. Unless --keep is given, deletes all jobs in the tubes of the benchmark,
  // including those of the load. Requires: the load's connections are closed.
  [[nodiscard]] bool clear(std::string& error);

 private:
  bool put_jobs(Dialogue& dialogue, std::uint64_t tube, std::uint64_t count, std::uint32_t delay,
                std::string& error);
  bool put_batch(Dialogue& dialogue, std::string_view name, std::string_view commands,
                 std::uint64_t answers, bool keeps_ids, std::string& error);
  bool make_idle_tubes(Dialogue& dialogue, std::string& error);
  bool make_connections(std::string& error);
  bool add_waiting(const std::string& tube, std::string& error);
  bool delete_jobs(Dialogue& dialogue, const JobIds& ids, std::string& error);
  bool empty_load_tubes(Dialogue& dialogue, std::string& error);
  Duration patience() const;

  const BenchOptions& options_;
  const Address& address_;
  const BenchTubes& tubes_;
  std::string_view body_;
  JobIds ids_;  // Ids of jobs that the load does not take.
  std::vector<os::Descriptor> silent_;
};

}  // namespace haricot::tool
