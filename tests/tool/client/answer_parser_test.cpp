#include "tool/client/answer_parser.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/protocol/reply.hpp"

namespace haricot::tool {
namespace {

using Result = AnswerParser::Result;

// An answer that owns its line, and its bytes.
struct Kept {
  ReplyCode code;
  std::uint64_t number;
  std::uint64_t body_bytes;
  bool body_matches;
  std::string line;

  friend bool operator==(const Kept&, const Kept&) = default;
};

void PrintTo(const Kept& kept, std::ostream* out) {
  *out << kept.line << " number " << kept.number << " body " << kept.body_bytes
       << (kept.body_matches ? " good" : " bad");
}

// Feeds the bytes in pieces of this size. Each piece has its own memory, so that a sanitizer
// detects reads of old pieces.
std::vector<Kept> parse(std::string_view bytes, std::size_t piece_bytes, std::string_view body) {
  AnswerParser parser;
  parser.expect_body(body);
  std::vector<Kept> answers;
  while (!bytes.empty()) {
    const std::string piece(bytes.substr(0, piece_bytes));
    bytes.remove_prefix(piece.size());
    std::string_view rest = piece;
    while (!rest.empty()) {
      const Answer& answer = parser.answer();
      const Result result = parser.next(rest);
      if (result == Result::more) {
        EXPECT_TRUE(rest.empty());
        break;
      }
      if (result == Result::malformed) {
        ADD_FAILURE() << "malformed: " << answer.line;
        return answers;
      }
      answers.push_back({answer.code, answer.number, answer.body_bytes, answer.body_matches,
                         std::string(answer.line)});
    }
  }
  return answers;
}

// Returns the outcome for bytes that are fed one by one.
Result outcome(std::string_view bytes) {
  AnswerParser parser;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string_view piece = bytes.substr(i, 1);
    const Result result = parser.next(piece);
    if (result != Result::more) return result;
  }
  return Result::more;
}

TEST(AnswerParser, KeepsOnlySoMuchOfABody) {
  for (const std::size_t piece_bytes : {1U, 3U, 100U}) {
    AnswerParser parser;
    parser.keep_bodies(4);
    std::vector<std::string> bodies;
    std::string_view bytes = "FOUND 1 6\r\nabcdef\r\nFOUND 2 3\r\nxyz\r\n";
    while (!bytes.empty()) {
      std::string_view piece = bytes.substr(0, piece_bytes);
      bytes.remove_prefix(piece.size());
      const Answer& answer = parser.answer();
      while (!piece.empty()) {
        if (parser.next(piece) == Result::answer) bodies.emplace_back(answer.body);
      }
    }
    EXPECT_EQ(bodies, (std::vector<std::string>{"abcd", "xyz"}));
  }
}

TEST(AnswerParser, APutWhoseKeyIsTakenHasTheIdOfTheOtherJob) {
  for (const char* line : {"INSERTED 12 READY", "INSERTED 12 DELETED", "INSERTED 12 BURIED 5"}) {
    const std::string bytes = std::string(line) + "\r\n";
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, bytes.size()}) {
      const std::vector<Kept> answers = parse(bytes, piece, "");
      ASSERT_EQ(answers.size(), 1U) << line;
      EXPECT_EQ(answers[0].line, line);
      EXPECT_EQ(answers[0].number, 12U);
    }
  }
  EXPECT_EQ(outcome("INSERTED 12 5\r\n"), Result::malformed);
}

TEST(AnswerParser, KnowsEveryAnswerThatTheServerWrites) {
  for (int i = 1; i <= static_cast<int>(ReplyCode::ok); ++i) {
    Reply reply;
    reply.code = static_cast<ReplyCode>(i);
    // On the wire `ok_in_pieces` is an `ok`, and `not_yet` is not an answer.
    if (reply.code == ReplyCode::ok_in_pieces || reply.code == ReplyCode::not_yet) continue;
    reply.number = 4711;
    reply.text = "tube";
    char line[kReplyLineBytesMax];
    std::string bytes(line, write_reply_line(reply, line));
    if (has_body(reply.code)) bytes += "tube\r\n";
    const std::vector<Kept> answers = parse(bytes, bytes.size(), "tube");
    ASSERT_EQ(answers.size(), 1U) << bytes;
    EXPECT_EQ(answers[0].code, reply.code) << bytes;
    EXPECT_TRUE(answers[0].body_matches) << bytes;
  }
}

TEST(AnswerParser, ReadsNumbersAndSizes) {
  const std::vector<Kept> answers = parse(
      "INSERTED 18446744073709551615\r\nRESERVED 7 3\r\nabc\r\nKICKED\r\nKICKED 12\r\nDELETED\r\n",
      1000, "abc");
  const std::vector<Kept> expected = {
      {ReplyCode::inserted, 18446744073709551615U, 0, true, "INSERTED 18446744073709551615"},
      {ReplyCode::reserved, 7, 3, true, "RESERVED 7 3"},
      {ReplyCode::kicked_job, 0, 0, true, "KICKED"},
      {ReplyCode::kicked, 12, 0, true, "KICKED 12"},
      {ReplyCode::deleted, 0, 0, true, "DELETED"},
  };
  EXPECT_EQ(answers, expected);
}

TEST(AnswerParser, CutsAnywhereChangeNothing) {
  const std::string body = "line\r\nRESERVED 1 2\r\n\r";
  std::string bytes;
  for (const char* id : {"1", "22", "333"}) {
    bytes += "INSERTED " + std::string(id) + "\r\n";
    bytes += "RESERVED " + std::string(id) + " " + std::to_string(body.size()) + "\r\n";
    bytes += body + "\r\nDELETED\r\nOK 4\r\nabcd\r\nUSING " + std::string(200, 't') + "\r\n";
  }
  const std::vector<Kept> whole = parse(bytes, bytes.size(), body);
  ASSERT_EQ(whole.size(), 15U);
  EXPECT_TRUE(whole[1].body_matches);
  EXPECT_FALSE(whole[3].body_matches);  // A report is not the body of a job.
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    EXPECT_EQ(parse(bytes, piece, body), whole) << "in pieces of " << piece;
  }
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    AnswerParser parser;
    parser.expect_body(body);
    std::size_t count = 0;
    for (const std::string& half : {bytes.substr(0, cut), bytes.substr(cut)}) {
      std::string_view rest = half;
      const Answer& answer = parser.answer();
      while (!rest.empty() && parser.next(rest) == Result::answer) {
        EXPECT_EQ(answer.line, whole[count].line) << "cut at " << cut;
        EXPECT_EQ(answer.body_matches, whole[count].body_matches) << "cut at " << cut;
        ++count;
      }
    }
    EXPECT_EQ(count, whole.size()) << "cut at " << cut;
  }
}

TEST(AnswerParser, ABodyThatDiffersIsSeenWhereverItDoes) {
  const std::string expected = "0123456789";
  for (std::size_t at = 0; at < expected.size(); ++at) {
    std::string body = expected;
    body[at] = '!';
    for (std::size_t piece = 1; piece < 30; ++piece) {
      const std::vector<Kept> answers = parse(
          "RESERVED 1 10\r\n" + body + "\r\nRESERVED 2 10\r\n0123456789\r\n", piece, expected);
      ASSERT_EQ(answers.size(), 2U);
      EXPECT_FALSE(answers[0].body_matches) << "byte " << at << " in pieces of " << piece;
      EXPECT_TRUE(answers[1].body_matches) << "byte " << at << " in pieces of " << piece;
    }
  }
}

TEST(AnswerParser, ABodyOfAnotherSizeDoesNotMatch) {
  EXPECT_FALSE(parse("RESERVED 1 2\r\nab\r\n", 100, "abc")[0].body_matches);
  EXPECT_FALSE(parse("RESERVED 1 4\r\nabcd\r\n", 100, "abc")[0].body_matches);
  EXPECT_FALSE(parse("RESERVED 1 0\r\n\r\n", 100, "abc")[0].body_matches);
  EXPECT_TRUE(parse("RESERVED 1 0\r\n\r\n", 1, "")[0].body_matches);
}

TEST(AnswerParser, InvalidAnswersAreMalformed) {
  for (const char* bytes :
       {"\r\n", "DELETED\n", "deleted\r\n", "DELETED \r\n", "DELETED 1\r\n", "INSERTED\r\n",
        "INSERTED \r\n", "INSERTED x\r\n", "INSERTED -1\r\n", "INSERTED 1 \r\n",
        "INSERTED 18446744073709551616\r\n", "RESERVED 1\r\n", "RESERVED 1 \r\n",
        "RESERVED 1 2 3\r\n", "RESERVED 1 99999999999999999999\r\n",
        "RESERVED 1 18446744073709551615\r\n", "USING \r\n", "HTTP/1.1 400 Bad Request\r\n"}) {
    EXPECT_EQ(outcome(bytes), Result::malformed) << bytes;
  }
}

TEST(AnswerParser, ABodyWithoutItsLineEndIsMalformed) {
  EXPECT_EQ(outcome("RESERVED 1 2\r\nabc\r\n"), Result::malformed);
  EXPECT_EQ(outcome("RESERVED 1 2\r\nab\n"), Result::malformed);
  EXPECT_EQ(outcome("RESERVED 1 2\r\nab\rx"), Result::malformed);
  EXPECT_EQ(outcome("RESERVED 1 2\r\nab\r"), Result::more);
}

TEST(AnswerParser, ALineWithoutEndIsMalformedAndNotKept) {
  EXPECT_EQ(outcome(std::string(kReplyLineBytesMax, 'A')), Result::more);
  EXPECT_EQ(outcome(std::string(kReplyLineBytesMax + 1, 'A')), Result::malformed);
  AnswerParser parser;
  const Answer& answer = parser.answer();
  const std::string much(100'000, 'A');
  std::string_view bytes = much;
  EXPECT_EQ(parser.next(bytes), Result::malformed);
  EXPECT_LE(answer.line.size(), kReplyLineBytesMax);
}

TEST(AnswerParser, BodiesAreKeptForWhoAsks) {
  const std::string bytes = "FOUND 7 5\r\na\r\nbc\r\nOK 0\r\n\r\nDELETED\r\n";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    AnswerParser parser;
    parser.keep_bodies();
    std::vector<std::string> bodies;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      std::string_view piece = std::string_view(bytes).substr(at, step);
      const Answer& answer = parser.answer();
      while (!piece.empty()) {
        const AnswerParser::Result result = parser.next(piece);
        ASSERT_NE(result, AnswerParser::Result::malformed);
        if (result == AnswerParser::Result::answer) bodies.emplace_back(answer.body);
      }
    }
    EXPECT_EQ(bodies, (std::vector<std::string>{"a\r\nbc", "", ""})) << step;
  }
}

TEST(AnswerParser, ALineWithoutEndCanBeSeen) {
  AnswerParser parser;
  std::string_view bytes = "DELETED\r\nSSH-2.0";
  const Answer& answer = parser.answer();
  EXPECT_EQ(parser.next(bytes), AnswerParser::Result::answer);
  EXPECT_EQ(parser.unfinished_line(), "");
  EXPECT_EQ(parser.next(bytes), AnswerParser::Result::more);
  EXPECT_EQ(parser.unfinished_line(), "SSH-2.0");
  parser.restart();
  EXPECT_EQ(parser.unfinished_line(), "");
  bytes = "TOUCHED\r\n";
  EXPECT_EQ(parser.next(bytes), AnswerParser::Result::answer);
  EXPECT_EQ(answer.code, ReplyCode::touched);
}

}  // namespace
}  // namespace haricot::tool
