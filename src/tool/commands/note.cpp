// haricot note: prints or writes the note of a job.

#include <unistd.h>

#include <string>

#include "haricot/base/encoding.hpp"
#include "haricot/protocol/command.hpp"
#include "tool/client/errand.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "note", "[OPTIONS] ID [TEXT]",
    "Prints the note of a job, or writes it: up to 1024 bytes that stay with the job until it is\n"
    "deleted. An empty text removes the note. While a worker holds the job, only that worker can\n"
    "write its note. Requires haricotd.\n",
    "    haricot note 17\n"
    "    haricot note 17 'waits for the supplier, see ticket 4711'\n"};

int show(Errand& errand, const std::string& id) {
  const std::optional<Response> found = errand.server().ask("peek-note " + id, ReplyCode::found);
  if (!found) return errand.failed();
  if (found->code == ReplyCode::not_found) return errand.no("job " + id + " has no note");
  const std::string& note = found->body;
  if (errand.json()) {
    print(
        "{\"id\":" + id + "," +
        (is_utf8(note) ? "\"note\":" + json_string(note) : "\"note_base64\":" + json_base64(note)) +
        "}\n");
  } else {
    print((::isatty(STDOUT_FILENO) != 0 ? safe_lines(note) : note) +
          (note.ends_with('\n') ? "" : "\n"));
  }
  return errand.done();
}

int write(Errand& errand, const std::string& id, std::string_view text) {
  const std::string command = "note " + id + " " + std::to_string(text.size());
  const auto answers =
      errand.server().ask_together("note", command + "\r\n" + std::string(text) + "\r\n", 1);
  if (!answers) return errand.failed();
  const Response& answer = answers->front();
  if (answer.code == ReplyCode::noted) return errand.done();
  if (answer.code == ReplyCode::not_found) {
    return errand.no("job " + id + " does not exist, or a worker holds it");
  }
  errand.server().refuse("note", answer.code, answer.line);
  return errand.failed();
}

}  // namespace

int note(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  if (const std::optional<int> over = errand.read(words)) return *over;
  const std::vector<std::string_view>& operands = errand.operands();
  if (operands.empty() || operands.size() > 2) {
    return errand.mistake("requires the id of a job, and perhaps one text");
  }
  const std::size_t texts = operands.size() - 1;
  if (const std::optional<int> over = subjects.take(0, Subjects::Ids::yes, texts)) return *over;
  if (texts > 0 && operands[1].size() > kNoteBytesMax) {
    return errand.mistake("a note has at most " + std::to_string(kNoteBytesMax) + " bytes");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  const std::string id = std::to_string(subjects.ids().front());
  if (texts == 0) return show(errand, id);
  // An older server would read the text as a command.
  if (!errand.server().ask("peek-note " + id, ReplyCode::found)) return errand.failed();
  return write(errand, id, operands[1]);
}

}  // namespace haricot::tool
