// haricot import: puts jobs from lines of JSON.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "haricot/protocol/command.hpp"
#include "os/clock.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/job_move.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/commands/import_line.hpp"
#include "tool/commands/input_text.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "import", "[OPTIONS] [FILE]",
    "Puts the jobs that the JSON lines of stdin or FILE describe, as written by export, peek\n"
    "--json and binlog dump --json. A line needs \"tube\" and \"body\" or \"body_base64\". It\n"
    "may have \"state\", \"pri\", \"ttr\", \"delay\", \"time-left\", \"note\", and tags; \"aft\"\n"
    "counts only with \"held\":true. The line of a held job must come after those of its group, "
    "as\n"
    "export and binlog dump write them. A line with an unknown key, such as priority, is\n"
    "rejected. Jobs get new ids; a reserved job becomes ready. Blank lines are ignored. import\n"
    "stops at the first bad line, or at a signal (Ctrl-C, SIGTERM, SIGHUP): the lines before it\n"
    "are imported, and it prints where to continue. It rejects a file with tags that the server\n"
    "does not know; from a pipe it imports the lines before the first such tag. --dry-run puts\n"
    "nothing and reports all bad lines. If another job has the key of \"idp\", the line is\n"
    "reported and not imported, and the status is 1.\n",
    "    haricot import jobs.json\n"
    "    haricot import --dry-run jobs.json                  # only check the lines\n"};

// JSON needs at most six bytes for each byte of a body; the other keys of a line fit into 64 KiB.
constexpr std::size_t kLineBytesMax = std::size_t{6} * kJobBytesMaxLimit + 64 * 1024;

constexpr std::string_view kTagAdvice = "; --without-tags puts the jobs without tags";

struct Choice {
  std::string tube;
  std::string file;
  std::uint64_t from_line = 1;
  bool dry_run = false;
  bool without_tags = false;
  bool quiet = false;
};

class Import {
 public:
  Import(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        tags_(errand.server()),
        progress_(choice.dry_run ? "checked" : "imported", choice.quiet) {}

  int run(InputText& input) {
    input_ = &input;
    if (!ask_limits()) return errand_.failed();
    if (!choice_.dry_run && !choice_.without_tags) {
      if (const std::optional<int> over = search_tags(input)) return *over;
    }
    const auto send_all = [this] { return send() ? std::nullopt : std::optional(fail()); };
    const auto take = [this](std::string_view line) { return take_line(line); };
    Over over;
    if (!input.read_lines(errand_, kLineBytesMax, take, send_all, over)) return stop();
    if (over) return *over;
    // An import that was interrupted at the end of the file resumes at the line after the last one.
    const bool is_behind = choice_.from_line > line_ + 1;
    if (is_behind) {
      progress_.clear();
      errand_.warn("there is no line " + std::to_string(choice_.from_line) + ": " + input.name() +
                   " has " + std::to_string(line_));
    }
    return end(is_behind || bad_lines_ + taken_keys_ > 0 ? kExitFailure : kExitDone);
  }

 private:
  // A job of the current batch.
  struct Pending {
    std::uint64_t line = 0;
    std::uint64_t id = 0;  // 0 until it is put.
    std::uint64_t priority = 0;
    Place place = Place::ready;
    std::string note;
    bool uses = false;  // A `use` for its tube precedes its other commands.
    std::string asked;  // Group that is checked with stats-group before the put; empty if none.
  };

  // State while the answers to a batch arrive.
  struct Answered {
    std::size_t puts = 0;
    // After a failed `use` the connection still uses the previous tube, so jobs that were put there
    // have to be deleted.
    bool is_elsewhere = false;
    std::vector<std::uint64_t> misplaced;
  };

  using Over = InputText::Over;

  // Ends the import before the last line, because reading failed or a signal arrived.
  int stop() {
    if (!is_interrupted()) return end(kExitLocal);
    progress_.clear();
    const std::uint64_t next = std::max(line_ + 1, choice_.from_line);
    errand_.warn("interrupted; continue with --from-line " + std::to_string(next));
    return end(kExitFailure);
  }

  // If the server lacks a tag, searches the lines for it before anything is put. A pipe can be read
  // only once: there such a line is found after the lines before it are imported.
  Over search_tags(InputText& input) {
    const std::optional<std::int64_t> position = input.position();
    if (!position) return std::nullopt;
    const std::optional<bool> takes_all = tags_.takes_all();
    if (!takes_all) return errand_.failed();
    if (*takes_all) return std::nullopt;
    bool is_bad = false;  // The import will end at this line, so later ones do not matter.
    const auto look = [&](std::string_view line) -> Over {
      ++line_;
      std::string error;
      if (is_bad || is_left_out(line)) return std::nullopt;
      const std::optional<ImportJob> job = parse_import_line(line, choice_.tube, error);
      is_bad = !job;
      if (is_bad || job->is_deleted || tags_.takes(job->tags)) return std::nullopt;
      errand_.warn(line_name() + errand_.server().failure().reason + std::string(kTagAdvice) +
                   "; nothing was put");
      return end(errand_.server().failure().status);
    };
    Over over;
    const bool is_read = input.read_lines(
        errand_, kLineBytesMax, look, [] { return Over(); }, over);
    line_ = 0;
    if (!is_read) return stop();
    if (over) return over;
    return input.rewind(errand_, *position) ? std::nullopt : Over(end(kExitLocal));
  }

  void show_progress() {
    progress_.show_share(os::read_clock(), done_, input_->bytes_read(), input_->bytes());
  }

  bool is_left_out(std::string_view line) const {
    return is_blank(line) || line_ < choice_.from_line;
  }
  std::string line_name() const { return "line " + std::to_string(line_) + ": "; }

  // Returns false if the server failed.
  bool ask_limits() {
    bool is_there = false;
    const std::optional<StatsText> stats = errand_.server().ask_stats("stats", is_there);
    if (!stats) return false;
    body_bytes_max_ = stats->number("max-job-size").value_or(body_bytes_max_);
    return true;
  }

  Over take_line(std::string_view line) {
    ++line_;
    if (is_left_out(line)) return std::nullopt;
    std::string error;
    int status = kExitFailure;
    std::optional<ImportJob> job = parse_import_line(line, choice_.tube, error);
    if (job && job->is_deleted) return std::nullopt;
    if (job && !check(*job, error, status)) return fail();
    if (!error.empty()) {
      if (!choice_.dry_run && !send()) return fail();
      progress_.clear();
      errand_.warn(line_name() + error);
      ++bad_lines_;
      return choice_.dry_run ? std::nullopt : std::optional(end(status));
    }
    if (choice_.dry_run) {
      ++done_;
      show_progress();
      return std::nullopt;
    }
    add(*job);
    const bool is_full = pending_.size() >= kBatchJobs || commands_.size() >= kBatchBytes;
    if (is_full && !send()) return fail();
    return is_full && is_interrupted() ? Over(stop()) : std::nullopt;
  }

  // Checks if the server would accept the job; if not, sets `error`, and `status` if it differs
  // from the default. Returns false if the server failed.
  bool check(ImportJob& job, std::string& error, int& status) {
    const InterruptBlock block;  // The check may ask the server.
    if (choice_.without_tags && !job.tags.empty()) {
      job.tags = {};
      ++untagged_;
    }
    if (!job.note.empty()) {
      const std::optional<bool> takes_notes = tags_.takes_command("note");
      if (!takes_notes) return false;
      if (!*takes_notes) {
        job.note.clear();
        ++unnoted_;
      }
    }
    if (job.body.size() > body_bytes_max_) {
      error = "the body exceeds the server's max-job-size (flag -z)";
    } else if (is_too_long(line_of(job))) {
      error = "its tags do not fit into the line of a put, which has 224 bytes at most" + advice();
    } else if (!tags_.takes(job.tags)) {
      if (!tags_.lacks()) return false;
      error = errand_.server().failure().reason + advice();
      status = kExitRefused;
    }
    return true;
  }

  // Returns advice for a job whose tags the server does not accept.
  std::string advice() const {
    std::string text(kTagAdvice);
    if (line_ > 1 && !choice_.dry_run) {
      text += "; continue with --from-line " + std::to_string(line_);
    }
    return text;
  }

  static std::string line_of(const ImportJob& job) {
    const bool is_late =
        job.place == Place::buried || (job.place == Place::ready && !job.note.empty());
    return put_line(
        {job.priority, is_late ? kDelayOfCopyS : job.delay_s, job.ttr_s, job.body.size()},
        job.tags);
  }

  void add(const ImportJob& job) {
    const bool uses = tube_ != job.tube;
    if (uses) commands_ += "use " + job.tube + "\r\n";
    if (uses) ++answers_;
    tube_ = job.tube;
    // Ask for the group, because the answer to a put does not show if the job is held.
    std::string asked(job.tags.value(Tag::after));
    if (!asked.empty() && !groups_.insert(asked).second) asked.clear();
    if (!asked.empty()) commands_ += "stats-group " + asked + "\r\n";
    if (!asked.empty()) ++answers_;
    commands_ += line_of(job);
    commands_ += job.body;
    commands_ += "\r\n";
    ++answers_;
    pending_.push_back({.line = line_,
                        .id = 0,
                        .priority = job.priority,
                        .place = job.place,
                        .note = job.note,
                        .uses = uses,
                        .asked = std::move(asked)});
  }

  // Puts the current batch. Returns false if the server failed, or refused a job; refused_ is set
  // in the second case.
  bool send() {
    if (pending_.empty()) return true;
    // A signal must not leave the state of the lines unknown. A batch takes at most about a second.
    const InterruptBlock block;
    sent_to_ = pending_.back().line;
    Answered answered;
    const auto take = [&](const Answer& answer) { take_answer(answer, answered); };
    if (!errand_.server().ask("put", commands_, answers_, take)) return false;
    const bool is_good = take_back(answered.misplaced) && finish_some();
    commands_.clear();
    answers_ = 0;
    pending_.clear();
    show_progress();
    if (is_good && refused_) errand_.server().refuse("put", refused_->code, refused_->line);
    return is_good && !refused_;
  }

  void take_answer(const Answer& answer, Answered& answered) {
    Pending& job = pending_[std::min(answered.puts, pending_.size() - 1)];
    if (job.uses) {
      job.uses = false;
      answered.is_elsewhere = answer.code != ReplyCode::now_using;
      if (answered.is_elsewhere) report_refusal(job.line, answer);
      return;
    }
    if (!job.asked.empty()) {
      if (answer.code == ReplyCode::not_found) report_no_group(job);
      job.asked.clear();
      return;
    }
    ++answered.puts;
    answered_to_ = job.line;
    const bool is_put = answer.code == ReplyCode::inserted || answer.code == ReplyCode::buried_new;
    if (answered.is_elsewhere) {
      report_refusal(job.line, answer);
      if (is_put && !read_key_owner(answer.line)) answered.misplaced.push_back(answer.number);
      return;
    }
    if (const std::optional<KeyOwner> owner = read_key_owner(answer.line)) {
      report_taken_key(job.line, *owner);
      return;
    }
    if (is_put) {
      job.id = answer.number;
      // The server had no memory to make the job ready and has buried it already.
      if (answer.code == ReplyCode::buried_new) job.place = Place::delayed;
      ++done_;
      return;
    }
    report_refusal(job.line, answer);
  }

  // Reports a duplicate. The owner of the key is not of this import, so its id is not kept for
  // burying.
  void report_taken_key(std::uint64_t line, const KeyOwner& owner) {
    progress_.clear();
    errand_.warn("line " + std::to_string(line) + " is not imported; " + describe(owner));
    ++taken_keys_;
  }

  // Warns about a group without jobs: the import may cover only a part of the export.
  void report_no_group(const Pending& job) {
    progress_.clear();
    errand_.warn("line " + std::to_string(job.line) + ": the server has no job of group " +
                 job.asked + ", so jobs that wait for it are not held");
  }

  void report_refusal(std::uint64_t line, const Answer& answer) {
    progress_.clear();
    if (!refused_) {
      errand_.warn("line " + std::to_string(line) + ": " + std::string(answer.line));
    }
    if (line != last_refused_) ++not_taken_;
    if (!refused_) {
      refused_ = {answer.code, 0, std::string(answer.line), {}};
      first_refused_ = line;
      done_before_refusal_ = done_;
    }
    last_refused_ = line;
  }

  bool take_back(const std::vector<std::uint64_t>& ids) {
    if (ids.empty()) return true;
    std::string commands;
    for (const std::uint64_t id : ids) commands += "delete " + std::to_string(id) + "\r\n";
    std::size_t left = ids.size();
    const auto take = [&left](const Answer& answer) {
      if (answer.code == ReplyCode::deleted) --left;
    };
    if (!errand_.server().ask("delete", commands, ids.size(), take)) return false;
    if (left > 0) {
      errand_.warn("jobs that were put into the previous tube, and could not be deleted there: " +
                   std::to_string(left));
    }
    return true;
  }

  // Writes the notes of the batch, and brings jobs that are delayed for that to their places.
  bool finish_some() {
    std::string commands;
    std::uint64_t answers = 0;
    for (const Pending& job : pending_) {
      if (job.id == 0) continue;
      for (const std::string& command :
           commands_to_finish(job.id, job.note, job.place, job.priority)) {
        commands += command;
        ++answers;
      }
    }
    if (answers == 0) return true;
    static constexpr ReplyCode kGood[] = {ReplyCode::noted, ReplyCode::reserved, ReplyCode::buried,
                                          ReplyCode::kicked_job};
    std::optional<Response> odd;
    const auto take = [&odd](const Answer& answer) {
      const bool is_good =
          std::find(std::begin(kGood), std::end(kGood), answer.code) != std::end(kGood);
      if (!is_good && !odd) odd = {answer.code, 0, std::string(answer.line), {}};
    };
    if (!errand_.server().ask("bury", commands, answers, take)) {
      is_finishing_ = true;
      return false;
    }
    if (!odd) return true;
    errand_.warn("some jobs up to line " + std::to_string(sent_to_) +
                 " lack their notes, or are delayed by an hour instead of ready or buried");
    errand_.server().refuse("reserve-job", odd->code, odd->line);
    return false;
  }

  int fail() {
    progress_.clear();
    if (refused_) {
      const bool is_one = not_taken_ == 1;
      std::string text = std::to_string(not_taken_) + (is_one ? " line" : " lines") +
                         " up to line " + std::to_string(last_refused_) +
                         (is_one ? " was refused; " : " were refused; ");
      if (done_ > done_before_refusal_) {
        text += "the others up to line " + std::to_string(answered_to_) +
                " are imported; continue with --from-line " + std::to_string(answered_to_ + 1);
      } else {
        text += "continue with --from-line " + std::to_string(first_refused_);
      }
      errand_.warn(text);
    } else if (is_finishing_) {
      errand_.warn(
          "the lines up to " + std::to_string(answered_to_) +
          " are imported; the last ones may lack their notes, or be delayed by an hour instead "
          "of ready or buried");
    } else if (sent_to_ > answered_to_) {
      const std::string first = std::to_string(answered_to_ + 1);
      errand_.warn("lines " + first + " to " + std::to_string(sent_to_) +
                   " may or may not be imported; continue with --from-line " + first);
    }
    report();
    return errand_.failed();
  }

  int end(int status) {
    progress_.clear();
    report();
    return errand_.done(status);
  }

  void report() {
    if (taken_keys_ > 0) {
      errand_.warn("lines not imported because other jobs have their keys: " +
                   std::to_string(taken_keys_));
    }
    if (choice_.quiet) return;
    if (untagged_ > 0) errand_.warn("jobs put without their tags: " + std::to_string(untagged_));
    if (unnoted_ > 0) {
      errand_.warn("jobs put without their notes, which the server does not know: " +
                   std::to_string(unnoted_));
    }
    const std::string done = std::to_string(done_);
    const std::string_view word = choice_.dry_run ? "good" : "imported";
    if (errand_.json()) {
      print("{\"" + std::string(word) + "\":" + done + ",\"bad\":" + std::to_string(bad_lines_) +
            ",\"taken\":" + std::to_string(taken_keys_) + "}\n");
    } else {
      print(std::string(word) + " " + done + "\n");
    }
  }

  Errand& errand_;
  const Choice& choice_;
  TagSupport tags_;
  Progress progress_;
  const InputText* input_ = nullptr;
  std::uint64_t body_bytes_max_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t line_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t bad_lines_ = 0;
  std::uint64_t taken_keys_ = 0;            // Lines whose keys other jobs own.
  std::uint64_t untagged_ = 0;              // Jobs put without their tags.
  std::uint64_t unnoted_ = 0;               // Jobs put without their notes.
  std::string tube_;                        // Tube that the connection uses.
  std::unordered_set<std::string> groups_;  // Groups that were checked with stats-group.

  std::vector<Pending> pending_;
  std::string commands_;
  std::uint64_t answers_ = 0;  // Expected answers to commands_.
  std::uint64_t sent_to_ = 0;  // Last line whose put was sent, and last line that was answered.
  std::uint64_t answered_to_ = 0;
  bool is_finishing_ = false;
  std::optional<Response> refused_;  // First answer that refused a put.
  std::uint64_t not_taken_ = 0;
  std::uint64_t first_refused_ = 0;
  std::uint64_t last_refused_ = 0;
  std::uint64_t done_before_refusal_ = 0;
};

}  // namespace

int import_jobs(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add(
      {'t', "tube", "TUBE", "put all jobs into this tube", set_tube(choice.tube), "a tube name"});
  errand.add({'f', "file", "PATH", "read this file instead of stdin", set(choice.file), "a path"});
  errand.add({0, "from-line", "N", "begin with this line, to continue after a failure (1)",
              set_count(choice.from_line, 1, std::numeric_limits<std::uint64_t>::max()),
              "a number of at least 1"});
  errand.add({0, "dry-run", "", "check all lines, but put nothing", set(choice.dry_run)});
  errand.add({0, "without-tags", "", "put the jobs without their tags", set(choice.without_tags)});
  errand.add({'q', "quiet", "", "do not print the number of jobs", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (errand.operands().size() > (choice.file.empty() ? 1U : 0U)) {
    return errand.mistake("more than one file");
  }
  if (!errand.operands().empty() && errand.operands().front() != "-") {
    choice.file = errand.operands().front();
    if (choice.file.empty()) return errand.mistake("the file name is empty");
  }
  InputText input;
  if (!input.open(errand, choice.file)) return kExitLocal;
  if (const std::optional<int> over = errand.connect()) return *over;
  catch_interrupts();
  return Import(errand, choice).run(input);
}

}  // namespace haricot::tool
