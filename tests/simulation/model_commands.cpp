#include <algorithm>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// The commands with their answers. Those of the extended set are in model_extended.cpp.

namespace haricot::simulation {

void Model::read(int number, std::size_t bytes) {
  ModelClient& client = clients_.at(number);
  client.bytes_read += bytes;
  if (client.waiting && client.waits_for == WaitFor::job_or_input) abort_wait(number);
}

void Model::run(Tape& tape, Instant now) {
  while (!tape.empty()) {
    const Event event = tape.take(tape.front().kind);
    if (event.kind == Event::Kind::line) {
      ModelClient& client = clients_.at(event.client);
      while (run_silent(event.client)) {
      }
      require(!client.requests.empty(), "a line was read that nobody sent: " + event.line);
      require(client.requests.front().line == event.line, "another line was sent: " + event.line);
      if (is_put_off(tape, event.client)) {
        tape.take(tape.front().kind);  // It is read again, and nothing has happened.
      } else {
        run_line(event.client, tape, now);
      }
    } else if (event.kind == Event::Kind::try_again) {
      resume_tasks(tape, now);
    } else if (event.kind == Event::Kind::take_room_for_put) {
      finish_put(event, tape, now);
    } else if (event.kind == Event::Kind::take_room_for_update) {
      end_raise(event, tape);
    } else if (event.kind == Event::Kind::take_room_for_note) {
      finish_note(event, tape);
    } else if (event.kind == Event::Kind::answered) {
      end_put_as_told(event, now);
    } else {
      require(false, "unexpected: " + to_text(event));
    }
  }
}

// Returns true if the line that was just read has to wait for the disk.
bool Model::is_put_off(const Tape& tape, int number) {
  const Request& request = clients_.at(number).requests.front();
  if (tape.empty() || tape.front().status != JournalStatus::later) return false;
  // These belong to a body, not to a line.
  if (tape.front().kind == Event::Kind::take_room_for_put ||
      tape.front().kind == Event::Kind::take_room_for_note) {
    return false;
  }
  if (tape.front().kind == Event::Kind::take_room_for_update && !asks_for_update(number, request)) {
    return false;
  }
  // A long task has begun, even if it has to wait before the first job.
  const bool is_task = request.verb == Verb::flush_tube || request.verb == Verb::flush_buried ||
                       request.verb == Verb::kick || request.verb == Verb::delete_batch;
  const bool has_body = request.verb == Verb::put || request.verb == Verb::note;
  return request.kind == Request::Kind::command && !has_body && !is_task;
}

bool Model::run_silent(int number, std::string_view text) {
  ModelClient& client = clients_.at(number);
  if (client.put_is_open && client.put.verb == Verb::note) return false;
  if (client.put_is_open) {
    const auto refused =
        std::find_if(refused_puts_.begin(), refused_puts_.end(), [&](const RefusedPut& put) {
          return put.body_bytes == client.put.body.size() && client.put.body_ends_well &&
                 (put.body.empty() || put.body == client.put.body) &&
                 client.put.end <= client.bytes_read &&
                 (text.empty() || text.starts_with(put.answer));
        });
    if (refused != refused_puts_.end()) {
      client.put_is_open = false;
      answer(number, std::move(refused->answer));
      refused_puts_.erase(refused);
      return true;
    }
    const bool too_big = client.put.body.size() > job_bytes_max_;
    // If it was accepted, or refused by the disk, the tape would show that.
    const bool is_drained = draining_ || client.may_be_drained;
    if (!too_big && client.put.body_ends_well && !is_drained) return false;
    client.put_is_open = false;
    answer(number, too_big                     ? "JOB_TOO_BIG\r\n"
                   : client.put.body_ends_well ? "DRAINING\r\n"
                                               : "EXPECTED_CRLF\r\n");
    return true;
  }
  if (client.requests.empty() || client.requests.front().kind != Request::Kind::too_long) {
    return false;
  }
  client.requests.pop_front();
  ++commands_run_;
  answer(number, "BAD_FORMAT\r\n");
  return true;
}

void Model::run_line(int number, Tape& tape, Instant now) {
  ModelClient& client = clients_.at(number);
  const std::string who = "client " + std::to_string(number);
  require(!client.put_is_open, who + " runs a command though a put is not answered");
  require(!client.waiting, who + " runs a command though it waits");
  require(!client.quit, who + " runs a command behind quit");
  const Request request = std::move(client.requests.front());
  client.requests.pop_front();
  ++commands_run_;
  ++client.lines;
  if (request.kind == Request::Kind::malformed) {
    if (request.is_counted) ++verbs_[static_cast<std::size_t>(request.verb)];
    answer(number, request.answer);
  } else if (request.verb == Verb::quit) {
    client.quit = true;
  } else if (request.verb == Verb::put) {
    begin_put(number, request);
  } else if (request.verb == Verb::note) {
    begin_note(number, request);
  } else {
    ++verbs_[static_cast<std::size_t>(request.verb)];
    std::string text = run_command(number, request, tape, now);
    if (!text.empty()) answer(number, std::move(text));
    if (client.half_closed && client.waiting) half_close(number);
    const bool is_aborted = client.waiting && client.waits_for == WaitFor::job_or_input &&
                            client.bytes_read > request.end;
    if (is_aborted) abort_wait(number);
  }
}

// Put ---------------------------------------------------------------------------------------------

bool Model::has_other_put_of(std::size_t body_bytes, int number) const {
  const auto is_one = [&](const Request& request) {
    return request.verb == Verb::put && request.body.size() == body_bytes;
  };
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& entry) {
    const auto& [other, client] = entry;
    if (other == number) return false;
    return (client.put_is_open && is_one(client.put)) ||
           std::any_of(client.requests.begin(), client.requests.end(), is_one);
  });
}

void Model::begin_put(int number, const Request& request) {
  ModelClient& client = clients_.at(number);
  ++verbs_[static_cast<std::size_t>(Verb::put)];
  client.put_is_open = true;
  client.may_be_drained = false;
  client.put = request;
  client.put_id = 0;
  if (request.body.size() > job_bytes_max_) return;
  client.producer = true;
  client.put_id = next_id_++;
}

// Finds the client of a put: by the record, or by the body if it is on the tape. A refused put
// without a body may be any of the complete ones. Its client is known when it gets an answer or its
// next command runs.
std::vector<int> Model::whose_put(const Event& room, JobId id) const {
  std::vector<int> whose;
  for (const auto& [number, client] : clients_) {
    const bool matches = client.put_is_open && client.put.body_ends_well && client.put_id != 0 &&
                         client.put.body.size() == room.body_bytes &&
                         (room.body.empty() || client.put.body == room.body) &&
                         client.put.end <= client.bytes_read && (id == 0 || client.put_id == id);
    if (matches) whose.push_back(number);
  }
  require(!whose.empty(), "a put ended that nobody sent");
  return whose;
}

void Model::finish_put(const Event& room, Tape& tape, Instant now) {
  if (room.status == JournalStatus::later) return;  // It is retried.
  const bool refused = room.status != JournalStatus::ok;
  const JobId id = refused || tape.empty() ? 0 : tape.front().id;
  const std::vector<int> whose = whose_put(room, id);
  if (refused) {
    const std::string answer =
        room.status == JournalStatus::full ? "OUT_OF_MEMORY\r\n" : kInternalError;
    refused_puts_.push_back({room.body_bytes, room.body, answer});
    if (whose.size() == 1) run_silent(whose.front());
    return;
  }
  const int number = whose.front();
  require(!is_duplicate(number) && tombstone_of_put(number, now) == nullptr,
          "a duplicate was put as a job of its own");
  ModelClient& client = clients_.at(number);
  client.put_is_open = false;
  const Request& put = client.put;
  const std::string tube = client.used;
  ModelJob& job = jobs_[id];
  job = ModelJob{.tube = tube,
                 .body = put.body,
                 .priority = put.priority,
                 .delay_s = put.seconds,
                 .ttr_s = std::max(put.ttr_s, 1U),
                 .tries = put.tries,
                 .backoff_s = put.backoff_s,
                 .backoff_max_s = put.backoff_max_s,
                 .lane = put.lane,
                 .lane_limit = put.lane_limit,
                 .key = put.key,
                 .tombstone_s = put.tombstone_s,
                 .created = now,
                 .deadline = {},
                 .since = now,
                 .group = put.group,
                 .after = put.after,
                 .is_after_any = put.is_after_any};
  apply_rules(job);
  const bool is_held = put.is_after_any ? is_active(put.after) : has_group(put.after);
  if (!job.lane.empty()) lane_limits_[{tube, job.lane}] = job.lane_limit;
  own_key(id);
  end_tombstone(tube, put.key);
  ++find_tube(tube)->total_jobs;
  ++total_jobs_;
  answer(number, "INSERTED " + std::to_string(id) + "\r\n");
  begin_wait(job, is_held, now);
  check_record(tape, Event::Kind::record_put, id);
  offer(tube, now);
}

// Compares the record with the model.
void Model::check_record(Tape& tape, Event::Kind kind, JobId id) {
  const Event record = tape.take(kind);
  require(record.id == id, "the record is of another job");
  check_recorded(record, id);
}

void Model::check_recorded(const Event& record, JobId id) const {
  const ModelJob& job = jobs_.at(id);
  const JobState state = job.state == JobState::reserved ? JobState::ready : job.state;
  std::array<std::uint64_t, kJobEvents> counts = job.counts;
  // The try of a reserved job has not ended.
  if (job.state == JobState::reserved && job.backoff_s > 0) --counts[0];
  const bool fits = record.job.tube == job.tube && record.job.body_bytes == job.body.size() &&
                    record.job.priority == job.priority && record.job.delay_s == job.delay_s &&
                    record.job.ttr_s == job.ttr_s && record.job.tags == tags_of(job) &&
                    record.job.state == state && record.job.counts == counts &&
                    record.job.note == job.note && record.job.tries_before == job.tries_before;
  require(fits, "the record of job " + std::to_string(id) + " is not as the job is");
}

// Commands ----------------------------------------------------------------------------------------

std::string Model::with_job(const char* word, JobId id) const {
  const std::string& body = jobs_.at(id).body;
  return std::string(word) + " " + std::to_string(id) + " " + std::to_string(body.size()) + "\r\n" +
         body + "\r\n";
}

std::string Model::run_command(int number, const Request& request, Tape& tape, Instant now) {
  const std::string& used = clients_.at(number).used;
  switch (request.verb) {
    case Verb::put:
    case Verb::note:
    case Verb::quit:
      break;
    case Verb::use:
      return use(number, request.tube);
    case Verb::reserve:
      return reserve(number, Instant::never(), now);
    case Verb::reserve_with_timeout:
      return reserve(number, now + Duration::seconds(request.seconds), now);
    case Verb::reserve_job:
      return reserve_job(number, request.id, tape, now);
    case Verb::delete_job:
      return delete_job(number, request.id, tape, now);
    case Verb::release:
      return release(number, request, tape, now);
    case Verb::bury:
      return bury(number, request, tape, now);
    case Verb::touch:
      return touch(number, request.id, now);
    case Verb::watch:
      return watch(number, request.tube);
    case Verb::ignore:
      return ignore(number, request.tube);
    case Verb::peek:
      return peek(request.id);
    case Verb::peek_ready:
      return peek(first_ready(used));
    case Verb::peek_delayed:
      return peek(first_delayed(used));
    case Verb::peek_buried:
      return peek(first_buried(used));
    case Verb::kick:
      return kick(number, request.bound, tape, now);
    case Verb::kick_job:
      return kick_job(request.id, tape, now);
    case Verb::pause_tube:
      return pause(request, now);
    case Verb::stats:
      return stats(number, tape, now);
    case Verb::stats_job:
      return stats_job(request.id, tape, now);
    case Verb::stats_tube:
      return stats_tube(request.tube, now);
    case Verb::list_tubes:
      return list_tubes();
    case Verb::list_tube_used:
      return "USING " + used + "\r\n";
    case Verb::list_tubes_watched: {
      std::string text = "---\n";
      for (const std::string& tube : clients_.at(number).watched) text += "- " + tube + "\n";
      return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    case Verb::capabilities:
      return capabilities(number);
    case Verb::flush_tube:
      return flush(number, request, tape, now);
    case Verb::scan_jobs:
      return scan_jobs(request, tape, now);
    case Verb::list_clients:
      return list_clients(number, request, tape, now);
    case Verb::list_jobs:
      return list_jobs(request, tape, now);
    case Verb::stats_tube_detail:
      return stats_tube_detail(request.tube, now);
    case Verb::stats_tubes:
      return stats_tubes(request, now);
    case Verb::stats_group:
      return stats_group(request.after);
    case Verb::reserve_batch:
      return reserve_batch(number, request, now);
    case Verb::delete_batch:
      return delete_batch(number, request, tape, now);
    case Verb::watch_by_weight:
      return watch_by_weight(number, request);
    case Verb::reserve_mode:
      return reserve_mode(number, request);
    case Verb::drain:
      draining_ = true;
      return "DRAINING\r\n";
    case Verb::undrain:
      return undrain();
    case Verb::flush_buried: {
      Request flush_request = request;
      flush_request.state = StateWord::buried;
      return flush(number, flush_request, tape, now);
    }
    case Verb::touch_all:
      return touch_all(number, now);
    case Verb::reserve_with_abort:
      return reserve(number, Instant::never(), now, WaitFor::job_or_input);
    case Verb::wait_job:
      return wait_job(number, request, now);
    case Verb::peek_note:
      return peek_note(request.id);
  }
  return {};
}

std::string Model::use(int number, const std::string& tube) {
  find_or_create(tube);
  const std::string old = std::exchange(clients_.at(number).used, tube);
  drop_if_unreferenced(old);
  return "USING " + tube + "\r\n";
}

std::string Model::watch(int number, const std::string& tube) {
  find_or_create(tube);
  ModelClient& client = clients_.at(number);
  auto& watched = client.watched;
  if (std::find(watched.begin(), watched.end(), tube) == watched.end()) {
    watched.push_back(tube);
    client.shares[tube] = {.weight = 1, .pass = client.turn};
  }
  return "WATCHING " + std::to_string(watched.size()) + "\r\n";
}

std::string Model::ignore(int number, const std::string& tube) {
  auto& watched = clients_.at(number).watched;
  const auto found = std::find(watched.begin(), watched.end(), tube);
  if (found != watched.end()) {
    if (watched.size() == 1) return "NOT_IGNORED\r\n";
    clients_.at(number).shares.erase(tube);
    *found = std::string(watched.back());
    watched.pop_back();
    drop_if_unreferenced(tube);
  }
  return "WATCHING " + std::to_string(watched.size()) + "\r\n";
}

// Returns the best job that the client could get now; 0: none.
JobId Model::best_job(int number) const {
  if (clients_.at(number).is_weighted) return best_by_weight(number);
  JobId best = 0;
  for (const std::string& tube : clients_.at(number).watched) {
    const auto is_it = [&](const ModelTube& other) { return other.name == tube; };
    const bool paused = std::find_if(tubes_.begin(), tubes_.end(), is_it)->paused;
    const JobId id = paused ? 0 : first_free(tube);
    if (id == 0) continue;
    if (best == 0 ||
        std::pair(jobs_.at(id).priority, id) < std::pair(jobs_.at(best).priority, best)) {
      best = id;
    }
  }
  return best;
}

std::string Model::reserve(int number, Instant wait_end, Instant now, WaitFor what) {
  ModelClient& client = clients_.at(number);
  client.worker = true;
  if (const JobId best = best_job(number); best != 0) {
    make_reserved(number, best, now);
    charge(number, jobs_.at(best).tube);
    return with_job("RESERVED", best);
  }
  if (is_deadline_soon(number, now)) return "DEADLINE_SOON\r\n";
  if (wait_end <= now) return "TIMED_OUT\r\n";
  client.waiting = true;
  client.waits_for = what;
  client.wait_end = wait_end;
  client.arrival = ++arrivals_;
  return {};
}

std::string Model::reserve_job(int number, JobId id, Tape& tape, Instant now) {
  const ModelJob* job = find_job(id);
  if (job == nullptr || job->state == JobState::reserved) return kNotFound;
  clients_.at(number).worker = true;
  const bool is_recorded = job->state != JobState::ready;
  if (is_recorded && tape.take(Event::Kind::take_room_for_update).status != JournalStatus::ok) {
    return kInternalError;
  }
  make_reserved(number, id, now);
  if (is_recorded) check_record(tape, Event::Kind::record_update, id);
  return with_job("RESERVED", id);
}

std::string Model::delete_job(int number, JobId id, Tape& tape, Instant now) {
  const ModelJob* job = find_job(id);
  if (job == nullptr) return kNotFound;
  if (job->state == JobState::reserved && !holds(number, id)) return kNotFound;
  if (take_room_to_delete({id}, tape) != JournalStatus::ok) return kInternalError;
  record_deletion(id, tape, now);
  const std::string tube = job->tube;
  const bool has_tags = !tags_of(*job).empty();
  count_worked(*job, now);
  erase_job(id);
  ++find_tube(tube)->deletes;
  offer(tube, now);
  drop_if_unreferenced(tube);
  if (has_tags) end_holds(tape, now);
  return "DELETED\r\n";
}

std::string Model::release(int number, const Request& request, Tape& tape, Instant now) {
  if (!holds(number, request.id)) return kNotFound;
  if (tape.take(Event::Kind::take_room_for_update).status != JournalStatus::ok)
    return kInternalError;
  ModelJob& job = jobs_.at(request.id);
  job.priority = request.priority;
  job.delay_s = request.seconds;
  ++count_of(job, JobEvent::release);
  if (request.seconds == 0 && job.backoff_s > 0 && !is_spent(job)) {
    job.delay_s = backoff_after_try(job);
    ++backoffs_;
  }
  if (is_spent(job)) {
    end_try(job, BurialCause::released, now);
    check_record(tape, Event::Kind::record_update, request.id);
    offer(job.tube, now);
    if (!job.is_quiet) return "BURIED\r\n";
    ++quiet_burials_;
    return "RELEASED\r\n";
  }
  begin_ready(job, now);
  if (job.delay_s > 0) make_delayed(job, now);
  check_record(tape, Event::Kind::record_update, request.id);
  offer(job.tube, now);
  return "RELEASED\r\n";
}

std::string Model::bury(int number, const Request& request, Tape& tape, Instant now) {
  if (!holds(number, request.id)) return kNotFound;
  if (tape.take(Event::Kind::take_room_for_update).status != JournalStatus::ok)
    return kInternalError;
  ModelJob& job = jobs_.at(request.id);
  job.priority = request.priority;
  ++count_of(job, JobEvent::bury);
  begin_buried(job, BurialCause::client, now);
  check_record(tape, Event::Kind::record_update, request.id);
  offer(job.tube, now);
  return "BURIED\r\n";
}

std::string Model::touch(int number, JobId id, Instant now) {
  if (!holds(number, id)) return kNotFound;
  ModelJob& job = jobs_.at(id);
  job.deadline = now + Duration::seconds(job.ttr_s);
  job.arrival = ++deadlines_;
  job.since = now;
  job.is_touched = true;
  return "TOUCHED\r\n";
}

std::string Model::peek(JobId id) {
  return find_job(id) != nullptr ? with_job("FOUND", id) : kNotFound;
}

std::string Model::kick_job(JobId id, Tape& tape, Instant now) {
  ModelJob* const found = find_job(id);
  if (found == nullptr) return kNotFound;
  ModelJob& job = *found;
  if (job.state != JobState::buried && job.state != JobState::delayed) return kNotFound;
  if (tape.take(Event::Kind::take_room_for_update).status != JournalStatus::ok)
    return kInternalError;
  count_kick(job);
  begin_ready(job, now);
  check_record(tape, Event::Kind::record_update, id);
  offer(job.tube, now);
  return "KICKED\r\n";
}

}  // namespace haricot::simulation
