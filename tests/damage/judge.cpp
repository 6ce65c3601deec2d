#include "judge.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/segment_writer.hpp"

namespace haricot::damage {
namespace {

using binlog::DiskCall;
using binlog::Problem;

std::string job_text(JobId id, const Jobs& jobs) {
  const auto found = jobs.find(id);
  std::optional<KnownJob> job;
  if (found != jobs.end()) job = found->second.known;
  return "job " + std::to_string(id) + " is " + binlog::to_text(job);
}

std::string differences(const Jobs& one, const Jobs& other) {
  std::string text;
  for (const auto& [id, job] : one) {
    const auto found = other.find(id);
    if (found == other.end()) {
      text += "job " + std::to_string(id) + " is gone\n";
    } else if (!(found->second == job)) {
      text += job_text(id, one) + ", and then it is " + binlog::to_text(found->second.known) + "\n";
    }
  }
  for (const auto& [id, job] : other) {
    if (!one.contains(id)) text += "job " + std::to_string(id) + " came from nowhere\n";
  }
  return text;
}

std::uint64_t changes_of(const SimDisk& disk) {
  std::uint64_t calls = 0;
  for (const DiskCall call : {DiskCall::create, DiskCall::allocate, DiskCall::write,
                              DiskCall::truncate, DiskCall::rename, DiskCall::remove}) {
    calls += disk.calls(call);
  }
  return calls;
}

class Judge {
 public:
  Judge(const HurtFolder& folder, Depth depth, std::uint64_t choice)
      : folder_(folder),
        depth_(depth),
        choice_(choice),
        wall_(folder.known().wall),
        before_(folder.image()),
        expected_(expect(folder, has_note())) {}

  Verdict run() {
    SimDisk disk;
    put_all(before_, disk);
    if (has_note()) disk.set_folder_note(folder_.known().note);
    verdict_.reading = check(disk, wall_);
    const bool is_refused = verdict_.reading.is_refused();
    SimDisk repaired;
    if (is_refused) {
      verdict_.refused = verdict_.reading;
      judge_refusal(disk);
      verdict_.reading = rescue(disk, wall_, &repaired);
      if (!verdict_.reading.is_refused()) wrong("`repair` reports no decision");
    }
    if (changes_of(disk) != 0) wrong("a check changed the folder");
    judge_reading();
    if (depth_ == Depth::check) {
      if (is_refused && verdict_.reading.is_good) judge_repaired(repaired);
    } else if (is_refused) {
      start_repaired(repaired);
    } else {
      start(disk);
    }
    if (!verdict_.wrong.empty()) {
      verdict_.wrong = folder_.what() + "\n" + verdict_.wrong + verdict_.reading.text();
    }
    return std::move(verdict_);
  }

 private:
  // Half of the cases have no note, so that only the files give evidence.
  bool has_note() const { return choice_ % 4 < 2; }

  void wrong(const std::string& what) {
    constexpr int kToldMax = 5;
    ++wrongs_;
    if (wrongs_ <= kToldMax) verdict_.wrong += "  " + what + "\n";
    if (wrongs_ == kToldMax + 1) verdict_.wrong += "  and more\n";
  }

  std::string state_text(const RecordedState& state) const {
    if (state.full == nullptr) return "\n    no job";
    return "\n    " + binlog::to_text(job_in(state, wall_).known);
  }

  // The reading -----------------------------------------------------------------------------------

  void judge_reading() {
    const Reading& reading = verdict_.reading;
    if (!reading.is_good) {
      if (!expected_.may_be_refused) wrong("the folder is refused: " + reading.error);
      if (reading.error.empty()) wrong("it is refused without a word");
      return;
    }
    std::set<JobId> ids;
    for (const auto& [id, states] : expected_.states) ids.insert(id);
    for (const auto& [id, job] : reading.jobs) ids.insert(id);
    for (const JobId id : ids) {
      if (!expected_.unknowable.contains(id)) judge_job(id);
    }
    judge_what_is_told();
    judge_next_id();
  }

  void judge_job(JobId id) {
    const Jobs& jobs = verdict_.reading.jobs;
    const auto found = jobs.find(id);
    const auto is = [&](const RecordedState& state) {
      if (found == jobs.end() || state.full == nullptr) {
        return found == jobs.end() && state.full == nullptr;
      }
      ModelJob job = job_in(state, wall_);
      const BurialCause cause = found->second.known.burial_cause;
      if (cause == BurialCause::unknown && expected_.may_lack_cause.contains(state.last)) {
        job.known.burial_cause = cause;
      }
      return found->second == job;
    };
    const auto states = expected_.states.find(id);
    if (states == expected_.states.end()) {
      wrong("job " + std::to_string(id) + " was never there");
      return;
    }
    if (std::none_of(states->second.begin(), states->second.end(), is)) {
      std::string text = job_text(id, jobs) + "; by the records that are whole it is";
      for (const RecordedState& state : states->second) text += state_text(state);
      wrong(text);
    }
    if (is(state_in(expected_.acknowledged, id)) || is(state_in(expected_.without_torn, id))) {
      return;
    }
    const Reading& reading = verdict_.reading;
    const bool is_told = found == jobs.end()
                             ? !reading.is_sound
                             : reading.tells(Problem::Kind::in_doubt) && !reading.is_sound;
    if (is_told) return;
    wrong(job_text(id, jobs) +
          (found == jobs.end() ? ", which is not told" : ", which is not in doubt") +
          "; acknowledged was" + state_text(state_in(expected_.acknowledged, id)));
  }
  static RecordedState state_in(const std::map<JobId, RecordedState>& states, JobId id) {
    const auto found = states.find(id);
    return found == states.end() ? RecordedState{} : found->second;
  }

  void judge_what_is_told() {
    const Reading& reading = verdict_.reading;
    bool is_hurt = folder_.files().size() != folder_.known().files.size();
    for (const HurtFile& file : folder_.files()) {
      is_hurt =
          is_hurt || file.is_hurt() || file.name != binlog::binlog_file_name(file.origin->number);
    }
    if (!is_hurt && !reading.problems.empty()) wrong("a sound folder has problems");
    if (!expected_.strange.empty() && reading.problems.empty()) {
      wrong("nothing is told of " + expected_.strange.front().file);
    }
    if (expected_.must_tell && reading.is_sound) wrong("it is called sound");
    const bool is_damaged = std::any_of(reading.problems.begin(), reading.problems.end(),
                                        [](const Problem& problem) { return is_bad(problem); });
    if (reading.is_sound == is_damaged) wrong("the problems do not fit what is called sound");
  }
  static bool is_bad(const Problem& problem) { return problem.kind != Problem::Kind::torn; }

  void judge_next_id() {
    const Reading& reading = verdict_.reading;
    const JobId highest = reading.is_sound ? expected_.highest_whole : expected_.highest_known;
    if (reading.next_id <= highest) {
      wrong("ids up to " + std::to_string(highest) + " were given out, the next one is " +
            std::to_string(reading.next_id));
    }
    if (!reading.jobs.empty() && reading.next_id <= reading.jobs.rbegin()->first) {
      wrong("the next id is that of a job");
    }
  }

  // A refused folder --------------------------------------------------------------------------

  void judge_refusal(SimDisk& disk) {
    if (verdict_.refused.is_good) wrong("an unfit folder is read");
    const Server server(disk, wall_);
    if (server.reading().is_good) wrong("a server starts where the check refuses");
    if (server.reading().text() != verdict_.refused.text()) {
      wrong("check and server tell other problems:\n" + server.reading().text());
    }
    if (only_bytes_are_hurt()) {
      for (const Problem& problem : verdict_.refused.problems) {
        const bool is_unknown = problem.why.find("does not state which file") != std::string::npos;
        if (problem.kind != Problem::Kind::unfit || is_unknown) continue;
        if (may_be_removed(problem.file)) continue;
        wrong("it is refused, though each file has its place: " + binlog::to_sentence(problem));
      }
    }
    if (changes_of(disk) != 0) wrong("the folder was refused and changed");
    if (image_of(disk) != before_) wrong("the folder was refused and has other bytes");
  }

  // Returns true if no file was moved, added or removed, and no sector belongs to another place.
  bool only_bytes_are_hurt() const {
    return folder_.files().size() == folder_.known().files.size() &&
           std::all_of(folder_.files().begin(), folder_.files().end(), [](const HurtFile& file) {
             return file.origin != nullptr && file.stray_sectors == 0 &&
                    file.name == binlog::binlog_file_name(file.origin->number);
           });
  }

  // Returns true if the server had removed the file, and the newest file, which stated so, is hurt.
  bool may_be_removed(const std::string& name) const {
    const auto has_name = [&name](const KnownFile& file) {
      return binlog::binlog_file_name(file.number) == name;
    };
    const std::vector<KnownFile>& known = folder_.known().files;
    return folder_.files().back().is_hurt() && std::none_of(known.begin(), known.end(), has_name);
  }

  // Compares the repaired folder with the jobs that were read to make it.
  void judge_repaired(SimDisk& repaired) {
    const Reading& reading = verdict_.reading;
    const Reading again = check(repaired, wall_);
    if (!again.is_good || !again.is_sound)
      wrong("the repaired folder is not sound: " + again.text());
    const std::string text = differences(reading.jobs, again.jobs);
    if (!text.empty()) wrong("the repaired folder has other jobs:\n" + text);
    if (again.next_id < reading.next_id) wrong("the repaired folder gives out ids again");
  }

  void start_repaired(SimDisk& repaired) {
    if (!verdict_.reading.is_good) return;
    judge_repaired(repaired);
    Server server(repaired, wall_);
    if (!server.reading().is_good) wrong("the repaired folder is refused");
    for (const auto& [id, job] : server.reading().jobs) server.delete_job(id);
    server.idle();
    server.close();
  }

  // Two starts ------------------------------------------------------------------------------------

  void start(SimDisk& disk) {
    Jobs left;
    JobId next_id = 0;
    bool was_sound = false;
    {
      Server server(disk, wall_);
      compare_with_check(server.reading());
      if (!server.reading().is_good) {
        if (changes_of(disk) != 0) wrong("the folder was refused and changed");
        return;
      }
      was_sound = server.reading().is_sound;
      judge_number(server.current_file());
      judge_kept(disk, "the start");
      use(server);
      left = server.jobs();
      next_id = server.next_id();
      if (choice_ % 2 == 0) server.close();
    }
    Image image = image_of(disk);
    SimDisk again;
    put_all(image, again);
    again.set_folder_note(disk.folder_note());
    judge_kept(again, "compaction");
    {
      Server server(again, wall_);
      const Reading& reading = server.reading();
      if (!reading.is_good) {
        wrong("the second start is refused: " + reading.error);
        return;
      }
      const std::string text = differences(left, reading.jobs);
      if (!text.empty()) wrong("the second start finds other jobs:\n" + text + reading.text());
      if (reading.next_id < next_id) wrong("the second start gives out ids again");
      if (was_sound && !reading.is_sound) wrong("the second start finds fault:\n" + reading.text());
      for (const auto& [id, job] : reading.jobs) server.delete_job(id);
      server.idle();
      server.close();
    }
    judge_kept(again, "the second start");
    judge_copies(again);
    verdict_.after = image_of(again);
  }

  // Deletes jobs and puts others, until compaction has run.
  void use(Server& server) {
    std::uint64_t nth = choice_;
    for (const auto& [id, job] : server.reading().jobs) {
      if (++nth % 4 != 0) server.delete_job(id);
    }
    const JobId id = server.put(50);
    if (id <= expected_.highest_known && !server.reading().is_sound) {
      wrong("id " + std::to_string(id) + " is given out again");
    }
    for (int i = 0; i < 12; ++i) {
      const JobId job = server.put(700);
      if (i % 2 == 0) server.delete_job(job);
      server.end_turn();
    }
    server.idle();
  }

  void compare_with_check(const Reading& reading) {
    const Reading& checked = verdict_.reading;
    if (reading.is_good != checked.is_good) {
      wrong("check and server do not agree on whether it can be used: " + reading.error);
      return;
    }
    if (!reading.is_good) return;
    if (!(reading.jobs == checked.jobs)) {
      wrong("check and server find other jobs:\n" + differences(checked.jobs, reading.jobs));
    }
    if (reading.next_id != checked.next_id) wrong("check and server give other ids");
    if (reading.text() != checked.text() || reading.is_sound != checked.is_sound) {
      wrong("check and server tell other problems:\n" + reading.text());
    }
  }

  // Checks that the new file has no number of a file with records.
  void judge_number(std::uint64_t number) {
    for (const KnownFile& file : folder_.known().files) {
      if (file.number != number || !file.has_records()) continue;
      if (!expected_.forgotten.contains(number)) wrong("a file's number is used again");
    }
    const auto there = before_.find(binlog::binlog_file_name(number));
    if (there == before_.end()) return;
    for (const HurtFile& file : folder_.files()) {
      if (file.name != there->first || !file.is_hurt()) continue;
      const bool is_strange =
          std::any_of(expected_.strange.begin(), expected_.strange.end(),
                      [&](const Strange& strange) { return strange.file == file.name; });
      const bool was_begun = expected_.forgotten.contains(number) && !is_strange;
      if (!was_begun) wrong(file.name + " was replaced");
    }
  }

  // Bytes that were not understood ----------------------------------------------------------------

  void judge_kept(const SimDisk& disk, std::string_view when) {
    const Image image = image_of(disk);
    for (const Strange& strange : expected_.strange) {
      if (!is_kept(strange, image)) {
        wrong("bytes of " + strange.file + " are gone after " + std::string(when));
      }
    }
    for (const Problem& problem : verdict_.reading.problems) {
      if (problem.kind != Problem::Kind::late) continue;
      if (!is_kept({problem.file, 0, before_[problem.file].size()}, image)) {
        wrong(problem.file + " was left aside and is gone after " + std::string(when));
      }
    }
  }

  bool is_kept(const Strange& strange, const Image& image) const {
    const std::string_view before = before_.at(strange.file);
    for (const auto& [name, bytes] : image) {
      // Zeros at the end carry no information; a copy has none.
      if (bytes.starts_with(without_zeros_at_end(before)) && before.starts_with(bytes)) return true;
      if (name.find(".torn.") == std::string::npos) continue;
      for (std::size_t at = before.find(bytes); at != std::string_view::npos && !bytes.empty();
           at = before.find(bytes, at + 1)) {
        if (at <= strange.begin && at + bytes.size() >= strange.end) return true;
      }
    }
    return false;
  }

  // Checks that no file was copied twice.
  void judge_copies(const SimDisk& disk) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& [name, bytes] : image_of(disk)) {
      for (const std::string_view kind : {".damaged.", ".torn.", ".aside."}) {
        const std::size_t at = name.find(kind);
        if (at == std::string::npos) continue;
        if (!seen.insert({name.substr(0, at + kind.size()), bytes}).second) {
          wrong(name + " is the second copy of the same");
        }
      }
    }
  }

  const HurtFolder& folder_;
  Depth depth_;
  std::uint64_t choice_;
  std::int64_t wall_;
  Image before_;
  Expectation expected_;
  Verdict verdict_;
  int wrongs_ = 0;
};

}  // namespace

Verdict judge(const HurtFolder& folder, Depth depth, std::uint64_t choice) {
  return Judge(folder, depth, choice).run();
}

}  // namespace haricot::damage
