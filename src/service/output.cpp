#include "haricot/service/output.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot {

bool Output::add(const Reply& reply) {
  if (reply.code == ReplyCode::none) return true;
  if (has_body(reply.code)) return add_with_body(reply);
  char* to = bytes_.prepare(kReplyLineBytesMax);
  if (to == nullptr) return false;
  const std::size_t length = write_reply_line(reply, to);
  CHECK(length <= kReplyLineBytesMax);
  bytes_.commit(length);
  bytes_after_blobs_ += static_cast<std::uint32_t>(length);
  return true;
}

bool Output::add_with_body(const Reply& reply) {
  const bool by_reference = reply.blob && reply.blob.size() >= kBlobBytesMin;
  const std::string_view body = reply.blob ? reply.blob.view() : reply.text;
  const std::size_t copied = (by_reference ? 0 : body.size()) + 2;

  // Allocates all memory first: an answer is added completely or not at all.
  char* to = bytes_.prepare(kReplyLineBytesMax + copied);
  if (to == nullptr) return false;
  const std::size_t line = write_reply_line(reply, to);
  CHECK(line <= kReplyLineBytesMax);
  if (by_reference) {
    try {
      blobs_.push_back(PlacedBlob{bytes_after_blobs_ + line, 0, reply.blob});
    } catch (const std::bad_alloc&) {
      return false;
    }
    std::memcpy(to + line, "\r\n", 2);
    bytes_.commit(line + 2);
    bytes_after_blobs_ = 2;
    blob_bytes_ += static_cast<std::uint32_t>(reply.blob.size());
    return true;
  }
  if (!body.empty()) std::memcpy(to + line, body.data(), body.size());
  std::memcpy(to + line + body.size(), "\r\n", 2);
  const std::size_t length = line + body.size() + 2;
  bytes_.commit(length);
  bytes_after_blobs_ += static_cast<std::uint32_t>(length);
  return true;
}

bool Output::add_text(std::string_view text) {
  if (!bytes_.append(text)) return false;
  bytes_after_blobs_ += static_cast<std::uint32_t>(text.size());
  return true;
}

bool Output::add_blob(const BlobRef& blob) {
  CHECK(blob && blob.size() > 0);  // gather() requires it.
  try {
    blobs_.push_back(PlacedBlob{bytes_after_blobs_, 0, blob});
  } catch (const std::bad_alloc&) {
    return false;
  }
  bytes_after_blobs_ = 0;
  blob_bytes_ += static_cast<std::uint32_t>(blob.size());
  return true;
}

std::size_t Output::gather(std::span<std::string_view> pieces) const {
  std::size_t count = 0;
  std::string_view bytes = bytes_.view();
  for (const PlacedBlob& placed : std::span(blobs_).subspan(sent_blobs())) {
    CHECK(placed.bytes_before <= bytes.size() && placed.sent < placed.blob.size());
    if (count + 2 > pieces.size()) return count;
    if (placed.bytes_before > 0) pieces[count++] = bytes.substr(0, placed.bytes_before);
    bytes.remove_prefix(placed.bytes_before);
    pieces[count++] = placed.blob.view().substr(placed.sent);
  }
  if (count < pieces.size() && !bytes.empty()) pieces[count++] = bytes;
  return count;
}

void Output::consume(std::size_t bytes) {
  std::size_t finished = sent_blobs();
  for (PlacedBlob& placed : std::span(blobs_).subspan(finished)) {
    const std::size_t before = std::min(bytes, placed.bytes_before);
    bytes_.consume(before);
    placed.bytes_before -= before;
    bytes -= before;
    if (placed.bytes_before > 0) break;
    const std::size_t of_blob = std::min(bytes, placed.blob.size() - placed.sent);
    placed.sent += of_blob;
    blob_bytes_ -= static_cast<std::uint32_t>(of_blob);
    bytes -= of_blob;
    if (placed.sent < placed.blob.size()) break;
    placed.blob = {};
    ++finished;
  }
  if (2 * finished >= blobs_.size()) {
    blobs_.erase(blobs_.begin(), blobs_.begin() + static_cast<std::ptrdiff_t>(finished));
  } else if (finished > 0) {
    blobs_.front().sent = finished;
  }
  if (bytes == 0) return;
  CHECK(blobs_.empty() && bytes <= bytes_after_blobs_);
  bytes_.consume(bytes);
  bytes_after_blobs_ -= static_cast<std::uint32_t>(bytes);
}

void Output::cut_back(const Mark& mark) {
  CHECK(mark.bytes <= bytes_.size() && mark.blobs <= blobs_.size());
  bytes_.shorten(mark.bytes);
  blobs_.erase(blobs_.begin() + static_cast<std::ptrdiff_t>(mark.blobs), blobs_.end());
  blob_bytes_ = mark.blob_bytes;
  bytes_after_blobs_ = mark.bytes_after_blobs;
}

void Output::release_if_empty(ByteBuffer& spare) {
  if (!empty()) return;
  bytes_.release_if_empty(spare);
  if (blobs_.capacity() > 0) std::vector<PlacedBlob>().swap(blobs_);
}

void Output::write(StateWriter& to) const {
  std::vector<std::string_view> pieces(2 * blobs_.size() + 1);
  pieces.resize(gather(pieces));
  to.value(static_cast<std::uint32_t>(pieces.size()));
  for (const std::string_view piece : pieces) to.value(piece);
}

bool Output::read(StateReader& from) {
  std::uint32_t pieces = 0;
  from.value(pieces);
  for (std::uint32_t i = 0; i < pieces && from.is_good(); ++i) {
    std::string_view piece;
    from.value(piece);
    if (piece.empty()) from.refuse();
    if (piece.size() < kBlobBytesMin) {
      if (!piece.empty() && !add_text(piece)) return false;
      continue;
    }
    BlobRef blob = BlobRef::allocate(piece.size());
    if (!blob) return false;
    std::memcpy(blob.data(), piece.data(), piece.size());
    if (!add_blob(blob)) return false;
  }
  return from.is_good();
}

}  // namespace haricot
