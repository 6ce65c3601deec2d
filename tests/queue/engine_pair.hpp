// An engine and a naive model of it, with the same random commands at the same random times. After
// every step both must agree on everything, and the engine's invariants must hold.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "queue/engine_model.hpp"
#include "support/engine_world.hpp"
#include "support/random.hpp"

namespace haricot::test {

class EnginePair {
 public:
  // `has_lanes`: most jobs are in one of few lanes.
  EnginePair(Random& random, std::size_t jobs_max, bool has_lanes)
      : random_(random), jobs_max_(jobs_max), has_lanes_(has_lanes) {}

  // Does one random command or wait. Fails fatally if the two disagree afterwards.
  void step();

 private:
  Engine& engine() { return world_->engine; }
  Instant now() const { return world_->now; }

  // Choosing --------------------------------------------------------------------------------------

  std::string some_tube();
  JobId some_id();
  JobId some_held_id(int client);
  std::uint32_t some_priority();
  std::uint32_t some_seconds();
  std::string_view some_tags();
  std::uint32_t some_delay() { return random_.one_in(2) ? 0 : some_seconds(); }

  // Clients ---------------------------------------------------------------------------------------

  void open();
  void close();
  int number_of(const Client* client) const;
  // Continues in another engine with the whole state, if this one is at rest.
  void hand_over();

  // Time ------------------------------------------------------------------------------------------

  void pass();
  void advance_to(Instant time);
  bool agrees(const Model& tried);

  // Commands --------------------------------------------------------------------------------------

  void command();
  void put(int number, Client& client, bool refused);
  void reserve(int number, Client& client);
  void change(int number, Client& client, bool refused);
  void kick(int number, Client& client, bool refused);
  JobStates some_states();
  void flush(Client& client, bool refused);
  void reserve_batch(int number, Client& client);
  void delete_batch(int number, Client& client, bool refused);
  void tube_command(int number, Client& client);
  void held_command(int number, Client& client, bool refused);

  // Comparing -------------------------------------------------------------------------------------

  std::vector<ModelGot> take();
  void compare_deliveries();
  void compare_all();
  void compare_counts();
  void compare_jobs();
  void compare_looks();
  std::vector<JobId> ids_of(const std::vector<JobRef>& refs) const;
  void compare_tubes();
  void compare_clients();
  void compare_journal();

  Random& random_;
  std::size_t jobs_max_;
  bool has_lanes_;
  std::unique_ptr<World> world_ = std::make_unique<World>();
  Model model_;
  std::map<int, Client*> clients_;
  int next_client_ = 0;
  std::size_t read_ = 0;
  std::map<JobId, FakeJournal::Record> recorded_;
};

}  // namespace haricot::test
