// The unsent answers of a session: small bytes in a buffer, large bodies by reference.
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
#include "haricot/base/serialization.hpp"
#include "haricot/protocol/reply.hpp"

namespace haricot {

class Output {
 public:
  // Minimum size of bodies that are sent by reference. Copying a smaller body costs less than one
  // more piece in the system call.
  static constexpr std::size_t kBlobBytesMin = 4096;

  // The functions that add something return false if memory is short, and add nothing then. The
  // session has to end, because an answer would be missing.

  // Adds an answer.
  [[nodiscard]] bool add(const Reply& reply);

  // Adds a piece of a text.
  [[nodiscard]] bool add_text(std::string_view text);
  // Adds a piece by reference.
  [[nodiscard]] bool add_blob(const BlobRef& blob);

  bool empty() const { return bytes_.empty() && blobs_.empty(); }
  // Returns the bytes in memory that only the output uses, without bodies by reference.
  std::size_t owned_bytes() const { return bytes_.size(); }
  // Returns all unsent bytes.
  std::size_t pending_bytes() const { return bytes_.size() + std::size_t{blob_bytes_}; }

  // A position in the output, valid until something is sent.
  struct Mark {
    std::uint32_t bytes = 0;
    std::uint32_t blobs = 0;
    std::uint32_t blob_bytes = 0;
    std::uint32_t bytes_after_blobs = 0;
  };
  // Returns the position after everything that was added.
  Mark mark() const {
    return Mark{static_cast<std::uint32_t>(bytes_.size()),
                static_cast<std::uint32_t>(blobs_.size()), blob_bytes_, bytes_after_blobs_};
  }
  // Removes all answers after the mark.
  void cut_back(const Mark& mark);
  // Removes everything, but frees no memory.
  void cut_back_to_begin() { cut_back({}); }

  // Returns all unsent bytes if they are one piece, as they are without large bodies; otherwise
  // nothing. Valid until the output changes.
  std::string_view single_piece() const {
    return blobs_.empty() ? bytes_.view() : std::string_view();
  }
  // Fills `pieces` with unsent bytes, in order, and returns the number of pieces; not all bytes may
  // fit. Valid until the output changes.
  std::size_t gather(std::span<std::string_view> pieces) const;

  // Removes bytes that were sent. Requires: at most the bytes that gather() has returned.
  void consume(std::size_t bytes);

  void write(StateWriter& to) const;
  // Adds the bytes that write() has written. Returns false without memory or if the state is
  // broken; a part may have been added.
  [[nodiscard]] bool read(StateReader& from);

  // Frees all memory if the output is empty; `spare` gets that of a small buffer, if it has none.
  // Requires: `spare` is empty.
  void release_if_empty(ByteBuffer& spare);
  // Takes the memory of `spare` if the output has none. Requires: `spare` is empty.
  void take_memory(ByteBuffer& spare) { bytes_.take_memory(spare); }

 private:
  [[gnu::noinline]] bool add_with_body(const Reply& reply);

  struct PlacedBlob {
    std::size_t bytes_before;  // Bytes of `bytes_` between the previous blob and this one.
    std::size_t sent;          // Bytes of the blob that are sent.
    BlobRef blob;              // Null: all of it is sent.
  };

  // Returns the number of sent blobs at the front. They stay there until they are half of all, so
  // that a send moves no more blobs than it has sent. `sent` of the first has the number.
  std::size_t sent_blobs() const {
    return blobs_.empty() || blobs_.front().blob ? 0 : blobs_.front().sent;
  }

  ByteBuffer bytes_;
  std::vector<PlacedBlob> blobs_;
  // Both are far below 4 GiB, because no command runs while the output is full (Session).
  std::uint32_t blob_bytes_ = 0;         // Unsent bytes of all blobs.
  std::uint32_t bytes_after_blobs_ = 0;  // Bytes of `bytes_` after the last blob.
};

}  // namespace haricot
