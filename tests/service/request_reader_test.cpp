#include "haricot/service/request_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/protocol/command.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using Kind = RequestPiece::Kind;

PutPlan small_put(std::uint32_t bytes) {
  return {.id = 7, .priority = 1, .delay_s = 2, .ttr_s = 3, .body_bytes = bytes};
}
PutPlan large_put(std::uint32_t bytes) {
  PutPlan plan = small_put(bytes);
  plan.body = BlobRef::allocate(bytes);
  return plan;
}
PutPlan refused_put(std::uint32_t bytes) {
  PutPlan plan = small_put(bytes);
  plan.refusal = ReplyCode::job_too_big;
  return plan;
}

// Cuts an input like a session, and records the requests. The lines `small 5`, `large 5` and
// `refused 5` begin puts with a body of 5 bytes.
class Cutter {
 public:
  void arrive(std::string_view bytes) {
    input_ += bytes;
    while (true) {
      const RequestPiece piece = reader_.next(input_);
      if (piece.kind == Kind::nothing) return;
      ASSERT_LE(piece.bytes, input_.size());
      ASSERT_GT(piece.bytes, 0U);
      take(piece);
      input_.erase(0, piece.bytes);
    }
  }
  RequestReader& reader() { return reader_; }
  const std::vector<std::string>& requests() const { return requests_; }
  std::size_t kept() const { return input_.size(); }

 private:
  void take(const RequestPiece& piece) {
    switch (piece.kind) {
      case Kind::line:
        requests_.push_back("line " + std::string(piece.text));
        announce(piece.text);
        break;
      case Kind::body: {
        const BlobRef blob = std::move(reader_.put().body);
        requests_.push_back("body " + std::string(blob ? blob.view() : piece.text));
        break;
      }
      case Kind::body_without_end:
        EXPECT_FALSE(reader_.put().body) << "is of no use to anybody";
        requests_.push_back("body without end");
        break;
      case Kind::end_of_long_line:
        requests_.push_back("long line");
        break;
      case Kind::end_of_refused:
        requests_.push_back("refused");
        break;
      case Kind::discarded:
      case Kind::part_of_body:
      case Kind::nothing:
        break;
    }
  }
  void announce(std::string_view line) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return;
    const auto bytes = static_cast<std::uint32_t>(
        std::strtoul(std::string(line.substr(blank)).c_str(), nullptr, 10));
    if (line.starts_with("small ")) reader_.expect_body(small_put(bytes));
    if (line.starts_with("large ")) reader_.expect_body(large_put(bytes));
    if (line.starts_with("refused ")) reader_.expect_body(refused_put(bytes));
  }

  RequestReader reader_;
  std::string input_;
  std::vector<std::string> requests_;
};

using Requests = std::vector<std::string>;

TEST(RequestReader, RequestsDoNotDependOnCutsOfTheInput) {
  const std::string large(5000, 'l');
  const std::string input =
      "one\r\n\r\nwith\ra CR\nand an LF\r\n" + std::string(300, 'x') + "\r\n" +
      std::string(223, 'y') + "\r\nsmall 3\r\na\r\n\r\nsmall 0\r\n\r\nlarge 5000\r\n" + large +
      "\r\nsmall 2\r\nabcdlarge 4\r\nwxyz\r\rrefused 5\r\n12345\r\nrefused 0\r\nabrefused 9\r\n" +
      "987654321xylast\r\n";
  const Requests wanted = {"line one",         "line ",          "line with\ra CR\nand an LF",
                           "long line",        "long line",      "line small 3",
                           "body a\r\n",       "line small 0",   "body ",
                           "line large 5000",  "body " + large,  "line small 2",
                           "body without end", "line large 4",   "body without end",
                           "line refused 5",   "refused",        "line refused 0",
                           "refused",          "line refused 9", "refused",
                           "line last"};
  Cutter whole;
  whole.arrive(input);
  ASSERT_EQ(whole.requests(), wanted);
  for (std::size_t cut = 0; cut <= input.size(); ++cut) {
    Cutter halves;
    halves.arrive(std::string_view(input).substr(0, cut));
    halves.arrive(std::string_view(input).substr(cut));
    ASSERT_EQ(halves.requests(), wanted) << "cut behind " << cut;
  }
  for (std::size_t step = 1; step <= 9; ++step) {
    Cutter pieces;
    for (std::size_t at = 0; at < input.size(); at += step) {
      pieces.arrive(std::string_view(input).substr(at, step));
    }
    EXPECT_EQ(pieces.requests(), wanted) << "in pieces of " << step;
    EXPECT_EQ(pieces.kept(), 0U);
  }
}

TEST(RequestReader, ALineHasAtMost224Bytes) {
  RequestReader reader;
  const std::string longest = std::string(kLineBytesMax - 2, 'x') + "\r\n";
  RequestPiece piece = reader.next(longest);
  EXPECT_EQ(piece.kind, Kind::line);
  EXPECT_EQ(piece.bytes, kLineBytesMax);
  EXPECT_EQ(piece.text.size(), kLineBytesMax - 2);
  const std::string longer = "x" + longest;
  EXPECT_EQ(reader.next(longer.substr(0, kLineBytesMax - 1)).kind, Kind::nothing);
  piece = reader.next(longer.substr(0, kLineBytesMax));
  EXPECT_EQ(piece.kind, Kind::discarded);
  EXPECT_EQ(piece.bytes, kLineBytesMax - 1) << "its CR may be the first half of an end";
  EXPECT_EQ(reader.next("\r").kind, Kind::nothing);
  EXPECT_EQ(reader.next("\r\n").kind, Kind::end_of_long_line);
}

TEST(RequestReader, AnUnusedLineIsReturnedAgain) {
  RequestReader reader;
  for (int i = 0; i < 3; ++i) {
    const RequestPiece piece = reader.next("list-tubes\r\nstats\r\n");
    EXPECT_EQ(piece.kind, Kind::line);
    EXPECT_EQ(piece.text, "list-tubes");
  }
}

TEST(RequestReader, KeepsThePlanUntilTheNextPut) {
  RequestReader reader;
  EXPECT_EQ(reader.put().body_bytes, 0U);
  reader.expect_body(small_put(2));
  EXPECT_EQ(reader.next("ab\r\n").kind, Kind::body);
  EXPECT_EQ(reader.put().id, 7U);
  EXPECT_EQ(reader.put().priority, 1U);
  EXPECT_EQ(reader.put().delay_s, 2U);
  EXPECT_EQ(reader.put().ttr_s, 3U);
  EXPECT_EQ(reader.put().body_bytes, 2U);
}

TEST(RequestReader, OffersDirectSpaceOnlyDuringALargeBody) {
  RequestReader reader;
  EXPECT_TRUE(reader.direct_space().empty());
  reader.expect_body(small_put(10));
  EXPECT_TRUE(reader.direct_space().empty());
  EXPECT_EQ(reader.next("1234567890\r\n").kind, Kind::body);
  reader.expect_body(refused_put(10));
  EXPECT_TRUE(reader.direct_space().empty());
  EXPECT_EQ(reader.next("1234567890\r\n").kind, Kind::end_of_refused);

  reader.expect_body(large_put(10));
  ASSERT_EQ(reader.direct_space().size(), 10U);
  std::memcpy(reader.direct_space().data(), "abc", 3);
  reader.took_directly(3);
  const RequestPiece piece = reader.next("def");
  EXPECT_EQ(piece.kind, Kind::part_of_body);
  EXPECT_EQ(piece.bytes, 3U);
  ASSERT_EQ(reader.direct_space().size(), 4U);
  std::memcpy(reader.direct_space().data(), "ghij", 4);
  reader.took_directly(4);
  EXPECT_TRUE(reader.direct_space().empty());
  EXPECT_EQ(reader.next("\r").kind, Kind::nothing);
  EXPECT_EQ(reader.next("\r\n").kind, Kind::body);
  EXPECT_EQ(reader.put().body.view(), "abcdefghij");
  EXPECT_TRUE(reader.direct_space().empty());
}

// The largest possible body, with its CR LF, has more bytes than a 32-bit number can count.
TEST(RequestReader, DiscardsTheLargestBodyCompletely) {
  RequestReader reader;
  reader.expect_body(refused_put(4294967295));
  const std::string megabyte(1024 * 1024, '\r');
  for (int i = 0; i < 4095; ++i) ASSERT_EQ(reader.next(megabyte).bytes, megabyte.size());
  EXPECT_EQ(reader.next(std::string_view(megabyte).substr(1)).kind, Kind::discarded);
  EXPECT_EQ(reader.next("x").kind, Kind::discarded);
  const RequestPiece piece = reader.next("ystats\r\n");
  EXPECT_EQ(piece.kind, Kind::end_of_refused);
  EXPECT_EQ(piece.bytes, 1U);
  EXPECT_EQ(reader.next("stats\r\n").text, "stats");
}

TEST(RequestReaderDeathTest, TooManyDirectBytesAbort) {
  RequestReader reader;
  reader.expect_body(large_put(10));
  EXPECT_DEATH(reader.took_directly(11), "body_bytes_left_");
}

// Returns a line of delete-batch with this many bytes, including its CR LF.
std::string batch_line(std::size_t bytes) {
  std::string line = "delete-batch 1";
  return line + std::string(bytes - line.size() - 2, ' ') + "\r\n";
}

TEST(RequestReader, ADeleteBatchLineMayBeLong) {
  for (const std::size_t bytes : {std::size_t{224}, std::size_t{225}, kBatchLineBytesMax}) {
    Cutter cutter;
    cutter.reader().allow_batch_lines(true);
    const std::string line = batch_line(bytes);
    cutter.arrive(line + "next\r\n");
    EXPECT_EQ(cutter.requests(),
              (std::vector<std::string>{"line " + line.substr(0, bytes - 2), "line next"}));
    EXPECT_FALSE(cutter.reader().is_in_batch_line());
  }
}

TEST(RequestReader, OtherLinesMayNotBeLong) {
  Cutter standard;
  standard.arrive(batch_line(225) + "next\r\n");
  Cutter extended;
  extended.reader().allow_batch_lines(true);
  extended.arrive("delete-batc" + std::string(300, ' ') + "\r\nnext\r\n");
  for (const Cutter* cutter : {&standard, &extended}) {
    ASSERT_EQ(cutter->requests().size(), 2U);
    EXPECT_NE(cutter->requests()[0].substr(0, 5), "line ");
    EXPECT_EQ(cutter->requests()[1], "line next");
  }
}

TEST(RequestReader, ALongLineMayArriveInAnyPieces) {
  const std::string line = batch_line(600);
  for (std::size_t cut = 1; cut < line.size(); ++cut) {
    Cutter cutter;
    cutter.reader().allow_batch_lines(true);
    cutter.arrive(line.substr(0, cut));
    ASSERT_TRUE(cutter.requests().empty());
    ASSERT_EQ(cutter.reader().is_in_batch_line(), cut >= kLineBytesMax) << cut;
    cutter.arrive(line.substr(cut) + "next\r\n");
    ASSERT_EQ(cutter.requests(),
              (std::vector<std::string>{"line " + line.substr(0, 598), "line next"}))
        << cut;
    ASSERT_FALSE(cutter.reader().is_in_batch_line());
  }
}

// Writes a line end into the part that was searched already: it is not found.
TEST(RequestReader, EachByteOfALongLineIsSearchedOnce) {
  RequestReader reader;
  reader.allow_batch_lines(true);
  std::string line = batch_line(1000);
  line.erase(990);
  for (std::size_t arrived = kLineBytesMax; arrived <= line.size(); ++arrived) {
    ASSERT_EQ(reader.next(std::string_view(line).substr(0, arrived)).kind, Kind::nothing);
    ASSERT_TRUE(reader.is_in_batch_line());
    if (arrived >= kLineBytesMax + 2) line.replace(arrived - 2, 2, "\r\n");
    ASSERT_EQ(reader.next(std::string_view(line).substr(0, arrived)).kind, Kind::nothing)
        << arrived;
    line.replace(arrived - 2, 2, "  ");
  }
  // Splits the line end: it is found.
  line += '\r';
  EXPECT_EQ(reader.next(line).kind, Kind::nothing);
  line += '\n';
  EXPECT_EQ(reader.next(line).bytes, line.size());
  EXPECT_EQ(reader.next("next\r\n").text, "next");
}

TEST(RequestReader, TheNextLongLineIsSearchedFromItsStart) {
  RequestReader reader;
  reader.allow_batch_lines(true);
  const std::string line = batch_line(900);
  EXPECT_EQ(reader.next(std::string_view(line).substr(0, 800)).kind, Kind::nothing);
  EXPECT_EQ(reader.next(line).bytes, line.size());
  const std::string shorter = batch_line(300);
  EXPECT_EQ(reader.next(shorter).bytes, shorter.size());
}

TEST(RequestReader, AnOversizedBatchLineIsDiscardedInAnyPieces) {
  const std::string line = batch_line(kBatchLineBytesMax + 1);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, line.size()}) {
    Cutter cutter;
    cutter.reader().allow_batch_lines(true);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < line.size(); at += piece) {
      cutter.arrive(line.substr(at, piece));
      kept = std::max(kept, cutter.kept());
    }
    EXPECT_LT(kept, kBatchLineBytesMax + piece);
    EXPECT_FALSE(cutter.reader().is_in_batch_line());
    cutter.arrive("next\r\n");
    ASSERT_EQ(cutter.requests().size(), 2U);
    EXPECT_EQ(cutter.requests()[1], "line next");
  }
}

TEST(RequestReader, FindsLineEndsAmongBareCrsAndLfs) {
  test::Random random;
  for (int round = 0; round < 2'000; ++round) {
    std::string input;
    const std::uint64_t bytes = 1 + random.below(220);
    for (std::uint64_t i = 0; i < bytes; ++i) input += "\r\nx\n"[random.below(4)];
    RequestReader reader;
    const RequestPiece piece = reader.next(input);
    const std::size_t end = input.find("\r\n");
    if (end == std::string::npos) {
      EXPECT_EQ(piece.kind, Kind::nothing) << "HARICOT_SEED=" << random.seed();
    } else {
      EXPECT_EQ(piece.kind, Kind::line);
      EXPECT_EQ(piece.text, input.substr(0, end)) << "HARICOT_SEED=" << random.seed();
    }
  }
}

}  // namespace
}  // namespace haricot
