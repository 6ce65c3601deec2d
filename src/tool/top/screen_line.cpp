#include "tool/top/screen_line.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"

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

}  // namespace haricot::tool
