// The answers of a session that have not been sent yet: small bytes in a buffer, large bodies by
// reference.
//
//   bytes    RESERVED 7 20971520\r\n | \r\nINSERTED 8\r\n
//   blobs                            ^ the body of job 7

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "haricot/base/blob.hpp"
#include "haricot/base/byte_buffer.hpp"
#include "haricot/base/state_stream.hpp"
#include "haricot/protocol/reply.hpp"

namespace haricot {

class Output {
 public:
  // Bodies of this size and more are sent from where they are. Copying a smaller body costs less
  // than one more piece in the system call.
  static constexpr std::size_t kBlobBytesMin = 4096;

  // False: no memory, and nothing was added. The session cannot go on then: an answer would be
  // missing.
  [[nodiscard]] bool add(const Reply& reply);

  // Adds a piece of a text. False: no memory, and nothing was added.
  [[nodiscard]] bool add_text(std::string_view text);
  // Adds a piece that is sent from where it is. False: no memory, and nothing was added.
  [[nodiscard]] bool add_blob(const BlobRef& blob);

  bool empty() const { return bytes_.empty() && blobs_.empty(); }
  // What is held here in memory of its own. Bodies that are referred to belong to their jobs as
  // well.
  std::size_t owned_bytes() const { return bytes_.size(); }
  // That and the bodies referred to.
  std::size_t pending_bytes() const { return bytes_.size() + std::size_t{blob_bytes_}; }

  // A place after all that is here now, valid until something is sent.
  struct Mark {
    std::uint32_t bytes = 0;
    std::uint32_t blobs = 0;
    std::uint32_t blob_bytes = 0;
    std::uint32_t bytes_after_blobs = 0;
  };
  Mark mark() const {
    return Mark{static_cast<std::uint32_t>(bytes_.size()),
                static_cast<std::uint32_t>(blobs_.size()), blob_bytes_, bytes_after_blobs_};
  }
  // Takes back all answers after the mark.
  void cut_back(const Mark& mark);

  // All that is to be sent if it is one piece, as it is without large bodies; else empty. Valid
  // until the output changes.
  std::string_view single_piece() const {
    return blobs_.empty() ? bytes_.view() : std::string_view();
  }
  // Fills `pieces` with what is to be sent, in order, and returns how many it took; not all may
  // fit. Valid until the output changes.
  std::size_t gather(std::span<std::string_view> pieces) const;

  // Takes off what was sent. Requires: at most what gather() gave.
  void consume(std::size_t bytes);

  void write(StateWriter& to) const;
  // Adds what was written. False: no memory, and a part may have been added.
  [[nodiscard]] bool read(StateReader& from);

  // Gives all memory back when nothing is left; that of a small buffer to `spare`, if that has
  // none. Requires: `spare` is empty.
  void release_if_empty(ByteBuffer& spare);
  // Takes the memory of `spare` if there is none here. Requires: `spare` is empty.
  void take_memory(ByteBuffer& spare) { bytes_.take_memory(spare); }

 private:
  [[gnu::noinline]] bool add_with_body(const Reply& reply);

  struct PlacedBlob {
    std::size_t bytes_before;  // Bytes of `bytes_` between the blob before this one and this one.
    std::size_t sent;          // How much of the blob is sent already.
    BlobRef blob;              // Null: all of it is sent.
  };

  // Number of blobs at the front that are sent. They stay there until they are half of all, so that
  // a send moves no more of the later blobs than it has sent. `sent` of the first has the number.
  std::size_t sent_blobs() const {
    return blobs_.empty() || blobs_.front().blob ? 0 : blobs_.front().sent;
  }

  ByteBuffer bytes_;
  std::vector<PlacedBlob> blobs_;
  // Both stay far below 4 GiB: see Session::output_is_full().
  std::uint32_t blob_bytes_ = 0;         // Of all blobs, what is not sent.
  std::uint32_t bytes_after_blobs_ = 0;  // Bytes of `bytes_` after the last blob.
};

}  // namespace haricot
