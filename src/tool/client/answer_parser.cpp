#include "tool/client/answer_parser.hpp"

#include <algorithm>
#include <cstring>

#include "haricot/base/check.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot::tool {
namespace {

constexpr std::uint64_t kBodyBytesMax = std::uint64_t{1} << 32;

}  // namespace

void AnswerParser::restart() {
  in_body_ = false;
  kept_bytes_ = 0;
  kept_is_used_ = false;
}

AnswerParser::Result AnswerParser::next(std::string_view& bytes) {
  if (!in_body_) {
    const Result result = take_line(bytes);
    if (result != Result::answer) return result;
    in_body_ = has_body(current_.code);
    body_taken_ = 0;
    kept_body_.clear();
  }
  if (in_body_) {
    if (!take_body(bytes)) return Result::malformed;
    if (body_taken_ < current_.body_bytes + kTrailerBytes) {
      // The caller's bytes with the line are gone before the body ends, so copy the line.
      if (!kept_is_used_) {
        CHECK(current_.line.size() <= kept_.size());
        std::memcpy(kept_.data(), current_.line.data(), current_.line.size());
        current_.line = {kept_.data(), current_.line.size()};
        kept_is_used_ = true;
      }
      return Result::more;
    }
    in_body_ = false;
    current_.body = kept_body_;
  }
  return Result::answer;
}

// Reads the next line into current_.
AnswerParser::Result AnswerParser::take_line(std::string_view& bytes) {
  if (kept_is_used_) kept_bytes_ = 0;
  kept_is_used_ = false;
  const void* end = bytes.empty() ? nullptr : std::memchr(bytes.data(), '\n', bytes.size());
  const std::size_t taken =
      end == nullptr ? bytes.size()
                     : static_cast<std::size_t>(static_cast<const char*>(end) - bytes.data()) + 1;
  std::string_view line = bytes.substr(0, taken);
  if (kept_bytes_ + taken > kept_.size()) {
    current_ = Answer{};
    current_.line = kept_bytes_ > 0 ? std::string_view(kept_.data(), kept_bytes_)
                                    : line.substr(0, kept_.size());
    return Result::malformed;
  }
  if (end == nullptr || kept_bytes_ > 0) {
    std::copy(line.begin(), line.end(), kept_.data() + kept_bytes_);
    kept_bytes_ += taken;
    line = {kept_.data(), kept_bytes_};
  }
  bytes.remove_prefix(taken);
  if (end == nullptr) return Result::more;
  kept_is_used_ = kept_bytes_ > 0;
  return read_line(line) ? Result::answer : Result::malformed;
}

bool AnswerParser::read_line(std::string_view line) {
  current_ = Answer{};
  const bool ends_well = line.ends_with("\r\n");
  line.remove_suffix(ends_well ? 2 : 1);
  current_.line = line;
  if (!ends_well) return false;
  ReplyLine reply;
  if (!read_reply_line(line, reply)) return false;
  current_.code = reply.code;
  current_.number = reply.number;
  current_.body_bytes = reply.body_bytes;
  // No server has larger bodies, and the length plus CR LF cannot overflow.
  return current_.body_bytes <= kBodyBytesMax;
}

// Takes bytes of the body and its CR LF, and compares the body with the expected one. Returns false
// if the CR LF is missing.
bool AnswerParser::take_body(std::string_view& bytes) {
  const std::uint64_t size = current_.body_bytes;
  CHECK(in_body_ && body_taken_ < size + kTrailerBytes);
  if (body_taken_ == 0) current_.body_matches = size == expected_.size();
  if (body_taken_ < size) {
    const auto taken =
        static_cast<std::size_t>(std::min<std::uint64_t>(size - body_taken_, bytes.size()));
    if (current_.body_matches) {
      current_.body_matches =
          bytes.substr(0, taken) == expected_.substr(static_cast<std::size_t>(body_taken_), taken);
    }
    const std::uint64_t room = kept_bytes_max_ - std::min(kept_bytes_max_, body_taken_);
    kept_body_.append(
        bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(taken, room))));
    bytes.remove_prefix(taken);
    body_taken_ += taken;
  }
  while (body_taken_ >= size && body_taken_ < size + kTrailerBytes && !bytes.empty()) {
    if (bytes[0] != (body_taken_ == size ? '\r' : '\n')) return false;
    bytes.remove_prefix(1);
    ++body_taken_;
  }
  return true;
}

}  // namespace haricot::tool
