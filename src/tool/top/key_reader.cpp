#include "tool/top/key_reader.hpp"

namespace haricot::tool {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kSequenceBytesMax = 16;

Key key_of(char c) {
  constexpr struct {
    char character;
    Key key;
  } kKeys[] = {
      {'q', Key::quit},
      {'Q', Key::quit},
      {'\x03', Key::quit},  // Ctrl-C, if the terminal does not turn it into a signal.
      {'h', Key::help},
      {'?', Key::help},
      {' ', Key::refresh},
      {'\x0c', Key::redraw},  // Ctrl-L
      {'>', Key::next_column},
      {'s', Key::next_column},
      {'<', Key::previous_column},
      {'n', Key::by_name},
      {'r', Key::reverse},
      {'i', Key::idle},
      {'v', Key::next_server},
      {'c', Key::clients},
      {'+', Key::faster},
      {'-', Key::slower},
      {'k', Key::up},
      {'j', Key::down},
      {'g', Key::first},
      {'G', Key::last},
      {'\r', Key::enter},
      {'\n', Key::enter},
      {'\x7f', Key::erase},
      {'\b', Key::erase},
      {'\x15', Key::erase_all},  // Ctrl-U
      {'/', Key::filter},
      {'p', Key::pause},
      {'K', Key::kick},
      {'F', Key::flush},
  };
  for (const auto& each : kKeys) {
    if (each.character == c) return each.key;
  }
  return Key::none;
}

// Returns the key of the bytes after ESC [ or ESC O.
Key key_of_sequence(std::string_view sequence) {
  constexpr struct {
    std::string_view bytes;
    Key key;
  } kKeys[] = {{"A", Key::up},          {"B", Key::down},
               {"C", Key::next_column}, {"D", Key::previous_column},
               {"5~", Key::page_up},    {"6~", Key::page_down},
               {"H", Key::first},       {"1~", Key::first},
               {"F", Key::last},        {"4~", Key::last}};
  for (const auto& each : kKeys) {
    if (each.bytes == sequence) return each.key;
  }
  return Key::none;
}

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::vector<Keystroke> KeyReader::read(std::string_view bytes) {
  std::vector<Keystroke> strokes;
  for (const char c : bytes) {
    Keystroke stroke;
    if (c == kEscape) {
      if (state_ == State::escape) stroke.key = Key::escape;  // Pressed twice.
      state_ = State::escape;
    } else if (state_ == State::escape) {
      state_ = c == '[' || c == 'O' ? State::sequence : State::plain;
      sequence_.clear();
    } else if (state_ == State::sequence) {
      sequence_ += c;
      const bool is_end = c >= '@' && c <= '~';
      if (is_end) stroke.key = key_of_sequence(sequence_);
      if (is_end || sequence_.size() >= kSequenceBytesMax) state_ = State::plain;
    } else {
      stroke = {key_of(c), is_printable(c) ? c : '\0'};
    }
    if (stroke != Keystroke{}) strokes.push_back(stroke);
  }
  return strokes;
}

std::vector<Keystroke> KeyReader::take_escape() {
  if (state_ != State::escape) return {};
  state_ = State::plain;
  return {{Key::escape, '\0'}};
}

}  // namespace haricot::tool
