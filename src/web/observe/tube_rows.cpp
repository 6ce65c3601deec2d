#include "web/observe/tube_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::web {
namespace {

constexpr std::array<std::string_view, kTubeFields> kKeys = {"current-jobs-urgent",
                                                             "current-jobs-ready",
                                                             "current-jobs-reserved",
                                                             "current-jobs-delayed",
                                                             "current-jobs-buried",
                                                             "total-jobs",
                                                             "current-using",
                                                             "current-watching",
                                                             "current-waiting",
                                                             "cmd-delete",
                                                             "cmd-pause-tube",
                                                             "pause",
                                                             "pause-time-left",
                                                             "age-oldest-ready",
                                                             "age-oldest-buried",
                                                             "queue-time-p50",
                                                             "queue-time-p99",
                                                             "work-time-p50",
                                                             "work-time-p99",
                                                             "buried-by-tries",
                                                             "current-jobs-blocked",
                                                             {},
                                                             {}};

// Bits of a row's mask. The fields that are not 0 follow.
constexpr std::uint32_t kHasPutRate = 1U << 0;
constexpr std::uint32_t kHasDeleteRate = 1U << 1;
constexpr std::uint32_t kFirstField = 1U << 2;
constexpr double kRateUnits = 1000;  // Rates are stored in thousandths.

void append_varint(std::string& to, std::uint64_t number) {
  while (number >= 0x80) {
    to += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  to += static_cast<char>(number);
}

std::uint64_t take_varint(const char*& at) {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number;
  }
}

}  // namespace

std::string_view key_of(TubeField field) {
  return kKeys[static_cast<std::size_t>(field)];
}

std::uint64_t TubeRow::paused_s() const {
  // Near its end a pause has 0 seconds left.
  if ((*this)[TubeField::pause] == 0) return 0;
  return std::max<std::uint64_t>((*this)[TubeField::pause_left], 1);
}

void TubeRows::reserve(std::size_t rows, std::size_t bytes) {
  offsets_.reserve(rows);
  packed_.reserve(bytes);
  grow_entries(rows);
}

void TubeRows::add(const TubeRow& row) {
  CHECK(row.name.size() <= 255 && packed_.size() < std::numeric_limits<std::uint32_t>::max() / 2);
  const auto index = static_cast<std::uint32_t>(offsets_.size());
  grow_entries(offsets_.size() + 1);
  offsets_.push_back(static_cast<std::uint32_t>(packed_.size()));
  packed_ += static_cast<char>(row.name.size());
  packed_ += row.name;
  packed_ += static_cast<char>(row.label);
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kTubeFields; ++i) mask |= row.numbers[i] == 0 ? 0U : kFirstField << i;
  if (row.put_rate) mask |= kHasPutRate;
  if (row.delete_rate) mask |= kHasDeleteRate;
  append_varint(packed_, mask);
  for (const std::uint64_t number : row.numbers) {
    if (number != 0) append_varint(packed_, number);
  }
  for (const std::optional<double>& rate : {row.put_rate, row.delete_rate}) {
    if (rate) append_varint(packed_, static_cast<std::uint64_t>(std::llround(*rate * kRateUnits)));
  }
  enter(row.name, index);
}

void TubeRows::shrink() {
  packed_.shrink_to_fit();
  offsets_.shrink_to_fit();
}

std::string_view TubeRows::name_at(std::size_t index) const {
  const char* at = packed_.data() + offsets_[index];
  return {at + 1, static_cast<unsigned char>(*at)};
}

TubeRow TubeRows::at(std::size_t index) const {
  TubeRow row;
  row.name = name_at(index);
  const char* at = row.name.data() + row.name.size();
  row.label = static_cast<std::uint8_t>(*at++);
  const auto mask = static_cast<std::uint32_t>(take_varint(at));
  for (std::size_t i = 0; i < kTubeFields; ++i) {
    if ((mask & (kFirstField << i)) != 0) row.numbers[i] = take_varint(at);
  }
  const auto take_rate = [&at] { return static_cast<double>(take_varint(at)) / kRateUnits; };
  if ((mask & kHasPutRate) != 0) row.put_rate = take_rate();
  if ((mask & kHasDeleteRate) != 0) row.delete_rate = take_rate();
  return row;
}

std::optional<std::size_t> TubeRows::find(std::string_view name) const {
  if (entries_.empty()) return std::nullopt;
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t entry = hash_of(key_, name) & mask; entries_[entry] != 0;
       entry = (entry + 1) & mask) {
    if (name_at(entries_[entry] - 1) == name) return entries_[entry] - 1;
  }
  return std::nullopt;
}

// Keeps at most two thirds of the entries in use.
void TubeRows::grow_entries(std::size_t wanted) {
  if (wanted * 3 <= entries_.size() * 2) return;
  entries_.assign(std::bit_ceil(wanted * 3 / 2 + 2), 0);
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    enter(name_at(i), static_cast<std::uint32_t>(i));
  }
}

void TubeRows::enter(std::string_view name, std::uint32_t index) {
  const std::size_t mask = entries_.size() - 1;
  std::size_t entry = hash_of(key_, name) & mask;
  while (entries_[entry] != 0) entry = (entry + 1) & mask;
  entries_[entry] = index + 1;
}

// Answers of servers ------------------------------------------------------------------------------

namespace {

using tool::can_be_asked_for;
using tool::take_line;
using tool::without_quotes;

struct Line {
  std::string_view key;
  std::string_view value;
};

bool split(std::string_view line, Line& to) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || colon == 0) return false;
  to = {line.substr(0, colon), line.substr(colon + 2)};
  return true;
}

// Stores the number in its field if it is a known key. `hint` is the expected field, because all
// tubes have their lines in the same order.
void read_number_line(const Line& line, TubeRow& row, std::size_t& hint) {
  for (std::size_t i = 0; i < kTubeFields; ++i) {
    const std::size_t field = (hint + i) % kTubeFields;
    if (key_of(static_cast<TubeField>(field)) != line.key) continue;
    row.numbers[field] = read_number(line.value).value_or(0);
    hint = field + 1;
    return;
  }
}

}  // namespace

bool read_tube(std::string_view answer, TubeRow& row) {
  if (!answer.starts_with(tool::kYamlBegin)) return false;
  answer.remove_prefix(tool::kYamlBegin.size());
  std::size_t hint = 0;
  Line line;
  while (!answer.empty()) {
    if (!split(take_line(answer), line)) return false;
    read_number_line(line, row, hint);
  }
  return true;
}

bool read_tubes_page(std::string_view answer, std::string& next,
                     const std::function<void(TubeRow& row)>& take) {
  if (!answer.starts_with(tool::kYamlBegin)) return false;
  answer.remove_prefix(tool::kYamlBegin.size());
  bool has_next = false;
  bool is_among_tubes = false;
  std::size_t hint = 0;
  TubeRow row;
  const auto finish = [&] {
    if (can_be_asked_for(row.name)) take(row);
    row = TubeRow{};
  };
  while (!answer.empty()) {
    std::string_view text = take_line(answer);
    const bool is_first = text.starts_with("- ");
    Line line;
    if (is_first || text.starts_with("  ")) {
      if (is_first) finish();
      text.remove_prefix(2);
      // Skips unknown lines of a newer server, such as lists.
      if (!is_among_tubes || !split(text, line)) continue;
      if (line.key == "name") {
        row.name = without_quotes(line.value);
      } else {
        read_number_line(line, row, hint);
      }
      continue;
    }
    is_among_tubes = text == "tubes:";
    if (is_among_tubes || !split(text, line)) continue;
    if (line.key == "next") {
      has_next = true;
      next = without_quotes(line.value);
      if (next == "*") next.clear();
    }
  }
  finish();
  return has_next && (next.empty() || can_be_asked_for(next));
}

}  // namespace haricot::web
