#include <algorithm>
#include <map>
#include <string>

#include "mismatch.hpp"
#include "model.hpp"

// Connected clients, as shown by list-clients.

namespace haricot::simulation {
namespace {

// Number of references that a page scans.
constexpr std::uint64_t kReferencesLookedAt = 1000;

}  // namespace

void Model::open(int client, CommandSet commands, ClientRef ref, Instant now) {
  clients_[client].commands = commands;
  clients_[client].came = now;
  know_as(client, ref);
  ++connections_;
}

void Model::know_as(int client, ClientRef ref) {
  const auto number = static_cast<std::uint32_t>(ref);
  const bool is_taken = std::any_of(clients_.begin(), clients_.end(), [&](const auto& other) {
    return other.first != client && other.second.ref == number;
  });
  require(number > 0 && !is_taken, "two clients have the same reference");
  clients_.at(client).ref = number;
  refs_end_ = std::max(refs_end_, number + 1);
}

// Takes the state of a session from the tape if only the service knows it.
std::string Model::list_clients(int number, const Request& request, Tape& tape, Instant now) {
  std::map<std::uint32_t, int> by_ref;
  for (const auto& [client, known] : clients_) by_ref[known.ref] = client;
  std::string rows;
  std::uint64_t ref = std::max<std::uint64_t>(request.id, 1);
  const std::uint64_t end = ref + kReferencesLookedAt;
  for (std::uint32_t shown = 0; ref < refs_end_ && ref != end && shown < request.bound; ++ref) {
    const auto found = by_ref.find(static_cast<std::uint32_t>(ref));
    if (found == by_ref.end()) continue;
    ++shown;
    const Event told = tape.take(Event::Kind::client_shown);
    const ModelClient& client = clients_.at(found->second);
    const std::string who = "client " + std::to_string(found->second);
    require(told.client == found->second, "another client is shown than " + who);
    require((told.line == "waiting") == (client.waiting || client.waits_for_end_of != 0),
            who + " waits, or does not");
    require(told.line == "running" || found->second != number, who + " asks, and is not running");
    require(told.line != "body" || client.put_is_open, who + " is in no body");
    const CoarseInstant came(client.came);
    const std::uint64_t idle_s = told.idle_since.whole_seconds_until(now);
    require(came <= told.idle_since && told.idle_since <= CoarseInstant(now),
            who + " was never still for " + std::to_string(idle_s) + " seconds");
    const auto jobs = std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& job) {
      return job.second.state == JobState::reserved && job.second.holder == found->second;
    });
    rows += "- id: " + std::to_string(ref) + "\n  address: " + quoted("here") +
            "\n  age: " + std::to_string(came.whole_seconds_until(now)) +
            "\n  used: " + quoted(client.used) +
            "\n  watching: " + std::to_string(client.watched.size()) + "\n  state: " + told.line +
            "\n  jobs: " + std::to_string(jobs) + "\n  commands: " + std::to_string(client.lines) +
            "\n  idle: " + std::to_string(idle_s) + "\n";
  }
  const std::string text = "---\nnext: " + std::to_string(ref < refs_end_ ? ref : 0) +
                           (rows.empty() ? "\nclients: []\n" : "\nclients:\n") + rows;
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

}  // namespace haricot::simulation
