#include "web/api/action_request.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"
#include "tool/client/json_object.hpp"

namespace haricot::web {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"kick",   "kick-job", "pause", "bury",
                                                    "delete", "flush",    "move",  "put"};
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint32_t>::max();

using Value = tool::JsonObject::Value;

// Reads members of the object. The first mistake becomes the error.
class Reader {
 public:
  Reader(const tool::JsonObject& object, std::string& error) : object_(object), error_(error) {}

  void complain(std::string_view name, std::string_view what) {
    if (error_.empty()) error_ = std::string(name) + " " + std::string(what);
  }
  std::string text(std::string_view name) {
    const Value* value = object_.find(name);
    if (value == nullptr) return {};
    if (value->kind != Value::Kind::string) complain(name, "is not a string");
    return value->text;
  }
  std::string tube(std::string_view name) {
    std::string value = text(name);
    if (!is_tube_name(value)) complain(name, "is not a tube name");
    return value;
  }
  std::uint64_t number(std::string_view name, std::optional<std::uint64_t> otherwise) {
    const Value* value = object_.find(name);
    if (value == nullptr && otherwise) return *otherwise;
    const std::optional<std::uint64_t> number =
        value != nullptr && value->kind == Value::Kind::number ? read_number(value->text)
                                                               : std::nullopt;
    if (!number || *number > kNumberMax) complain(name, "is not a number up to 4294967295");
    return number.value_or(0);
  }
  std::vector<std::uint64_t> ids() {
    const Value* value = object_.find("ids");
    std::vector<std::uint64_t> ids;
    if (value != nullptr && value->kind == Value::Kind::numbers) {
      for (const std::string& item : value->items) {
        const std::optional<std::uint64_t> id = read_number(item);
        if (!id) complain("ids", "contains an invalid job id");
        ids.push_back(id.value_or(0));
      }
    }
    if (ids.empty() || ids.size() > ActionRequest::kIdsMax) {
      complain("ids", "must be an array of 1 to 1000 job ids");
    }
    return ids;
  }
  std::string body() {
    if (object_.find("body_base64") == nullptr) return text("body");
    std::optional<std::string> bytes = tool::from_base64(text("body_base64"));
    if (!bytes) complain("body_base64", "is not base64");
    return std::move(bytes).value_or(std::string());
  }

 private:
  const tool::JsonObject& object_;
  std::string& error_;
};

}  // namespace

std::string_view name_of(Action action) {
  return kNames[static_cast<std::size_t>(action)];
}

std::optional<ActionRequest> ActionRequest::read(std::string_view json, std::string& error) {
  const auto object = tool::JsonObject::parse(json, error, tool::JsonObject::Arrays::of_numbers);
  if (!object) return std::nullopt;
  Reader reader(*object, error);
  ActionRequest request;
  request.server = reader.text("server");
  const std::string name = reader.text("action");
  std::size_t known = 0;
  while (known < kNames.size() && kNames[known] != name) ++known;
  if (known == kNames.size()) reader.complain("action", "is unknown");
  if (!error.empty()) return std::nullopt;
  request.action = static_cast<Action>(known);
  switch (request.action) {
    case Action::kick:
      request.tube = reader.tube("tube");
      request.count = reader.number("count", std::nullopt);
      break;
    case Action::pause:
      request.tube = reader.tube("tube");
      request.seconds = reader.number("seconds", std::nullopt);
      break;
    case Action::flush:
      request.tube = reader.tube("tube");
      request.state = reader.text("state");
      if (!request.state.empty() && request.state != "ready" && request.state != "delayed" &&
          request.state != "buried") {
        reader.complain("state", "is not ready, delayed or buried");
      }
      break;
    case Action::move:
      request.ids = reader.ids();
      request.to = reader.tube("to");
      break;
    case Action::kick_job:
    case Action::bury:
    case Action::delete_jobs:
      request.ids = reader.ids();
      break;
    case Action::put:
      request.tube = reader.tube("tube");
      request.priority = reader.number("priority", request.priority);
      request.delay = reader.number("delay", request.delay);
      request.ttr = reader.number("ttr", request.ttr);
      request.body = reader.body();
      break;
  }
  if (!error.empty()) return std::nullopt;
  return request;
}

std::string ActionRequest::words() const {
  std::string text;
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (!text.empty()) text += ' ';
    text += name;
    text += '=';
    text += value;
  };
  if (!tube.empty()) add("tube", tube);
  if (!to.empty()) add("to", to);
  if (!state.empty()) add("state", state);
  if (action == Action::kick) add("count", std::to_string(count));
  if (action == Action::pause) add("seconds", std::to_string(seconds));
  if (action == Action::put) add("bytes", std::to_string(body.size()));
  if (!ids.empty()) {
    std::string list;
    for (std::size_t i = 0; i < std::min(ids.size(), kIdsLogged); ++i) {
      if (i > 0) list += ',';
      list += std::to_string(ids[i]);
    }
    add("jobs", std::to_string(ids.size()));
    add("ids", list);
    if (ids.size() > kIdsLogged) add("more", std::to_string(ids.size() - kIdsLogged));
  }
  return text;
}

}  // namespace haricot::web
