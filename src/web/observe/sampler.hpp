// Samples of one server, and the facts that they show, for all routes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/answer_parser.hpp"
#include "tool/client/pipeline.hpp"
#include "tool/client/sample.hpp"
#include "web/observe/name_pattern.hpp"
#include "web/observe/tube_rows.hpp"

namespace haricot::web {

// A sample of all tubes of a server, which takes several requests.
struct TubeSample {
  explicit TubeSample(const HashKey& key) : rows(key) {}

  Instant began;
  Instant at;                // Arrival of the last tube.
  std::string process;       // Identity of the server's process. It differs between samples if the
                             // server was restarted.
  bool has_details = false;  // Ages and times from stats-tube-detail are included.
  std::uint64_t paused = 0;  // Number of paused tubes.
  TubeRows rows;
};

// Counters of the tubes with a label, since these were first seen. They never decrease, even when
// tubes vanish.
struct LabelCounts {
  std::uint64_t puts = 0;
  std::uint64_t deletes = 0;
  std::uint64_t pauses = 0;
};

enum class ServerState : std::uint8_t {
  unknown,  // No answer or failure yet.
  up,
  down,
};

// Facts about one server.
struct Facts {
  std::string name;  // The server's address.
  ServerState state = ServerState::unknown;
  std::string error;    // Reason for the state `down`.
  Instant since;        // Beginning of the state.
  std::string warning;  // Reason why its tubes are incomplete; empty if they are complete.
  // Its extended commands and features.
  std::vector<std::string> capabilities;
  // The last answer to `stats`. The member `tubes` is not used.
  std::optional<tool::Sample> sample;
  tool::ServerRates rates;
  std::shared_ptr<const TubeSample> tubes;  // Null if not sampled lately.
  std::vector<LabelCounts> labels;          // The first one belongs to label 1.

  // Enters the state `down`.
  void go_down(std::string reason, Instant now);
  bool is_haricot() const;
  bool can(std::string_view word) const;
  // Returns true if the server has reserve-job: haricotd, or beanstalkd from 1.12 on.
  bool has_reserve_job() const;
  // Returns "haricot 0.1.0" or "beanstalkd 1.12"; empty if unknown.
  std::string software() const;
  // Returns true if the server refuses puts for lack of space or memory, or all changes.
  bool is_refusing() const;
};

// Returns the identity of the server's process from `stats`.
std::string process_of(const tool::StatsText& stats);

struct SamplerOptions {
  Duration interval = Duration::seconds(2);
  const TubeLabels& labels;  // Borrowed.
  HashKey key;               // For hash tables, because clients choose the names of tubes.
};

// Samples one server: `stats` at each interval, and its tubes.
//
// A haricotd reports its tubes in pages of stats-tubes. It is asked at each interval while a user
// or a scrape needs them, and about every 15 seconds otherwise. Other servers need a stats-tube for
// each tube, so they are asked only on demand. A complete sample replaces the previous one.
//
// A server may be broken or hostile: tubes, bytes, pages and time of a sample are bounded. The
// sampler has no socket and no clock.
class Sampler final {
 public:
  // Time for which tubes are sampled after a demand: a little more than a minute, the default
  // interval of Prometheus.
  static constexpr Duration kDemandTime = Duration::seconds(70);
  // Interval of samples of tubes without demand: a little less than a step of the history, so that
  // each of its points has a new sample.
  static constexpr Duration kIdleInterval = Duration::seconds(14);
  // Time after which a server without an answer to `stats` is down, even if it sends a few bytes.
  static constexpr Duration kStatsPatience = Duration::seconds(15);
  static constexpr std::size_t kStatsBytesMax = 64 * 1024;
  // Bounds of a sample of tubes.
  static constexpr std::size_t kTubesMax = 200'000;
  static constexpr std::size_t kTubeBytesMax = 16 * 1024 * 1024;
  static constexpr std::size_t kPagesMax = 20'000;
  // Number of tubes that beanstalkd is asked for at once. It searches all tubes for each command,
  // and runs all pending commands of a connection before it turns to the next one, so other clients
  // wait for this many.
  static constexpr std::size_t kTubesAtOnce = 8;
  // Time without demand after which the tubes are forgotten.
  static constexpr Duration kTubesKeptFor = Duration::seconds(300);

  // Borrows all arguments, which must outlive the object. No request may be pending when it is
  // destroyed.
  Sampler(tool::Pipeline& pipeline, Facts& facts, const SamplerOptions& options);

  // Starts on a new connection. Requires: no request of an earlier one is pending.
  void restart(Instant now);
  // Stops, because the connection is lost.
  void stop();
  // Records a demand for the tubes.
  void demand_tubes(Instant now);

  Instant next_event() const;
  // Sends the requests that are due.
  void advance(Instant now);
  // Returns the number of answers to `stats`.
  std::uint64_t samples() const { return samples_; }

 private:
  bool has_demand(Instant now) const { return was_demanded_ && now < demanded_ + kDemandTime; }
  bool wants_tubes(Instant now) const;
  bool keeps_tubes(Instant now) const;
  Instant tubes_due(Instant now) const;
  bool is_too_much();
  template <void (Sampler::*kMethod)(const tool::Answer& answer)>
  tool::Request request(std::uint64_t body_bytes_max);
  void ask_stats();
  void take_capabilities(const tool::Answer& answer);
  void take_stats(const tool::Answer& answer);
  void begin_tubes();
  void ask_page();
  void take_page(const tool::Answer& answer);
  void take_list(const tool::Answer& answer);
  void ask_some();
  void take_tube(const tool::Answer& answer);
  void add(TubeRow& row);
  void finish_tubes();
  void abort_tubes();

  tool::Pipeline& pipeline_;
  Facts& facts_;
  SamplerOptions options_;

  Instant now_;
  bool is_running_ = false;
  std::uint64_t samples_ = 0;

  Instant stats_due_;
  Instant stats_asked_;
  bool is_asking_stats_ = false;

  bool was_demanded_ = false;
  Instant demanded_;
  Instant tubes_began_;  // Times of the last sample of tubes, successful or not.
  Instant tubes_ended_;
  std::size_t pages_ = 0;
  std::shared_ptr<TubeSample> building_;      // Null if no sample of tubes is in progress.
  std::shared_ptr<const TubeSample> before_;  // Base of the rates; null if there is none.
  double seconds_ = 0;                        // Between the two samples.
  std::string next_;                          // First name of the next page.
  std::string names_;                         // The answer to list-tubes.
  std::size_t names_read_ = 0;                // Bytes of names_ that were read.

  tool::Request capabilities_request_;
  tool::Request stats_request_;
  tool::Request page_request_;
  tool::Request list_request_;
  tool::Request tubes_request_;
  std::string page_command_;
  std::string tubes_commands_;
  std::vector<std::string_view> tubes_asked_;  // Names of tubes_request_, parts of names_.
};

}  // namespace haricot::web
