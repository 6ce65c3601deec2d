// Text for screens: lines with tones, the bytes that change one screen into the next, and numbers
// and names in few columns.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// A line of a screen as text with tones.
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

// Largest width of grouped() and grouped_rate().
inline constexpr std::size_t kGroupedColumnsMax = 7;

// Formats 59207 as "59,207" and 1290000 as "1.2M", then with G, T, P and E. Truncates.
std::string grouped(std::uint64_t number);
// Formats a rate like grouped(), with one decimal below 10, and as "-" if it is unknown.
std::string grouped_rate(std::optional<double> rate);
// Formats 512 as "512 B" and 1610612736 as "1.5 GiB".
std::string format_bytes(std::uint64_t bytes);
// Formats 75 as "1:15" and 90061 as "1d 1:01:01".
std::string format_uptime(std::uint64_t seconds);
// Formats a time in at most five columns: 75 as "75s", 6000 as "100m", then hours, days and years.
std::string format_span(std::uint64_t seconds);

// Shortens printable ASCII to `columns` by cutting out its middle, because names of tubes often
// begin or end alike.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace haricot::tool
