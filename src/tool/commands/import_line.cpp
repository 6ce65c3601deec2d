#include "tool/commands/import_line.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"
#include "haricot/protocol/command.hpp"
#include "tool/cli/command_line.hpp"
#include "tool/client/job_move.hpp"
#include "tool/client/json_object.hpp"

namespace haricot::tool {
namespace {

using Value = JsonObject::Value;

// All keys that a line may have: those that are read, and others that export, peek --json and
// binlog dump --json write.
constexpr std::string_view kOwnKeys[] = {
    "tube",       "body",     "body_base64", "state",      "pri",    "ttr",          "delay",
    "time-left",  "held",     "id",          "age",        "file",   "reserves",     "holder",
    "bytes",      "timeouts", "kicks",       "releases",   "buries", "reserved-for", "buried-by",
    "buried-ago", "last-try", "note",        "note_base64"};
constexpr auto kKnownKeys = [] {
  std::array<std::string_view, std::size(kOwnKeys) + kTags> keys{};
  std::size_t size = 0;
  for (const std::string_view key : kOwnKeys) keys[size++] = key;
  for (const TagRow& row : kTagTable) keys[size++] = row.word;
  return keys;
}();

// Returns false if the line has an unknown key. It may be a mistyped one, and then the job would
// differ from the intended one.
bool check_keys(const JsonObject& line, std::string& error) {
  for (const auto& [key, value] : line.members()) {
    if (std::find(std::begin(kKnownKeys), std::end(kKnownKeys), key) != std::end(kKnownKeys)) {
      continue;
    }
    error = "\"" + key + "\" is not a key of a job" + suggestion(key, kKnownKeys);
    return false;
  }
  return true;
}

constexpr std::uint64_t kNumberMax = 4294967295;

// Reads a number into `to` if the line has the key. Returns false if the value is no number, or too
// large.
bool take_number(const JsonObject& line, std::string_view name, std::uint64_t& to,
                 std::string& error) {
  const Value* value = line.find(name);
  if (value == nullptr) return true;
  const std::optional<std::uint64_t> number =
      value->kind == Value::Kind::number ? read_number<std::uint64_t>(value->text) : std::nullopt;
  if (!number || *number > kNumberMax) {
    error = "\"" + std::string(name) + "\" is not a number up to 4294967295";
    return false;
  }
  to = *number;
  return true;
}

bool take_tube(const JsonObject& line, std::string& to, std::string& error) {
  if (!to.empty()) return true;
  const Value* tube = line.find("tube");
  if (tube == nullptr) {
    error = "missing \"tube\"";
    return false;
  }
  // Some JSON writers turn a name of digits into a number.
  to = tube->kind == Value::Kind::word ? std::string() : tube->text;
  if (is_tube_name(to)) return true;
  error = "\"tube\" is not a tube name";
  return false;
}

// Reads the text of `name`, or of the base64 in `name_base64`, into `to`. Leaves it as it is if the
// line has neither. Returns false if the value is invalid, or the line has both.
bool take_text(const JsonObject& line, const std::string& name, std::string& to,
               std::string& error) {
  const Value* text = line.find(name);
  const Value* base64 = line.find(name + "_base64");
  if (text == nullptr && base64 == nullptr) return true;
  std::optional<std::string> bytes;
  const Value& value = text != nullptr ? *text : *base64;
  if (value.kind == Value::Kind::string) {
    bytes = text != nullptr ? std::optional(value.text) : from_base64(value.text);
  }
  error = text != nullptr ? "\"" + name + "\" is not a string"
                          : "\"" + name + "_base64\" is not base64";
  if (text != nullptr && base64 != nullptr) {
    error = "it must have only one of \"" + name + "\" and \"" + name + "_base64\"";
    return false;
  }
  if (!bytes) return false;
  error.clear();
  to = std::move(*bytes);
  return true;
}

bool take_body(const JsonObject& line, std::string& to, std::string& error) {
  if ((line.find("body") == nullptr) == (line.find("body_base64") == nullptr)) {
    error = "it must have either \"body\" or \"body_base64\"";
    return false;
  }
  return take_text(line, "body", to, error);
}

bool take_note(const JsonObject& line, std::string& to, std::string& error) {
  if (!take_text(line, "note", to, error)) return false;
  if (to.size() <= kNoteBytesMax) return true;
  error = "\"note\" has more than " + std::to_string(kNoteBytesMax) + " bytes";
  return false;
}

bool take_place(const JsonObject& line, ImportJob& job, std::string& error) {
  const Value* state = line.find("state");
  if (state == nullptr) return true;
  const std::string_view name = state->text;
  if (name == "deleted") {
    job.is_deleted = true;
    return true;
  }
  const auto* const place = std::find_if(std::begin(kPlaces), std::end(kPlaces),
                                         [name](Place one) { return name_of(one) == name; });
  if (place == std::end(kPlaces) && name != "reserved") {
    error = "\"state\" is not ready, reserved, delayed or buried";
    return false;
  }
  if (place != std::end(kPlaces)) job.place = *place;
  return true;
}

// Sets `to` if the job waits for the end of a group. Returns false if "held" is no boolean.
bool take_held(const JsonObject& line, bool& to, std::string& error) {
  const Value* held = line.find("held");
  if (held == nullptr) return true;
  to = held->text == "true";
  if (to || held->text == "false") return true;
  error = "\"held\" is neither true nor false";
  return false;
}

bool take_tags(const JsonObject& line, bool is_held, PutTags& to, std::string& error) {
  for (const TagRow& row : kTagTable) {
    const Value* value = line.find(row.word);
    if (value == nullptr || !is_copied(row, is_held)) continue;
    // As with tubes, a key of digits may have become a number.
    if (value->kind != Value::Kind::word && to.add(row.tag, value->text)) continue;
    error = "invalid value of \"" + std::string(row.word) + "\"";
    return false;
  }
  return true;
}

}  // namespace

std::optional<ImportJob> parse_import_line(std::string_view line, const std::string& tube,
                                           std::string& error) {
  const std::optional<JsonObject> object = JsonObject::parse(line, error);
  if (!object || !check_keys(*object, error)) return std::nullopt;
  ImportJob job;
  job.tube = tube;
  std::uint64_t delay_s = 0;
  std::uint64_t left_s = kNumberMax + 1;  // Not given.
  bool is_held = false;
  if (!take_tube(*object, job.tube, error) || !take_place(*object, job, error)) return std::nullopt;
  if (job.is_deleted) return job;
  if (!take_number(*object, "pri", job.priority, error) ||
      !take_number(*object, "ttr", job.ttr_s, error) ||
      !take_number(*object, "delay", delay_s, error) ||
      !take_number(*object, "time-left", left_s, error) || !take_held(*object, is_held, error) ||
      !take_tags(*object, is_held, job.tags, error) || !take_body(*object, job.body, error) ||
      !take_note(*object, job.note, error)) {
    return std::nullopt;
  }
  if (job.place == Place::delayed) {
    // The delay of a held job has not begun.
    const bool is_left_known = left_s <= kNumberMax && !is_held;
    job.delay_s = is_left_known ? remaining_delay_s(left_s) : delay_s;
  }
  return job;
}

}  // namespace haricot::tool
