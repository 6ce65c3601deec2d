#include "tool/client/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::tool {
namespace {

using Read = Pipeline::Read;

constexpr Instant kStart = Instant::at(0);
constexpr Duration kPatience = Duration::seconds(5);

// Sends requests, and records their answers in order; "lost" for a request without an answer.
class PipelineTest : public ::testing::Test {
 protected:
  // Returns a request for one command and for its answer, which is recorded under this name.
  Request& request(const std::string& command, std::uint64_t body_bytes_max = 1000) {
    Asked& asked = asked_.emplace_back();
    asked.text = command + "\r\n";
    asked.request.commands = asked.text;
    asked.request.take = AnswerHandler::to<&PipelineTest::record>(*this);
    asked.request.patience = kPatience;
    asked.request.body_bytes_max = body_bytes_max;
    return asked.request;
  }
  Request& ask(const std::string& command, std::uint64_t body_bytes_max = 1000) {
    Request& asked = request(command, body_bytes_max);
    pipeline_.ask(asked);
    return asked;
  }
  // Asks for a `use`, two commands that need its tube, and their answers.
  void ask_in_tube(const std::string& use) {
    Request& together = request(use + "\r\nkick 1\r\nuse default");
    together.answers = 3;
    together.gate_bytes = use.size() + 2;
    pipeline_.ask(together);
  }
  // Returns the bytes to send, at most so many, and takes them as sent.
  std::string send(Instant now = kStart, std::size_t bytes_max = 1'000'000) {
    std::string output;
    std::string_view pieces[4];
    while (pipeline_.has_output()) {
      const std::size_t count = pipeline_.gather(pieces, now);
      EXPECT_GT(count, 0U);
      std::string some;
      for (std::size_t i = 0; i < count; ++i) some += pieces[i];
      some.resize(std::min(some.size(), bytes_max - output.size()));
      if (some.empty()) break;
      pipeline_.sent(some.size(), now);
      output += some;
    }
    EXPECT_EQ(pipeline_.has_output(), pipeline_.gather(pieces, now) > 0);
    return output;
  }
  Read receive(std::string_view bytes, Instant now = kStart) {
    return pipeline_.receive(bytes, now);
  }
  std::vector<std::string> take_answers() { return std::move(answers_); }

  struct Asked {
    std::string text;
    Request request = {};
  };
  std::deque<Asked> asked_;
  Pipeline pipeline_{64};
  std::vector<std::string> answers_;

 private:
  void record(Request& request, const Answer* answer) {
    const std::string_view name = request.commands.substr(0, request.commands.find('\r'));
    std::string text = std::string(name) + ": ";
    if (request.answered > 0) text = std::to_string(request.answered) + " " + text;
    text +=
        answer == nullptr ? "lost" : std::string(answer->line) + " " + std::string(answer->body);
    answers_.push_back(text);
  }
};

using Texts = std::vector<std::string>;

TEST_F(PipelineTest, AnswersGoToTheirRequestsWhereverTheBytesAreCut) {
  ask("peek 1");
  ask("delete 2");
  EXPECT_EQ(send(), "peek 1\r\ndelete 2\r\n");
  for (const char c : std::string("FOUND 1 5\r\nhe\r\no\r\nNOT_FOUND\r\n")) {
    ASSERT_EQ(receive({&c, 1}), Read::good);
  }
  EXPECT_EQ(take_answers(), (Texts{"peek 1: FOUND 1 5 he\r\no", "delete 2: NOT_FOUND "}));
  EXPECT_TRUE(pipeline_.is_idle());
}

TEST_F(PipelineTest, BytesThatWereNotSentAreSentNext) {
  for (const std::size_t at_once : {1U, 2U, 7U, 100U}) {
    ask("peek 1");
    ask("delete 2");
    std::string all;
    while (all.size() < 18) all += send(kStart, at_once);
    EXPECT_EQ(all, "peek 1\r\ndelete 2\r\n");
    EXPECT_EQ(send(), "");
    ASSERT_EQ(receive("NOT_FOUND\r\nDELETED\r\n"), Read::good);
  }
}

TEST_F(PipelineTest, CommandsAreSentFromTheMemoryOfTheirRequest) {
  const Request& asked = ask("peek 1");
  std::string_view piece;
  ASSERT_EQ(pipeline_.gather({&piece, 1}, kStart), 1U);
  EXPECT_EQ(piece.data(), asked.commands.data());
  pipeline_.abort();
}

TEST_F(PipelineTest, ARequestGetsAllItsAnswers) {
  Request& three = request("delete 1\r\ndelete 2\r\ndelete 3");
  three.answers = 3;
  pipeline_.ask(three);
  ask("stats");
  EXPECT_EQ(send(), "delete 1\r\ndelete 2\r\ndelete 3\r\nstats\r\n");
  ASSERT_EQ(receive("DELETED\r\nNOT_FOUND\r\n"), Read::good);
  EXPECT_TRUE(three.is_pending());
  ASSERT_EQ(receive("DELETED\r\n"), Read::good);
  EXPECT_FALSE(three.is_pending());
  EXPECT_EQ(take_answers(),
            (Texts{"delete 1: DELETED ", "1 delete 1: NOT_FOUND ", "2 delete 1: DELETED "}));
  pipeline_.abort();
}

TEST_F(PipelineTest, TheAnswersUnderWayAreLimited) {
  for (int i = 0; i < 100; ++i) ask("delete 1");
  EXPECT_EQ(send().size(), 64 * std::string("delete 1\r\n").size());
  ASSERT_EQ(receive("DELETED\r\nDELETED\r\n"), Read::good);
  EXPECT_EQ(send(), "delete 1\r\ndelete 1\r\n");
  pipeline_.abort();
}

TEST_F(PipelineTest, ALargerRequestIsSentAlone) {
  ask("stats");
  Request& many = request("many");
  many.answers = 65;
  pipeline_.ask(many);
  ask("delete 1");
  EXPECT_EQ(send(), "stats\r\n");
  ASSERT_EQ(receive("DRAINING\r\n"), Read::good);
  EXPECT_EQ(send(), "many\r\n");
  for (int i = 0; i < 65; ++i) {
    EXPECT_EQ(send(), i < 2 ? "" : i == 2 ? "delete 1\r\n" : "");
    ASSERT_EQ(receive("DELETED\r\n"), Read::good);
  }
  EXPECT_FALSE(many.is_pending());
  pipeline_.abort();
}

TEST_F(PipelineTest, OnlySoMuchOfABodyIsStored) {
  ask("peek 1", 3);
  ask("peek 2");
  send();
  ASSERT_EQ(receive("FOUND 1 5\r\nhello\r\nFOUND 2 5\r\nworld\r\n"), Read::good);
  EXPECT_EQ(take_answers(), (Texts{"peek 1: FOUND 1 5 hel", "peek 2: FOUND 2 5 world"}));
}

TEST_F(PipelineTest, AServerThatMovesFewBytesIsLate) {
  EXPECT_EQ(pipeline_.deadline(), Instant::never());
  ask("peek 1");
  EXPECT_EQ(pipeline_.deadline(), Instant::never());
  send();
  EXPECT_EQ(pipeline_.deadline(), kStart + kPatience);
  ASSERT_EQ(receive("FOUND 1 200000\r\nabc", kStart + Duration::seconds(4)), Read::good);
  EXPECT_EQ(pipeline_.deadline(), kStart + kPatience);
  EXPECT_TRUE(pipeline_.parser().is_in_answer());
  // A server that sends much is not silent.
  const Instant later = kStart + Duration::seconds(5);
  ASSERT_EQ(receive(std::string(100'000, 'x'), later), Read::good);
  EXPECT_EQ(pipeline_.deadline(), later + kPatience);
  pipeline_.abort();
  EXPECT_EQ(pipeline_.deadline(), Instant::never());
}

TEST_F(PipelineTest, AServerThatReceivesMuchIsNotLate) {
  ask(std::string(200'000, 'x'));
  send(kStart, 1000);
  EXPECT_EQ(pipeline_.deadline(), kStart + kPatience);
  const Instant later = kStart + Duration::seconds(4);
  send(later, 100'000);
  EXPECT_EQ(pipeline_.deadline(), later + kPatience);
  pipeline_.abort();
}

TEST_F(PipelineTest, EachRequestHasItsOwnPatience) {
  ask("stats-tube mail");
  ask("flush-tube mail").patience = Duration::seconds(300);
  send();
  const Instant later = kStart + Duration::seconds(1);
  ASSERT_EQ(receive("NOT_FOUND\r\n", later), Read::good);
  EXPECT_EQ(pipeline_.deadline(), later + Duration::seconds(300));
  pipeline_.abort();
}

TEST_F(PipelineTest, ALostConnectionAnswersAllRequestsWithNull) {
  ask("peek 1");
  send();
  ASSERT_EQ(receive("FOUND 1 5\r\nhe"), Read::good);
  ask("stats");
  pipeline_.abort();
  EXPECT_EQ(take_answers(), (Texts{"peek 1: lost", "stats: lost"}));
  EXPECT_TRUE(pipeline_.is_idle());
  // The next connection has no bytes of the last one.
  ask("delete 1");
  EXPECT_EQ(send(), "delete 1\r\n");
  ASSERT_EQ(receive("DELETED\r\n"), Read::good);
  EXPECT_EQ(take_answers(), Texts{"delete 1: DELETED "});
}

TEST_F(PipelineTest, ARequestThatIsAskedWhileTheConnectionIsLostIsForTheNextOne) {
  Request& again = request("stats");
  Request first;
  auto ask_again = [&](const Request&, const Answer* answer) {
    if (answer == nullptr) pipeline_.ask(again);
  };
  first.commands = "peek 1\r\n";
  first.take = AnswerHandler::of(ask_again);
  pipeline_.ask(first);
  send();
  pipeline_.abort();
  EXPECT_TRUE(again.is_pending());
  EXPECT_EQ(send(), "stats\r\n");
  ASSERT_EQ(receive("DRAINING\r\n"), Read::good);
  EXPECT_EQ(take_answers(), Texts{"stats: DRAINING "});
}

TEST_F(PipelineTest, AHandlerMayAbort) {
  Request first;
  auto stop = [&](const Request&, const Answer* answer) {
    if (answer != nullptr) pipeline_.abort();
  };
  first.commands = "peek 1\r\n";
  first.take = AnswerHandler::of(stop);
  first.answers = 2;
  pipeline_.ask(first);
  ask("stats");
  send();
  EXPECT_EQ(receive("NOT_FOUND\r\nNOT_FOUND\r\nDRAINING\r\n"), Read::good);
  EXPECT_FALSE(first.is_pending());
  EXPECT_EQ(take_answers(), Texts{"stats: lost"});
  EXPECT_TRUE(pipeline_.is_idle());
}

TEST_F(PipelineTest, AHandlerMayDestroyItsRequestAfterTheLastAnswer) {
  auto first = std::make_unique<Request>();
  auto destroy = [&](const Request&, const Answer*) { first.reset(); };
  first->commands = "peek 1\r\n";
  first->take = AnswerHandler::of(destroy);
  pipeline_.ask(*first);
  ask("stats");
  send();
  EXPECT_EQ(receive("NOT_FOUND\r\nDRAINING\r\n"), Read::good);
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(take_answers(), Texts{"stats: DRAINING "});
}

TEST_F(PipelineTest, ACommandForATubeFollowsItsUse) {
  ask("peek 1");
  ask_in_tube("use mail");
  ask_in_tube("use mail");
  EXPECT_EQ(send(), "peek 1\r\nuse mail\r\n");
  ASSERT_EQ(receive("NOT_FOUND\r\n"), Read::good);
  EXPECT_EQ(send(), "");
  ASSERT_EQ(receive("OUT_OF_MEMORY\r\n"), Read::good);
  EXPECT_EQ(take_answers(), (Texts{"peek 1: NOT_FOUND ", "use mail: OUT_OF_MEMORY ",
                                   "1 use mail: OUT_OF_MEMORY ", "2 use mail: OUT_OF_MEMORY "}));
  EXPECT_EQ(send(), "use mail\r\n");
  ASSERT_EQ(receive("USING mail\r\n"), Read::good);
  EXPECT_EQ(send(), "kick 1\r\nuse default\r\n");
  ASSERT_EQ(receive("KICKED 1\r\nUSING default\r\n"), Read::good);
  // A connection that is lost in between leaves no command waiting.
  ask_in_tube("use mail");
  send();
  pipeline_.abort();
  ask("peek 2");
  EXPECT_EQ(send(), "peek 2\r\n");
  pipeline_.abort();
}

TEST_F(PipelineTest, AnswersThatArriveBeforeAllIsSentDoNotStopTheSending) {
  ask("put 0 0 1 10\r\n0123456789");
  EXPECT_EQ(send(kStart, 16), "put 0 0 1 10\r\n01");
  ASSERT_EQ(receive("DRAINING\r\n"), Read::good);
  EXPECT_FALSE(asked_.front().request.is_pending());
  EXPECT_FALSE(pipeline_.is_idle());
  EXPECT_EQ(pipeline_.deadline(), kStart + kPatience);
  asked_.pop_front();  // Nothing of it is used any more.
  ask("stats");
  EXPECT_EQ(send(), "23456789\r\nstats\r\n");
  pipeline_.abort();
}

TEST_F(PipelineTest, AnotherProtocolIsForeign) {
  ask("stats");
  send();
  EXPECT_EQ(receive("HTTP/1.1 400 Bad Request\r\n"), Read::foreign);
  EXPECT_EQ(pipeline_.line(), "HTTP/1.1 400 Bad Request");
  pipeline_.abort();
}

TEST_F(PipelineTest, AnAnswerWithoutARequestIsUnasked) {
  ask("stats");  // Not sent.
  EXPECT_EQ(receive("220 mail.example.com ESMTP\r\n"), Read::foreign);
  EXPECT_EQ(pipeline_.line(), "220 mail.example.com ESMTP");
  pipeline_.abort();
  ask("delete 1");
  send();
  EXPECT_EQ(receive("DELETED\r\nINSERTED 5\r\n"), Read::unasked);
  EXPECT_EQ(pipeline_.line(), "INSERTED 5");
  pipeline_.abort();
}

}  // namespace
}  // namespace haricot::tool
