// haricot put: jobs from words, a file, stdin, or the lines of them.

#include <cstddef>
#include <string>

#include "haricot/protocol/limits.hpp"
#include "tool/client/errand.hpp"
#include "tool/commands/input_text.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "put", "[OPTIONS] [BODY...]",
    "Puts jobs into a tube and prints their ids. Each BODY is a job. Without a BODY, or with\n"
    "-, the whole of stdin, or of --file, is one job. With --lines each line of it is a job,\n"
    "without its line end, and is put as soon as it is there. put refuses an empty stdin or\n"
    "file, unless --empty says that it is meant.\n",
    "    haricot put --tube mail hello world                 # two jobs\n"
    "    haricot put --tube mail --lines --file jobs.txt     # a job for each line\n"
    "    haricot put --tube mail --delay 10m < body\n"};

constexpr std::uint64_t kNumberMax = 4294967295;

struct Choice {
  std::string tube = "default";
  std::uint64_t priority = 1024;
  std::uint64_t delay_s = 0;
  std::uint64_t ttr_s = 60;
  std::string file;
  bool lines = false;
  bool may_be_empty = false;
  bool quiet = false;
};

// Collects jobs, puts them at once, and prints what came of it.
class Batch {
 public:
  Batch(Errand& errand, const Choice& choice)
      : errand_(errand),
        head_("put " + std::to_string(choice.priority) + " " + std::to_string(choice.delay_s) +
              " " + std::to_string(choice.ttr_s) + " "),
        names_lines_(choice.lines),
        is_quiet_(choice.quiet) {}

  void add(std::string_view body) {
    commands_ += head_ + std::to_string(body.size()) + "\r\n";
    commands_ += body;
    commands_ += "\r\n";
    ++jobs_;
  }
  bool is_full() const { return jobs_ >= kBatchJobs || commands_.size() >= kBatchBytes; }

  // False: one was refused, or the server is gone; server().failure() says why.
  bool send();

 private:
  void print_job(const Answer& answer);

  Errand& errand_;
  std::string head_;
  bool names_lines_;
  bool is_quiet_;
  std::string commands_;
  std::size_t jobs_ = 0;
  std::uint64_t sent_ = 0;  // Jobs of all batches so far.
};

void Batch::print_job(const Answer& answer) {
  if (is_quiet_) return;
  const std::string id = std::to_string(answer.number);
  const bool is_buried = answer.code == ReplyCode::buried_new;
  if (errand_.json()) {
    print("{\"id\":" + id + ",\"buried\":" + (is_buried ? "true" : "false") + "}\n");
  } else {
    print(id + "\n");
  }
}

bool Batch::send() {
  std::optional<Response> refused;
  const auto take = [&](const Answer& answer) {
    ++sent_;
    const bool has_id = answer.code == ReplyCode::inserted || answer.code == ReplyCode::buried_new;
    if (has_id) print_job(answer);
    if (answer.code == ReplyCode::inserted) return;
    if (names_lines_)
      errand_.warn("line " + std::to_string(sent_) + ": " + std::string(answer.line));
    refused = {answer.code, 0, std::string(answer.line), {}};
  };
  const bool good = errand_.server().ask("put", commands_, jobs_, take);
  commands_.clear();
  jobs_ = 0;
  flush();  // Whoever reads the ids gets them while the lines still come.
  if (good && refused) errand_.server().refuse("put", refused->code, refused->line);
  return good && !refused;
}

// An empty body is most often an accident: the command in front of the pipe has failed, or a file
// was never written.
int put_whole(Errand& errand, const Choice& choice, InputText& source, Batch& batch) {
  std::string body;
  for (bool is_over = false; !is_over;) {
    if (!source.read(errand, kJobBytesMaxLimit, body, is_over)) return kExitFailure;
  }
  if (body.empty() && !choice.may_be_empty) {
    return errand.no(source.name() + " is empty, no job was put; --empty puts an empty job");
  }
  batch.add(body);
  return batch.send() ? errand.done() : errand.failed();
}

int put_lines(Errand& errand, InputText& source, Batch& batch) {
  std::string text;
  for (bool is_over = false; !is_over;) {
    if (!source.read(errand, kJobBytesMaxLimit, text, is_over)) return errand.done(kExitFailure);
    if (is_over && !text.empty()) text += '\n';
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;) {
      batch.add(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
      if (batch.is_full() && !batch.send()) return errand.failed();
    }
    text.erase(0, begin);
    if (!batch.send()) return errand.failed();
  }
  return errand.done();
}

int put_words(Errand& errand, Batch& batch) {
  for (const std::string_view body : errand.operands()) {
    batch.add(body);
    if (batch.is_full() && !batch.send()) return errand.failed();
  }
  return batch.send() ? errand.done() : errand.failed();
}

}  // namespace

int put(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add({'t', "tube", "TUBE", "the tube (default)", set_tube(choice.tube), "a tube's name"});
  errand.add({'p', "priority", "N", "0 goes first; a job below 1024 is urgent (1024)",
              set_count(choice.priority, 0, kNumberMax), "a number up to 4294967295"});
  errand.add({'d', "delay", "S", "seconds until the job gets ready (0)",
              set_seconds(choice.delay_s), kSecondsWanted});
  errand.add({'r', "ttr", "S", "seconds that a worker may take for the job (60)",
              set_seconds(choice.ttr_s), kSecondsWanted});
  errand.add({'f', "file", "PATH", "read this file instead of stdin", set(choice.file), "a path"});
  errand.add(
      {0, "empty", "", "put an empty job if stdin or the file is empty", set(choice.may_be_empty)});
  errand.add({'l', "lines", "", "each line is a job", set(choice.lines)});
  errand.add({'q', "quiet", "", "do not print the ids", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  const bool is_dash = errand.operands().size() == 1 && errand.operands().front() == "-";
  const bool has_words = !errand.operands().empty() && !is_dash;
  if (has_words && (choice.lines || !choice.file.empty())) {
    return errand.mistake(
        "a body on the command line excludes --lines and --file; --file PATH reads a "
        "file");
  }

  InputText source;
  if (!has_words && !source.open(errand, choice.file)) return kExitFailure;
  if (const std::optional<int> over = errand.connect()) return *over;
  if (!errand.server().ask("use " + choice.tube, ReplyCode::using_tube)) return errand.failed();
  Batch batch(errand, choice);
  if (has_words) return put_words(errand, batch);
  return choice.lines ? put_lines(errand, source, batch) : put_whole(errand, choice, source, batch);
}

}  // namespace haricot::tool
