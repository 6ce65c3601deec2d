#include "tool/top/top_view.hpp"

#include <algorithm>
#include <optional>

namespace haricot::tool {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kSequenceBytesMax = 16;

std::optional<Key> key_of(char c) {
  switch (c) {
    case 'q':
    case 'Q':
    case '\x03':  // Ctrl-C, should the terminal not make a signal of it.
      return Key::quit;
    case 'h':
    case '?':
      return Key::help;
    case ' ':
      return Key::refresh;
    case '\x0c':  // Ctrl-L
      return Key::redraw;
    case '>':
    case 's':
      return Key::next_column;
    case '<':
      return Key::previous_column;
    case 'n':
      return Key::by_name;
    case 'r':
      return Key::reverse;
    case 'i':
      return Key::idle;
    case '+':
      return Key::faster;
    case '-':
      return Key::slower;
    case 'k':
      return Key::up;
    case 'j':
      return Key::down;
    case 'g':
      return Key::first;
    case 'G':
      return Key::last;
    default:
      return std::nullopt;
  }
}

// What follows ESC [ or ESC O.
std::optional<Key> key_of_sequence(std::string_view sequence) {
  const struct {
    std::string_view bytes;
    Key key;
  } keys[] = {{"A", Key::up},          {"B", Key::down},
              {"C", Key::next_column}, {"D", Key::previous_column},
              {"5~", Key::page_up},    {"6~", Key::page_down},
              {"H", Key::first},       {"1~", Key::first},
              {"F", Key::last},        {"4~", Key::last}};
  for (const auto& each : keys) {
    if (each.bytes == sequence) return each.key;
  }
  return std::nullopt;
}

TubeColumn moved(TubeColumn column, std::size_t steps) {
  return static_cast<TubeColumn>((static_cast<std::size_t>(column) + steps) % kTubeColumns);
}

}  // namespace

std::vector<Key> KeyReader::read(std::string_view bytes) {
  std::vector<Key> keys;
  for (const char c : bytes) {
    std::optional<Key> key;
    if (c == kEscape) {
      state_ = State::escape;
    } else if (state_ == State::escape) {
      state_ = c == '[' || c == 'O' ? State::sequence : State::plain;
      sequence_.clear();
    } else if (state_ == State::sequence) {
      sequence_ += c;
      const bool is_end = c >= '@' && c <= '~';
      if (is_end) key = key_of_sequence(sequence_);
      if (is_end || sequence_.size() >= kSequenceBytesMax) state_ = State::plain;
    } else {
      key = key_of(c);
    }
    if (key) keys.push_back(*key);
  }
  return keys;
}

void apply(Key key, std::size_t rows, std::size_t page, TopView& view) {
  const std::size_t last_first = rows > page ? rows - page : 0;
  const bool had_help = view.shows_help;
  view.shows_help = false;
  switch (key) {
    case Key::help:
      view.shows_help = !had_help;
      break;
    case Key::next_column:
      view.sort = moved(view.sort, 1);
      break;
    case Key::previous_column:
      view.sort = moved(view.sort, kTubeColumns - 1);
      break;
    case Key::by_name:
      view.sort = TubeColumn::name;
      break;
    case Key::reverse:
      view.reversed = !view.reversed;
      break;
    case Key::idle:
      view.hides_idle = !view.hides_idle;
      view.first_row = 0;
      break;
    case Key::faster:
      view.interval_ms = std::max(view.interval_ms / 2, TopView::kIntervalMsMin);
      break;
    case Key::slower:
      view.interval_ms = std::min(view.interval_ms * 2, TopView::kIntervalMsMax);
      break;
    case Key::up:
      view.first_row -= view.first_row > 0 ? 1 : 0;
      break;
    case Key::down:
      view.first_row = std::min(view.first_row + 1, last_first);
      break;
    case Key::page_up:
      view.first_row -= std::min(view.first_row, page);
      break;
    case Key::page_down:
      view.first_row = std::min(view.first_row + page, last_first);
      break;
    case Key::first:
      view.first_row = 0;
      break;
    case Key::last:
      view.first_row = last_first;
      break;
    case Key::quit:
    case Key::refresh:
    case Key::redraw:
      break;
  }
}

}  // namespace haricot::tool
