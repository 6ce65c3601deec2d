// A complete server, in memory or with a binlog on a simulated disk, that plays the steps of a
// scenario while failures happen. Its clients rely on the answers, and each step is checked.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expectation.hpp"
#include "failing_memory.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/service/service.hpp"
#include "outside_disk.hpp"
#include "step.hpp"
#include "support/sim_disk.hpp"

namespace haricot::faults {

// One of this many calls fails.
#ifdef HARICOT_SANITIZED
inline constexpr std::uint64_t kStride = 7;  // Each run takes ten times as long then.
#else
inline constexpr std::uint64_t kStride = 1;
#endif

enum class Keeping : std::uint8_t {
  nothing,            // No binlog.
  every_turn,         // A binlog that syncs every turn.
  every_turn_slowly,  // A binlog whose syncs end a turn later.
  interval,
  never,
};

struct Trouble {
  std::uint64_t nth_allocation = 0;              // 0: none.
  std::optional<binlog::Fault> disk_fault = {};  // Nothing: none.
  bool lasts = false;                            // To the end of the step, not only for this call.
};

// Expected state before each step, from a run without failures.
using History = std::vector<Expectation>;

class Trial {
 public:
  // With a history of the same steps, nothing is checked before the failure: up to there the run is
  // equal. Requires: the history outlives the trial.
  Trial(Keeping keeping, const Trouble& trouble, const History* history = nullptr);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Plays all steps, ends the failures, restarts a copy, and empties the server. Reports errors
  // with GoogleTest.
  void run(const std::vector<Step>& steps);

  // Returns the history of a run without failures.
  History history() && { return std::move(seen_); }
  // Returns true if the failure has happened.
  bool was_hit() const { return was_hit_; }
  std::uint64_t keys_left() const { return expectation_->keys_left(); }
  // Number of jobs that were held until a group ended.
  std::uint64_t holds_ended() const { return expectation_->holds_ended(); }
  std::uint64_t refused_for_memory() const { return refused_for_memory_; }

 private:
  struct Wire {
    Session* session = nullptr;
    std::string heard = {};
    std::uint64_t batch_left = 0;  // Jobs of a batch that have yet to be received.
    bool has_ended = false;
    bool end_was_read = false;
  };

  bool start();
  void play(const Step& step);
  void act(const Step& step, Happened& happened);
  void connect(int client, Happened& happened);
  void receive(Wire& wire, std::string_view bytes);
  void come_to_rest(Happened& happened);
  bool turn(Happened& happened);
  void send_some(int client, Wire& wire);
  void pass(Duration time, Happened& happened);
  void gather_answers(Happened& happened);
  void see_what_failed();
  // Returns true if no failure has happened, and the run is known until then.
  bool is_known() const { return history_ != nullptr && !was_hit_; }
  bool is_in_trouble() const;
  void reconnect_the_lost(const Happened& happened);
  void get_well();
  void kill();
  void check_restart();
  void drain();
  std::string ask(int client, const std::string& bytes);
  std::string where() const;

  Keeping keeping_;
  Trouble trouble_;
  Instant now_;
  ServerInfo info_;
  std::unique_ptr<binlog::SimDisk> disk_;
  std::optional<OutsideDisk> outside_disk_;
  NoJournal no_journal_;
  std::unique_ptr<binlog::Binlog> binlog_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Expectation> expectation_;
  const History* history_;
  History seen_;
  std::size_t played_ = 0;  // Number of steps.
  std::map<int, Wire> wires_;
  bool was_hit_ = false;
  bool step_was_hit_ = false;
  bool may_be_refused_ = false;
  std::uint64_t refused_for_memory_ = 0;
  std::string step_;
};

}  // namespace haricot::faults
