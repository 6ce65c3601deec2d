#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "request_parts.hpp"

// Requests of the extended set, valid and invalid.

namespace haricot::simulation {
namespace {

// Maximum of a batch in a crowded run.
constexpr std::uint32_t kBatchInCrowd = 60;

// Returns the answer to a line with an unknown word: one that begins with `reserve` is a reserve
// with text after it.
std::string_view answer_to_unknown(std::string_view line) {
  return line.starts_with("reserve") || line.starts_with("watch ") || line.starts_with("stats")
             ? kBadFormat
             : kUnknown;
}

// Lines that are unknown to clients without the command, and BAD_FORMAT for those with it.
struct MalformedExtended {
  std::string_view line;
  CommandSet set = CommandSet::extended;
};

constexpr MalformedExtended kMalformedExtended[] = {
    {"capabilities "},
    {"capabilities x"},
    {"flush-tube "},
    {"flush-tube -a"},
    {"flush-tube a "},
    {"flush-tube a reserved"},
    {"flush-tube a ready x"},
    {"flush-tube a readyx"},
    {"flush-tube  a"},
    {"scan-jobs 1"},
    {"scan-jobs 1 0"},
    {"scan-jobs 1 1001"},
    {"scan-jobs x 1"},
    {"scan-jobs 1 1 "},
    {"scan-jobs 1 1 -a"},
    {"scan-jobs 1 1 a none"},
    {"scan-jobs 1 1 a ready 1"},
    {"list-jobs a"},
    {"list-jobs a ready"},
    {"list-jobs a ready 0"},
    {"list-jobs a ready 1001"},
    {"list-jobs a none 1"},
    {"list-jobs a 1"},
    {"list-jobs -a ready 1"},
    {"stats-tube-detail "},
    {"stats-tube-detail -a"},
    {"stats-tube-detail a "},
    {"stats-tube-detail  a"},
    {"stats-tube-detail *"},
    {"stats-group "},
    {"stats-group a b"},
    {"stats-group *"},
    {"stats-tubes "},
    {"stats-tubes *"},
    {"stats-tubes * 0"},
    {"stats-tubes * 1001"},
    {"stats-tubes ** 1"},
    {"stats-tubes  * 1"},
    {"stats-tubes -a 1"},
    {"stats-tubes a 1 1"},
    {"stats-tubes 1"},
    {"reserve-batch"},
    {"reserve-batch "},
    {"reserve-batch 0"},
    {"reserve-batch 1001"},
    {"reserve-batch x"},
    {"reserve-batch 1 2147483648"},
    {"reserve-batch 1 0 0"},
    {"reserve-batch 1 x"},
    {"delete-batch "},
    {"delete-batch x"},
    {"delete-batch 1 -1"},
    {"delete-batch 1 2 x"},
    {"delete-batch 1 18446744073709551616"},
    {"watch a 0"},
    {"watch a 65536"},
    {"watch a 1 "},
    {"watch a x"},
    {"watch a 1 1"},
    {"reserve-mode "},
    {"reserve-mode fif"},
    {"reserve-mode fifo "},
    {"reserve-mode weighted 1"},
    {"wait-job "},
    {"wait-job 1"},
    {"wait-job x 1"},
    {"wait-job 1 x"},
    {"wait-job 1 -1"},
    {"wait-job 1 1 "},
    {"wait-job 1 1 1"},
    {"wait-job 1 4294967296"},
    {"note "},
    {"note 1"},
    {"note x 1"},
    {"note 1 x"},
    {"note 1 -1"},
    {"note 1 1 "},
    {"note 1 1 1"},
    {"note 1 4294967296"},
    {"peek-note "},
    {"peek-note x"},
    {"peek-note 1 "},
    {"peek-note 1 1"},
    {"drainx", CommandSet::operators},
    {"drain 1", CommandSet::operators},
    {"undrain ", CommandSet::operators},
};
// Lines that are unknown to all clients.
constexpr std::string_view kUnknownExtended[] = {"flush-tube",   "scan-jobs", "list-jobs",
                                                 "delete-batch", "Drain",     "undrai",
                                                 "capability",   "list-job"};

std::uint32_t random_count(test::Random& chance) {
  if (chance.one_in(8)) return 1000;
  return 1 + chance.below32(chance.one_in(3) ? 100 : 5);
}

StateWord random_state(test::Random& chance, bool may_be_reserved) {
  constexpr StateWord kStates[] = {StateWord::ready, StateWord::delayed, StateWord::buried,
                                   StateWord::reserved};
  return kStates[chance.below(may_be_reserved ? 4 : 3)];
}

std::string word_of(StateWord state) {
  const char* const words[] = {"", " ready", " reserved", " delayed", " buried"};
  return words[static_cast<std::size_t>(state)];
}

void make_scan(Request& request, test::Random& chance, const Model& model, int client) {
  request.id = chance.one_in(3) ? 0 : random_id(chance, model, client);
  request.bound = random_count(chance);
  std::string arguments = number(request.id) + number(request.bound);
  if (chance.one_in(2)) {
    request.tube = chance.one_in(10) ? "nowhere" : random_tube(chance);
    if (chance.one_in(2)) request.state = random_state(chance, true);
    arguments += name(request.tube) + word_of(request.state);
  }
  make_line(request, Verb::scan_jobs, arguments);
}

void make_client_page(Request& request, test::Random& chance) {
  request.id = chance.one_in(2) ? 0 : chance.below(chance.one_in(4) ? 10'000 : 12);
  request.bound = random_count(chance);
  make_line(request, Verb::list_clients, number(request.id) + number(request.bound));
}

void make_list(Request& request, test::Random& chance) {
  request.tube = random_tube(chance);
  request.state = random_state(chance, true);
  request.bound = random_count(chance);
  make_line(request, Verb::list_jobs,
            name(request.tube) + word_of(request.state) + number(request.bound));
}

void make_reports(Request& request, test::Random& chance) {
  if (chance.one_in(3)) {
    request.after = random_group(chance);
    return make_line(request, Verb::stats_group, name(request.after));
  }
  request.tube = chance.one_in(20) ? "nowhere" : random_tube(chance);
  if (chance.one_in(2)) return make_line(request, Verb::stats_tube_detail, name(request.tube));
  if (chance.one_in(3)) request.tube = "*";
  request.bound = random_count(chance);
  make_line(request, Verb::stats_tubes, name(request.tube) + number(request.bound));
}

// If many TTRs end at the same instant, a turn handles only some. Earlier requests of the client
// count, because they may have been answered by then.
bool may_touch_all(const Model& model, int client) {
  constexpr std::uint64_t kHeldMax = 50;
  std::uint64_t held = 0;
  for (const auto& [id, job] : model.jobs())
    held += job.state == JobState::reserved && job.holder == client ? 1 : 0;
  for (const Request& request : model.client(client).requests)
    held += request.verb == Verb::reserve_batch ? request.bound : 1;
  return held <= kHeldMax;
}

void make_reserve_batch(Request& request, test::Random& chance, const Mix& mix) {
  if (chance.one_in(5)) return make_line(request, Verb::reserve_with_abort);
  request.bound = mix.is_crowded ? 1 + chance.below32(kBatchInCrowd) : random_count(chance);
  request.has_timeout = chance.one_in(2);
  std::string arguments = number(request.bound);
  if (request.has_timeout) {
    request.seconds = chance.one_in(3) ? 0 : chance.below32(4);
    if (chance.one_in(30)) request.seconds = 2147483647;
    arguments += number(request.seconds);
  }
  make_line(request, Verb::reserve_batch, arguments);
}

void make_weight(Request& request, test::Random& chance) {
  if (chance.one_in(3)) {
    request.is_weighted = !chance.one_in(4);
    return make_line(request, Verb::reserve_mode, request.is_weighted ? " weighted" : " fifo");
  }
  request.tube = random_tube(chance);
  request.bound = chance.one_in(10) ? kWatchWeightMax - chance.below32(2) : 1 + chance.below32(9);
  make_line(request, Verb::watch_by_weight, name(request.tube) + number(request.bound));
}

// Two notes in three are for jobs that the client may write to.
void make_note(Request& request, test::Random& chance, const Model& model, int client) {
  std::vector<JobId> with_note;
  for (const auto& [id, job] : model.jobs()) {
    if (!job.note.empty()) with_note.push_back(id);
  }
  request.id = with_note.empty() || chance.one_in(2) ? random_id(chance, model, client)
                                                     : chance.pick(with_note);
  if (chance.one_in(4)) return make_line(request, Verb::peek_note, number(request.id));
  const std::string_view texts[] = {"",         "",         "50 %", "error \"x\\y\"\nat line 3\r\n",
                                    "\x01\xff", "stats\r\n"};
  request.body = chance.pick(texts);
  if (chance.one_in(3)) {
    for (std::uint64_t left = chance.below(700); left > 0; --left) request.body += "\xc3\xa4";
  }
  if (chance.one_in(10)) request.body.resize(1023 + chance.below(4), 'n');
  request.body_ends_well = !chance.one_in(30);
  make_line(request, Verb::note, number(request.id) + number(request.body.size()));
}

void make_delete_batch(Request& request, test::Random& chance, const Mix& mix, const Model& model,
                       int client) {
  std::uint64_t ids = 1 + chance.below(6);
  if (chance.one_in(mix.is_crowded ? 200 : 10)) ids = 1 + chance.below(1000);
  if (chance.one_in(mix.is_crowded ? 400 : 40)) ids = 1000;
  std::vector<JobId> all;
  const bool has_worked = chance.one_in(4);  // Through its reserved batch.
  for (const auto& [id, job] : model.jobs()) {
    all.push_back(id);
    const bool is_held = job.state == JobState::reserved && job.holder == client;
    if (has_worked && is_held && request.ids.size() < ids) request.ids.push_back(id);
  }
  while (request.ids.size() < ids) {
    const bool is_any = all.empty() || chance.one_in(10);
    request.ids.push_back(is_any ? chance.bits() >> chance.below(64) : chance.pick(all));
    // Repeats an id.
    if (chance.one_in(20) && request.ids.size() < ids) request.ids.push_back(request.ids.front());
  }
  std::string arguments;
  for (const JobId id : request.ids) arguments += number(id);
  make_line(request, Verb::delete_batch, arguments);
}

void make_malformed_extended(Request& request, test::Random& chance, CommandSet commands) {
  request.kind = Request::Kind::malformed;
  if (chance.one_in(6)) {
    request.line = chance.pick(kUnknownExtended);
    request.answer = kUnknown;
    return;
  }
  if (!chance.one_in(4)) {
    const MalformedExtended& chosen = chance.pick(kMalformedExtended);
    request.line = chosen.line;
    request.answer = chosen.set <= commands ? kBadFormat : answer_to_unknown(chosen.line);
    return;
  }
  // More ids than a command may have, and a line that is too long even for it.
  request.line = "delete-batch";
  for (std::uint64_t id = chance.below(1000); request.line.size() < 5200; ++id) {
    request.line += number(id);
  }
  request.answer = kBadFormat;
  if (chance.one_in(2)) request.line.resize(kBatchLineBytesMax - 1 + chance.below(700), '1');
  const bool is_too_long = request.line.size() + 2 > kBatchLineBytesMax;
  if (is_too_long || commands == CommandSet::standard) request.kind = Request::Kind::too_long;
}

bool is_too_long(const Request& request) {
  return request.line.size() + 2 > kLineBytesMax;
}

// Makes a command of our own from a client that does not have it.
void make_unknown(Request& request) {
  request = {.kind = is_too_long(request) ? Request::Kind::too_long : Request::Kind::malformed,
             .answer = std::string(answer_to_unknown(request.line)),
             .line = std::move(request.line)};
}

void make_drain(Request& request, test::Random& chance, const Model& model) {
  const bool is_end = model.is_draining() ? !chance.one_in(5) : chance.one_in(2);
  make_line(request, is_end ? Verb::undrain : Verb::drain);
}

}  // namespace

void make_flush(Request& request, test::Random& chance) {
  request.tube = chance.one_in(10) ? "nowhere" : random_tube(chance);
  if (chance.one_in(4)) return make_line(request, Verb::flush_buried, name(request.tube));
  if (chance.one_in(2)) request.state = random_state(chance, false);
  make_line(request, Verb::flush_tube, name(request.tube) + word_of(request.state));
}

void make_wait_job(Request& request, test::Random& chance, const Model& model) {
  std::vector<JobId> all;
  for (const auto& [id, job] : model.jobs()) all.push_back(id);
  const bool is_any = all.empty() || chance.one_in(10);
  request.id = is_any ? chance.bits() >> chance.below(64) : chance.pick(all);
  request.seconds = chance.one_in(10) ? 0 : chance.below32(4);
  if (chance.one_in(30)) request.seconds = 4294967295;
  make_line(request, Verb::wait_job, number(request.id) + number(request.seconds));
}

void make_extended(Request& request, test::Random& chance, const Mix& mix, const Model& model,
                   int client) {
  const CommandSet commands = model.client(client).commands;
  const std::uint64_t kind = chance.below(100);
  // A crowd takes time to gather.
  const bool may_flush =
      !mix.is_crowded || model.jobs().size() > kJobsWantedInCrowd * 3 / 4 || chance.one_in(60);
  if (kind < 4) {
    make_line(request, Verb::capabilities);
  } else if (kind < 12 && may_flush) {
    make_flush(request, chance);
  } else if (kind < 30) {
    make_scan(request, chance, model, client);
  } else if (kind < 32) {
    make_client_page(request, chance);
  } else if (kind < 40) {
    make_list(request, chance);
  } else if (kind < 46) {
    make_reports(request, chance);
  } else if (kind < 50 && may_touch_all(model, client)) {
    make_line(request, Verb::touch_all);
  } else if (kind < 54) {
    make_wait_job(request, chance, model);
  } else if (kind < 62) {
    make_note(request, chance, model, client);
  } else if (kind < 70) {
    make_reserve_batch(request, chance, mix);
  } else if (kind < 78) {
    make_weight(request, chance);
  } else if (kind < 92) {
    make_delete_batch(request, chance, mix, model, client);
  } else if (kind < (model.is_draining() ? 96U : 93U)) {
    make_drain(request, chance, model);
  } else {
    return make_malformed_extended(request, chance, commands);
  }
  const bool is_batch = request.verb == Verb::delete_batch && commands != CommandSet::standard;
  if (row_of(request.verb).set > commands) return make_unknown(request);
  // A long name of a tube, with a state after it.
  if (!is_batch && is_too_long(request)) request.kind = Request::Kind::too_long;
}

}  // namespace haricot::simulation
