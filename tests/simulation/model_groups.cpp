#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// Groups, and the jobs that are held until a group has no jobs.

namespace haricot::simulation {

// Flushed jobs are in their group until they are freed.
bool Model::has_group(const std::string& name) const {
  return !name.empty() && std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    return entry.second.group == name;
  });
}

bool Model::is_active(const std::string& name) const {
  return !name.empty() && std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    return entry.second.group == name && entry.second.state != JobState::buried;
  });
}

void Model::begin_wait(ModelJob& job, bool is_held, Instant now) {
  if (!is_held) {
    if (job.delay_s > 0) make_delayed(job, now);
    return;
  }
  job.state = JobState::delayed;
  job.deadline = Instant::never();
  job.arrival = ++deadlines_;
  job.hold = ++holds_;
}

void Model::end_hold(ModelJob& job) {
  if (job.hold == 0) return;
  for (auto& held : ended_groups_) held.erase(job.hold);
  job.hold = 0;
  job.group_has_ended = false;
}

// Ends the waits for a group that has only buried jobs, and those for a group that has none. These
// jobs do not wait for a later job of that name.
void Model::settle_group(const std::string& name) {
  if (name.empty() || is_active(name)) return;
  const bool has_ended_any = end_waits(name, true);
  if (!has_group(name)) {
    end_waits(name, false);
  } else if (has_ended_any) {
    ++any_ends_;
  }
}

// Returns false if no job waits.
bool Model::end_waits(const std::string& name, bool is_after_any) {
  std::map<std::uint64_t, JobId> held;
  for (auto& [id, job] : jobs_) {
    if (job.hold == 0 || job.group_has_ended || job.after != name) continue;
    if (job.is_after_any != is_after_any) continue;
    job.group_has_ended = true;
    held[job.hold] = id;
  }
  if (held.empty()) return false;
  ended_groups_.push_back(std::move(held));
  return true;
}

// Ends holds at once, as far as a call allows.
void Model::end_holds(Tape& tape, Instant now) {
  if (ended_groups_.empty()) return;
  for (Tasks* from : {&put_aside_, &others_}) {
    const auto task = std::find_if(from->begin(), from->end(),
                                   [](const ModelTask& one) { return one.is_of_groups; });
    if (task == from->end()) continue;
    call([&](const Budget& budget) {
      const Step outcome = end_some_holds(budget, tape, now);
      Tasks& to = outcome == Step::waits ? put_aside_ : others_;
      to.splice(to.end(), *from, task);
    });
    return;
  }
}

void Model::resume_end_of_holds() {
  if (ended_groups_.empty()) return;
  const auto task = std::find_if(put_aside_.begin(), put_aside_.end(),
                                 [](const ModelTask& one) { return one.is_of_groups; });
  if (task != put_aside_.end()) others_.splice(others_.end(), put_aside_, task);
}

Model::Step Model::end_some_holds(const Budget& budget, Tape& tape, Instant now) {
  while (!ended_groups_.empty()) {
    if (budget.is_used_up()) return Step::continues;
    steps_ += QueueState::kStepsPerJob;
    if (ended_groups_.front().empty()) {
      ended_groups_.pop_front();
      continue;
    }
    const JobId id = ended_groups_.front().begin()->second;
    ModelJob& job = jobs_.at(id);
    if (job.flush != 0) {
      end_hold(job);
      continue;
    }
    const JournalStatus status = tape.take(Event::Kind::take_room_for_hold_end).status;
    if (status != JournalStatus::ok) {
      if (status != JournalStatus::later) try_refused_again(now);
      return Step::waits;
    }
    end_hold(job);
    ++holds_ended_;
    if (job.delay_s > 0) {
      make_delayed(job, now);
    } else {
      begin_ready(job, now);
    }
    check_record(tape, Event::Kind::record_update, id);
    offer(job.tube, now);
  }
  return Step::waits;
}

std::string Model::stats_group(const std::string& name) const {
  if (!has_group(name)) return kNotFound;
  std::array<std::uint64_t, 4> in{};
  std::uint64_t held = 0;
  for (const auto& [id, job] : jobs_) {
    if (job.group == name) ++in[static_cast<std::size_t>(job.state)];
    if (job.hold > 0 && !job.group_has_ended && job.after == name) ++held;
  }
  const std::string text =
      "---\nname: \"" + name + "\"\nready: " + std::to_string(in[0]) +
      "\nreserved: " + std::to_string(in[1]) + "\ndelayed: " + std::to_string(in[2]) +
      "\nburied: " + std::to_string(in[3]) + "\nwaiting-jobs: " + std::to_string(held) + "\n";
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// In the order of the ids, which is their order after a restart, and the order in which groups end
// that lost their last job before it.
void Model::restore_holds(const Engine& engine, Instant now) {
  ended_groups_.clear();
  std::set<std::string> seen;
  for (auto& [id, job] : jobs_) {
    if (!engine.jobs().is_held(engine.peek(id))) continue;
    job.hold = ++holds_;
    ++holds_back_;
  }
  for (auto& [id, job] : jobs_) {
    for (const std::string& name : {job.group, job.hold == 0 ? std::string() : job.after}) {
      if (seen.insert(name).second) settle_group(name);
    }
  }
  groups_ended_before_ += ended_groups_.size();
  refused_again_ = ended_groups_.empty() ? Instant::never() : now;
}

// The end of a hold is promised exactly as long as it may come.
void Model::compare_groups(Engine& engine) const {
  std::set<std::string> names;
  for (const auto& [id, job] : jobs_) {
    names.insert(job.group);
    names.insert(job.after);
    const JobRef ref = engine.peek(id);
    if (ref == JobRef::none) continue;
    const std::string what = "job " + std::to_string(id);
    require(engine.jobs().is_held(ref) == (job.hold > 0), what + " is held or not, wrongly");
    const bool is_promised = engine.jobs().journal_fields(ref).has_hold_end_promised != 0;
    require(is_promised == (job.hold > 0),
            what + " is promised the end of a hold, or not, wrongly");
  }
  names.erase("");
  for (const std::string& name : names) {
    require((engine.find_group(name) != nullptr) == has_group(name),
            "group " + name + " is there or not, wrongly");
  }
}

}  // namespace haricot::simulation
