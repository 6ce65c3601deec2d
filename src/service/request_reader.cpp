#include "haricot/service/request_reader.hpp"

#include <algorithm>
#include <cstring>

#include "haricot/base/check.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/job_store.hpp"

namespace haricot {
namespace {

using Kind = RequestPiece::Kind;

// A line has at most kLineBytesMax bytes with its CR LF; the rest of a longer line is discarded.
constexpr std::string_view kLineEnd = "\r\n";

// Returns the length of the first line, or npos if it has no CR LF. Requires: its CR is not before
// `from`. Searches for the first LF, which rarely lacks its CR. If it does, compares the bytes one
// by one from there, because a call of memchr for each LF would be many times slower.
std::size_t line_length(std::string_view input, std::size_t from = 0) {
  if (input.size() < from + kLineEnd.size()) return std::string_view::npos;
  const char* const end = input.data() + input.size();
  const char* at = input.data() + from + 1;
  at = static_cast<const char*>(std::memchr(at, kLineEnd[1], static_cast<std::size_t>(end - at)));
  if (at == nullptr) return std::string_view::npos;
  for (; at != end; ++at) {
    const bool is_end = at[0] == kLineEnd[1] && at[-1] == kLineEnd[0];
    if (is_end) return static_cast<std::size_t>(at - 1 - input.data());
  }
  return std::string_view::npos;
}

}  // namespace

RequestPiece RequestReader::next(std::string_view input) {
  switch (stage_) {
    case Stage::line:
      return next_line(input);
    case Stage::rest_of_line:
      return rest_of_line(input);
    case Stage::body:
      return next_of_body(input);
    case Stage::rest_of_body:
    case Stage::rest_of_end:
      return rest_of_body(input);
  }
  CHECK(false);
  return {};
}

RequestPiece RequestReader::next_line(std::string_view input) {
  const std::size_t length = line_length(input.substr(0, kLineBytesMax));
  if (length != std::string_view::npos) [[likely]]
    return {Kind::line, length + kLineEnd.size(), input.substr(0, length)};
  if (input.size() < kLineBytesMax) return {};
  return next_long_line(input);
}

// Only a line of delete-batch may be that long. It may arrive byte by byte, so each byte is
// searched once, except a CR at the end, which may be the first half of the line end.
RequestPiece RequestReader::next_long_line(std::string_view input) {
  const std::size_t searched = is_in_batch_line_ ? searched_bytes_ : 0;
  is_in_batch_line_ = false;
  if (allows_batch_lines_ && input.starts_with(row_of(Verb::delete_batch).word)) {
    const std::size_t length = line_length(input.substr(0, kBatchLineBytesMax), searched);
    if (length != std::string_view::npos) {
      return {Kind::line, length + kLineEnd.size(), input.substr(0, length)};
    }
    is_in_batch_line_ = input.size() < kBatchLineBytesMax;
    if (is_in_batch_line_) {
      CHECK(!input.empty());
      searched_bytes_ = static_cast<std::uint32_t>(input.size() - 1);
      return {};
    }
  }
  stage_ = Stage::rest_of_line;
  return rest_of_line(input);
}

// Discards bytes up to the next line end. Keeps a CR at the end, which may be the first half of a
// line end.
RequestPiece RequestReader::rest_of_line(std::string_view input) {
  const std::size_t end = line_length(input);
  if (end != std::string_view::npos) {
    stage_ = Stage::line;
    return {.kind = Kind::end_of_long_line, .bytes = end + kLineEnd.size()};
  }
  const std::size_t bytes = input.ends_with('\r') ? input.size() - 1 : input.size();
  if (bytes == 0) return {};
  return {.kind = Kind::discarded, .bytes = bytes};
}

// Returns a small body in the input as soon as it is complete with its CR LF.
RequestPiece RequestReader::next_of_body(std::string_view input) {
  if (plan_.body) [[unlikely]]
    return next_of_large_body(input);
  const std::size_t bytes = plan_.body_bytes;
  if (input.size() < bytes + kTrailerBytes) return {};
  return end_of_body(input, bytes);
}

RequestPiece RequestReader::next_of_large_body(std::string_view input) {
  CHECK(plan_.body.size() == plan_.body_bytes && body_bytes_left_ <= plan_.body_bytes);
  if (body_bytes_left_ == 0) {
    return input.size() < kTrailerBytes ? RequestPiece{} : end_of_body(input, 0);
  }
  const std::size_t bytes = std::min<std::size_t>(body_bytes_left_, input.size());
  if (bytes == 0) return {};
  std::memcpy(direct_space().data(), input.data(), bytes);
  took_directly(bytes);
  return {.kind = Kind::part_of_body, .bytes = bytes};
}

RequestPiece RequestReader::end_of_body(std::string_view input, std::size_t body_bytes) {
  CHECK(input.size() >= body_bytes + kTrailerBytes);
  stage_ = Stage::line;
  const bool ends_well = input.substr(body_bytes, kTrailerBytes) == kLineEnd;
  if (!ends_well) plan_.body = {};
  return {ends_well ? Kind::body : Kind::body_without_end, body_bytes + kTrailerBytes,
          input.substr(0, body_bytes)};
}

RequestPiece RequestReader::rest_of_body(std::string_view input) {
  CHECK(plan_.refusal != ReplyCode::none);
  CHECK(stage_ == Stage::rest_of_body || body_bytes_left_ <= kTrailerBytes);
  std::size_t used = 0;
  if (stage_ == Stage::rest_of_body) {
    used = std::min<std::size_t>(body_bytes_left_, input.size());
    body_bytes_left_ -= static_cast<std::uint32_t>(used);
    if (body_bytes_left_ == 0) {
      stage_ = Stage::rest_of_end;
      body_bytes_left_ = kTrailerBytes;
    }
  }
  if (stage_ == Stage::rest_of_end) {
    const std::size_t bytes = std::min<std::size_t>(body_bytes_left_, input.size() - used);
    body_bytes_left_ -= static_cast<std::uint32_t>(bytes);
    used += bytes;
    if (body_bytes_left_ == 0) {
      stage_ = Stage::line;
      return {.kind = Kind::end_of_refused, .bytes = used};
    }
  }
  if (used == 0) return {};
  return {.kind = Kind::discarded, .bytes = used};
}

std::span<char> RequestReader::direct_space() {
  if (stage_ != Stage::body || !plan_.body) return {};
  return {plan_.body.data() + (plan_.body_bytes - body_bytes_left_), body_bytes_left_};
}

void RequestReader::took_directly(std::size_t bytes) {
  CHECK(stage_ == Stage::body && plan_.body);
  CHECK(bytes <= body_bytes_left_);
  body_bytes_left_ -= static_cast<std::uint32_t>(bytes);
}

void RequestReader::write(StateWriter& to) const {
  const bool has_plan = stage_ != Stage::line && stage_ != Stage::rest_of_line;
  to.value(stage_);
  to.value(is_in_batch_line_);
  to.value(has_plan || is_in_batch_line_ ? body_bytes_left_ : 0);
  if (!has_plan) return;
  PutPlan::Fields::write(to, plan_);
  to.value(static_cast<bool>(plan_.body));
  if (plan_.body) to.value(plan_.body.view().substr(0, plan_.body_bytes - body_bytes_left_));
}

bool RequestReader::read(StateReader& from) {
  bool is_in_batch_line = false;
  from.value(stage_);
  from.value(is_in_batch_line);
  from.value(body_bytes_left_);
  is_in_batch_line_ = is_in_batch_line;
  if (stage_ == Stage::line || stage_ == Stage::rest_of_line) {
    const bool is_searched = is_in_batch_line && searched_bytes_ < kBatchLineBytesMax;
    if (!is_searched && body_bytes_left_ > 0) from.refuse();
    if (is_in_batch_line && !allows_batch_lines_) from.refuse();
    return from.is_good();
  }
  PutPlan::Fields::read(from, plan_);
  const std::uint64_t left_max = stage_ == Stage::rest_of_end ? kTrailerBytes : plan_.body_bytes;
  const bool is_wanted = plan_.refusal == ReplyCode::none;
  if (body_bytes_left_ > left_max || is_wanted != (stage_ == Stage::body)) from.refuse();
  bool is_large = false;
  from.value(is_large);
  const bool has_large_body = plan_.body_bytes > JobStore::kInlineBodyBytesMax;
  const std::uint32_t bytes_max =
      plan_.kind == PutPlan::Kind::note ? kNoteBytesMax : kJobBytesMaxLimit;
  if (is_wanted && (is_large != has_large_body || plan_.body_bytes > bytes_max)) from.refuse();
  if (!from.is_good() || !is_large) return from.is_good();
  std::string_view body;
  from.value(body);
  if (!is_wanted || body.size() != plan_.body_bytes - body_bytes_left_) from.refuse();
  if (!from.is_good()) return false;
  plan_.body = BlobRef::allocate(plan_.body_bytes);
  if (!plan_.body) return false;
  if (!body.empty()) std::memcpy(plan_.body.data(), body.data(), body.size());
  return true;
}

}  // namespace haricot
