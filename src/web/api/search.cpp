#include "web/api/search.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/encoding.hpp"
#include "haricot/base/number.hpp"
#include "tool/client/json_object.hpp"
#include "tool/client/list_page.hpp"
#include "web/api/jobs.hpp"
#include "web/api/messages.hpp"

namespace haricot::web {
namespace {

// JSON in a string of JSON, and no deeper.
constexpr int kEscapeLevelsMax = 2;
// Above the last character of Unicode: invalid UTF-8 bytes, and the end of the body.
constexpr std::uint32_t kNoCharacter = 0x110000;
constexpr std::uint32_t kEnd = 0xffffffff;

// Every `step`-th code from first to last is an upper case; adding `delta` gives its lower case.
struct CaseRange {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t step;
  std::int32_t delta;
};
constexpr CaseRange kCaseRanges[] = {
    {0x41, 0x5a, 1, 32},        {0xb5, 0xb5, 1, 775},    {0xc0, 0xd6, 1, 32},
    {0xd8, 0xde, 1, 32},        {0x100, 0x12e, 2, 1},    {0x132, 0x136, 2, 1},
    {0x139, 0x147, 2, 1},       {0x14a, 0x176, 2, 1},    {0x178, 0x178, 1, -121},
    {0x179, 0x17d, 2, 1},       {0x17f, 0x17f, 1, -268}, {0x1a0, 0x1a4, 2, 1},
    {0x1af, 0x1af, 1, 1},       {0x1cd, 0x1db, 2, 1},    {0x1de, 0x1ee, 2, 1},
    {0x1f8, 0x21e, 2, 1},       {0x222, 0x232, 2, 1},    {0x386, 0x386, 1, 38},
    {0x388, 0x38a, 1, 37},      {0x38c, 0x38c, 1, 64},   {0x38e, 0x38f, 1, 63},
    {0x391, 0x3a1, 1, 32},      {0x3a3, 0x3ab, 1, 32},   {0x3c2, 0x3c2, 1, 1},
    {0x400, 0x40f, 1, 80},      {0x410, 0x42f, 1, 32},   {0x460, 0x480, 2, 1},
    {0x48a, 0x4be, 2, 1},       {0x4c0, 0x4c0, 1, 15},   {0x4c1, 0x4cd, 2, 1},
    {0x4d0, 0x52e, 2, 1},       {0x531, 0x556, 1, 48},   {0x1e00, 0x1e94, 2, 1},
    {0x1e9e, 0x1e9e, 1, -7615}, {0x1ea0, 0x1efe, 2, 1},  {0x212a, 0x212a, 1, -8383},
    {0x212b, 0x212b, 1, -8262}, {0xff21, 0xff3a, 1, 32},
};

// Reads the characters of a body one by one. Level 0 has the characters as they stand; each higher
// level resolves the JSON escapes of the level below. A position in the bytes is the whole state,
// because an escape is consumed as a unit.
class Characters final {
 public:
  explicit Characters(std::string_view body, std::size_t at = 0) : body_(body), at_(at) {}

  std::size_t at() const { return at_; }
  bool is_at_end() const { return at_ >= body_.size(); }
  void skip_byte() { ++at_; }
  std::uint8_t byte() const { return static_cast<std::uint8_t>(body_[at_]); }

  // Returns true if the next byte may follow a backslash in an escape.
  bool may_end_escape() const {
    return !is_at_end() &&
           std::string_view("\"\\/bfnrtu").find(body_[at_]) != std::string_view::npos;
  }

  std::uint32_t next_byte() { return is_at_end() ? kEnd : static_cast<std::uint8_t>(body_[at_++]); }

  std::uint32_t next(int level) {
    if (level > 0) return next_unescaped(level - 1);
    if (is_at_end()) return kEnd;
    if (byte() < 0x80) return next_byte();
    const Utf8Character character = first_character(body_.substr(at_));
    if (character.bytes == 0) return kNoCharacter + next_byte();
    at_ += character.bytes;
    return character.code;
  }

 private:
  // A backslash that begins no escape stands for itself.
  std::uint32_t next_unescaped(int below) {
    const std::uint32_t code = next(below);
    if (code != '\\') return code;
    const std::size_t behind = at_;
    switch (const std::uint32_t letter = next(below)) {
      case '"':
      case '\\':
      case '/':
        return letter;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u':
        if (const std::optional<std::uint32_t> unit = next_hex(below)) {
          return with_low_half(*unit, below);
        }
        break;
      default:
        break;
    }
    at_ = behind;
    return code;
  }

  std::optional<std::uint32_t> next_hex(int below) {
    std::uint32_t value = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const std::uint32_t code = next(below);
      const std::uint32_t small = code | 0x20;
      if (code >= '0' && code <= '9') {
        value = value * 16 + (code - '0');
      } else if (small >= 'a' && small <= 'f') {
        value = value * 16 + (small - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return value;
  }

  // Characters above U+FFFF are two escapes.
  std::uint32_t with_low_half(std::uint32_t unit, int below) {
    if (unit < 0xd800 || unit > 0xdbff) return unit;
    const std::size_t behind = at_;
    if (next(below) == '\\' && next(below) == 'u') {
      const std::optional<std::uint32_t> low = next_hex(below);
      if (low && *low >= 0xdc00 && *low <= 0xdfff) {
        return 0x10000 + ((unit - 0xd800) << 10) + (*low - 0xdc00);
      }
    }
    at_ = behind;
    return unit;
  }

  std::string_view body_;
  std::size_t at_;
};

}  // namespace

std::uint32_t fold_case(std::uint32_t code) {
  if (code < 0x80) return code - 'A' < 26 ? code + 32 : code;
  for (const CaseRange& range : kCaseRanges) {
    if (code < range.first) break;
    if (code > range.last || (code - range.first) % range.step != 0) continue;
    return fold_case(code + static_cast<std::uint32_t>(range.delta));
  }
  return code;
}

TextPattern::TextPattern(std::vector<std::uint32_t> codes, bool is_text)
    : codes_(std::move(codes)), borders_(codes_.size()), is_text_(is_text) {
  for (std::uint32_t i = 1, length = 0; i < codes_.size(); ++i) {
    while (length > 0 && codes_[i] != codes_[length]) length = borders_[length - 1];
    if (codes_[i] == codes_[length]) ++length;
    borders_[i] = length;
  }
  for (std::uint32_t byte = 0; byte < may_begin_.size() && !codes_.empty(); ++byte) {
    // Bytes from 0x80 on belong to characters that may match.
    may_begin_[byte] = is_text ? byte >= 0x80 || fold_case(byte) == codes_[0] : byte == codes_[0];
  }
}

TextPattern TextPattern::of_text(std::string_view text) {
  std::vector<std::uint32_t> codes;
  Characters characters(text);
  while (!characters.is_at_end()) codes.push_back(fold_case(characters.next(0)));
  return {std::move(codes), true};
}

TextPattern TextPattern::of_bytes(std::string_view bytes) {
  std::vector<std::uint32_t> codes;
  for (const char byte : bytes) codes.push_back(static_cast<std::uint8_t>(byte));
  return {std::move(codes), false};
}

std::optional<TextPattern::Match> TextPattern::find(std::string_view body) const {
  if (codes_.empty()) return Match{};
  bool has_escapes = is_text_ && body.find('\\') != std::string_view::npos;
  for (int level = 0; level <= kEscapeLevelsMax; ++level) {
    if (level > 0 && !has_escapes) break;
    const std::optional<Match> match = find_at(body, level, has_escapes);
    if (match) return match;
  }
  return std::nullopt;
}

// Above level 0, also sets `has_escapes` to whether the next level has escapes to resolve.
std::optional<TextPattern::Match> TextPattern::find_at(std::string_view body, int level,
                                                       bool& has_escapes) const {
  if (level > 0) has_escapes = false;
  Characters characters(body);
  std::size_t length = 0;  // Length of the longest prefix of the pattern that ends here.
  std::size_t clean = 0;   // No match begins before this offset.
  std::size_t read = 0;    // Characters read since that offset.
  while (true) {
    if (length == 0) {
      while (!characters.is_at_end() && !may_begin_[characters.byte()] &&
             (level == 0 || characters.byte() != '\\')) {
        characters.skip_byte();
      }
      clean = characters.at();
      read = 0;
    }
    const std::uint32_t code = is_text_ ? characters.next(level) : characters.next_byte();
    if (code == kEnd) return std::nullopt;
    ++read;
    if (level > 0 && code == '\\') has_escapes = has_escapes || characters.may_end_escape();
    const std::uint32_t folded = is_text_ ? fold_case(code) : code;
    while (length > 0 && folded != codes_[length]) length = borders_[length - 1];
    if (folded == codes_[length]) ++length;
    if (length == codes_.size()) break;
  }
  Characters begin(body, clean);
  for (std::size_t i = read - length; i > 0; --i) {
    static_cast<void>(is_text_ ? begin.next(level) : begin.next_byte());
  }
  return Match{.offset = begin.at(), .bytes = characters.at() - begin.at()};
}

// Search ------------------------------------------------------------------------------------------

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
  std::uint64_t scanned = 0;
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
    const std::optional<tool::Response> answer = co_await server.ask(command);
    if (!answer) co_return false;
    const std::optional<tool::JobPage> page = tool::parse_job_page(answer->body);
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
    piece.scanned += page->jobs.size();
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
  const std::optional<tool::Response> answer = co_await server.ask("stats\r\n");
  const auto stats =
      answer ? tool::StatsText::parse(answer->body) : std::optional<tool::StatsText>();
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
    piece.scanned += found;
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
  const bool is_good = co_await peek_at(server, ids, piece.query, hits, piece.scanned);
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
    if (!bytes) parameters.reject("contains_base64 is not base64");
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
    parameters.reject("after is not a position of a search on this server");
  }
  if (!parameters.error().empty()) co_return exchange->refuse(400, parameters.error());
  if (server.searches().is_full())
    co_return exchange->refuse(503, "too many searches are running on this server");
  co_await server.searches().acquire();
  const Semaphore::Permit permit{server.searches()};
  piece.until = Observer::now() + kTimeMax;
  bool is_good = false;
  if (id) {
    is_good = co_await search_id(server, piece, *id);
  } else if (has_pages) {
    is_good = co_await search_pages(server, piece, *from);
  } else {
    is_good = co_await search_ids(server, piece, cursor);
  }
  if (!is_good) co_return refuse_lost(*exchange);
  JsonWriter json;
  json.add_json("hits", piece.hits + "]").add("looked_at", piece.scanned);
  json.add_json("next", piece.next.empty() ? "null" : json_string(piece.next));
  answer(*exchange, json.add("done", piece.next.empty()).take());
}

}  // namespace haricot::web
