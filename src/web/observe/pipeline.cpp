#include "web/observe/pipeline.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::web {
namespace {

// Progress in bytes that renews the deadline of a long answer. A server that trickles bytes is as
// late as a silent one.
constexpr std::size_t kProgressBytes = 64 * 1024;
// Larger than any useful report: the names of 100,000 tubes take 20 MB at most.
constexpr std::uint64_t kReportBytesMax = 32 * 1024 * 1024;
constexpr std::size_t kForeignBytesShown = 60;

}  // namespace

void Pipeline::ask(Question question) {
  CHECK(can_ask(1));
  waiting_.push_back(std::move(question));
}

void Pipeline::start_some(Instant now) {
  while (!waits_for_use_ && under_way_.size() < kUnderWayMax && !waiting_.empty()) {
    Question& next = waiting_.front();
    if (under_way_.empty()) {
      deadline_ = now + next.patience;
      bytes_since_ = 0;
    }
    output_ += next.command;
    next.command = {};
    waits_for_use_ = next.followers > 0;
    under_way_.push_back(std::move(next));
    waiting_.pop_front();
  }
}

std::string_view Pipeline::output(Instant now) {
  start_some(now);
  return std::string_view(output_).substr(sent_);
}

void Pipeline::sent(std::size_t bytes) {
  sent_ += bytes;
  CHECK(sent_ <= output_.size());
  if (sent_ < output_.size()) return;
  output_.clear();
  sent_ = 0;
}

bool Pipeline::receive(std::string_view bytes, Instant now) {
  received_ = now;
  bytes_since_ += bytes.size();
  if (bytes_since_ >= kProgressBytes && !under_way_.empty()) {
    deadline_ = now + under_way_.front().patience;
    bytes_since_ = 0;
  }
  while (!bytes.empty()) {
    if (!take_answer(bytes, now)) return false;
  }
  return true;
}

bool Pipeline::take_answer(std::string_view& bytes, Instant now) {
  const auto wrong = [this](std::string_view what) {
    words_ = what.substr(0, kForeignBytesShown);
    return false;
  };
  // Without a question, this is the greeting of another kind of server.
  if (under_way_.empty()) return wrong(bytes);
  if (!is_in_answer_) {
    parser_.keep_bodies(std::min(under_way_.front().body_bytes_max, kReportBytesMax));
  }
  tool::Answer answer;
  const tool::AnswerParser::Result result = parser_.next(bytes, answer);
  is_in_answer_ = result == tool::AnswerParser::Result::more;
  if (is_in_answer_) return true;
  if (result == tool::AnswerParser::Result::malformed) return wrong(answer.line);
  const Question question = std::move(under_way_.front());
  under_way_.pop_front();
  if (!under_way_.empty()) deadline_ = now + under_way_.front().patience;
  bytes_since_ = 0;
  std::deque<Question> refused;
  if (question.followers > 0) waits_for_use_ = false;
  if (answer.code != ReplyCode::now_using) {
    CHECK(question.followers <= waiting_.size());
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(question.followers);
    std::move(waiting_.begin(), end, std::back_inserter(refused));
    waiting_.erase(waiting_.begin(), end);
  }
  question.take(&answer);
  for (const Question& follower : refused) follower.take(&answer);
  return true;
}

void Pipeline::lose() {
  std::deque<Question> lost = std::move(under_way_);
  for (Question& question : waiting_) lost.push_back(std::move(question));
  waiting_.clear();
  under_way_.clear();
  output_.clear();
  sent_ = 0;
  parser_.restart();
  is_in_answer_ = false;
  waits_for_use_ = false;
  for (const Question& question : lost) question.take(nullptr);
}

}  // namespace haricot::web
