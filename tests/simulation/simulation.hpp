// One run: a complete server on a simulated disk, its clients, the clock, and faults. All of it is
// determined by the seed.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "haricot/binlog/binlog.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/service/service.hpp"
#include "haricot/service/service_serializer.hpp"
#include "model.hpp"
#include "recorder.hpp"
#include "requests.hpp"
#include "support/random.hpp"
#include "support/sim_disk.hpp"

namespace haricot::simulation {

// Preferences of a run.
struct Leaning {
  bool hands_over = false;  // Servers end more often, and hand over to the next one.
  bool has_groups = false;  // Servers end more often, in any way, and most jobs have groups.
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, const Leaning& leaning);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Runs until the clients have had this many commands run. Throws Mismatch.
  void run(std::uint64_t commands);

  std::uint64_t commands_run() const { return model_.commands_run(); }
  // Number of each command sent well-formed, indexed by Verb.
  const std::array<std::uint64_t, kVerbs>& sent() const { return sent_; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t restarts() const { return restarts_; }
  // Starts in which the new server continued the connections of the old one.
  std::uint64_t hand_overs() const { return hand_overs_; }
  std::uint64_t disk_faults() const { return disk_faults_; }
  // Answers that the disk does not accept a change.
  std::uint64_t refused() const { return refused_; }
  // Commands that had to wait for the disk before they ran.
  bool has_extended() const { return mix_.has_extended; }
  // Counts how often a long task was left for later, and how many flushes were refused later.
  std::uint64_t task_turns() const { return model_.task_turns(); }
  std::uint64_t refused_flushes() const { return model_.refused_flushes(); }
  // See Model.
  std::uint64_t duplicates() const { return model_.duplicates(); }
  std::uint64_t raises() const { return model_.raises(); }
  std::uint64_t twins() const { return model_.twins(); }
  std::uint64_t tags_from_rules() const { return model_.tags_from_rules(); }
  std::uint64_t quiet_burials() const { return model_.quiet_burials(); }
  std::uint64_t backoffs() const { return model_.backoffs(); }
  std::uint64_t backoffs_back() const { return model_.backoffs_back(); }
  std::uint64_t tombstone_duplicates() const { return model_.tombstone_duplicates(); }
  std::uint64_t tombstone_ends() const { return model_.tombstone_ends(); }
  std::uint64_t tombstones_back() const { return model_.tombstones_back(); }
  std::uint64_t holds_ended() const { return model_.holds_ended(); }
  std::uint64_t holds_back() const { return model_.holds_back(); }
  std::uint64_t any_ends() const { return model_.any_ends(); }
  std::uint64_t notes() const { return model_.notes(); }
  std::uint64_t notes_back() const { return model_.notes_back(); }
  std::uint64_t groups_ended_before() const { return model_.groups_ended_before(); }
  std::uint64_t put_off() const { return recorder_put_off_ + recorder_->put_off(); }
  // Returns the last events, one in a line.
  std::string last_events() const;

 private:
  // Both ends of a connection, and the data between them.
  struct Wire {
    int number = 0;
    Tape* tape = nullptr;  // For the state of its session.
    Session* session = nullptr;
    std::string to_server;           // Sent, not read yet.
    std::string output;              // Seen in the session's output, not sent yet.
    std::string unexplained;         // Seen in the output, not compared with the model yet.
    std::uint64_t sent_bytes = 0;    // By the server.
    std::int64_t known_surplus = 0;  // The last surplus() that was explained.
    bool is_slow = false;
    bool has_ended = false;  // Sends no more.
    bool end_was_read = false;
    bool was_held = false;
    // The line of a put with a key has run. The put is answered when the server sends more than
    // then.
    bool keyed_put_is_open = false;
    std::uint64_t bytes_at_put = 0;
    bool may_have_failed = false;  // Each held-back answer may be INTERNAL_ERROR.
  };

  // The value of ServerInfo::address_of. Adds facts that only the service knows about the session
  // to the tape.
  static std::string address_of(const void* wire);

  // Starts and ends (simulation_lives.cpp)
  bool start();
  void set_random_rules();
  void end_life();
  void drop_server(binlog::CrashPolicy policy);
  std::optional<std::string> written_state();
  void start_after(Instant wall);
  void hand_over(const std::string& state, binlog::CrashPolicy policy);
  void check_what_came_back(std::optional<std::uint64_t> safe, bool exactly);
  std::optional<std::uint64_t> safe_from_power_loss() const;
  void note_synced();
  void disturb_disk();
  void calm_disk();

  // A turn
  void turn();
  void advance();
  std::size_t bytes_to_read(const std::string& arrived);
  void read(Wire& wire);
  void look_at_output(Wire& wire);
  void explain(Wire& wire);
  void send(Wire& wire, std::size_t room);
  void end_turn();
  bool close_if_finished(Wire& wire);
  void ask_by_the_way();
  void pass_time();
  void clients_act();
  void act(Wire& wire);
  Wire& connect();
  void send_request(Wire& wire, Request request);
  void come_to_rest();
  void check_invariants() const;
  void run_tape();
  void find_drained_put(Wire& wire);
  void note_line(Wire& wire, std::string_view line);
  void note_answers();
  static std::uint64_t answered_bytes(const Wire& wire);
  std::int64_t surplus(const Wire& wire);
  std::string pending(const Wire& wire) const;
  void note(std::string event);

  const Leaning leaning_;
  test::Random chance_;
  Mix mix_;
  std::uint32_t job_bytes_max_;
  binlog::BinlogOptions options_;
  std::unique_ptr<binlog::SimDisk> disk_;
  Tape tape_;
  Ledger ledger_;
  std::array<std::uint64_t, kVerbs> sent_{};
  Model model_;
  ServerInfo info_;
  std::unique_ptr<binlog::Binlog> binlog_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Service> service_;
  std::map<int, Wire> wires_;
  int next_client_ = 1;
  int bystander_ = 0;  // Causes no records, so it never waits for the disk.

  Instant now_;
  Instant turn_began_;  // Begin of the last turn.
  Duration wall_offset_;
  bool may_disturb_ = false;
  bool sync_was_failed_ = false;  // In this life, known to the server or not.
  bool has_epochs_ = false;       // Servers of the run have a fence; there are no others.
  std::uint32_t epoch_ = 0;       // Epoch of the last server.
  bool disk_is_slow_ = false;
  int years_left_ = 0;
  std::uint64_t steps_ = 0, restarts_ = 0, hand_overs_ = 0, disk_faults_ = 0, refused_ = 0;
  std::uint64_t recorder_put_off_ = 0;  // In earlier lives.
  // For the policy that syncs after an interval: records, and when they were written.
  struct Written {
    Instant when;
    std::uint64_t records;
  };
  std::deque<Written> written_;
  std::uint64_t surely_synced_ = 0;
  std::uint64_t records_at_end_of_turn_ = 0;  // Number at the end of the last turn.
  Instant last_turn_;
  std::deque<std::string> events_;
};

}  // namespace haricot::simulation
