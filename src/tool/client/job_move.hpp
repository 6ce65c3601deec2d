// The states of a job that a client can reach, and a move of a job to another tube.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/client/put_tags.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// The states in which every client can reach a job. A reserved job is reachable only by its holder.
enum class Place : std::uint8_t { ready, delayed, buried };
inline constexpr Place kPlaces[] = {Place::ready, Place::delayed, Place::buried};

std::string_view name_of(Place place);

struct PlaceFlags {
  bool ready = false;
  bool delayed = false;
  bool buried = false;

  bool has(Place place) const;
  std::size_t count() const { return (ready ? 1U : 0U) + (delayed ? 1U : 0U) + (buried ? 1U : 0U); }
};
inline constexpr PlaceFlags kAllPlaces = {true, true, true};

// Initial delay of a copy that will be buried, or gets a note, so that no worker gets it in
// between.
inline constexpr std::uint64_t kDelayOfCopyS = 3600;

// Returns the commands that write the note of a copy, unless it is empty, and bring it to its
// place, each with its CR LF. A copy that was put with kDelayOfCopyS is then buried or ready.
std::vector<std::string> commands_to_finish(std::uint64_t copy, std::string_view note, Place place,
                                            std::uint64_t priority);

// Returns the delay to put a job with if `time_left_s` whole seconds are left. Rounds up, so the
// delay is never too short.
std::uint64_t remaining_delay_s(std::uint64_t time_left_s);

// Returns the state of a job at the time it was reserved, from its statistics just before and just
// after. Returns nothing if a worker held it in between, or the statistics are incomplete.
std::optional<Place> place_at_reserve(const StatsText& before, const StatsText& after);

// A job of scan-jobs or list-jobs, as far as a copy needs it besides its statistics.
struct ListedJob {
  std::uint64_t id = 0;
  PutTags tags;           // Tags that the copy keeps.
  bool has_note = false;  // The copy keeps the note, too.
};
ListedJob listed_job(const StatsText& job);

// Moves one job to another tube of its server; at every moment the job is in at least one of the
// two.
//
// The protocol has no command for it. The job is reserved, to keep workers away, put into the other
// tube, and then deleted; between put and deletion it is in both. A held job is peeked at instead
// of reserved, because a reserved job would no longer wait for its group if the move failed.
//
// JobMove has no connection: it returns the next commands, and takes the answers.
class JobMove final {
 public:
  enum class Outcome : std::uint8_t {
    moved,
    gone,    // Deleted, held by a worker, or not in one of the wanted states.
    stayed,  // Could not be moved, and is in the old tube.
    failed,  // The connection was lost, or a command was refused (see refused()).
  };

  // A necessary command that the server refused, and its answer.
  struct Refusal {
    std::string_view command;
    ReplyCode code = ReplyCode::none;
    std::string line;
  };

  // A tag `aft` makes it a held job. Requires: the tubes differ, and the server accepts the tags.
  JobMove(ListedJob job, std::string from, std::string to, PlaceFlags places);

  bool is_over() const { return commands_.empty(); }
  // Returns the next commands, each with its CR LF, for one connection; name() describes them in
  // messages. Requires: !is_over().
  const std::vector<std::string>& commands() const { return commands_; }
  std::string_view name() const { return name_; }
  // Takes the answers to all of commands(), in order.
  void take(const std::vector<Response>& answers);
  // Ends the move because the connection was lost.
  void lose();

  // Requires: is_over().
  Outcome outcome() const { return outcome_; }
  // Messages for the operator: reasons for staying, or the places where the job may be.
  const std::vector<std::string>& messages() const { return messages_; }
  // Empty if the connection was lost.
  const std::optional<Refusal>& refused() const { return refused_; }

 private:
  // The commands that were sent last.
  enum class Step : std::uint8_t {
    take_job,
    copy,
    drop_copy,
    finish_copy,
    remove,
    undo,
    give_back,
    kick
  };

  bool is_held() const { return job_.tags.has(Tag::after); }
  // Returns true if the copy is put with a delay, so that no worker gets it before it is complete.
  bool is_copied_late() const {
    return place_ == Place::buried || (place_ == Place::ready && !note_.empty());
  }
  void ask(Step step, std::string_view name, std::vector<std::string> commands);
  void took_job(const std::vector<Response>& answers);
  void begin_copy();
  void finish_copy();
  void copied(const Response& use, const Response& put);
  void removed(const Response& deleted);
  void undone(const Response& deleted);
  void gave_back(const Response& answer);
  // Restores the previous state of the reserved job, then ends with this outcome.
  void give_back(Outcome outcome);
  void leave(const std::string& why);
  void end(Outcome outcome);
  void refuse(std::string_view command, const Response& answer);
  // Ends the move after a failure within a step, and adds a message about the job's place.
  void fail();

  std::string job_here() const;    // For example "job 7 is in tube mail".
  std::string copy_there() const;  // For example "in tube news as job 9".
  std::string stays() const;       // For example "job 7 stays in tube mail".

  ListedJob job_;
  std::string from_;
  std::string to_;
  PlaceFlags places_;

  Step step_ = Step::take_job;
  std::string_view name_;
  std::vector<std::string> commands_;
  Outcome outcome_ = Outcome::failed;
  std::vector<std::string> messages_;
  std::optional<Refusal> refused_;

  // The job as it was when it was taken.
  Place place_ = Place::ready;
  std::uint64_t priority_ = 0;
  std::uint64_t delay_s_ = 0;  // Time left of a delayed job.
  std::uint64_t ttr_s_ = 0;
  std::string body_;
  std::string note_;
  std::uint64_t copy_ = 0;  // Id of the copy, once there is one.
  std::string why_;         // Reason for Outcome::stayed.
  bool is_twice_ = false;   // The job that stays is in both tubes.
};

}  // namespace haricot::tool
