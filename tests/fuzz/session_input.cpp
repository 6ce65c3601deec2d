#include "session_input.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/base/check.hpp"

namespace haricot::fuzz {
namespace {

constexpr unsigned kClientBits = 2;

constexpr unsigned first_code_of(Action::Kind kind) {
  switch (kind) {
    case Action::Kind::send:
      return 0;
    case Action::Kind::repeat:
      return 3;
    case Action::Kind::pass:
      return 4;
    case Action::Kind::half_close:
      return 5;
    case Action::Kind::vanish:
      return 6;
    case Action::Kind::read_or_not:
      return 7;
  }
  return 0;
}

Action::Kind kind_of(unsigned code) {
  constexpr std::array<Action::Kind, 8> kKinds = {Action::Kind::send,   Action::Kind::send,
                                                  Action::Kind::send,   Action::Kind::repeat,
                                                  Action::Kind::pass,   Action::Kind::half_close,
                                                  Action::Kind::vanish, Action::Kind::read_or_not};
  return kKinds[code];
}

bool has_amount(Action::Kind kind) {
  return kind == Action::Kind::repeat || kind == Action::Kind::pass;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::string_view bytes(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace

SessionInput session_input_from(std::string_view bytes) {
  Reader reader(bytes);
  SessionInput input;
  input.options = reader.byte();
  while (!reader.at_end()) {
    const std::uint8_t head = reader.byte();
    Action action;
    action.client = head & (kClients - 1);
    action.kind = kind_of((head >> kClientBits) & 7);
    if (action.kind == Action::Kind::send) action.bytes = reader.bytes(reader.byte());
    if (has_amount(action.kind)) action.amount = reader.byte();
    input.actions.push_back(std::move(action));
  }
  return input;
}

std::string bytes_of(const SessionInput& input) {
  std::string bytes(1, static_cast<char>(input.options));
  for (const Action& action : input.actions) {
    CHECK(action.client < kClients && action.bytes.size() <= kSentBytesMax);
    bytes += static_cast<char>(action.client | first_code_of(action.kind) << kClientBits);
    if (action.kind == Action::Kind::send) {
      bytes += static_cast<char>(action.bytes.size());
      bytes += action.bytes;
    }
    if (has_amount(action.kind)) bytes += static_cast<char>(action.amount);
  }
  return bytes;
}

}  // namespace haricot::fuzz
