#include "tool/bench/background.hpp"

#include <algorithm>

namespace haricot::tool {
namespace {

constexpr std::uint64_t kCommandsAtOnce = 1000;
constexpr std::uint64_t kBytesAtOnce = 256 * 1024;
// Too far away to become ready during the run. The delays differ, so that jobs are not ordered by
// their arrival.
constexpr std::uint32_t kDelaySeconds = 100'000;
constexpr std::uint64_t kDelaySpread = 997;

std::string put_command(std::uint64_t delay, std::string_view body) {
  std::string text = "put 0 " + std::to_string(delay) + " 120 " + std::to_string(body.size());
  text += "\r\n";
  text += body;
  text += "\r\n";
  return text;
}

}  // namespace

Background::Background(const BenchOptions& options, const Address& address, const BenchTubes& tubes,
                       std::string_view body)
    : options_(options), address_(address), tubes_(tubes), body_(body) {}

Duration Background::patience() const {
  return Duration::milliseconds(static_cast<std::int64_t>(options_.patience_ms));
}

bool Background::build(std::string& error) {
  const Surroundings& wanted = options_.surroundings;
  Dialogue dialogue(patience());
  if (!dialogue.open(address_, error)) return false;
  for (std::uint64_t tube = 0; tube < options_.tubes; ++tube) {
    const auto share = [this, tube](std::uint64_t total) {
      return share_of(total, options_.tubes, tube);
    };
    std::uint64_t ready = share(wanted.ready);
    // Each tube needs as many ready jobs as the load will take from it.
    if (options_.workload == Workload::take)
      ready += share(options_.count) + share(options_.warm_up);
    if (!put_jobs(dialogue, tube, ready, 0, error) ||
        !put_jobs(dialogue, tube, share(wanted.delayed), kDelaySeconds, error)) {
      return false;
    }
  }
  return make_idle_tubes(dialogue, error) && make_connections(error);
}

bool Background::put_jobs(Dialogue& dialogue, std::uint64_t tube, std::uint64_t count,
                          std::uint32_t delay, std::string& error) {
  if (count == 0) return true;
  const std::string use = "use " + tubes_.load(tube) + "\r\n";
  if (!dialogue.run("use", use, 1, ReplyCode::now_using, error)) return false;
  const std::uint64_t at_once =
      std::clamp<std::uint64_t>(kBytesAtOnce / (body_.size() + 40), 1, kCommandsAtOnce);
  std::string commands;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t batch = std::min(at_once, count - done);
    // Without a delay all commands are equal.
    const bool is_reusable = delay == 0 && done > 0 && batch == at_once;
    if (!is_reusable) {
      commands.clear();
      for (std::uint64_t i = 0; i < batch; ++i) {
        commands += put_command(delay == 0 ? 0 : delay + (done + i) * 7 % kDelaySpread, body_);
      }
    }
    if (!put_batch(dialogue, "put", commands, batch, delay > 0, error)) return false;
    done += batch;
  }
  return true;
}

// Puts a batch. Records the ids that have to be deleted in the end, even after a refusal. With
// `keeps_ids` these are all ids. Otherwise the load takes the ready jobs, so only jobs that the
// server buried for lack of memory are recorded.
bool Background::put_batch(Dialogue& dialogue, std::string_view name, std::string_view commands,
                           std::uint64_t answers, bool keeps_ids, std::string& error) {
  std::string odd;
  const auto check = [&](const Answer& answer) {
    const bool is_put = answer.code == ReplyCode::inserted;
    const bool is_buried = answer.code == ReplyCode::buried_new;
    if (is_buried || (is_put && keeps_ids)) ids_.add(answer.number);
    const bool is_good = is_put || answer.code == ReplyCode::now_using;
    if (!is_good && odd.empty()) odd = describe_unexpected(name, answer);
    return true;
  };
  if (!dialogue.run(name, commands, answers, check, error)) return false;
  if (!odd.empty()) error = odd;
  return odd.empty();
}

bool Background::make_idle_tubes(Dialogue& dialogue, std::string& error) {
  const std::uint64_t count = options_.surroundings.idle_tubes;
  const std::string put = put_command(0, "x");
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t batch = std::min(kCommandsAtOnce, count - done);
    std::string commands;
    for (std::uint64_t i = 0; i < batch; ++i) {
      commands += "use " + tubes_.idle(done + i) + "\r\n" + put;
    }
    if (!put_batch(dialogue, "use and put", commands, 2 * batch, true, error)) return false;
    done += batch;
  }
  return true;
}

bool Background::make_connections(std::string& error) {
  const Surroundings& wanted = options_.surroundings;
  for (std::uint64_t i = 0; i < wanted.idle_connections; ++i) {
    os::Descriptor socket = address_.connect(error);
    if (!socket) return false;
    silent_.push_back(std::move(socket));
  }
  // Connections are accepted in order, so an answer on a later one shows that all are accepted.
  Dialogue last(patience());
  if (wanted.idle_connections > 0 &&
      (!last.open(address_, error) ||
       !last.run("list-tube-used", "list-tube-used\r\n", 1, ReplyCode::now_using, error))) {
    return false;
  }
  for (std::uint64_t i = 0; i < wanted.waiting; ++i) {
    if (!add_waiting(tubes_.waiting(i), error)) return false;
  }
  for (std::uint64_t i = 0; i < wanted.waiting_together; ++i) {
    if (!add_waiting(tubes_.waiting_together(), error)) return false;
  }
  return true;
}

bool Background::add_waiting(const std::string& tube, std::string& error) {
  Dialogue worker(patience());
  if (!worker.open(address_, error)) return false;
  // The reserve gets no answer, because that tube never gets a job.
  const std::string commands = "watch " + tube + "\r\nignore default\r\nreserve\r\n";
  if (!worker.run("watch and ignore", commands, 2, ReplyCode::watching, error)) return false;
  silent_.push_back(worker.take_socket());
  return true;
}

bool Background::clear(std::string& error) {
  silent_.clear();
  if (options_.keep) return true;
  Dialogue dialogue(patience());
  return dialogue.open(address_, error) && delete_jobs(dialogue, ids_, error) &&
         empty_load_tubes(dialogue, error);
}

bool Background::delete_jobs(Dialogue& dialogue, const JobIds& ids, std::string& error) {
  // The job may be deleted already.
  const auto check = [](const Answer& answer) {
    return answer.code == ReplyCode::deleted || answer.code == ReplyCode::not_found;
  };
  std::string commands;
  std::uint64_t batch = 0;
  for (const JobIds::Range& range : ids.ranges()) {
    const std::uint64_t count = range.last - range.first + 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      commands += "delete " + std::to_string(range.first + i) + "\r\n";
      if (++batch < kCommandsAtOnce) continue;
      if (!dialogue.run("delete", commands, batch, check, error)) return false;
      commands.clear();
      batch = 0;
    }
  }
  return dialogue.run("delete", commands, batch, check, error);
}

// Reserves and deletes all ready jobs of the load's tubes.
bool Background::empty_load_tubes(Dialogue& dialogue, std::string& error) {
  for (std::uint64_t tube = 0; tube < options_.tubes; ++tube) {
    const std::string watch = "watch " + tubes_.load(tube) + "\r\nignore " +
                              (tube == 0 ? "default" : tubes_.load(tube - 1)) + "\r\n";
    if (!dialogue.run("watch", watch, 2, ReplyCode::watching, error)) return false;
    // Begin with one, because usually there are none.
    for (std::uint64_t at_once = 1; at_once > 0;) {
      std::string commands;
      for (std::uint64_t i = 0; i < at_once; ++i) commands += "reserve-with-timeout 0\r\n";
      JobIds taken;
      std::uint64_t count = 0;
      const auto check = [&taken, &count](const Answer& answer) {
        if (answer.code != ReplyCode::reserved) return answer.code == ReplyCode::timed_out;
        taken.add(answer.number);
        ++count;
        return true;
      };
      if (!dialogue.run("reserve-with-timeout", commands, at_once, check, error) ||
          !delete_jobs(dialogue, taken, error)) {
        return false;
      }
      at_once = count == at_once ? kCommandsAtOnce : 0;
    }
  }
  return true;
}

}  // namespace haricot::tool
