// haricot put: puts jobs from operands, a file, stdin, or their lines.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"
#include "haricot/protocol/command.hpp"
#include "tool/cli/clock_time.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/commands/input_text.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "put", "[OPTIONS] [BODY...]",
    "Puts jobs into a tube and prints their ids. Each BODY is a job. Without a BODY, or with -,\n"
    "all of stdin or --file is one job. With --lines, each line is a job, without its line end\n"
    "(LF or CR LF), and is put as soon as it arrives; blank lines are ignored. put rejects an\n"
    "empty BODY, stdin or file, unless --empty is given, which also puts empty lines. It rejects\n"
    "a BODY without --tube if stdin is a pipe, a file or a socket, because the word may be meant\n"
    "as the tube. Flags with a tag require haricotd; put first asks the server if it knows the\n"
    "tag, and otherwise puts nothing. A KEY has 1 to 100 characters of those in tube names, and\n"
    "belongs to its tube. The S of a KEY begins when the job is deleted. A GROUP has the same\n"
    "characters, and belongs to the server.\n",
    "    haricot put --tube mail hello world                 # two jobs\n"
    "    haricot put --tube mail --lines --file jobs.txt     # a job for each line\n"
    "    haricot put --tube mail --delay 10m < body\n"
    "    haricot put --unique daily-report --tries 5 run     # once, with at most five tries\n"
    "    haricot put --unique order-4711:1h pay              # not again until 1 h after its end\n"
    "    haricot put --group import-7 --lines < parts; haricot put --after import-7 report\n"};

constexpr std::uint64_t kNumberMax = 4294967295;

// The flag of a tag: its texts in --help, and what it was given.
struct TagFlag {
  std::string help;
  std::string wanted;
  std::string value;  // Empty if the flag was not given.
};

struct Choice {
  std::string tube = "default";
  std::uint64_t priority = 1024;
  std::uint64_t delay_s = 0;
  std::uint64_t ttr_s = 60;
  std::array<TagFlag, kTags> tag_flags;  // By Tag.
  PutTags tags;                          // Made from them.
  std::string file;
  bool lines = false;
  bool may_be_empty = false;
  bool quiet = false;
};

// Collects jobs, puts them together, and prints the results.
class Batch {
 public:
  Batch(Errand& errand, const Choice& choice) : errand_(errand), choice_(choice) {}

  void add(std::string_view body, std::uint64_t line = 0) {
    lines_.push_back(line);
    commands_ +=
        put_line({choice_.priority, choice_.delay_s, choice_.ttr_s, body.size()}, choice_.tags);
    commands_ += body;
    commands_ += "\r\n";
  }
  bool is_full() const { return lines_.size() >= kBatchJobs || commands_.size() >= kBatchBytes; }

  // Returns false if a job was refused or the server failed; server().failure() has the reason.
  bool send();

 private:
  void print_job(std::uint64_t id, bool is_buried, const std::optional<KeyOwner>& owner);
  // Prefix of messages about the job that was answered last.
  std::string line_name() const {
    return choice_.lines ? "line " + std::to_string(line_) + ": " : "";
  }

  Errand& errand_;
  const Choice& choice_;
  std::string commands_;
  std::vector<std::uint64_t> lines_;  // Line of each job; 0 if it is not from a line.
  std::uint64_t line_ = 0;            // Line of the job that was answered last.
};

// `owner` is set if the put created no job, because this job owns the key.
void Batch::print_job(std::uint64_t id, bool is_buried, const std::optional<KeyOwner>& owner) {
  if (choice_.quiet) return;
  if (errand_.json()) {
    std::string text = "{\"id\":" + std::to_string(id) + ",\"buried\":";
    text += is_buried ? "true" : "false";
    if (owner) text += ",\"duplicate\":\"" + std::string(owner->state) + "\"";
    print(text + "}\n");
  } else {
    print(std::to_string(id) + "\n");
  }
  if (!owner) return;
  errand_.warn(line_name() + describe(*owner));
}

bool Batch::send() {
  if (lines_.empty()) return true;
  std::optional<Response> refused;
  std::size_t at = 0;
  const auto take = [&](const Answer& answer) {
    line_ = lines_[at++];
    if (const std::optional<KeyOwner> owner = read_key_owner(answer.line)) {
      print_job(owner->id, false, owner);
      return;
    }
    const bool is_buried = answer.code == ReplyCode::buried_new;
    if (is_buried || answer.code == ReplyCode::inserted) print_job(answer.number, is_buried, {});
    if (answer.code == ReplyCode::inserted) return;
    if (choice_.lines) errand_.warn(line_name() + std::string(answer.line));
    refused = {answer.code, 0, std::string(answer.line), {}};
  };
  const bool good = errand_.server().ask("put", commands_, lines_.size(), take);
  commands_.clear();
  lines_.clear();
  flush();  // A reader of the ids gets them while lines still arrive.
  if (good && refused) errand_.server().refuse("put", refused->code, refused->line);
  return good && !refused;
}

// Puts all input as one job. Refuses an empty body by default: most often the command before the
// pipe has failed, or the file was never written.
int put_whole(Errand& errand, const Choice& choice, InputText& source, Batch& batch) {
  std::string body;
  for (bool is_over = false; !is_over;) {
    if (!source.read(errand, kJobBytesMaxLimit, body, is_over)) return kExitLocal;
  }
  if (body.empty() && !choice.may_be_empty) {
    return errand.no(source.name() + " is empty, no job was put; --empty allows it");
  }
  batch.add(body);
  return batch.send() ? errand.done() : errand.failed();
}

int put_lines(Errand& errand, const Choice& choice, InputText& source, Batch& batch) {
  std::uint64_t line = 0;
  const auto take = [&](std::string_view body) -> InputText::Over {
    ++line;
    if (choice.may_be_empty || !is_blank(body)) batch.add(body, line);
    return batch.is_full() && !batch.send() ? InputText::Over(errand.failed()) : std::nullopt;
  };
  const auto send = [&] { return batch.send() ? std::nullopt : InputText::Over(errand.failed()); };
  InputText::Over over;
  if (source.read_lines(errand, kJobBytesMaxLimit, take, send, over)) {
    return over ? *over : errand.done();
  }
  return errand.done(kExitLocal);
}

TagFlag& flag_of(Choice& choice, Tag tag) {
  return choice.tag_flags[static_cast<std::size_t>(tag)];
}

// Makes the tags from the flags. Returns false if they exclude each other.
bool set_tags(Choice& choice) {
  for (const TagRow& row : kTagTable) {
    const std::string& value = flag_of(choice, row.tag).value;
    if (!value.empty() && !choice.tags.add(row.tag, value)) return false;
  }
  return true;
}

// Appends a number that may have a unit. Returns false if it is invalid.
bool append_number(const TagNumber& form, std::string_view text, std::string& value) {
  const std::optional<std::uint64_t> number =
      form.is_seconds ? read_seconds(text) : read_count(text);
  if (number) value += std::to_string(*number);
  return number.has_value();
}

// Returns the value of a tag for the value of its flag, where numbers may have units; empty if a
// number is invalid.
std::string value_of(const TagValue& form, std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool has_tail = form.has_tail() && colon != std::string_view::npos;
  const std::string_view head = has_tail ? text.substr(0, colon) : text;
  std::string value;
  if (form.key != nullptr) {
    value = head;
  } else if (!append_number(form.head, head, value)) {
    return {};
  }
  if (!has_tail) return value;
  value += ":";
  const std::string_view tail = text.substr(colon + 1);
  if (tail == form.word) return value + std::string(tail);
  return form.tail.exists() && append_number(form.tail, tail, value) ? value : std::string();
}

// Returns a description of good values of a tag's flag.
std::string wanted_by(const TagRow& row) {
  const TagValue& form = row.value;
  const std::string name(row.metavar);
  const auto range = [](const TagNumber& of) { return " from 1 to " + std::to_string(of.max); };
  std::string head = "a " + name + " of 1 to " + std::to_string(kKeyBytesMax) + " bytes";
  if (form.key == nullptr) head = (form.head.is_seconds ? "a time" : "a number") + range(form.head);
  if (!form.word.empty()) return head + ", or " + name + ":" + std::string(form.word);
  if (!form.tail.exists()) return head;
  const char* const letter = form.tail.is_seconds ? "S" : "N";
  return head + ", or " + name + ":" + letter + " with " + letter + range(form.tail);
}

void add_tag_flags(Errand& errand, Choice& choice) {
  for (const TagRow& row : kTagTable) {
    TagFlag& flag = flag_of(choice, row.tag);
    flag.help = std::string(row.help) + " (tag " + std::string(row.word) + ")";
    flag.wanted = wanted_by(row);
    const auto set = [&flag, &row](std::string_view value) {
      flag.value = value_of(row.value, value);
      return PutTags().add(row.tag, flag.value);
    };
    errand.add({0, row.flag, row.metavar, flag.help, set, flag.wanted});
  }
}

// Checks the flags and operands. On a mistake prints a message and returns the exit status.
std::optional<int> check(const Errand& errand, Choice& choice, bool has_words) {
  if (has_words && (choice.lines || !choice.file.empty())) {
    return errand.mistake(
        "a body on the command line excludes --lines and --file; --file PATH reads a "
        "file");
  }
  const std::vector<std::string_view>& bodies = errand.operands();
  if (!choice.may_be_empty && std::find(bodies.begin(), bodies.end(), "") != bodies.end()) {
    return errand.mistake("a body is empty, no job was put; --empty allows it");
  }
  if (has_words && std::find(bodies.begin(), bodies.end(), "-") != bodies.end()) {
    return errand.mistake("- means stdin and excludes other bodies; name the tube with --tube");
  }
  std::string_view after = flag_of(choice, Tag::after).value;
  after = after.substr(0, after.find(':'));
  if (!after.empty() && after == flag_of(choice, Tag::group).value) {
    return errand.mistake("a job cannot wait for its own group");
  }
  const bool is_good = set_tags(choice);
  const std::string longest =
      put_line({choice.priority, choice.delay_s, choice.ttr_s, kJobBytesMaxLimit}, choice.tags);
  if (is_good && !is_too_long(longest)) return std::nullopt;
  return errand.mistake(
      "together the keys do not fit into the line of a put, which has 224 bytes at most");
}

int put_words(Errand& errand, Batch& batch) {
  for (const std::string_view body : errand.operands()) {
    batch.add(body);
    if (batch.is_full() && !batch.send()) return errand.failed();
  }
  return batch.send() ? errand.done() : errand.failed();
}

// Returns true if stdin is likely to have input for us: a pipe, a file, or a socket, as with ssh.
bool has_input() {
  struct stat status {};
  return ::fstat(STDIN_FILENO, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode));
}

// Rejects `put mail < body`: the word may be the tube of that body, or a body while stdin is
// unrelated, as in a loop of a shell.
int unclear_words(const Errand& errand) {
  const std::string word(errand.operands().front());
  return errand.mistake("is '" + word +
                        "' a tube or a body? stdin is a pipe, a file or a socket.\n"
                        "  haricot put --tube " +
                        (is_tube_name(word) ? word : "TUBE") +
                        " puts stdin, with --lines a job for each line\n"
                        "  haricot put --tube default BODY puts the words");
}

}  // namespace

int put(Words words) {
  Errand errand(kText);
  Choice choice;
  Subjects subjects(errand);
  subjects.add_tube_flag("tube (default)");
  errand.add({'p', "priority", "N", "priority; 0 is first, below 1024 is urgent (1024)",
              set_count(choice.priority, 0, kNumberMax), "a number up to 4294967295"});
  errand.add({'d', "delay", "S", "seconds, or a time, until the job becomes ready (0)",
              set_delay(choice.delay_s), kDelayWanted});
  errand.add({0, "at", "TIME", "time at which the job becomes ready, such as 17:30",
              set_delay(choice.delay_s), kDelayWanted});
  errand.add({'r', "ttr", "S", "seconds that a worker may hold the job (60)",
              set_seconds(choice.ttr_s), kTimeWanted});
  errand.add({'f', "file", "PATH", "read this file instead of stdin", set(choice.file), "a path"});
  errand.add({0, "empty", "", "put an empty job if a body, stdin or the file is empty",
              set(choice.may_be_empty)});
  errand.add({'l', "lines", "", "each line is a job", set(choice.lines)});
  add_tag_flags(errand, choice);
  errand.add({'q', "quiet", "", "do not print the ids", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  const bool is_dash = errand.operands().size() == 1 && errand.operands().front() == "-";
  const bool has_words = !errand.operands().empty() && !is_dash;
  if (const std::optional<int> over =
          subjects.take(1, Subjects::Ids::no, errand.operands().size())) {
    return *over;
  }
  if (!subjects.empty()) choice.tube = subjects.tube();
  if (const std::optional<int> over = check(errand, choice, has_words)) return *over;
  if (has_words && subjects.empty() && has_input()) return unclear_words(errand);

  InputText source;
  if (!has_words && !source.open(errand, choice.file)) return kExitLocal;
  if (const std::optional<int> over = errand.connect()) return *over;
  TagSupport support(errand.server(), TagSupport::Names::flags);
  if (!support.takes(choice.tags)) return errand.failed();
  if (!errand.server().ask("use " + choice.tube, ReplyCode::now_using)) return errand.failed();
  Batch batch(errand, choice);
  if (has_words) return put_words(errand, batch);
  return choice.lines ? put_lines(errand, choice, source, batch)
                      : put_whole(errand, choice, source, batch);
}

}  // namespace haricot::tool
