// Plays the corpus of the fuzz target for sessions with every compiler, and makes its seeds.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "answer_grammar.hpp"
#include "corpus_files.hpp"
#include "haricot/protocol/command.hpp"
#include "session_play.hpp"
#include "session_seeds.hpp"

namespace haricot::fuzz {
namespace {

// Returns the lines that the words of the dictionary begin, as input of clients.
std::vector<std::string> dictionary_lines() {
  std::vector<std::string> lines;
  std::ifstream dictionary(HARICOT_SESSION_DICTIONARY);
  for (std::string entry; std::getline(dictionary, entry);) {
    if (!entry.starts_with('"') || !entry.ends_with('"')) continue;
    const std::string word = entry.substr(1, entry.size() - 2);
    lines.push_back(word.substr(0, word.find("\\x0d\\x0a")));
  }
  return lines;
}

TEST(SessionDictionary, HasEveryCommand) {
  std::set<Verb> seen;
  for (const std::string& line : dictionary_lines()) {
    Command command;
    if (parse_command(line, command) == ParseResult::ok) seen.insert(command.verb);
  }
  for (const CommandRow& row : kCommandTable) EXPECT_TRUE(seen.contains(row.verb)) << row.word;
}

// Writes the seeds if HARICOT_WRITE_CORPUS=1.
TEST(SessionCorpus, HoldsTheSeeds) {
  const std::filesystem::path folder = HARICOT_SESSION_CORPUS;
  for (const auto& [name, input] : session_seeds()) {
    if (std::getenv("HARICOT_WRITE_CORPUS") != nullptr) {
      std::ofstream(folder / name, std::ios::binary) << bytes_of(input);
    }
    EXPECT_TRUE(read_input(folder / name) == bytes_of(input))
        << "HARICOT_WRITE_CORPUS=1 writes " << folder / name << " again";
  }
}

TEST(SessionCorpus, IsAnsweredAlikeHoweverItIsCut) {
  std::size_t played = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HARICOT_SESSION_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    check_session(session_input_from(read_input(entry.path())));
    ++played;
  }
  EXPECT_GE(played, session_seeds().size());
}

TEST(SessionInput, ComesBackFromItsBytes) {
  for (const auto& [name, input] : session_seeds()) {
    const SessionInput back = session_input_from(bytes_of(input));
    EXPECT_TRUE(bytes_of(back) == bytes_of(input)) << name;
    EXPECT_EQ(back.actions.size(), input.actions.size());
  }
}

TEST(SessionPlay, ReceivesTheAnswersOfTheServer) {
  const SessionInput input{
      0,
      {{.bytes = "put 0 0 10 2\r\nab\r\n"}, {.client = 1, .bytes = "reserve\r\nbad\r\nquit\r\n"}}};
  const Heard heard = play(input, Cut::bytes);
  ASSERT_EQ(heard[0].size(), 1U);
  EXPECT_EQ(heard[0][0], "INSERTED 1\n");
  ASSERT_EQ(heard[1].size(), 1U);
  EXPECT_EQ(heard[1][0], "RESERVED 1 2\nab\nUNKNOWN_COMMAND\n");
}

TEST(SessionPlay, HasTheExtendedSetAndLocalClients) {
  const std::vector<Action> actions = {
      {.bytes = "put 0 0 10 2\r\nab\r\nput 1 0 10 0\r\n\r\ndrain\r\n"},
      {.client = 1, .bytes = "reserve-batch 5\r\ndelete-batch 2 1 2\r\nflush-tube default\r\n"},
      {.client = kFirstLocalClient, .bytes = "drain\r\nundrain\r\n"}};
  const Heard heard = play({0, actions}, Cut::pieces);
  EXPECT_EQ(heard[0][0], "INSERTED 1\nINSERTED 2\nUNKNOWN_COMMAND\n");
  EXPECT_EQ(heard[1][0],
            "RESERVED_BATCH 2\nRESERVED 1 2\nab\nRESERVED 2 0\n\nDELETED_BATCH 2 1\nFLUSHED 0\n");
  EXPECT_EQ(heard[kFirstLocalClient][0], "DRAINING\nNOT_DRAINING\n");
  constexpr std::uint8_t kNoExtensions = 64;
  EXPECT_EQ(play({kNoExtensions, actions}, Cut::pieces)[1][0],
            "BAD_FORMAT\nUNKNOWN_COMMAND\nUNKNOWN_COMMAND\n");
}

TEST(AnswerReaderDeathTest, EndsAtAnInvalidAnswer) {
  const char* const wrong[] = {"INSERTED\r\n",        "INSERTED 01\r\n",
                               "RESERVED 1\r\n",      "FOUND 1 2\r\nabc\r\n",
                               "OK 3\r\nabc\r\n",     "inserted 1\r\n",
                               "USING -a\r\n",        "INTERNAL_ERROR\r\n",
                               "DELETED_BATCH 1\r\n", "RESERVED_BATCH 1001\r\n",
                               "FLUSHED 01\r\n",      "RESERVED_BATCH 1\r\nDELETED\r\n"};
  for (const char* const bytes : wrong) {
    EXPECT_DEATH(AnswerReader().hear(bytes), "") << bytes;
  }
}

TEST(AnswerReader, CountsAnswers) {
  AnswerReader reader;
  reader.hear("INSERTED 10\r\nFOUND 1 2\r\n\r");
  EXPECT_EQ(reader.answers(), 1U);
  EXPECT_FALSE(reader.is_at_end());
  reader.hear("\n\r\n");
  EXPECT_EQ(reader.answers(), 2U);
  EXPECT_TRUE(reader.is_at_end());
}

TEST(AnswerReader, ABatchIsOneAnswerWithItsJobs) {
  AnswerReader reader;
  reader.hear("RESERVED_BATCH 0\r\nRESERVED_BATCH 2\r\nRESERVED 1 1\r\na\r\n");
  EXPECT_EQ(reader.answers(), 1U);
  EXPECT_FALSE(reader.is_at_end());
  reader.hear("RESERVED 2 0\r\n\r\nDELETED_BATCH 1 2\r\n");
  EXPECT_EQ(reader.answers(), 3U);
  EXPECT_TRUE(reader.is_at_end());
}

TEST(AnswersTo, CountsWholeCommandsUntilQuit) {
  constexpr std::size_t kLimit = 10;
  EXPECT_EQ(answers_to("", kLimit).answers, 0U);
  EXPECT_EQ(answers_to("stats\r\nsta", kLimit).answers, 1U);
  EXPECT_EQ(answers_to("put 0 0 0 3\r\na\r\n\r\nstats\r\n", kLimit).answers, 2U);
  EXPECT_EQ(answers_to("put 0 0 0 3\r\na\r\n\r", kLimit).answers, 0U);
  EXPECT_EQ(answers_to("stats\r\nquit\r\nstats\r\n", kLimit).answers, 1U);
  EXPECT_TRUE(answers_to("stats\r\nquit\r\nstats\r\n", kLimit).quits);
  EXPECT_EQ(answers_to(std::string(300, 'x') + "\r\n\r\n", kLimit).answers, 2U);
}

TEST(AnswersTo, OnlyALineOfIdsMayBeLong) {
  const std::string ids = "delete-batch" + std::string(300, ' ');
  const std::string many = "delete-batch " + std::string(24 * 1024 - 15, '1');
  EXPECT_EQ(answers_to(ids + "\r\nstats\r\n", 10).answers, 2U);
  EXPECT_EQ(answers_to(many + "\r\nquit\r\n", 10).answers, 1U);
  EXPECT_TRUE(answers_to("quit\r\n", 10, CommandSet::standard).quits);
  EXPECT_EQ(answers_to("drain\r\nreserve-batch 1\r\n", 10, CommandSet::standard).answers, 2U);
}

TEST(AnswersTo, APutThatIsTooBigHasABodyDespiteTrailingText) {
  EXPECT_EQ(answers_to("put 0 0 0 11 x\r\n0123456789\r\n", 10).answers, 0U);
  EXPECT_EQ(answers_to("put 0 0 0 11 x\r\n0123456789\r\n\r\n", 11).answers, 3U);
  EXPECT_EQ(answers_to("put 0 0 0 11 x\r\n01234567890\r\n", 10).answers, 1U);
  EXPECT_EQ(answers_to("put 0 0 0 10 x\r\n0123456789\r\n", 10).answers, 2U);
}

}  // namespace
}  // namespace haricot::fuzz
