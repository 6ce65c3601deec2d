// Samples one server: `stats` at each interval, and its tubes.
//
// A haricotd reports its tubes in pages of stats-tubes. It is asked at each interval while a user
// or a scrape needs them, and about every 15 seconds otherwise. Other servers need a stats-tube for
// each tube, so they are asked only on demand. A complete sample replaces the previous one.
//
// A server may be broken or hostile: tubes, bytes, pages and time of a sample are bounded. The
// sampler has no socket and no clock.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
#include "tool/client/answer_parser.hpp"
#include "web/observe/facts.hpp"
#include "web/observe/pipeline.hpp"
#include "web/observe/tube_labels.hpp"

namespace haricot::web {

struct SamplerOptions {
  Duration interval = Duration::seconds(2);
  const TubeLabels& labels;  // Borrowed.
  HashKey key;               // For hash tables, because clients choose the names of tubes.
};

class Sampler final {
 public:
  // Time for which tubes are sampled after a demand: a little more than a minute, the default
  // interval of Prometheus.
  static constexpr Duration kLookedFor = Duration::seconds(70);
  // Interval of samples of tubes without demand: a little less than a step of the history, so that
  // each of its points has a new sample.
  static constexpr Duration kUnwatchedInterval = Duration::seconds(14);
  // Time after which a server without an answer to `stats` is down, even if it sends a few bytes.
  static constexpr Duration kStatsPatience = Duration::seconds(15);
  static constexpr std::size_t kStatsBytesMax = 64 * 1024;
  // Bounds of a sample of tubes.
  static constexpr std::size_t kTubesMax = 200'000;
  static constexpr std::size_t kTubeBytesMax = 16 * 1024 * 1024;
  static constexpr std::size_t kPagesMax = 20'000;
  // Time without demand after which the tubes are forgotten.
  static constexpr Duration kTubesKeptFor = Duration::seconds(300);

  // Borrows all arguments, which must outlive the object.
  Sampler(Pipeline& pipeline, Facts& facts, const SamplerOptions& options)
      : pipeline_(pipeline), facts_(facts), options_(options) {}

  // Starts on a new connection, and ignores answers to earlier questions.
  void restart(Instant now);
  // Stops, because the connection is lost.
  void stop();
  // Records a demand for the tubes.
  void look(Instant now);

  Instant next_event() const;
  // Sends the questions that are due.
  void advance(Instant now);
  // Returns the number of answers to `stats`.
  std::uint64_t samples() const { return samples_; }

 private:
  bool is_looked_at(Instant now) const { return has_look_ && now < looked_ + kLookedFor; }
  bool wants_tubes(Instant now) const;
  bool keeps_tubes(Instant now) const;
  Instant tubes_due(Instant now) const;
  void fail_stats(std::string reason);
  bool is_too_much();
  void ask_capabilities();
  void ask_stats();
  void take_stats(const tool::Answer& answer);
  void begin_tubes();
  void ask_page();
  void take_page(const tool::Answer& answer);
  void take_list(const tool::Answer& answer);
  void ask_some();
  void take_tube(std::size_t begin, std::size_t length, const tool::Answer& answer);
  void add(TubeRow& row);
  void finish_tubes();
  void give_up_tubes();
  // Returns true if the question has an answer and belongs to this connection.
  bool is_for(std::uint64_t connection, const tool::Answer* answer) {
    now_ = std::max(now_, pipeline_.received());
    return answer != nullptr && connection == connection_;
  }

  Pipeline& pipeline_;
  Facts& facts_;
  SamplerOptions options_;

  Instant now_;
  std::uint64_t connection_ = 0;
  bool is_running_ = false;
  std::uint64_t samples_ = 0;

  Instant stats_due_;
  Instant stats_asked_;
  bool is_asking_stats_ = false;

  bool has_look_ = false;
  Instant looked_;
  Instant tubes_began_;  // Times of the last sample of tubes, successful or not.
  Instant tubes_ended_;
  std::size_t pages_ = 0;
  std::shared_ptr<TubeSample> building_;      // Null if no sample of tubes is in progress.
  std::shared_ptr<const TubeSample> before_;  // Base of the rates; null if there is none.
  double seconds_ = 0;                        // Between the two samples.
  std::string next_;                          // First name of the next page.
  std::string names_;                         // The answer to list-tubes.
  std::size_t names_read_ = 0;                // Bytes of it that were read.
  std::size_t tubes_asked_ = 0;               // Tubes without an answer yet.
};

}  // namespace haricot::web
