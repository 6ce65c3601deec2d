#include <string>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// Unique jobs: owners of keys, and puts with the key of another job.
//
// A duplicate needs room in the journal only if it raises a priority, so the tape has no events of
// most of them. It does have the answer to the client, with its moment and its text.

namespace haricot::simulation {

std::pair<std::string, std::uint32_t> key_in(const std::string& tags) {
  const std::string tag = "idp:";
  const std::size_t begin = tags.rfind(tag);
  const bool has_one = begin != std::string::npos && (begin == 0 || tags[begin - 1] == ' ');
  if (!has_one) return {};
  const std::size_t value_begin = begin + tag.size();
  const std::string value = tags.substr(value_begin, tags.find(' ', value_begin) - value_begin);
  const std::size_t colon = value.find(':');
  if (colon == std::string::npos) return {value, 0};
  return {value.substr(0, colon), static_cast<std::uint32_t>(std::stoul(value.substr(colon + 1)))};
}

// Returns the existing job that owns the key. Flushed jobs do not count.
JobId Model::holder_of(const std::string& tube, const std::string& key) const {
  const auto holder = keys_.find({tube, key});
  const bool lives = holder != keys_.end() && jobs_.at(holder->second).flush == 0;
  return lives ? holder->second : 0;
}

void Model::own_key(JobId id) {
  const ModelJob& job = jobs_.at(id);
  if (!job.key.empty()) keys_[{job.tube, job.key}] = id;
}

void Model::erase_job(JobId id) {
  ModelJob& job = jobs_.at(id);
  if (job.has_had_note) steps_ += QueueState::kStepsPerJob;
  end_hold(job);
  const std::string group = job.group;
  const auto holder = keys_.find({job.tube, job.key});
  if (holder != keys_.end() && holder->second == id) keys_.erase(holder);
  jobs_.erase(id);
  settle_group(group);
  end_job_waits(id, "DELETED\r\n");
}

// Returns true if the put of that client has a key, and could end now.
bool Model::has_keyed_put(int number) const {
  const ModelClient& client = clients_.at(number);
  return client.put_is_open && client.put_id != 0 && client.put.body_ends_well && !draining_ &&
         client.put.end <= client.bytes_read && !client.put.key.empty();
}

// Returns true if that put would be a duplicate if it ended now.
bool Model::is_duplicate(int number) const {
  const ModelClient& client = clients_.at(number);
  return has_keyed_put(number) && holder_of(client.used, client.put.key) != 0;
}

void Model::answer_duplicate(const Event& told, std::string text, std::uint64_t held_until) {
  clients_.at(told.client).put_is_open = false;
  answer(told.client, std::move(text), held_until);
}

// Handles the answer to a put with a key, if neither a record nor a refusal explains it.
void Model::end_put_as_told(const Event& told, Instant now) {
  const ModelClient& client = clients_.at(told.client);
  if (!client.put_is_open) return;
  if (client.put.verb == Verb::note) return end_note_as_told(told);
  if (!told.line.starts_with("INSERTED ")) {
    run_silent(told.client, told.line);
    return;
  }
  const std::string who = "client " + std::to_string(told.client);
  const JobId holder = has_keyed_put(told.client) ? holder_of(client.used, client.put.key) : 0;
  const ModelTombstone* tombstone = tombstone_of_put(told.client, now);
  if (holder == 0 && tombstone != nullptr) {
    ++tombstone_duplicates_;
    answer_duplicate(told, "INSERTED " + std::to_string(tombstone->id) + " DELETED\r\n",
                     tombstone->deletion);
    return;
  }
  require(holder != 0, who + " got " + told.line + " for a put that is no duplicate");
  require(client.put.priority >= jobs_.at(holder).priority,
          "the priority of job " + std::to_string(holder) + " was not raised");
  ++duplicates_;
  answer_duplicate(told, duplicate_text(holder, {}), told.records);
}

// A put takes the room of a change, because it raises the priority of the job with its key. Its
// answer, which comes next, identifies the put.
void Model::end_raise(const Event& room, Tape& tape) {
  if (room.status == JournalStatus::later) return;  // It is retried.
  const auto could_raise = [&](int number) {
    if (!is_duplicate(number)) return JobId{0};
    const ModelClient& client = clients_.at(number);
    const JobId id = holder_of(client.used, client.put.key);
    return client.put.priority < jobs_.at(id).priority ? id : JobId{0};
  };
  if (room.status != JournalStatus::ok) {
    const std::string text =
        room.status == JournalStatus::full ? "OUT_OF_MEMORY\r\n" : kInternalError;
    const auto told = tape.take_answer([&](const Event& event) {
      return could_raise(event.client) != 0 && event.line.starts_with(text);
    });
    require(told.has_value(), "a change was refused that nobody wanted");
    clients_.at(told->client).put_is_open = false;
    answer(told->client, text);
    return;
  }
  require(!tape.empty() && tape.front().kind == Event::Kind::record_in_place,
          "there was room for a change that nobody wanted");
  const JobId id = tape.front().id;
  const std::uint32_t priority = tape.front().job.priority;
  require(find_job(id) != nullptr, "the priority of no job was raised");
  const Event record = tape.take(Event::Kind::record_in_place);
  std::string text = duplicate_text(id, " " + std::to_string(priority));
  const auto told = tape.take_answer([&](const Event& event) {
    return could_raise(event.client) == id && clients_.at(event.client).put.priority == priority &&
           event.line.starts_with(text);
  });
  require(told.has_value(), "nobody was told: " + text);
  jobs_.at(id).priority = priority;
  check_recorded(record, id);
  ++duplicates_;
  ++raises_;
  answer_duplicate(*told, std::move(text), told->records);
}

std::string Model::duplicate_text(JobId id, const std::string& raised) const {
  const char* const states[] = {"READY", "RESERVED", "DELAYED", "BURIED"};
  return "INSERTED " + std::to_string(id) + " " +
         states[static_cast<std::size_t>(jobs_.at(id).state)] + raised + "\r\n";
}

// Returns true if a command would take the room of a change if it ran now.
bool Model::asks_for_update(int number, const Request& request) {
  if (request.kind != Request::Kind::command) return false;
  if (request.verb == Verb::release || request.verb == Verb::bury) return holds(number, request.id);
  if (request.verb == Verb::kick) {
    const std::string& used = clients_.at(number).used;
    return request.bound > 0 && (first_buried(used) != 0 || first_delayed(used) != 0);
  }
  if (request.verb != Verb::kick_job && request.verb != Verb::reserve_job) return false;
  const ModelJob* job = find_job(request.id);
  return job != nullptr && (job->state == JobState::buried || job->state == JobState::delayed);
}

}  // namespace haricot::simulation
