#include "tool/top/acts.hpp"

#include <algorithm>
#include <utility>

#include "tool/cli/flags.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/top/figures.hpp"

namespace haricot::tool {
namespace {

constexpr std::size_t kTimeBytesMax = 16;
constexpr std::uint64_t kKickMax = 2147483647;  // Accepted by every server.

std::string jobs(std::uint64_t count) {
  return grouped(count) + (count == 1 ? " job" : " jobs");
}

std::string no_tube(const Act& act) {
  return "there is no tube " + safe_word(act.tube);
}

// Using a tube that does not exist would create it, so check first.
std::optional<std::string> kick(const Act& act, Remote& server) {
  bool is_there = false;
  if (!server.ask_stats("stats-tube " + act.tube, is_there)) return std::nullopt;
  if (!is_there) return no_tube(act);
  // Not sent together: after a failed `use` the connection would kick jobs of another tube.
  if (!server.ask("use " + act.tube, ReplyCode::now_using)) return std::nullopt;
  const auto kicked = server.ask("kick " + std::to_string(act.number), ReplyCode::kicked);
  if (!kicked || !server.ask("use default", ReplyCode::now_using)) return std::nullopt;
  return "kicked " + jobs(kicked->number) + " of tube " + safe_word(act.tube);
}

std::optional<std::string> pause(const Act& act, Remote& server) {
  const std::string command = "pause-tube " + act.tube + " " + std::to_string(act.number);
  const std::optional<Response> paused = server.ask(command, ReplyCode::paused);
  if (!paused) return std::nullopt;
  if (paused->code == ReplyCode::not_found) return no_tube(act);
  if (act.number == 0) return "tube " + safe_word(act.tube) + " is resumed";
  return "tube " + safe_word(act.tube) + " is paused for " + std::to_string(act.number) + " s";
}

std::optional<std::string> flush_tube(const Act& act, Remote& server) {
  const std::optional<Response> flushed = server.ask("flush-tube " + act.tube, ReplyCode::flushed);
  if (!flushed) return std::nullopt;
  if (flushed->code == ReplyCode::not_found) return no_tube(act);
  return "deleted " + jobs(flushed->number) + " of tube " + safe_word(act.tube);
}

}  // namespace

std::optional<Question> Question::ask(Act::Kind kind, const TubeStats& tube, std::string& reason) {
  const std::string name = safe_word(tube.name);
  Act act{kind, tube.name, 0};
  switch (kind) {
    case Act::Kind::pause:
      return Question(std::move(act),
                      "Pause tube " + name + " for how long (seconds, or 5m; 0 ends a pause)? ");
    case Act::Kind::kick: {
      act.number = tube.buried > 0 ? tube.buried : tube.delayed;
      if (act.number == 0) {
        reason = "tube " + name + " has no buried or delayed jobs to kick";
        return std::nullopt;
      }
      act.number = std::min(act.number, kKickMax);
      const std::string state = tube.buried > 0 ? "buried " : "delayed ";
      return Question(act, "Make " + grouped(act.number) + " " + state +
                               (act.number == 1 ? "job" : "jobs") + " of tube " + name +
                               " ready? [y/N] ");
    }
    case Act::Kind::flush:
      act.number = tube.ready + tube.delayed + tube.buried;
      if (act.number == 0) {
        reason = "tube " + name + " has no jobs to delete";
        return std::nullopt;
      }
      return Question(act, "DELETE all ready, delayed and buried jobs of tube " + name + " (" +
                               grouped(act.number) + ")? [y/N] ");
  }
  return std::nullopt;
}

std::string Question::text() const {
  return words_ + typed_;
}

Question::Answer Question::take(const Keystroke& stroke) {
  if (stroke.key == Key::escape) return Answer::no;
  if (act_.kind != Act::Kind::pause) {
    return stroke.character == 'y' || stroke.character == 'Y' ? Answer::yes : Answer::no;
  }
  if (stroke.key == Key::enter) {
    const std::optional<std::uint64_t> seconds = read_seconds(typed_);
    if (!seconds) return Answer::no;
    act_.number = *seconds;
    return Answer::yes;
  }
  if (stroke.key == Key::erase && !typed_.empty()) typed_.pop_back();
  if (stroke.key == Key::erase_all) typed_.clear();
  // Invalid characters are shown, too, so that the answer is exactly the text on screen.
  if (stroke.character > ' ' && typed_.size() < kTimeBytesMax) typed_ += stroke.character;
  return Answer::open;
}

std::optional<std::string> perform(const Act& act, Remote& server) {
  switch (act.kind) {
    case Act::Kind::pause:
      return pause(act, server);
    case Act::Kind::kick:
      return kick(act, server);
    case Act::Kind::flush:
      return flush_tube(act, server);
  }
  return std::nullopt;
}

}  // namespace haricot::tool
