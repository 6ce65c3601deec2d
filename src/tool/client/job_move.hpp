// Moving one job to another tube of its server, so that at no moment it is in neither of them.
//
// The protocol has no command for it. The job is reserved, so that no worker has it meanwhile, put
// into the other tube, and then deleted. Between the put and the deletion it is in both. A held job
// is not reserved but peeked at: if it had to stay, it would not wait for its group any more.
//
// JobMove has no connection: it says what is to be asked, and is told the answers.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/client/place.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// A buried job is put with this delay and then buried, so that no worker gets it in between.
inline constexpr std::uint64_t kDelayBeforeBuryS = 3600;

// The delay to put a job with that has been seen with so many whole seconds left: never too short.
std::uint64_t remaining_delay_s(std::uint64_t time_left_s);

// Where a job was when it was reserved, from its statistics right before that and right after.
// Nothing: somebody held it, or its statistics are none.
std::optional<Place> place_at_reserve(const StatsText& before, const StatsText& after);

class JobMove final {
 public:
  enum class Outcome : std::uint8_t {
    moved,
    gone,    // The job is not there any more, a worker holds it, or it is not in a place that is
             // meant.
    stayed,  // It could not be moved, and is where it was.
    failed,  // The server was lost, or has refused().
  };

  // What the server answered to a command that has to be done.
  struct Refusal {
    std::string_view command;
    ReplyCode code = ReplyCode::none;
    std::string line;
  };

  // `tags`: those of the job, which it keeps; with `aft` it is held. Requires: the tubes are two,
  // and the server takes these tags.
  JobMove(std::uint64_t id, std::string from, std::string to, PutTags tags, PlaceFlags places);

  bool is_over() const { return commands_.empty(); }
  // What is to be asked now, on one connection, each with its CR LF; and its name for a message.
  // Requires: it is not over.
  const std::vector<std::string>& commands() const { return commands_; }
  std::string_view name() const { return name_; }
  // Tells the answers to all of commands(), in their order.
  void take(const std::vector<Response>& answers);
  // There are none: the server is lost.
  void lose();

  // What it has come to. Requires: it is over.
  Outcome outcome() const { return outcome_; }
  // What a person has to know, a sentence each: why the job stays, or where it may be.
  const std::vector<std::string>& messages() const { return messages_; }
  // Nothing: the server was lost.
  const std::optional<Refusal>& refused() const { return refused_; }

 private:
  // What was asked last.
  enum class Step : std::uint8_t {
    take_job,
    copy,
    drop_copy,
    bury_copy,
    remove,
    undo,
    give_back,
    kick
  };

  bool is_held() const { return tags_.has(kAfterTag); }
  void ask(Step step, std::string_view name, std::vector<std::string> commands);
  void took_job(const std::vector<Response>& answers);
  void begin_copy();
  void copied(const Response& use, const Response& put);
  void removed(const Response& deleted);
  void undone(const Response& deleted);
  void gave_back(const Response& answer);
  // Makes of the reserved job what it was; then it has come to this.
  void give_back(Outcome outcome);
  void leave(const std::string& why);
  void end(Outcome outcome);
  void refuse(std::string_view command, const Response& answer);
  // The server has failed in the middle of a step.
  void fail();

  std::string job_here() const;    // "job 7 is in tube mail", as
  std::string copy_there() const;  // "in tube news as job 9", and
  std::string stays() const;       // "job 7 stays in tube mail".

  std::uint64_t id_;
  std::string from_;
  std::string to_;
  PutTags tags_;
  PlaceFlags places_;

  Step step_ = Step::take_job;
  std::string_view name_;
  std::vector<std::string> commands_;
  Outcome outcome_ = Outcome::failed;
  std::vector<std::string> messages_;
  std::optional<Refusal> refused_;

  // What is known of the job since it was reserved.
  Place place_ = Place::ready;
  std::uint64_t priority_ = 0;
  std::uint64_t delay_s_ = 0;  // Of a delayed job: what is left.
  std::uint64_t ttr_s_ = 0;
  std::string body_;
  std::uint64_t copy_ = 0;  // The id of the copy, when there is one.
  std::string why_;         // Of a job that stays.
  bool is_twice_ = false;   // Such a job is in both tubes.
};

}  // namespace haricot::tool
