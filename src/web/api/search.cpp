#include "web/api/search.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "haricot/base/json.hpp"
#include "haricot/base/number.hpp"
#include "tool/client/job_page.hpp"
#include "tool/client/json_object.hpp"
#include "web/api/answer.hpp"
#include "web/api/job_json.hpp"
#include "web/api/jobs.hpp"
#include "web/api/parameters.hpp"
#include "web/api/text_pattern.hpp"

namespace haricot::web {
namespace {

// A piece ends at either bound. A time suits servers of any speed, and each piece costs the caller
// a round trip.
constexpr Duration kTimeMax = Duration::milliseconds(200);
constexpr std::size_t kHitsMax = 200;
// Number of jobs in a page, and of ids that are requested at once.
constexpr std::uint64_t kJobsOfPage = 200;
// Largest number of ids in a piece. Most ids have no job any more, so they cost less.
constexpr std::uint64_t kIdsMax = 20'000;
// Ids above the number of puts that are searched for jobs of an earlier process.
constexpr std::uint64_t kIdsAbove = 100'000;
constexpr std::uint64_t kBodyBytesSearched = 1024 * 1024;
constexpr std::size_t kBodyBytesShownOfHit = 256;
constexpr std::size_t kBodyBytesBefore = 64;

struct Query {
  std::string tube;
  std::string state;
  TextPattern pattern;
};

// A match in one body, with the part of the body around it.
struct Hit {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;  // Size of the whole body.
  std::size_t offset = 0;   // Offset of the part in the body.
  std::string part;
  TextPattern::Match match;  // In the part.
};

// One piece of a search.
struct Piece {
  Query query;
  Instant until;
  std::uint64_t looked_at = 0;
  std::size_t hit_count = 0;
  std::string hits = "[";
  std::string next = {};  // Empty at the end of the search.

  bool is_over() const { return hit_count >= kHitsMax || Observer::now() >= until; }
  void add(const tool::StatsText& stats, const Hit& hit) {
    if (hit_count++ > 0) hits += ',';
    JsonWriter json;
    add_job(json, stats, hit.bytes);
    json.add_json("body_base64", json_base64(hit.part))
        .add("body_offset", std::uint64_t{hit.offset})
        .add("hit_offset", std::uint64_t{hit.match.offset})
        .add("hit_bytes", std::uint64_t{hit.match.bytes});
    json.add("is_cut", hit.part.size() < hit.bytes);
    hits += json.take();
  }
  bool wants(const tool::StatsText& stats) const {
    const auto is = [&stats](std::string_view key, const std::string& wanted) {
      const std::string* value = stats.find(key);
      return wanted.empty() || (value != nullptr && *value == wanted);
    };
    return is("tube", query.tube) && is("state", query.state);
  }
};

std::optional<Hit> find_in(std::uint64_t id, const tool::Answer& found,
                           const TextPattern& pattern) {
  const std::optional<TextPattern::Match> match = pattern.find(found.body);
  if (!match) return std::nullopt;
  std::size_t offset = match->offset - std::min(match->offset, kBodyBytesBefore);
  // The part begins with a whole UTF-8 character.
  const auto is_inside = [&found](std::size_t at) { return (found.body[at] & 0xc0) == 0x80; };
  while (offset > 0 && offset < match->offset && is_inside(offset)) ++offset;
  const std::string_view part = found.body.substr(offset, kBodyBytesShownOfHit);
  const std::size_t before = match->offset - offset;
  return Hit{.id = id,
             .bytes = found.body_bytes,
             .offset = offset,
             .part = std::string(part),
             .match = {.offset = before, .bytes = std::min(match->bytes, part.size() - before)}};
}

// Peeks at jobs and collects those whose body matches. Returns false if the server was lost.
Part<bool> peek_at(Server& server, const std::vector<std::uint64_t>& ids, const Query& query,
                   std::vector<Hit>& hits, std::uint64_t& found) {
  std::vector<std::string> peeks;
  peeks.reserve(ids.size());
  for (const std::uint64_t id : ids) peeks.push_back("peek " + std::to_string(id) + "\r\n");
  Server::Take take = [&](std::size_t index, const tool::Answer& answer) {
    if (answer.code != ReplyCode::found) return;
    ++found;
    std::optional<Hit> hit = find_in(ids[index], answer, query.pattern);
    if (hit) hits.push_back(std::move(*hit));
  };
  co_return co_await server.ask_all(std::move(peeks), std::move(take), kBodyBytesSearched);
}

Part<bool> search_pages(Server& server, Piece& piece, std::uint64_t from) {
  while (true) {
    std::string command = "scan-jobs " + std::to_string(from) + " " + std::to_string(kJobsOfPage);
    if (!piece.query.tube.empty()) command += " " + piece.query.tube;
    if (!piece.query.tube.empty() && !piece.query.state.empty()) command += " " + piece.query.state;
    command += "\r\n";
    const std::optional<tool::Response> told = co_await server.ask(command);
    if (!told) co_return false;
    const std::optional<tool::JobPage> page = tool::parse_job_page(told->body);
    if (!page) co_return false;
    std::vector<std::uint64_t> ids;
    for (const tool::StatsText& job : page->jobs) {
      if (piece.wants(job)) ids.push_back(job.number("id").value_or(0));
    }
    std::vector<Hit> hits;
    std::uint64_t found = 0;
    const bool is_good = co_await peek_at(server, ids, piece.query, hits, found);
    if (!is_good) co_return false;
    auto job = page->jobs.begin();
    for (const Hit& hit : hits) {
      while (job->number("id") != hit.id) ++job;
      piece.add(*job, hit);
    }
    piece.looked_at += page->jobs.size();
    from = page->next;
    if (from == 0) co_return true;
    if (piece.is_over()) break;
  }
  piece.next = std::to_string(from);
  co_return true;
}

// Returns the next ids and advances the cursor; empty at the end.
std::vector<std::uint64_t> take_ids(SearchCursor& cursor, std::uint64_t puts) {
  std::vector<std::uint64_t> ids;
  while (ids.size() < kJobsOfPage) {
    if (!cursor.is_up && cursor.id == 0) cursor = {true, puts + 1, cursor.found};
    if (cursor.is_up && cursor.id > puts + kIdsAbove) break;
    ids.push_back(cursor.id);
    cursor.id = cursor.is_up ? cursor.id + 1 : cursor.id - 1;
  }
  return ids;
}

Part<bool> search_ids(Server& server, Piece& piece, std::optional<SearchCursor> after) {
  const std::optional<tool::Response> told = co_await server.ask("stats\r\n");
  const auto stats = told ? tool::StatsText::parse(told->body) : std::optional<tool::StatsText>();
  if (!stats) co_return false;
  const std::uint64_t puts = stats->number("total-jobs").value_or(0);
  std::uint64_t jobs = 0;
  for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
    jobs += stats->number("current-jobs-" + std::string(state)).value_or(0);
  }
  SearchCursor cursor = after.value_or(SearchCursor{.is_up = false, .id = puts, .found = 0});
  std::uint64_t asked = 0;
  while (cursor.found < jobs) {
    // Each piece makes progress, even if the server is slow.
    if (asked >= kIdsMax || (asked > 0 && piece.is_over())) {
      piece.next = cursor.text();
      co_return true;
    }
    const std::vector<std::uint64_t> ids = take_ids(cursor, puts);
    if (ids.empty()) co_return true;
    asked += ids.size();
    std::vector<Hit> hits;
    std::uint64_t found = 0;
    const bool is_good = co_await peek_at(server, ids, piece.query, hits, found);
    if (!is_good) co_return false;
    cursor.found += found;
    piece.looked_at += found;
    for (const Hit& hit : hits) {
      const MaybeJob job = co_await ask_job(server, hit.id);
      if (!job) co_return false;
      if (*job && piece.wants(**job)) piece.add(**job, hit);
    }
  }
  co_return true;
}

Part<bool> search_id(Server& server, Piece& piece, std::uint64_t id) {
  std::vector<std::uint64_t> ids = {id};
  std::vector<Hit> hits;
  const bool is_good = co_await peek_at(server, ids, piece.query, hits, piece.looked_at);
  if (!is_good) co_return false;
  if (hits.empty()) co_return true;
  const MaybeJob job = co_await ask_job(server, id);
  if (!job) co_return false;
  if (*job && piece.wants(**job)) piece.add(**job, hits.front());
  co_return true;
}

}  // namespace

std::optional<SearchCursor> SearchCursor::read(std::string_view text) {
  SearchCursor cursor;
  cursor.is_up = text.starts_with("up ");
  if (!cursor.is_up && !text.starts_with("down ")) return std::nullopt;
  text.remove_prefix(text.find(' ') + 1);
  const std::optional<std::uint64_t> id = take_number(text);
  if (!id || !text.starts_with(' ')) return std::nullopt;
  const std::optional<std::uint64_t> found = read_number(text.substr(1));
  if (!found) return std::nullopt;
  cursor.id = *id;
  cursor.found = *found;
  return cursor;
}

std::string SearchCursor::text() const {
  return (is_up ? "up " : "down ") + std::to_string(id) + " " + std::to_string(found);
}

Task answer_search(Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  TextPattern pattern = TextPattern::of_text(parameters.text("contains"));
  if (const std::string base64 = parameters.text("contains_base64"); !base64.empty()) {
    const std::optional<std::string> bytes = tool::from_base64(base64);
    if (!bytes) parameters.complain("contains_base64 is not base64");
    pattern = TextPattern::of_bytes(bytes.value_or(std::string()));
  }
  Piece piece{.query = {parameters.tube("tube"), parameters.state("state"), std::move(pattern)},
              .until = {}};
  const std::optional<std::uint64_t> id = parameters.optional_number("id");
  const std::string after = parameters.text("after");
  const bool has_pages = server.facts().can("scan-jobs");
  const std::optional<std::uint64_t> from = after.empty() ? 0 : read_number(after);
  const std::optional<SearchCursor> cursor = SearchCursor::read(after);
  if (!after.empty() && !(has_pages ? from.has_value() : cursor.has_value())) {
    parameters.complain("after is not a position of a search on this server");
  }
  if (!parameters.error().empty()) {
    refuse(*exchange, 400, parameters.error());
    co_return;
  }
  if (server.searches().is_full()) {
    refuse(*exchange, 503, "too many searches are running on this server");
    co_return;
  }
  co_await server.searches().enter();
  const Turnstile::Pass pass{server.searches()};
  piece.until = Observer::now() + kTimeMax;
  bool is_good = false;
  if (id) {
    is_good = co_await search_id(server, piece, *id);
  } else if (has_pages) {
    is_good = co_await search_pages(server, piece, *from);
  } else {
    is_good = co_await search_ids(server, piece, cursor);
  }
  if (!is_good) {
    refuse_lost(*exchange);
    co_return;
  }
  JsonWriter json;
  json.add_json("hits", piece.hits + "]").add("looked_at", piece.looked_at);
  json.add_json("next", piece.next.empty() ? "null" : json_string(piece.next));
  answer(*exchange, json.add("done", piece.next.empty()).take());
}

}  // namespace haricot::web
