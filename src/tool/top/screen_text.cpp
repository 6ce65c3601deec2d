#include "tool/top/screen_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "haricot/base/check.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {
namespace {

// Returns true for a continuation byte of UTF-8.
bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

// Returns the first `columns` columns.
std::string_view cut(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < text.size() && (columns > 0 || is_continuation(text[bytes]))) {
    if (!is_continuation(text[bytes])) --columns;
    ++bytes;
  }
  return text.substr(0, bytes);
}

std::string_view sequence_of(Tone tone, bool colours) {
  switch (tone) {
    case Tone::plain:
      return {};
    case Tone::strong:
      return "\x1b[1m";
    case Tone::title:
      return "\x1b[7m";
    case Tone::warning:
      return colours ? "\x1b[33m" : "\x1b[1m";
    case Tone::alarm:
      return colours ? "\x1b[1;31m" : "\x1b[1m";
  }
  return {};
}

}  // namespace

void ScreenLine::add(std::string_view text, Tone tone) {
  if (text.empty()) return;
  columns_ += columns_of(text);
  if (!pieces_.empty() && pieces_.back().tone == tone) {
    pieces_.back().text += text;
  } else {
    pieces_.push_back({std::string(text), tone});
  }
}

void ScreenLine::fit(std::size_t columns) {
  if (columns_ < columns) {
    const bool is_title = !pieces_.empty() && pieces_.back().tone == Tone::title;
    add(std::string(columns - columns_, ' '), is_title ? Tone::title : Tone::plain);
    return;
  }
  const std::vector<Piece> whole = std::move(pieces_);
  pieces_.clear();
  columns_ = 0;
  for (const Piece& piece : whole) add(cut(piece.text, columns - columns_), piece.tone);
  CHECK(columns_ == columns);
}

std::string ScreenLine::text() const {
  std::string text;
  for (const Piece& piece : pieces_) text += piece.text;
  return text;
}

bool ScreenLine::has(Tone tone) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [tone](const Piece& piece) { return piece.tone == tone; });
}

std::string repaint(const std::vector<ScreenLine>& before, const std::vector<ScreenLine>& now,
                    bool colours) {
  std::string bytes = before.empty() ? "\x1b[0m\x1b[2J" : "";
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (i < before.size() && before[i] == now[i]) continue;
    bytes += "\x1b[" + std::to_string(i + 1) + ";1H";
    for (const ScreenLine::Piece& piece : now[i].pieces()) {
      const std::string_view sequence = sequence_of(piece.tone, colours);
      bytes += sequence;
      bytes += piece.text;
      if (!sequence.empty()) bytes += "\x1b[0m";
    }
  }
  return bytes;
}

namespace {

// Formats a number with one decimal, truncated.
std::string with_decimal(std::uint64_t number, std::uint64_t unit) {
  return std::to_string(number / unit) + "." + std::to_string(number % unit / (unit / 10));
}

}  // namespace

std::string grouped(std::uint64_t number) {
  constexpr std::uint64_t kThousand = 1000;
  constexpr std::uint64_t kMillion = 1'000'000;
  if (number < kThousand) return std::to_string(number);
  if (number < kMillion) {
    char text[16];
    std::snprintf(text, sizeof text, "%u,%03u", static_cast<unsigned>(number / kThousand),
                  static_cast<unsigned>(number % kThousand));
    return text;
  }
  constexpr std::string_view kUnits = "MGTPE";
  std::uint64_t unit = kMillion;
  std::size_t i = 0;
  while (i + 1 < kUnits.size() && number / unit >= kThousand) {
    unit *= kThousand;
    ++i;
  }
  return with_decimal(number, unit) + kUnits[i];
}

std::string grouped_rate(std::optional<double> rate) {
  constexpr double kMax = 1e18;  // Larger than any sum of counters, and fits into 64 bits.
  if (!rate || !std::isfinite(*rate) || *rate < 0) return "-";
  if (*rate < 9.95) return format_rate(rate);
  return grouped(static_cast<std::uint64_t>(std::min(std::round(*rate), kMax)));
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  std::size_t i = 0;
  std::uint64_t unit = 1024;
  while (i + 1 < kUnits.size() && bytes / unit >= 1024) {
    unit *= 1024;
    ++i;
  }
  // Truncated, not rounded, so that nearly full does not look like full.
  const std::uint64_t tenths = bytes % unit / (unit / 1024) * 10 / 1024;
  return std::to_string(bytes / unit) + "." + std::to_string(tenths) + " " + std::string(kUnits[i]);
}

std::string format_uptime(std::uint64_t seconds) {
  constexpr std::uint64_t kDay = 86'400;
  constexpr std::uint64_t kHour = 3'600;
  char text[60];
  const auto days = static_cast<unsigned long long>(seconds / kDay);
  const auto hours = static_cast<unsigned long long>(seconds % kDay / kHour);
  const auto minutes = static_cast<unsigned long long>(seconds % kHour / 60);
  const auto rest = static_cast<unsigned long long>(seconds % 60);
  if (days > 0) {
    std::snprintf(text, sizeof text, "%llud %llu:%02llu:%02llu", days, hours, minutes, rest);
  } else if (hours > 0) {
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", hours, minutes, rest);
  } else {
    std::snprintf(text, sizeof text, "%llu:%02llu", minutes, rest);
  }
  return text;
}

std::string format_span(std::uint64_t seconds) {
  constexpr std::uint64_t kMax = 999;
  if (seconds <= kMax) return std::to_string(seconds) + "s";
  if (seconds / 60 <= kMax) return std::to_string(seconds / 60) + "m";
  if (seconds / 3600 <= kMax) return std::to_string(seconds / 3600) + "h";
  if (seconds / 86'400 <= kMax) return std::to_string(seconds / 86'400) + "d";
  const std::uint64_t years = seconds / 31'557'600;
  return years <= kMax ? std::to_string(years) + "y" : ">999y";
}

std::string shortened(std::string_view text, std::size_t columns) {
  constexpr std::string_view kGap = "..";
  if (text.size() <= columns) return std::string(text);
  if (columns < kGap.size() + 4) return std::string(text.substr(0, columns));
  const std::size_t tail = (columns - kGap.size()) / 2;
  const std::size_t head = columns - kGap.size() - tail;
  return std::string(text.substr(0, head)) + std::string(kGap) +
         std::string(text.substr(text.size() - tail));
}

}  // namespace haricot::tool
