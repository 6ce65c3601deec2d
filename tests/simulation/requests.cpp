#include "requests.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "request_parts.hpp"

namespace haricot::simulation {
namespace {

// Above this number of jobs there are more deletes than puts.
constexpr std::size_t kJobsWanted = 60;
// The longest time that a key may outlive its job.
constexpr std::uint32_t kTombstoneSecondsMax = 4294967295;
struct MalformedLine {
  std::string_view line;
  std::string_view answer;
  Verb counted = Verb::quit;  // Counted as this command; quit: not counted.
};

constexpr MalformedLine kMalformedLines[] = {
    {"", kUnknown},
    {" ", kUnknown},
    {" stats", kUnknown},
    {"PUT 1 0 1 1", kUnknown},
    {"put", kUnknown},
    {"delete", kUnknown},
    {"kick-job5", kUnknown},
    {"peek-", kUnknown},
    {"\n", kUnknown},
    {"\xff\xfe", kUnknown},
    {"put 1 2 3", kBadFormat},
    {"put 1 2 3 x", kBadFormat},
    {"put 1 2 3 4 5", kBadFormat, Verb::put},
    {"put 1 2 3 4x", kBadFormat, Verb::put},
    {"put 1 2 3 4 idp:", kBadFormat, Verb::put},
    {"put 1 2 3 4 idp:a*b", kBadFormat, Verb::put},
    {"put 1 2 3 4 idp:a idp:b", kBadFormat, Verb::put},
    {"put 1 2 3 4 idp:a:", kBadFormat, Verb::put},
    {"put 1 2 3 4 idp:a:0", kBadFormat, Verb::put},
    {"put 1 2 3 4 idp:a:4294967296", kBadFormat, Verb::put},
    {"put 1 2 3 4 idp:a:1:1", kBadFormat, Verb::put},
    {std::string_view("put 1 2 3 4 \0", 13), kBadFormat},
    {"put -1 0 1 1", kBadFormat},
    {"put 4294967296 0 1 1", kBadFormat},
    {"put 1 0 1 4294967296", kBadFormat},
    {"delete ", kBadFormat},
    {"delete -1", kBadFormat},
    {"delete 1 2", kBadFormat},
    {"delete 18446744073709551616", kBadFormat},
    {"delete 1\n2", kBadFormat},
    {"stats\r", kBadFormat},
    {"stats x", kBadFormat},
    {"statsx", kBadFormat},
    {"reserve ", kBadFormat},
    {"reserve-job", kBadFormat},
    {"reserve-with-timeout", kBadFormat},
    {"reserve-with-timeout x", kBadFormat},
    {"reserve-with-timeout 2147483648", kBadFormat},
    {"reserve-with-timeout .5", kBadFormat},
    {"list-tubesx", kBadFormat},
    {"peek-ready 1", kBadFormat},
    {"use -a", kBadFormat},
    {"use ", kBadFormat},
    {"use a b", kBadFormat},
    {"watch a*b", kBadFormat},
    {"ignore  a", kBadFormat},
    {"kick x", kBadFormat},
    {"pause-tube", kBadFormat},
    {"pause-tube a", kBadFormat},
    {"pause-tube -a 1", kBadFormat, Verb::pause_tube},
    {"pause-tube -a 1 ", kBadFormat},
    {"release 1 1", kBadFormat},
    {"bury 1", kBadFormat},
    {std::string_view("stats\0", 6), kBadFormat},
    {std::string_view("\0", 1), kBadFormat},
};

// Text after the digits of a timeout.
constexpr std::string_view kTails[] = {" ", ".5", ",5", "x", " 7", "\t"};

std::uint32_t random_priority(test::Random& chance) {
  constexpr std::uint32_t kPriorities[] = {0, 1, 1, 5, 1023, 1024, 4294967295};
  return chance.one_in(2) ? chance.below32(2000) : chance.pick(kPriorities);
}

std::uint32_t random_delay(test::Random& chance) {
  if (!chance.one_in(3)) return 0;
  return chance.one_in(12) ? 30'000'000 + chance.below32(100) : chance.below32(6);
}

std::uint32_t random_ttr(test::Random& chance) {
  return chance.one_in(10) ? 4294967295 - chance.below32(2) : chance.below32(5);
}

// Concurrent clients hardly ever have small bodies of the same size: if the disk refuses a put,
// only its size identifies the client.
std::size_t small_body_bytes(test::Random& chance, int client) {
  return static_cast<std::size_t>(client % 30) * 2 + chance.below(2);
}

std::string random_body(test::Random& chance, int client, std::uint32_t job_bytes_max) {
  std::size_t bytes = small_body_bytes(chance, client);
  if (chance.one_in(10)) {
    const std::size_t sizes[] = {0,    1022, 1023, 1024,          1025,
                                 4095, 4096, 4097, job_bytes_max, chance.below(job_bytes_max + 1)};
    bytes = chance.pick(sizes);
  }
  std::string body = std::to_string(chance.bits()) + "\r\n";
  while (body.size() < bytes) body += static_cast<char>((body.size() * 131 + bytes) % 256);
  body.resize(bytes);
  return body;
}

// Most delays end within the run, and some reach their bound soon.
void add_backoff(Request& request, test::Random& chance) {
  request.backoff_s = 1 + chance.below32(8);
  request.line += " back:" + std::to_string(request.backoff_s);
  if (chance.one_in(2)) return;
  request.backoff_max_s = 1 + chance.below32(20);
  request.line += ":" + std::to_string(request.backoff_max_s);
}

// Few keys, so that jobs block each other.
void add_lane(Request& request, test::Random& chance) {
  request.lane = chance.one_in(3) ? "key" : "another-key";
  request.line += " con:" + request.lane;
  if (chance.one_in(2)) return;
  request.lane_limit = 1 + chance.below32(3);
  request.line += ":" + std::to_string(request.lane_limit);
}

// Very few keys, so that many puts are duplicates: one that a lane has as well, one that is the
// name of a tube, and the longest.
//
// Half of the keys outlive their jobs. Most of these end soon. Some, which are different keys, last
// so long that no put of them adds a job after the first deletion. Some puts have the key of the
// last deletion, which may not be safe yet.
void add_key(Request& request, test::Random& chance, const Model& model, int client) {
  static const std::string longest(100, 'k');
  const std::string_view keys[] = {"key", "key", "key", "default", longest};
  request.key = chance.pick(keys);
  if (chance.one_in(2)) request.tombstone_s = 1 + chance.below32(5);
  if (chance.one_in(20)) {
    request.key = "kept-" + std::to_string(chance.below(9));
    request.tombstone_s =
        chance.one_in(3) ? kTombstoneSecondsMax - chance.below32(2) : 1000 + chance.below32(9000);
  }
  const std::string tombstone = chance.one_in(3) ? model.last_tombstone_key(client) : std::string();
  if (!tombstone.empty()) request.key = tombstone;
  request.line += " idp:" + request.key;
  if (request.tombstone_s > 0) request.line += ":" + std::to_string(request.tombstone_s);
}

void make_look(Request& request, test::Random& chance, const Model& model, int client) {
  switch (chance.below(40)) {
    case 0:
      return make_line(request, Verb::stats);
    case 1:
      return make_line(request, Verb::list_tubes);
    case 2:
      return make_line(request, Verb::list_tube_used);
    case 3:
      return make_line(request, Verb::list_tubes_watched);
    case 4:
      return make_line(request, Verb::peek_ready);
    case 5:
      return make_line(request, Verb::peek_delayed);
    case 6:
      return make_line(request, Verb::peek_buried);
    case 7:
      request.id = random_id(chance, model, client);
      return make_line(request, Verb::peek, number(request.id));
    case 8:
    case 9:
      request.tube = random_tube(chance);
      return make_line(request, Verb::stats_tube, name(request.tube));
    default:
      request.id = random_id(chance, model, client);
      return make_line(request, Verb::stats_job, number(request.id));
  }
}

void make_tubes(Request& request, test::Random& chance, const Mix& mix) {
  request.tube = random_tube(chance);
  switch (chance.below(4)) {
    case 0:
      return make_line(request, Verb::use, name(request.tube));
    case 1:
      return make_line(request, Verb::watch, name(request.tube));
    case 2:
      return make_line(request, Verb::ignore, name(request.tube));
    default:
      request.seconds = chance.one_in(3) ? 0 : chance.below32(5);
      if (chance.one_in(40)) request.seconds = 4294967295;
      if (mix.is_crowded) request.tube = "nowhere";
      return make_line(request, Verb::pause_tube, name(request.tube) + number(request.seconds));
  }
}

void make_malformed(Request& request, test::Random& chance) {
  if (chance.one_in(4)) {
    request.kind = Request::Kind::too_long;
    request.line = chance.one_in(2) ? "put 1 2 3 " : "stats\r";
    request.line.resize(kLineBytesMax - 1 + (chance.one_in(2) ? 0 : chance.below(700)), 'x');
    if (chance.one_in(5)) request.line.back() = '\r';
    return;
  }
  const MalformedLine& chosen = chance.pick(kMalformedLines);
  request.kind = Request::Kind::malformed;
  request.line = chosen.line;
  request.answer = chosen.answer;
  request.is_counted = chosen.counted != Verb::quit;
  request.verb = chosen.counted;
}

}  // namespace

std::string random_tube(test::Random& chance) {
  static const std::string long_tube(200, 'l');
  const std::string_view names[] = {"default", "default", "a", "a", "b", "c;$_.()/+-", long_tube};
  return std::string(chance.pick(names));
}

JobId random_id(test::Random& chance, const Model& model, int client) {
  const auto& jobs = model.jobs();
  if (jobs.empty() || chance.one_in(10)) {
    return chance.one_in(4) ? chance.bits() : chance.below(100) + 1;
  }
  if (!chance.one_in(3)) {
    std::vector<JobId> held;
    for (const auto& [id, job] : jobs) {
      if (job.state == JobState::reserved && job.holder == client) held.push_back(id);
    }
    if (!held.empty()) return chance.pick(held);
  }
  return std::next(jobs.begin(), static_cast<std::ptrdiff_t>(chance.below(jobs.size())))->first;
}

std::string number(std::uint64_t value) {
  return " " + std::to_string(value);
}

void make_line(Request& request, Verb verb, std::string_view arguments) {
  request.verb = verb;
  request.line = row_of(verb).name();
  request.line += arguments;
}

std::string name(const std::string& tube) {
  return " " + tube;
}

void make_put(Request& request, test::Random& chance, const Model& model, int client,
              const Mix& mix, std::uint32_t job_bytes_max) {
  request.priority = random_priority(chance);
  request.seconds = random_delay(chance);
  request.ttr_s = random_ttr(chance);
  request.body = random_body(chance, client, job_bytes_max);
  while (model.has_other_put_of(request.body.size(), client)) {
    request.body = std::string(chance.below(600), 'b');
  }
  if (chance.one_in(60)) request.body.resize(job_bytes_max + 1 + chance.below(3000), 'b');
  request.body_ends_well = !chance.one_in(50);
  make_line(request, Verb::put,
            number(request.priority) + number(request.seconds) + number(request.ttr_s) +
                number(request.body.size()));
  const bool has_tags = model.client(client).commands != CommandSet::standard;
  if (mix.has_extended && has_tags && chance.one_in(3)) {
    request.tries = 1 + chance.below32(3);
    request.line += " try:" + std::to_string(request.tries);
  }
  if (mix.has_extended && has_tags && chance.one_in(3)) add_backoff(request, chance);
  if (mix.has_extended && has_tags && chance.one_in(3)) add_lane(request, chance);
  if (mix.has_extended && has_tags && chance.one_in(3)) add_key(request, chance, model, client);
  const bool may_group = mix.has_extended && has_tags;
  if (may_group && (mix.is_of_groups || chance.one_in(3))) add_groups(request, chance, model);
  // The body of a put that is too big is discarded whatever text follows its size.
  if (request.body.size() > job_bytes_max && chance.one_in(3)) request.line += chance.pick(kTails);
}

void make_reserve(Request& request, test::Random& chance, const Model& model, int client) {
  if (chance.one_in(5)) {
    request.id = random_id(chance, model, client);
    return make_line(request, Verb::reserve_job, number(request.id));
  }
  if (chance.one_in(6)) return make_line(request, Verb::reserve);
  request.seconds = chance.one_in(2) ? 0 : chance.below32(4);
  if (chance.one_in(30)) request.seconds = 2147483647;
  make_line(request, Verb::reserve_with_timeout, number(request.seconds));
  if (chance.one_in(4)) request.line += chance.pick(kTails);
}

void make_change(Request& request, test::Random& chance, const Model& model, int client) {
  request.id = random_id(chance, model, client);
  request.priority = random_priority(chance);
  switch (chance.below(7)) {
    case 0:
    case 1:
      request.seconds = random_delay(chance);
      return make_line(request, Verb::release,
                       number(request.id) + number(request.priority) + number(request.seconds));
    case 2:
    case 3:
      return make_line(request, Verb::bury, number(request.id) + number(request.priority));
    case 4:
      return make_line(request, Verb::touch, number(request.id));
    case 5:
      return make_line(request, Verb::kick_job, number(request.id));
    default:
      request.bound = chance.one_in(5) ? 4294967295 : chance.below32(5);
      return make_line(request, Verb::kick, number(request.bound));
  }
}

Request small_put(test::Random& chance, const Mix& mix, int client) {
  Request request{.priority = chance.below32(20),
                  .seconds = chance.one_in(10) ? 1000U : 0U,
                  .ttr_s = 100,
                  .body = std::string(small_body_bytes(chance, client), 's')};
  make_line(request, Verb::put,
            number(request.priority) + number(request.seconds) + number(request.ttr_s) +
                number(request.body.size()));
  if (mix.is_of_groups) add_group_of_crowd(request, chance);
  request.bytes = request.line + "\r\n" + request.body + "\r\n";
  return request;
}

Request random_request(test::Random& chance, const Mix& mix, const Model& model, int client,
                       std::uint32_t job_bytes_max) {
  Request request;
  const std::uint64_t kind = chance.below(100);
  const bool has_many = model.jobs().size() > (mix.is_crowded ? kJobsWantedInCrowd : kJobsWanted);
  // Clients without the set send some of it as well.
  const bool is_extended = chance.chance(mix.has_extended ? 58 : 2);
  if (mix.is_of_groups && !chance.one_in(3)) {
    make_of_groups(request, chance, mix, model, client, job_bytes_max);
  } else if (is_extended) {
    make_extended(request, chance, mix, model, client);
  } else if (kind < 25) {
    make_reserve(request, chance, model, client);
  } else if (kind < (has_many ? 30U : 50U)) {
    make_put(request, chance, model, client, mix, job_bytes_max);
  } else if (kind < 57) {
    request.id = random_id(chance, model, client);
    make_line(request, Verb::delete_job, number(request.id));
  } else if (kind < 75) {
    make_change(request, chance, model, client);
  } else if (kind < 83) {
    make_tubes(request, chance, mix);
  } else if (kind < 95) {
    make_look(request, chance, model, client);
  } else {
    make_malformed(request, chance);
  }
  request.bytes = request.line + "\r\n";
  const bool has_body = request.verb == Verb::put || request.verb == Verb::note;
  if (request.kind == Request::Kind::command && has_body) {
    request.bytes += request.body + (request.body_ends_well ? "\r\n"
                                     : chance.one_in(2)     ? "\r\r"
                                                            : "xy");
  }
  return request;
}

}  // namespace haricot::simulation
