#include "haricot/protocol/reply.hpp"
#include "haricot/base/name_bytes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/blob_of.hpp"

namespace haricot {
namespace {

constexpr std::uint64_t kMaxId = std::numeric_limits<std::uint64_t>::max();

// Writes the line into exactly the promised room: with a sanitizer, one byte more ends the test.
std::string line_of(const Reply& reply) {
  std::vector<char> room(kReplyLineBytesMax);
  const std::size_t bytes = write_reply_line(reply, room.data());
  return std::string(room.data(), bytes);
}

struct Word {
  ReplyCode code;
  const char* line;
};

TEST(Reply, AWordAloneIsItsLine) {
  const Word words[] = {
      {ReplyCode::bad_format, "BAD_FORMAT\r\n"},
      {ReplyCode::buried, "BURIED\r\n"},
      {ReplyCode::deadline_soon, "DEADLINE_SOON\r\n"},
      {ReplyCode::deleted, "DELETED\r\n"},
      {ReplyCode::draining, "DRAINING\r\n"},
      {ReplyCode::expected_crlf, "EXPECTED_CRLF\r\n"},
      {ReplyCode::internal_error, "INTERNAL_ERROR\r\n"},
      {ReplyCode::job_too_big, "JOB_TOO_BIG\r\n"},
      {ReplyCode::kicked_job, "KICKED\r\n"},
      {ReplyCode::not_draining, "NOT_DRAINING\r\n"},
      {ReplyCode::not_found, "NOT_FOUND\r\n"},
      {ReplyCode::not_ignored, "NOT_IGNORED\r\n"},
      {ReplyCode::out_of_memory, "OUT_OF_MEMORY\r\n"},
      {ReplyCode::paused, "PAUSED\r\n"},
      {ReplyCode::released, "RELEASED\r\n"},
      {ReplyCode::timed_out, "TIMED_OUT\r\n"},
      {ReplyCode::touched, "TOUCHED\r\n"},
      {ReplyCode::unknown_command, "UNKNOWN_COMMAND\r\n"},
  };
  for (const Word& word : words) {
    // Values that the code does not use have no effect.
    EXPECT_EQ(line_of({.code = word.code, .number = 5, .text = "text"}), word.line);
    EXPECT_FALSE(has_body(word.code)) << word.line;
  }
}

TEST(Reply, ANumberFollowsItsWord) {
  const Word words[] = {
      {ReplyCode::buried_new, "BURIED"},
      {ReplyCode::flushed, "FLUSHED"},
      {ReplyCode::inserted, "INSERTED"},
      {ReplyCode::kicked, "KICKED"},
      {ReplyCode::reserved_batch, "RESERVED_BATCH"},
      {ReplyCode::watching, "WATCHING"},
  };
  for (const Word& word : words) {
    const std::string begin = word.line;
    EXPECT_EQ(line_of({.code = word.code, .number = 0}), begin + " 0\r\n");
    EXPECT_EQ(line_of({.code = word.code, .number = 42}), begin + " 42\r\n");
    EXPECT_EQ(line_of({.code = word.code, .number = kMaxId}), begin + " 18446744073709551615\r\n");
    EXPECT_FALSE(has_body(word.code)) << begin;
  }
}

TEST(Reply, ANumberHasAsManyDigitsAsItNeeds) {
  std::vector<std::uint64_t> numbers{0, 99, 101, kMaxId};
  for (std::uint64_t power = 1; power <= kMaxId / 10; power *= 10) {
    numbers.insert(numbers.end(), {power - 1, power, power + 1, power * 10, kMaxId / power});
  }
  for (unsigned bit = 0; bit < 64; ++bit) {
    numbers.insert(numbers.end(), {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit});
  }
  for (const std::uint64_t number : numbers) {
    EXPECT_EQ(line_of({.code = ReplyCode::inserted, .number = number}),
              "INSERTED " + std::to_string(number) + "\r\n");
  }
}

TEST(Reply, TwoNumbersFollowTheirWord) {
  EXPECT_EQ(line_of({.code = ReplyCode::deleted_batch, .number = 0, .other_number = 12}),
            "DELETED_BATCH 0 12\r\n");
  const std::string longest =
      line_of({.code = ReplyCode::deleted_batch, .number = kMaxId, .other_number = kMaxId});
  EXPECT_EQ(longest, "DELETED_BATCH 18446744073709551615 18446744073709551615\r\n");
  EXPECT_LE(longest.size(), kReplyLineBytesMax);
  EXPECT_FALSE(has_body(ReplyCode::deleted_batch));
}

TEST(Reply, AStateFollowsTheJobThatHasAKey) {
  EXPECT_EQ(
      line_of({.code = ReplyCode::inserted_again, .number = 7, .other_number = 9, .text = "READY"}),
      "INSERTED 7 READY\r\n");
  EXPECT_EQ(line_of({.code = ReplyCode::inserted_raised, .number = 7, .text = "RESERVED"}),
            "INSERTED 7 RESERVED 0\r\n");
  const std::string longest = line_of({.code = ReplyCode::inserted_raised,
                                       .number = kMaxId,
                                       .other_number = 4294967295,
                                       .text = "RESERVED"});
  EXPECT_EQ(longest, "INSERTED 18446744073709551615 RESERVED 4294967295\r\n");
  EXPECT_FALSE(has_body(ReplyCode::inserted_again));
  EXPECT_FALSE(has_body(ReplyCode::inserted_raised));
}

TEST(Reply, UsingNamesTheTube) {
  EXPECT_EQ(line_of({.code = ReplyCode::now_using, .text = "default"}), "USING default\r\n");
  const std::string longest(200, 'x');
  EXPECT_EQ(line_of({.code = ReplyCode::now_using, .text = longest}), "USING " + longest + "\r\n");
  EXPECT_FALSE(has_body(ReplyCode::now_using));
}

TEST(Reply, AJobIsAnnouncedWithItsIdAndSize) {
  EXPECT_EQ(line_of({.code = ReplyCode::found, .number = 7, .text = "abc"}), "FOUND 7 3\r\n");
  EXPECT_EQ(line_of({.code = ReplyCode::reserved, .number = 7, .text = ""}), "RESERVED 7 0\r\n");
  EXPECT_TRUE(has_body(ReplyCode::found));
  EXPECT_TRUE(has_body(ReplyCode::reserved));
}

TEST(Reply, TheSizeOfAJobInABlobIsThatOfTheBlob) {
  const Reply reply{.code = ReplyCode::reserved, .number = 9, .blob = test::blob_of(5000, 'b')};
  EXPECT_EQ(body_size(reply), 5000u);
  EXPECT_EQ(line_of(reply), "RESERVED 9 5000\r\n");
}

TEST(Reply, AReportIsAnnouncedWithItsSize) {
  const Reply reply{.code = ReplyCode::ok, .number = 5, .text = "---\n- a\n"};
  EXPECT_EQ(line_of(reply), "OK 8\r\n");
  EXPECT_EQ(body_size(reply), 8u);
  EXPECT_TRUE(has_body(ReplyCode::ok));
}

// The text of such a line is measured, but not read, so it may have a false size.
TEST(Reply, TheLongestLinesFitIntoTheRoomThatIsPromised) {
  const char byte = 'x';
  const std::string_view largest_body(&byte, std::numeric_limits<std::uint32_t>::max());
  for (const ReplyCode code : {ReplyCode::found, ReplyCode::reserved, ReplyCode::ok}) {
    const std::string line = line_of({.code = code, .number = kMaxId, .text = largest_body});
    EXPECT_LE(line.size(), kReplyLineBytesMax);
    EXPECT_NE(line.find(" 4294967295\r\n"), std::string::npos) << line;
  }
  const std::string longest_name(200, 'x');
  EXPECT_LE(line_of({.code = ReplyCode::now_using, .text = longest_name}).size(),
            kReplyLineBytesMax);
}

TEST(ReplyLine, IsReadAsItWasWritten) {
  for (const ReplyRow& row : kReplyTable) {
    if (row.form == ReplyForm::nothing) continue;
    const bool has_state =
        row.form == ReplyForm::number_and_state || row.form == ReplyForm::number_state_and_number;
    const bool has_name = row.form == ReplyForm::name;
    const std::string_view text = has_state ? "BURIED" : has_name ? "a-tube" : "123456789";
    const std::string line =
        line_of({.code = row.code, .number = kMaxId, .other_number = kMaxId - 1, .text = text});
    ReplyLine read;
    ASSERT_TRUE(read_reply_line(std::string_view(line).substr(0, line.size() - 2), read)) << line;
    if (row.form == ReplyForm::report_in_pieces) {
      EXPECT_EQ(read.code, ReplyCode::ok);
      EXPECT_EQ(read.body_bytes, kMaxId);
      continue;
    }
    EXPECT_EQ(read.code, row.code) << line;
    const bool has_two =
        row.form == ReplyForm::two_numbers || row.form == ReplyForm::number_state_and_number;
    const bool has_number =
        row.form == ReplyForm::number || row.form == ReplyForm::job || has_two || has_state;
    EXPECT_EQ(read.number, has_number ? kMaxId : 0) << line;
    EXPECT_EQ(read.other_number, has_two ? kMaxId - 1 : 0) << line;
    EXPECT_EQ(read.body_bytes, has_body(row.code) ? text.size() : 0) << line;
    EXPECT_EQ(read.name, has_name || has_state ? text : "") << line;
  }
}

TEST(ReplyLine, ThatNoServerWritesIsRefused) {
  const char* const lines[] = {
      "",
      " ",
      "x",
      "deleted",
      "DELETE",
      "DELETED ",
      "DELETED 1",
      "INSERTED",
      "INSERTED ",
      "INSERTED x",
      "INSERTED 1 ",
      "INSERTED 1 2",
      "INSERTED 1 ready",
      "INSERTED 1  READY",
      "INSERTED 1 READY ",
      "INSERTED 1 READY x",
      "INSERTED 1 READY  5",
      "INSERTED 1 READY 5 ",
      "INSERTED 1 READY 5 6",
      "INSERTED x READY",
      "KICKED 1 READY",
      "KICKED x",
      "KICKED 1 2",
      "BURIED ",
      "INSERTED -1",
      "INSERTED  1",
      "FOUND 1",
      "FOUND 1 ",
      "FOUND 1  2",
      "FOUND 1 2 3",
      "RESERVED x 1",
      "OK",
      "OK ",
      "OK x",
      "OK 1 2",
      "USING",
      "DELETED_BATCH",
      "DELETED_BATCH 1",
      "DELETED_BATCH 1 ",
      "DELETED_BATCH 1 2 ",
      "DELETED_BATCH 1  2",
      "DELETED_BATCH 1 2 3",
      "RESERVED_BATCH",
      "RESERVED_BATCH 1 2",
      "FLUSHED",
      "FLUSHED x",
      "NOT_DRAINING 1",
      "USING ",
      " DELETED",
      "OKAY 1",
      "FOUNDLING 1 2",
      "INSERTED 18446744073709551616",
  };
  for (const char* const line : lines) {
    ReplyLine read;
    EXPECT_FALSE(read_reply_line(line, read)) << "'" << line << "'";
  }
}

TEST(ReplyDeathTest, NoReplyHasNoLine) {
  char room[kReplyLineBytesMax];
  EXPECT_DEATH(write_reply_line({.code = ReplyCode::none}, room), "none");
}

TEST(ReplyDeathTest, ALineHasRoomForTheLongestNameOrState) {
  char room[kReplyLineBytesMax];
  const std::string name(201, 'x');
  EXPECT_DEATH(write_reply_line({.code = ReplyCode::now_using, .text = name}, room),
               "kTubeNameBytesMax");
  EXPECT_DEATH(write_reply_line({.code = ReplyCode::inserted_again, .text = name}, room),
               "kStateBytesMax");
  EXPECT_DEATH(write_reply_line({.code = ReplyCode::inserted_raised, .text = {}}, room), "empty");
}

}  // namespace
}  // namespace haricot
