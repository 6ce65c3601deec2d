// Stores all jobs: allocates them with their bodies, finds them by id, and frees them.
//
// Jobs live in chunks of 256 KiB. A chunk is cut into pieces of one size, a multiple of 8 bytes,
// without allocator headers between them. An empty chunk returns to the allocator, except one of
// each size, which is kept for the next job. A body above kInlineBodyBytesMax is a separate blob,
// shared with the answers that carry it.
//
// With a journal, each piece ends in JournalFields. The tags of a job, if it has any, precede them.
//
// A tombstone is the rest of a deleted job whose key is still taken. It is a piece too, but not a
// job: it is in an id index of its own, its body is the name of the tube, and its only tag is the
// key.
//
// The extra of a job (JobExtra) is a third kind of piece, in an id index of its own: its note, and
// other data that few jobs have.
//
// The store does not interpret tubes and states; the engine does.
//
// Limit: 2^19 chunks, that is 128 GiB of jobs, without bodies above kInlineBodyBytesMax.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "haricot/base/blob.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/queue/burial_times.hpp"
#include "haricot/queue/id_index.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// The tags of a job in its piece of memory: their text, and in front of it a node for each tag
// whose row (base/tag_rows.inc) names the type of a node.
//
//   node of the last tag ... node of the first tag, text, kinds, length of the text
//
// Each node is at a multiple of its alignment. The kinds are the bits of a TagSet; kinds and length
// have a byte each.
// Type of the node of a tag: NoNode for a tag without one.
template <Tag kTag>
struct NodeOfTag;
#define HARICOT_TAG(tag, word, value, part, node, ...) \
  template <>                                          \
  struct NodeOfTag<Tag::tag> {                         \
    using Type = node;                                 \
  };
#include "haricot/base/tag_rows.inc"
template <Tag kTag>
using TagNode = typename NodeOfTag<kTag>::Type;

class StoredTags {
 public:
  // Bytes after the text.
  static constexpr std::size_t kEndBytes = 2;

  // Requires: `end` is the end of a text that write() has written.
  explicit StoredTags(std::byte* end) : end_(end) {}

  // Returns the bytes that tags take, without kEndBytes: their text, their nodes, and the gaps that
  // the alignment of the nodes may need.
  static constexpr std::size_t bytes_of(const ReadTags& tags) {
    return tags.text.size() + node_bytes(tags.tags.set);
  }
  // Returns an upper bound of bytes_of().
  static constexpr std::size_t bytes_max() {
    return kTagTextBytesMax + node_bytes(TagSet(std::uint8_t{(1U << kTags) - 1}));
  }

  // Writes a text that ends at `end`, its nodes and the kEndBytes. Requires: there is room for
  // them, and the text is not empty.
  static StoredTags write(std::byte* end, const ReadTags& read) {
    const TagSet tags = read.tags.set;
    std::memcpy(end - read.text.size(), read.text.data(), read.text.size());
    end[0] = static_cast<std::byte>(tags.bits());
    end[1] = static_cast<std::byte>(read.text.size());
    make_nodes(end - read.text.size(), tags);
    return StoredTags(end);
  }

  std::string_view text() const {
    return {reinterpret_cast<const char*>(end_ - text_bytes()), text_bytes()};
  }
  TagSet set() const { return TagSet(std::to_integer<std::uint8_t>(end_[0])); }
  bool has(Tag tag) const { return set().has(tag); }
  // Returns true if the key of the job outlives it.
  bool leaves_key() const { return has(Tag::unique) && node<Tag::unique>().outlives_job; }
  // Returns the node of a tag, all zero at first. Requires: the job has the tag.
  template <Tag kTag>
  TagNode<kTag>& node() const {
    return *before<TagNode<kTag>>(front_of<static_cast<std::size_t>(kTag)>());
  }

 private:
  // The smallest alignment of a node.
  static constexpr std::size_t kAlign = 4;

  template <std::size_t kTag>
  using NodeAt = TagNode<static_cast<Tag>(kTag)>;
  template <std::size_t kTag>
  static constexpr bool has_node() {
    return !std::is_same_v<NodeAt<kTag>, NoNode>;
  }

  // Returns the bytes of a node and of the gap behind it, if a multiple of kAlign follows.
  template <typename Node>
  static constexpr std::size_t bytes_with_gap() {
    if constexpr (std::is_same_v<Node, NoNode>) {
      return 0;
    } else {
      static_assert(alignof(Node) >= kAlign && sizeof(Node) % kAlign == 0);
      return sizeof(Node) + alignof(Node) - kAlign;
    }
  }
  static constexpr std::size_t node_bytes(TagSet tags) {
    std::size_t bytes = 0;
#define HARICOT_TAG(tag, word, value, part, node, ...) \
  bytes += tags.has(Tag::tag) ? bytes_with_gap<node>() : 0;
#include "haricot/base/tag_rows.inc"
    return bytes == 0 ? 0 : bytes + kAlign - 1;
  }

  // Returns the address of a node that precedes `end`, rounded down to the alignment of the node.
  template <typename Node>
  static Node* before(void* end) {
    const auto bits = static_cast<std::uintptr_t>(alignof(Node) - 1);
    const std::uintptr_t gap = reinterpret_cast<std::uintptr_t>(end) & bits;
    return reinterpret_cast<Node*>(static_cast<std::byte*>(end) - gap - sizeof(Node));
  }
  // Returns the front of the text and of the nodes of all tags before the one with that number.
  template <std::size_t kTag>
  void* front_of() const {
    if constexpr (kTag == 0) {
      return end_ - text_bytes();
    } else {
      void* const front = front_of<kTag - 1>();
      if constexpr (has_node<kTag - 1>()) {
        if (has(static_cast<Tag>(kTag - 1))) return before<NodeAt<kTag - 1>>(front);
      }
      return front;
    }
  }
  // Makes the nodes of all tags from the one with that number on, in front of `front`.
  template <std::size_t kTag = 0>
  static void make_nodes(void* front, TagSet tags) {
    if constexpr (kTag < kTags) {
      if constexpr (has_node<kTag>()) {
        using Node = NodeAt<kTag>;
        if (tags.has(static_cast<Tag>(kTag))) front = new (before<Node>(front)) Node{};
      }
      make_nodes<kTag + 1>(front, tags);
    }
  }

  std::size_t text_bytes() const {
    return std::to_integer<std::size_t>(end_[1]);
  }

  std::byte* end_;
};

// Body of a new job: bytes to copy, or a blob to take over. Requires: a blob if the body has more
// than JobStore::kInlineBodyBytesMax bytes, otherwise bytes.
struct NewBody {
  std::string_view bytes;
  BlobRef blob;

  std::size_t size() const { return blob ? blob.size() : bytes.size(); }
};

struct JobExtra;

class JobStore {
 public:
  static constexpr std::size_t kInlineBodyBytesMax = 1024;

  // The steps of freeing extras are added to `steps`, which outlives this, unless it is null.
  explicit JobStore(bool with_journal_fields = false, std::uint64_t* steps = nullptr);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // Creates a job with this id and with all counters at zero; the caller sets the other fields.
  // Returns JobRef::none if memory is short; nothing has changed then. Requires: no job has the id,
  // and the text of the tags has 1 to kTagTextBytesMax bytes.
  [[nodiscard]] JobRef create(JobId id, NewBody&& body);
  [[nodiscard]] JobRef create(JobId id, NewBody&& body, const ReadTags& tags);
  // Parses `tags` and creates the job. An empty text means no tags.
  [[nodiscard]] JobRef create(JobId id, NewBody&& body, std::string_view tags) {
    if (tags.empty()) return create(id, std::move(body));
    return create(id, std::move(body), ReadTags{tags, tags_in(tags)});
  }
  void destroy(JobRef ref);

  // Creates the tombstone of a job, with all fields at zero. Returns JobRef::none if memory is
  // short; nothing has changed then. Requires: no tombstone has the id, and the tags are a key with
  // its time. Functions for jobs with a tag `idp` accept tombstones too; find(), first_from() and
  // size() do not include them.
  [[nodiscard]] JobRef create_tombstone(JobId id, std::string_view tube_name, const ReadTags& tags);
  void destroy_tombstone(JobRef ref);
  // The result is valid until the tombstone is destroyed.
  std::string_view tube_name_of(JobRef tombstone_ref) const;
  JobRef find_tombstone(JobId id) const { return tombstones_.find(id); }
  JobRef first_tombstone_from(JobId from) const { return tombstones_.first_from(from); }
  // Number of tombstones.
  std::uint64_t tombstones() const { return tombstones_size_; }
  // Returns all tombstones in the order of their ids. Throws std::bad_alloc.
  std::vector<JobRef> tombstones_by_id() const;

  // Requires: the job exists. The reference is valid until the job is destroyed.
  Job& operator[](JobRef ref) { return *reinterpret_cast<Job*>(piece(ref)); }
  const Job& operator[](JobRef ref) const { return *reinterpret_cast<const Job*>(piece(ref)); }

  // Returns JobRef::none if there is no such job.
  JobRef find(JobId id) const { return ids_.find(id); }
  // Returns the job with the smallest id that is at least `from`, or JobRef::none.
  JobRef first_from(JobId from) const { return ids_.first_from(from); }

  std::uint64_t size() const { return size_; }
  // Number of jobs with kTryTags.
  std::uint64_t with_tries() const { return with_tries_; }

  // Returns the bytes of all jobs and tombstones: their pieces and extras, their large bodies,
  // their burials, and for each an entry of a heap and its share of the id index. Free pieces in
  // chunks do not count.
  std::uint64_t memory_bytes() const {
    return piece_bytes_ + blob_bytes_ + burials_.memory_bytes() +
           (size_ + tombstones_size_) * kHeapAndIndexBytes + extras_size_ * kIndexBytes;
  }
  // Returns the bytes by which another job would increase memory_bytes(). `tag_bytes` is the result
  // of tag_bytes_of().
  std::uint64_t memory_bytes_for(std::size_t body_bytes, std::size_t tag_bytes = 0) const {
    const std::size_t blob_bytes = body_bytes > kInlineBodyBytesMax ? body_bytes : 0;
    return piece_bytes_for(body_bytes, tag_bytes) + blob_bytes + kHeapAndIndexBytes;
  }

  // Returns the bytes of the body, valid until the job is destroyed.
  std::string_view body(JobRef ref) const;
  // Returns a share of a large body, which may outlive the job; null if the body is inline.
  BlobRef body_blob(JobRef ref) const;
  // Returns the text of the job's tags (base/job_tags.hpp), valid until the job is destroyed; empty
  // if it has none.
  std::string_view tags(JobRef ref) const {
    return (*this)[ref].has_tags == 0 ? std::string_view{} : stored_tags(ref).text();
  }

  // All zero in a new job. Requires: the store was made with_journal_fields.
  JournalFields& journal_fields(JobRef ref) {
    const Chunk& chunk = chunks_[static_cast<std::uint32_t>(ref) >> kPieceBits];
    return *reinterpret_cast<JournalFields*>(piece(ref) + chunk.piece_bytes -
                                             sizeof(JournalFields));
  }

  // Returns the empty chunks that are kept for future jobs to the allocator.
  void give_empty_chunks_back();

  // Returns the bytes that tags take in a piece.
  static std::size_t tag_bytes_of(const ReadTags& tags) { return StoredTags::bytes_of(tags); }
  static std::size_t tag_bytes_of(std::string_view text) {
    return tag_bytes_of({text, tags_in(text)});
  }
  // Returns true if the job has the tag, or one of the tags.
  bool has(JobRef ref, Tag tag) const { return has_any(ref, {tag}); }
  bool has_any(JobRef ref, TagSet tags) const {
    return (*this)[ref].has_tags != 0 && stored_tags(ref).set().has_any(tags);
  }
  // Returns the tags of a job. Requires: it has some.
  StoredTags stored_tags(JobRef ref) const {
    const Chunk& chunk = chunks_[static_cast<std::uint32_t>(ref) >> kPieceBits];
    return StoredTags(piece(ref) + chunk.piece_bytes - field_bytes_ - StoredTags::kEndBytes);
  }
  // Returns the node of a tag, all zero in a new job. Requires: the job has the tag.
  template <Tag kTag>
  TagNode<kTag>& node(JobRef ref) const {
    return stored_tags(ref).node<kTag>();
  }

  // Returns the limit of tries that the put of a job has set, or 0.
  std::uint32_t tries(JobRef ref) const;
  // Returns true if the job is in a lane. Requires: `job` is the job of `ref`.
  bool has_lane(JobRef ref, const Job& job) const { return job.has_tags != 0 && is_in_lane(ref); }
  // Returns the key in a tag of a job, valid until the job is destroyed. Requires: the job has the
  // tag, whose node is a KeyNode.
  template <Tag kTag>
  std::string_view key(JobRef ref) const {
    const StoredTags tags = stored_tags(ref);
    const KeyNode& node = tags.node<kTag>();
    return tags.text().substr(node.key_offset, node.key_bytes);
  }
  // leaves_tombstone() returns true if the key of the job outlives it; tombstone_seconds() returns
  // for how long. Requires: the job has tags.
  bool leaves_tombstone(JobRef ref) const { return stored_tags(ref).leaves_key(); }
  std::uint32_t tombstone_seconds(JobRef ref) const;
  // Returns true if the put of a job has named a group to wait for.
  bool may_be_held(JobRef ref) const { return has(ref, Tag::after); }
  // Returns true if the job waits for a group.
  bool is_held(JobRef ref) const {
    return may_be_held(ref) && node<Tag::after>(ref).group != GroupRef::none;
  }

  // Returns true if the job has kTagsWithFacts. For other jobs facts() returns zeros, and
  // set_facts() changes nothing.
  bool has_facts(JobRef ref) const { return has_any(ref, kTagsWithFacts); }
  TagFacts facts(JobRef ref) const;
  void set_facts(JobRef ref, const TagFacts& facts);

  // Stores a burial; nothing if memory is short. It has to be forgotten when the job leaves the
  // buried ones.
  void set_burial(JobRef ref, const Burial& burial) {
    burials_.set(piece_ref(ref), chunks_[piece_ref(ref).chunk].pieces_max, burial);
  }
  void forget_burial(JobRef ref) { burials_.clear(piece_ref(ref)); }
  // Returns the burial of a job as BurialTimes::get() does; of now and for an unknown cause if none
  // is stored.
  Burial burial(JobRef ref, Instant now) const {
    return burials_.get(piece_ref(ref), now).value_or(Burial{.since = now});
  }
  bool has_burial(JobRef ref) const { return burials_.has(piece_ref(ref)); }
  const BurialTimes& burials() const { return burials_; }
  // Maximum size of the note of a job.
  static constexpr std::size_t kNoteBytesMax = 1024;
  // Returns the note of a job, empty if it has none; valid until the note changes or the job is
  // destroyed.
  std::string_view note(JobRef ref) const;
  // Returns true if the job has a note, or had one since it was created or restored.
  bool has_had_note(JobRef ref) const;
  // Sets the note of a job; an empty one removes it. Returns false if memory is short; nothing has
  // changed then. Requires: at most kNoteBytesMax bytes.
  [[nodiscard]] bool set_note(JobRef ref, std::string_view note);
  // Returns an upper bound of the bytes by which a note increases memory_bytes().
  static std::uint64_t memory_bytes_for_note(std::size_t note_bytes);

  void count(JobRef ref, JobEvent event);
  void set_counted(JobRef ref, const JobCounts& counts);
  std::uint64_t counted(JobRef ref, JobEvent event) const;

  // Called by IndexedHeap when an entry moves to another index.
  template <typename Entry>
  void moved(const Entry& entry, std::uint32_t index) {
    (*this)[entry.job].links.first = index;
  }

 private:
  // The body begins right after the last field, without padding to a multiple of eight.
  static constexpr std::size_t kHeaderBytes = offsetof(Job, links) + sizeof(Links);
  static constexpr std::size_t kGrainBytes = 8;
  static constexpr std::size_t kPieceBytesMax =
      (kHeaderBytes + kInlineBodyBytesMax + StoredTags::bytes_max() + StoredTags::kEndBytes +
       sizeof(JournalFields) + kGrainBytes - 1) /
      kGrainBytes * kGrainBytes;
  static constexpr std::size_t kSizes = kPieceBytesMax / kGrainBytes + 1;

  // Memory and malloc add 16 bytes each, and a block of this size has a mapping of its own; so a
  // chunk fills its pages.
  static constexpr std::size_t kChunkBytes = 256 * 1024 - 32;
  // A reference is a chunk number, followed by a piece number of this many bits.
  static constexpr unsigned kPieceBits = 13;
  static constexpr std::uint32_t kPieceMask = (1U << kPieceBits) - 1;
  static constexpr std::uint32_t kChunksMax = 1U << (32 - kPieceBits);

  static constexpr std::uint16_t kNoPiece = 0xffff;

  // Bytes of a job's share of an id index, and with them an entry of a heap.
  static constexpr std::uint64_t kIndexBytes = 5;
  static constexpr std::uint64_t kHeapAndIndexBytes = 16 + kIndexBytes;

  struct Chunk {
    std::byte* pieces;  // Null: this number is not in use.
    std::uint32_t piece_bytes;
    std::uint16_t used;     // Pieces that hold a job.
    std::uint16_t touched;  // Pieces that have ever held one; the rest was never written.
    std::uint16_t free;     // First freed piece, or kNoPiece; each names the next.
    std::uint16_t pieces_max;
    std::uint32_t previous;  // Neighbours in the list of chunks of this size with room.
    std::uint32_t next;
  };

  static PieceRef piece_ref(JobRef ref) {
    const auto number = static_cast<std::uint32_t>(ref);
    return {.chunk = number >> kPieceBits, .piece = number & kPieceMask};
  }
  std::byte* piece(JobRef ref) const {
    const auto number = static_cast<std::uint32_t>(ref);
    const Chunk& chunk = chunks_[number >> kPieceBits];
    return chunk.pieces + std::size_t{number & kPieceMask} * chunk.piece_bytes;
  }
  std::size_t piece_bytes_for(std::size_t body_bytes, std::size_t tag_bytes) const;
  JobRef make(JobId id, NewBody& body, const ReadTags* tags);
  [[gnu::noinline]] void carry(JobRef ref, JobCounts& counts);
  // Requires: the job has an extra.
  JobExtra& extra(const Job& job) const;
  // Returns the job's extra with room for a note of that many bytes: a new one unless it has one
  // of that size. Null if memory is short.
  JobExtra* extra_for(Job& job, std::size_t note_bytes);
  [[gnu::noinline]] void drop_extra(JobId id);
  // Returns the bytes of the piece of an extra.
  static std::size_t extra_bytes(std::size_t note_bytes);
  void keep_tags(std::byte* end_of_piece, Job& job, const ReadTags& tags);
  [[gnu::noinline]] void forget_tags(JobRef ref);
  [[gnu::noinline]] bool is_in_lane(JobRef ref) const;
  static void* detached_blob(const std::byte* piece);  // Requires: a large body.

  JobRef allocate(std::size_t piece_bytes);
  void free(JobRef ref);
  std::uint32_t add_chunk(std::size_t piece_bytes);
  void remove_chunk(std::uint32_t number);
  void link_chunk(std::uint32_t number);
  void unlink_chunk(std::uint32_t number);

  std::size_t field_bytes_;
  std::uint64_t* steps_;
  std::vector<Chunk> chunks_;                // Indexed by number; number 0 is unused.
  std::vector<std::uint32_t> free_numbers_;  // Has capacity for the numbers of all chunks.
  // First chunk with a free piece, by piece size in units of kGrainBytes; 0: none.
  std::array<std::uint32_t, kSizes> with_free_piece_{};
  IdIndex ids_;
  IdIndex tombstones_;
  std::uint64_t size_ = 0;
  std::uint64_t tombstones_size_ = 0;
  std::uint64_t with_tries_ = 0;
  std::uint64_t piece_bytes_ = 0;  // In pieces in use.
  std::uint64_t blob_bytes_ = 0;   // In large bodies.
  IdIndex extras_;
  std::uint64_t extras_size_ = 0;
  BurialTimes burials_;
};

}  // namespace haricot
