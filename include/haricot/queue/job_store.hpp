// Keeps all jobs: allocates them with their bodies, finds them by id, gives their memory back.
//
// Jobs live in chunks of 256 KiB, each cut into pieces of one size (a multiple of 8 bytes), without
// an allocator's header between them. A chunk that falls empty goes back to the allocator, but for
// one of each size that is kept for the next job. A body above kInlineBodyBytesMax is a blob of its
// own, shared with the answers that carry it.
//
// With a journal, each job's piece ends in a note that is the journal's. The tags of a job, if it
// has any, stand in front of that.
//
// The tombstone of a job whose key outlives it is a piece as well. It is no job: it has an index of
// ids of its own, the name of the tube as its body, and the key as its only tag.
//
// The store knows nothing of tubes and states; that is the engine's.
//
// Limit: 2^19 chunks, that is 128 GiB of jobs, not counting the bodies above kInlineBodyBytesMax.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "haricot/base/blob.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/queue/id_index.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// A body on its way into the store: bytes that are copied, or a blob that is taken over. A body of
// more than JobStore::kInlineBodyBytesMax bytes has to come as a blob, a smaller one as bytes.
struct NewBody {
  std::string_view bytes;
  BlobRef blob;

  std::size_t size() const { return blob ? blob.size() : bytes.size(); }
};

class JobStore {
 public:
  static constexpr std::size_t kInlineBodyBytesMax = 1024;

  explicit JobStore(bool with_journal_fields = false);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // Makes a job of that id with all counters at zero, and leaves its other fields to the caller.
  // JobRef::none: no memory, and nothing has changed. Requires: no job has the id, and the text of
  // tags is one of 1 to kTagTextBytesMax bytes.
  [[nodiscard]] JobRef create(JobId id, NewBody&& body);
  [[nodiscard]] JobRef create(JobId id, NewBody&& body, const ReadTags& tags);
  // The same where nobody has read the text; empty: the job has no tags.
  [[nodiscard]] JobRef create(JobId id, NewBody&& body, std::string_view tags) {
    if (tags.empty()) return create(id, std::move(body));
    return create(id, std::move(body), ReadTags{tags, tags_in(tags)});
  }
  void destroy(JobRef ref);

  // Makes the tombstone of a job, with the same care; its fields are at zero. JobRef::none: no
  // memory, and nothing has changed. Requires: no tombstone has the id, and the tags are a key with
  // its time. Whatever is said of jobs with a tag `idp` holds for tombstones, but for find(),
  // first_from() and size().
  [[nodiscard]] JobRef create_tombstone(JobId id, std::string_view tube_name, const ReadTags& tags);
  void destroy_tombstone(JobRef ref);
  // Valid until the tombstone is destroyed.
  std::string_view tube_name_of(JobRef tombstone_ref) const;
  JobRef find_tombstone(JobId id) const { return tombstones_.find(id); }
  JobRef first_tombstone_from(JobId from) const { return tombstones_.first_from(from); }
  // How many there are.
  std::uint64_t tombstones() const { return tombstones_size_; }
  // All of them, by id. Throws std::bad_alloc.
  std::vector<JobRef> tombstones_by_id() const;

  // Requires: the job exists. The reference is valid until the job is destroyed.
  Job& operator[](JobRef ref) { return *reinterpret_cast<Job*>(piece(ref)); }
  const Job& operator[](JobRef ref) const { return *reinterpret_cast<const Job*>(piece(ref)); }

  // JobRef::none if there is no such job.
  JobRef find(JobId id) const { return ids_.find(id); }
  // The job with the smallest id that is not below `from`; JobRef::none if there is none.
  JobRef first_from(JobId from) const { return ids_.first_from(from); }

  std::uint64_t size() const { return size_; }
  // How many of the jobs have a limit of tries as a tag.
  std::uint64_t with_tries() const { return with_tries_; }

  // What the jobs and the tombstones take: their pieces, their large bodies, and for each of them
  // what its heap and the index of ids need. Free pieces between them are not counted.
  std::uint64_t memory_bytes() const {
    return piece_bytes_ + blob_bytes_ + (size_ + tombstones_size_) * kHeapAndIndexBytes;
  }
  // How much more that would be with another job whose body and text of tags have so many bytes.
  std::uint64_t memory_bytes_for(std::size_t body_bytes, std::size_t tag_bytes = 0) const {
    const std::size_t blob_bytes = body_bytes > kInlineBodyBytesMax ? body_bytes : 0;
    return piece_bytes_for(body_bytes, tag_bytes) + blob_bytes + kHeapAndIndexBytes;
  }

  // The body's bytes, valid until the job is destroyed.
  std::string_view body(JobRef ref) const;
  // The body as something that outlives the job; null when the body is kept inline.
  BlobRef body_blob(JobRef ref) const;
  // The text of its tags (base/job_tags.hpp), valid until the job is destroyed; empty: it has none.
  std::string_view tags(JobRef ref) const {
    return (*this)[ref].has_tags == 0 ? std::string_view{} : tags_of_job(ref);
  }

  // All zero in a new job. Requires: the store was made with notes.
  JournalFields& journal_fields(JobRef ref) {
    const Chunk& chunk = chunks_[static_cast<std::uint32_t>(ref) >> kPieceBits];
    return *reinterpret_cast<JournalFields*>(piece(ref) + chunk.piece_bytes -
                                             sizeof(JournalFields));
  }

  // Gives the chunks back that are kept empty for jobs to come.
  void give_empty_chunks_back();

  // What tags count as in memory_bytes_for(): in front of their text is room for a LaneNode if
  // there is a tag `con`, for a KeyNode if there is a tag `idp`, for a GroupNode if there is a tag
  // `grp`, and for a HeldNode if there is a tag `aft`.
  static std::size_t tag_bytes_of(const ReadTags& tags) {
    return tags.text.size() + (tags.tags.lane.empty() ? 0 : kLaneBytes) +
           (tags.tags.unique_key.empty() ? 0 : kKeyBytes) +
           (tags.tags.names_group() ? group_bytes_of(tags.tags) : 0);
  }
  static std::size_t tag_bytes_of(std::string_view text) {
    return tag_bytes_of({text, tags_in(text)});
  }
  // Whether a job is in a lane, `job` being it.
  bool has_lane(JobRef ref, const Job& job) const { return job.has_tags != 0 && is_in_lane(ref); }
  // All zero in a new job. Requires: it has a tag `con`.
  LaneNode& lane_node(JobRef ref) const;
  // Whether a job has a tag `try`; its value, or 0.
  bool has_tries(JobRef ref) const;
  std::uint32_t tries(JobRef ref) const;
  // Whether a job has a tag `idp`.
  bool has_key(JobRef ref) const {
    return (*this)[ref].has_tags != 0 && find_key_node(ref) != nullptr;
  }
  // In a new job no more than where its key stands. Requires of both: it has a tag `idp`.
  KeyNode& key_node(JobRef ref) const { return key_node_before(end_of_tags(ref)); }
  std::string_view unique_key(JobRef ref) const;  // Valid until the job is destroyed.
  // Whether it has one that outlives the job; and for how many seconds. Requires: it has tags.
  bool leaves_tombstone(JobRef ref) const { return (tag_kinds(ref) & kLeavesTombstone) != 0; }
  std::uint32_t tombstone_seconds(JobRef ref) const;
  // Null: it has no tag `idp`. Requires: it has tags.
  KeyNode* find_key_node(JobRef ref) const {
    std::byte* const end = end_of_tags(ref);
    const bool has_key = (std::to_integer<unsigned>(*end) & kHasKey) != 0;
    return has_key ? &key_node_before(end) : nullptr;
  }

  // Whether a job has a tag `grp`, and whether it has a tag `aft`. Requires: it has tags.
  bool has_group(JobRef ref) const { return (tag_kinds(ref) & kHasGroup) != 0; }
  bool has_after(JobRef ref) const { return (tag_kinds(ref) & kHasAfter) != 0; }
  // All zero in a new job. Requires: it has the tag, `grp` or `aft`.
  GroupNode& group_node(JobRef ref) const { return *node_before<GroupNode>(front_of_key(ref)); }
  HeldNode& held_node(JobRef ref) const;
  // Whether a job is held: it waits for a group.
  bool is_held(JobRef ref) const {
    return (*this)[ref].has_tags != 0 && has_after(ref) && held_node(ref).group != GroupRef::none;
  }

  void count(JobRef ref, JobEvent event);
  void set_counted(JobRef ref, const JobCounts& counts);
  std::uint64_t counted(JobRef ref, JobEvent event) const;

  // Heaps report here where they moved a job to (see IndexedHeap).
  template <typename Entry>
  void moved(const Entry& entry, std::uint32_t index) {
    (*this)[entry.job].links.first = index;
  }

 private:
  // A body begins right after the last field, not at a multiple of eight.
  static constexpr std::size_t kHeaderBytes = offsetof(Job, links) + sizeof(Links);
  static constexpr std::size_t kGrainBytes = 8;
  // After a text of tags: of which kinds they are (kHasTries and so on), and the length of the
  // text.
  static constexpr std::size_t kTagEndBytes = 2;
  static constexpr unsigned kHasTries = 1;
  static constexpr unsigned kHasLane = 2;
  static constexpr unsigned kHasKey = 4;
  static constexpr unsigned kLeavesTombstone = 8;
  static constexpr unsigned kHasGroup = 16;
  static constexpr unsigned kHasAfter = 32;
  static constexpr std::size_t kLaneBytes = sizeof(LaneNode) + alignof(LaneNode) - 1;
  static constexpr std::size_t kKeyBytes = sizeof(KeyNode) + alignof(KeyNode) - 1;
  static constexpr std::size_t kGroupBytesMax =
      sizeof(GroupNode) + sizeof(HeldNode) + alignof(HeldNode) - 1;
  static constexpr std::size_t kPieceBytesMax =
      (kHeaderBytes + kInlineBodyBytesMax + kKeyBytes + kLaneBytes + kGroupBytesMax +
       kTagTextBytesMax + kTagEndBytes + sizeof(JournalFields) + kGrainBytes - 1) /
      kGrainBytes * kGrainBytes;
  static constexpr std::size_t kSizes = kPieceBytesMax / kGrainBytes + 1;

  // Memory and malloc add 16 bytes each, and anything of this size is mapped by itself: so a chunk
  // fills its pages.
  static constexpr std::size_t kChunkBytes = 256 * 1024 - 32;
  static constexpr unsigned kPieceBits =
      13;  // A reference: the chunk's number, the piece's number.
  static constexpr std::uint32_t kPieceMask = (1U << kPieceBits) - 1;
  static constexpr std::uint32_t kChunksMax = 1U << (32 - kPieceBits);

  static constexpr std::uint16_t kNoPiece = 0xffff;

  // An entry of a heap and a leaf's share of the id index.
  static constexpr std::uint64_t kHeapAndIndexBytes = 16 + 5;

  struct Chunk {
    std::byte* pieces;  // Null: this number is not in use.
    std::uint32_t piece_bytes;
    std::uint16_t used;     // Pieces that hold a job.
    std::uint16_t touched;  // Pieces that ever did; later ones have never been written.
    std::uint16_t free;     // The first piece that is free again, or kNoPiece; each names the next.
    std::uint16_t pieces_max;
    std::uint32_t previous;  // Neighbours in the list of its size's chunks with room.
    std::uint32_t next;
  };

  std::byte* piece(JobRef ref) const {
    const auto number = static_cast<std::uint32_t>(ref);
    const Chunk& chunk = chunks_[number >> kPieceBits];
    return chunk.pieces + std::size_t{number & kPieceMask} * chunk.piece_bytes;
  }
  std::size_t piece_bytes_for(std::size_t body_bytes, std::size_t tag_bytes) const;
  // Where the text of a job's tags ends. Requires of those after it: it has some.
  std::byte* end_of_tags(JobRef ref) const {
    const Chunk& chunk = chunks_[static_cast<std::uint32_t>(ref) >> kPieceBits];
    return piece(ref) + chunk.piece_bytes - field_bytes_ - kTagEndBytes;
  }
  // Where a node stands that is in front of `end`: at a multiple of its alignment.
  template <typename Node>
  static Node* node_before(void* end) {
    const auto bits = static_cast<std::uintptr_t>(alignof(Node) - 1);
    const std::uintptr_t slack = reinterpret_cast<std::uintptr_t>(end) & bits;
    return reinterpret_cast<Node*>(static_cast<std::byte*>(end) - slack - sizeof(Node));
  }
  static KeyNode& key_node_before(std::byte* end_of_tags) {
    void* front = end_of_tags - std::to_integer<std::size_t>(end_of_tags[1]);
    if ((std::to_integer<unsigned>(*end_of_tags) & kHasLane) != 0) [[unlikely]]
      front = node_before<LaneNode>(front);
    return *node_before<KeyNode>(front);
  }
  // In front of it are the nodes of groups.
  void* front_of_key(JobRef ref) const;
  static std::size_t group_bytes_of(const JobTags& tags);
  unsigned tag_kinds(JobRef ref) const { return std::to_integer<unsigned>(*end_of_tags(ref)); }
  JobRef make(JobId id, NewBody& body, const ReadTags* tags);
  [[gnu::noinline]] void carry(Job& job, JobCounts& counts);
  void keep_tags(std::byte* end_of_piece, Job& job, const ReadTags& tags);
  [[gnu::cold, gnu::noinline]] static unsigned keep_group_nodes(void* front, const JobTags& tags);
  [[gnu::noinline]] void forget_tags(JobRef ref);
  [[gnu::noinline]] std::string_view tags_of_job(JobRef ref) const;
  [[gnu::noinline]] bool is_in_lane(JobRef ref) const;
  static void* detached_blob(const std::byte* piece);  // Of a job with a large body.

  JobRef allocate(std::size_t piece_bytes);
  void free(JobRef ref);
  std::uint32_t add_chunk(std::size_t piece_bytes);
  void remove_chunk(std::uint32_t number);
  void link_chunk(std::uint32_t number);
  void unlink_chunk(std::uint32_t number);

  std::size_t field_bytes_;
  std::vector<Chunk> chunks_;                // By number; number 0 is never used.
  std::vector<std::uint32_t> free_numbers_;  // Has room for every chunk's number.
  std::array<std::uint32_t, kSizes>
      with_free_piece_{};  // First chunk with a free piece, by size; 0: none.
  IdIndex ids_;
  IdIndex tombstones_;
  std::uint64_t size_ = 0;
  std::uint64_t tombstones_size_ = 0;
  std::uint64_t with_tries_ = 0;
  std::uint64_t piece_bytes_ = 0;  // Of the pieces that hold a job,
  std::uint64_t blob_bytes_ = 0;   // and of large bodies.
  // What does not fit into the twelve bits of a counter, in units of 4096. Almost always empty.
  std::unordered_map<JobId, JobCounts> carries_;
};

}  // namespace haricot
