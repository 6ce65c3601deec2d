// A line of a screen as text with tones, and the bytes that change one screen into the next.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {

struct ScreenSize {
  std::size_t rows = 24;
  std::size_t columns = 80;

  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

// Abilities of a terminal beyond ASCII.
struct ScreenStyle {
  bool colours = false;
  bool utf8 = false;
};

enum class Tone : std::uint8_t {
  plain,
  strong,   // Bold.
  title,    // Inverse.
  warning,  // Yellow; bold without colours.
  alarm     // Red and bold; bold without colours.
};

class ScreenLine {
 public:
  struct Piece {
    std::string text;
    Tone tone = Tone::plain;

    friend bool operator==(const Piece&, const Piece&) = default;
  };

  ScreenLine() = default;
  explicit ScreenLine(std::string_view text, Tone tone = Tone::plain) { add(text, tone); }

  // Requires: no control characters, and each character is one column wide.
  void add(std::string_view text, Tone tone = Tone::plain);
  // Pads with blanks or cuts, to exactly `columns` columns. The blanks continue the tone of a title
  // at the end of the line.
  void fit(std::size_t columns);

  std::size_t columns() const { return columns_; }
  std::string text() const;
  const std::vector<Piece>& pieces() const { return pieces_; }
  // Returns true if a part of the line has the tone.
  bool has(Tone tone) const;

  friend bool operator==(const ScreenLine&, const ScreenLine&) = default;

 private:
  std::vector<Piece> pieces_;  // Neighbours have different tones, and none is empty.
  std::size_t columns_ = 0;
};

// Returns the bytes that turn one screen into the other. Writes only lines that differ, to avoid
// flicker and to save bandwidth. Clears the screen first if `before` is empty.
std::string repaint(const std::vector<ScreenLine>& before, const std::vector<ScreenLine>& now,
                    bool colours);

}  // namespace haricot::tool
