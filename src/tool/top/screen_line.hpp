// A line of a screen as text in tones, and the bytes that bring a terminal from one screen to the
// next.

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

// What a terminal can show beside ASCII.
struct ScreenStyle {
  bool colours = false;
  bool utf8 = false;
};

enum class Tone : std::uint8_t {
  plain,
  strong,   // Bold.
  title,    // Inverse.
  warning,  // Yellow; bold where there are no colours.
  alarm     // Red and bold; bold where there are no colours.
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

  // Requires: no control characters, and every character is one column wide.
  void add(std::string_view text, Tone tone = Tone::plain);
  // Fills up with blanks or cuts, to exactly so many columns. The blanks have the tone of a title
  // if the line ends with one.
  void fit(std::size_t columns);

  std::size_t columns() const { return columns_; }
  std::string text() const;
  const std::vector<Piece>& pieces() const { return pieces_; }
  // Whether some of the line has the tone.
  bool has(Tone tone) const;

  friend bool operator==(const ScreenLine&, const ScreenLine&) = default;

 private:
  std::vector<Piece> pieces_;  // Neighbours have different tones, and none is empty.
  std::size_t columns_ = 0;
};

// The bytes that turn one screen into the other: only lines that differ are written, so nothing
// flickers and a slow line has little to carry. With an empty `before` the screen is cleared first.
std::string repaint(const std::vector<ScreenLine>& before, const std::vector<ScreenLine>& now,
                    bool colours);

}  // namespace haricot::tool
