#include <algorithm>
#include <string>

#include "haricot/base/encoding.hpp"
#include "mismatch.hpp"
#include "model.hpp"

// The notes of jobs. The line of a note changes nothing, and its body leaves no other trace than
// the answer, so the simulation puts the answer on the tape.

namespace haricot::simulation {
namespace {

constexpr std::size_t kNoteBytes = 1024;

}  // namespace

std::string shown_note(const std::string& note) {
  std::string line = note.substr(0, std::min(note.find('\n'), note.find('\r')));
  while (line.size() > 160) {
    // Characters of the notes that are sent have one or two bytes.
    const bool is_half = (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80;
    line.resize(line.size() - (is_half ? 2 : 1));
  }
  return json_string(line);
}

void Model::begin_note(int number, const Request& request) {
  ModelClient& client = clients_.at(number);
  client.put_is_open = true;
  client.put = request;
  client.put_id = 0;
}

bool Model::may_write_note(int number, JobId id) {
  const ModelJob* const job = find_job(id);
  return job != nullptr && (job->state != JobState::reserved || holds(number, id));
}

// The answer, which comes next, identifies the client.
void Model::finish_note(const Event& room, Tape& tape) {
  if (room.status == JournalStatus::later) return;  // It is retried.
  const bool is_refused = room.status != JournalStatus::ok;
  std::string text = "NOTED\r\n";
  if (is_refused) {
    text = room.status == JournalStatus::full ? "OUT_OF_MEMORY\r\n" : kInternalError;
  }
  Event record{.kind = Event::Kind::record_note};
  if (!is_refused) record = tape.take(Event::Kind::record_note);
  const auto told = tape.take_answer([&](const Event& event) {
    const ModelClient& client = clients_.at(event.client);
    const Request& put = client.put;
    return client.put_is_open && put.verb == Verb::note && put.id == room.id &&
           put.body_ends_well && put.body.size() <= kNoteBytes && put.end <= client.bytes_read &&
           (is_refused || put.body == record.job.note) && event.line.starts_with(text);
  });
  require(told.has_value(), "a note was written that nobody sent");
  require(may_write_note(told->client, room.id), "a note was written that was not allowed");
  ModelClient& client = clients_.at(told->client);
  client.put_is_open = false;
  if (!is_refused) {
    ModelJob& job = jobs_.at(room.id);
    require(!client.put.body.empty() || job.has_had_note, "a removed note was recorded twice");
    job.note = client.put.body;
    job.has_had_note = true;
    check_recorded(record, room.id);
    ++notes_;
  }
  answer(told->client, std::move(text), is_refused ? 0 : told->records);
}

// Handles the answer to a note without a record.
void Model::end_note_as_told(const Event& told) {
  ModelClient& client = clients_.at(told.client);
  const Request& put = client.put;
  require(put.end <= client.bytes_read, "a note was answered before its end");
  std::string text = kNotFound;
  if (put.body.size() > kNoteBytes) {
    text = "JOB_TOO_BIG\r\n";
  } else if (!put.body_ends_well) {
    text = "EXPECTED_CRLF\r\n";
  } else if (may_write_note(told.client, put.id)) {
    require(put.body.empty() && !jobs_.at(put.id).has_had_note, "a note was not recorded");
    text = "NOTED\r\n";
  }
  client.put_is_open = false;
  answer(told.client, std::move(text));
}

std::string Model::peek_note(JobId id) {
  const ModelJob* const job = find_job(id);
  if (job == nullptr || job->note.empty()) return kNotFound;
  return "FOUND " + std::to_string(id) + " " + std::to_string(job->note.size()) + "\r\n" +
         job->note + "\r\n";
}

}  // namespace haricot::simulation
