#include "haricot/protocol/reply.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include "haricot/base/check.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot {
namespace {

constexpr bool is_in_order_of_codes() {
  for (std::size_t i = 0; i < kReplyCodes; ++i) {
    if (kReplyTable[i].code != static_cast<ReplyCode>(i)) return false;
  }
  return true;
}
static_assert(is_in_order_of_codes());

// Returns true for the forms that begin with a number. They differ, because each is longer than the
// one before.
constexpr bool starts_with_number(ReplyForm form) {
  return form == ReplyForm::number || form == ReplyForm::number_and_state ||
         form == ReplyForm::number_state_and_number;
}

// A reader distinguishes answers with the same word by their forms. So two forms that look alike
// must not share a word, except for a report in pieces.
constexpr bool are_distinguishable() {
  for (std::size_t i = 0; i < kReplyCodes; ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      const ReplyForm form = kReplyTable[i].form;
      if (kReplyTable[i].word != kReplyTable[other].word) continue;
      if (form == ReplyForm::nothing) continue;
      if (form == kReplyTable[other].form) return false;
      if (form != ReplyForm::word && kReplyTable[other].form != ReplyForm::word &&
          kReplyTable[other].form != ReplyForm::report_in_pieces &&
          !(starts_with_number(form) && starts_with_number(kReplyTable[other].form))) {
        return false;
      }
    }
  }
  return true;
}
static_assert(are_distinguishable());

// The words for the writer, with the blank after them if something follows, in fields of one size:
// copying 16 bytes takes two instructions, copying a variable number takes a call.
struct Word {
  char text[16];
  std::uint8_t length;
  ReplyForm form;
};

constexpr std::array<Word, kReplyCodes> make_words() {
  std::array<Word, kReplyCodes> words{};
  for (const ReplyRow& row : kReplyTable) {
    Word& word = words[static_cast<std::size_t>(row.code)];
    for (std::size_t i = 0; i < row.word.size(); ++i) word.text[i] = row.word[i];
    word.length = static_cast<std::uint8_t>(row.word.size());
    word.form = row.form;
    if (row.form != ReplyForm::word) word.text[word.length++] = ' ';
  }
  return words;
}

// The longest state: RESERVED.
constexpr std::size_t kStateBytesMax = 8;
// The longest line has a word, a blank, the parts below, and its CR LF.
static_assert(sizeof(Word::text) + kTubeNameBytesMax + 2 <= kReplyLineBytesMax);
static_assert(sizeof(Word::text) + 20 + 1 + kStateBytesMax + 1 + 20 + 2 <= kReplyLineBytesMax);

// A word that is too long for its field does not compile.
constexpr std::array<Word, kReplyCodes> kWords = make_words();

char* write(char* to, const Word& word) {
  std::memcpy(to, word.text, sizeof word.text);
  return to + word.length;
}

char* write(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

// At index i: the smallest number with i + 1 digits.
constexpr auto kFirstLonger = [] {
  std::array<std::uint64_t, 20> numbers{};
  for (std::uint64_t i = 1, number = 10; i < numbers.size(); ++i, number *= 10) numbers[i] = number;
  return numbers;
}();

// 00 01 … 99
constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

std::size_t digits_of(std::uint64_t number) {
  // 1233 / 4096 approximates log10(2), and is exact enough for 64 bits.
  const auto bits = static_cast<std::size_t>(std::bit_width(number | 1));
  const std::size_t digits = bits * 1233 / 4096;
  return digits + (number >= kFirstLonger[digits] ? 1 : 0);
}

// std::to_chars took 1.5 times as many instructions.
char* write(char* to, std::uint64_t number) {
  char* const end = to + digits_of(number);
  char* at = end;
  for (; number >= 100; number /= 100) {
    at -= 2;
    std::memcpy(at, &kPairs[2 * (number % 100)], 2);
  }
  if (number >= 10) {
    std::memcpy(at - 2, &kPairs[2 * number], 2);
  } else {
    at[-1] = static_cast<char>('0' + number);
  }
  return end;
}

bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// Consumes a blank and a word of capital letters.
bool take_state(std::string_view& text, std::string_view& state) {
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  state = text.substr(0, text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
  text.remove_prefix(state.size());
  return !state.empty();
}

// Reads the text after a word and a blank.
bool read_rest(ReplyForm form, std::string_view rest, ReplyLine& reply) {
  switch (form) {
    case ReplyForm::nothing:
    case ReplyForm::word:
    case ReplyForm::report_in_pieces:
      break;
    case ReplyForm::number:
      return take_number(rest, reply.number) && rest.empty();
    case ReplyForm::two_numbers:
      if (!take_number(rest, reply.number) || !rest.starts_with(' ')) return false;
      rest.remove_prefix(1);
      return take_number(rest, reply.other_number) && rest.empty();
    case ReplyForm::number_and_state:
      return take_number(rest, reply.number) && take_state(rest, reply.name) && rest.empty();
    case ReplyForm::number_state_and_number:
      if (!take_number(rest, reply.number) || !take_state(rest, reply.name)) return false;
      if (!rest.starts_with(' ')) return false;
      rest.remove_prefix(1);
      return take_number(rest, reply.other_number) && rest.empty();
    case ReplyForm::name:
      reply.name = rest;
      return !rest.empty();
    case ReplyForm::job:
      if (!take_number(rest, reply.number) || !rest.starts_with(' ')) return false;
      rest.remove_prefix(1);
      return take_number(rest, reply.body_bytes) && rest.empty();
    case ReplyForm::report:
      return take_number(rest, reply.body_bytes) && rest.empty();
  }
  return false;
}

}  // namespace

std::size_t write_reply_line(const Reply& reply, char* to) {
  CHECK(reply.code != ReplyCode::none && static_cast<std::size_t>(reply.code) < std::size(kWords));
  const Word& word = kWords[static_cast<std::size_t>(reply.code)];
  char* at = write(to, word);
  switch (word.form) {
    case ReplyForm::nothing:
    case ReplyForm::word:
      break;
    case ReplyForm::number:
    case ReplyForm::report_in_pieces:
      at = write(at, reply.number);
      break;
    case ReplyForm::two_numbers:
      at = write(write(at, reply.number), " ");
      at = write(at, reply.other_number);
      break;
    case ReplyForm::number_and_state:
      CHECK(!reply.text.empty() && reply.text.size() <= kStateBytesMax);
      at = write(write(write(at, reply.number), " "), reply.text);
      break;
    case ReplyForm::number_state_and_number:
      CHECK(!reply.text.empty() && reply.text.size() <= kStateBytesMax);
      at = write(write(write(write(at, reply.number), " "), reply.text), " ");
      at = write(at, reply.other_number);
      break;
    case ReplyForm::name:
      CHECK(!reply.text.empty() && reply.text.size() <= kTubeNameBytesMax);
      at = write(at, reply.text);
      break;
    case ReplyForm::job:
      at = write(write(at, reply.number), " ");
      at = write(at, std::uint64_t{body_size(reply)});
      break;
    case ReplyForm::report:
      at = write(at, std::uint64_t{body_size(reply)});
      break;
  }
  at = write(at, "\r\n");
  return static_cast<std::size_t>(at - to);
}

bool read_reply_line(std::string_view line, ReplyLine& reply) {
  reply = ReplyLine{};
  const std::size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  if (word.empty()) return false;
  for (const ReplyRow& row : kReplyTable) {
    // Most words differ from the searched one in the first letter.
    if (row.word.empty() || row.word[0] != word[0] || row.word != word) continue;
    const bool fits = blank == std::string_view::npos
                          ? row.form == ReplyForm::word
                          : read_rest(row.form, line.substr(blank + 1), reply);
    if (!fits) continue;
    reply.code = row.code;
    return true;
  }
  return false;
}

}  // namespace haricot
