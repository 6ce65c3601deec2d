#include "haricot/queue/job_store.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/base/turn_limits.hpp"

namespace haricot {
namespace {

constexpr std::uint64_t kCounterUnits = 4096;  // One more than the maximum of twelve bits.
constexpr std::uint32_t kBodyBytesMask = (std::uint32_t{1} << 31) - 1;

}  // namespace

// Data of a job that few jobs have, in a piece of its own.
struct JobExtra {
  Job unused;  // All zero: the piece has no large body.
  // The part of each counter above twelve bits, in units of 4096.
  JobCounts carries;
  std::uint16_t note_bytes;
  bool has_had_note;

  // The note follows.
  char* note() { return reinterpret_cast<char*>(this + 1); }
  const char* note() const { return reinterpret_cast<const char*>(this + 1); }
};

JobStore::JobStore(bool with_journal_fields, std::uint64_t* steps)
    : field_bytes_(with_journal_fields ? sizeof(JournalFields) : 0), steps_(steps), chunks_(1) {
  static_assert(kHeaderBytes == 52, "every byte here is paid for by every job");
  static_assert(kChunkBytes / kHeaderBytes <= kPieceMask, "a piece's number has to fit");
}

JobStore::~JobStore() {
  for (Chunk& chunk : chunks_) {
    if (chunk.pieces == nullptr) continue;
    // Free pieces have a body size of zero (see free()), so only existing jobs release a blob.
    for (std::uint16_t i = 0; i < chunk.touched; ++i) {
      std::byte* piece = chunk.pieces + std::size_t{i} * chunk.piece_bytes;
      if (reinterpret_cast<Job*>(piece)->body_bytes <= kInlineBodyBytesMax) continue;
      BlobRef::adopt(detached_blob(piece));
    }
    Memory::free(chunk.pieces);
  }
}

std::size_t JobStore::piece_bytes_for(std::size_t body_bytes, std::size_t tag_bytes) const {
  std::size_t after = body_bytes <= kInlineBodyBytesMax ? body_bytes : sizeof(void*);
  if (tag_bytes > 0) [[unlikely]]
    after += tag_bytes + StoredTags::kEndBytes;
  return (kHeaderBytes + after + field_bytes_ + kGrainBytes - 1) / kGrainBytes * kGrainBytes;
}

void* JobStore::detached_blob(const std::byte* piece) {
  void* detached = nullptr;
  std::memcpy(&detached, piece + kHeaderBytes, sizeof detached);
  return detached;
}

JobRef JobStore::create(JobId id, NewBody&& body) {
  return make(id, body, nullptr);
}

JobRef JobStore::create(JobId id, NewBody&& body, const ReadTags& tags) {
  return make(id, body, &tags);
}

// Inlined, because every put and every restored job needs a piece.
[[gnu::always_inline]] inline JobRef JobStore::allocate(std::size_t piece_bytes) {
  std::uint32_t number = with_free_piece_[piece_bytes / kGrainBytes];
  if (number == 0) number = add_chunk(piece_bytes);
  if (number == 0) return JobRef::none;
  Chunk& chunk = chunks_[number];
  std::uint16_t index = chunk.free;
  if (index != kNoPiece) {
    std::memcpy(&chunk.free, chunk.pieces + std::size_t{index} * piece_bytes, sizeof chunk.free);
  } else {
    index = chunk.touched++;
  }
  if (++chunk.used == chunk.pieces_max) unlink_chunk(number);
  piece_bytes_ += piece_bytes;
  return static_cast<JobRef>((number << kPieceBits) | index);
}

// Inlined, so that a job without tags pays nothing for tags.
[[gnu::always_inline]] inline JobRef JobStore::make(JobId id, NewBody& body, const ReadTags* tags) {
  const std::size_t body_bytes = body.size();
  CHECK((body_bytes > kInlineBodyBytesMax) == static_cast<bool>(body.blob));
  const std::size_t piece_bytes =
      piece_bytes_for(body_bytes, tags == nullptr ? 0 : tag_bytes_of(*tags));
  const JobRef ref = allocate(piece_bytes);
  if (ref == JobRef::none) return ref;
  if (!ids_.insert(id, ref)) {
    free(ref);
    return JobRef::none;
  }
  std::byte* at = piece(ref);
  Job* job = new (at) Job{};
  job->id = id;
  job->body_bytes = static_cast<std::uint32_t>(body_bytes) & kBodyBytesMask;
  if (body.blob) {
    blob_bytes_ += body_bytes;
    void* detached = body.blob.detach();  // The piece owns this share until destroy().
    std::memcpy(at + kHeaderBytes, &detached, sizeof detached);
  } else if (body_bytes > 0) {
    std::memcpy(at + kHeaderBytes, body.bytes.data(), body_bytes);
  }
  if (field_bytes_ > 0) journal_fields(ref) = JournalFields{};
  if (tags != nullptr) keep_tags(at + piece_bytes, *job, *tags);
  ++size_;
  return ref;
}

JobRef JobStore::create_tombstone(JobId id, std::string_view tube_name, const ReadTags& tags) {
  CHECK(tube_name.size() <= kInlineBodyBytesMax && tags.tags.tombstone_s > 0);
  const std::size_t piece_bytes = piece_bytes_for(tube_name.size(), tag_bytes_of(tags));
  const JobRef ref = allocate(piece_bytes);
  if (ref == JobRef::none) return ref;
  if (!tombstones_.insert(id, ref)) {
    free(ref);
    return JobRef::none;
  }
  std::byte* at = piece(ref);
  Job* job = new (at) Job{};
  job->id = id;
  job->body_bytes = static_cast<std::uint32_t>(tube_name.size()) & kBodyBytesMask;
  if (!tube_name.empty()) std::memcpy(at + kHeaderBytes, tube_name.data(), tube_name.size());
  if (field_bytes_ > 0) journal_fields(ref) = JournalFields{};
  keep_tags(at + piece_bytes, *job, tags);
  ++tombstones_size_;
  return ref;
}

std::string_view JobStore::tube_name_of(JobRef tombstone_ref) const {
  const char* const name = reinterpret_cast<const char*>(piece(tombstone_ref) + kHeaderBytes);
  return {name, (*this)[tombstone_ref].body_bytes};
}

std::vector<JobRef> JobStore::tombstones_by_id() const {
  std::vector<JobRef> refs;
  refs.reserve(tombstones_size_);
  for (JobId from = 1; refs.size() < tombstones_size_; from = (*this)[refs.back()].id + 1) {
    refs.push_back(first_tombstone_from(from));
  }
  return refs;
}

void JobStore::destroy_tombstone(JobRef ref) {
  tombstones_.erase((*this)[ref].id);
  free(ref);
  --tombstones_size_;
}

void JobStore::destroy(JobRef ref) {
  Job& job = (*this)[ref];
  ids_.erase(job.id);
  if (job.history.has_extra != 0) drop_extra(job.id);
  if (job.has_tags != 0 && with_tries_ > 0) [[unlikely]]
    forget_tags(ref);
  if (job.body_bytes > kInlineBodyBytesMax) {
    blob_bytes_ -= job.body_bytes;
    BlobRef::adopt(detached_blob(piece(ref)));
  }
  free(ref);
  --size_;
}

std::string_view JobStore::body(JobRef ref) const {
  const Job& job = (*this)[ref];
  if (job.body_bytes > kInlineBodyBytesMax) return body_blob(ref).view();
  return {reinterpret_cast<const char*>(piece(ref) + kHeaderBytes), job.body_bytes};
}

BlobRef JobStore::body_blob(JobRef ref) const {
  if ((*this)[ref].body_bytes <= kInlineBodyBytesMax) return {};
  return BlobRef::share(detached_blob(piece(ref)));
}

// Tags --------------------------------------------------------------------------------------------

namespace {

// Requires: the key is a part of the text.
[[gnu::always_inline]] inline void set_key(KeyNode& node, std::string_view key,
                                           std::string_view text) {
  node.key_offset = static_cast<std::uint8_t>(key.data() - text.data());
  node.key_bytes = static_cast<std::uint8_t>(key.size());
}

}  // namespace

// Inlined, because a call would slow down each put with tags.
[[gnu::always_inline]] inline void JobStore::keep_tags(std::byte* end_of_piece, Job& job,
                                                       const ReadTags& read) {
  CHECK(!read.text.empty() && read.text.size() <= kTagTextBytesMax);
  const StoredTags tags =
      StoredTags::write(end_of_piece - field_bytes_ - StoredTags::kEndBytes, read);
  job.has_tags = 1;
  if (tags.set().has_any(kTryTags)) ++with_tries_;
  if (tags.has(Tag::unique)) {
    KeyNode& node = tags.node<Tag::unique>();
    set_key(node, read.tags.unique_key, read.text);
    node.outlives_job = read.tags.tombstone_s > 0;
  }
}

void JobStore::forget_tags(JobRef ref) {
  if (has_any(ref, kTryTags)) --with_tries_;
}

TagFacts JobStore::facts(JobRef ref) const {
  TagFacts facts;
  if (has(ref, Tag::backoff)) facts.tries_before = node<Tag::backoff>(ref).tries_before;
  return facts;
}

void JobStore::set_facts(JobRef ref, const TagFacts& facts) {
  if (has(ref, Tag::backoff)) node<Tag::backoff>(ref).tries_before = facts.tries_before;
}

bool JobStore::is_in_lane(JobRef ref) const {
  const StoredTags tags = stored_tags(ref);
  return tags.has(Tag::lane) && tags.node<Tag::lane>().lane != LaneRef::none;
}

std::uint32_t JobStore::tries(JobRef ref) const {
  return has(ref, Tag::tries) ? tags_in(tags(ref)).tries : 0;
}

std::uint32_t JobStore::tombstone_seconds(JobRef ref) const {
  return leaves_tombstone(ref) ? tags_in(tags(ref)).tombstone_s : 0;
}

// Pieces ------------------------------------------------------------------------------------------

void JobStore::free(JobRef ref) {
  const std::uint32_t number = static_cast<std::uint32_t>(ref) >> kPieceBits;
  const auto index = static_cast<std::uint16_t>(static_cast<std::uint32_t>(ref) & kPieceMask);
  Chunk& chunk = chunks_[number];
  std::byte* at = piece(ref);
  reinterpret_cast<Job*>(at)->body_bytes = 0;
  std::memcpy(at, &chunk.free, sizeof chunk.free);
  chunk.free = index;
  piece_bytes_ -= chunk.piece_bytes;
  if (chunk.used-- == chunk.pieces_max) link_chunk(number);
  if (chunk.used > 0) return;
  // One empty chunk of a size stays: a single job that comes and goes must not map memory each
  // time.
  const bool others = chunk.previous != 0 || chunk.next != 0;
  if (others) remove_chunk(number);
}

// Requires: the chunk is empty.
void JobStore::remove_chunk(std::uint32_t number) {
  unlink_chunk(number);
  Memory::free(chunks_[number].pieces);
  chunks_[number] = Chunk{};
  free_numbers_.push_back(number);  // Cannot allocate: see add_chunk().
}

// An empty chunk is the only one of its size with room: see free().
void JobStore::give_empty_chunks_back() {
  for (const std::uint32_t number : with_free_piece_) {
    if (number != 0 && chunks_[number].used == 0) remove_chunk(number);
  }
}

// Returns the number of a new chunk, linked as one with room, or 0 if memory is short.
std::uint32_t JobStore::add_chunk(std::size_t piece_bytes) {
  auto* pieces = static_cast<std::byte*>(Memory::allocate(kChunkBytes));
  if (pieces == nullptr) {
    const std::size_t numbers = free_numbers_.size();
    give_empty_chunks_back();
    if (free_numbers_.size() == numbers) return 0;
    pieces = static_cast<std::byte*>(Memory::allocate(kChunkBytes));
    if (pieces == nullptr) return 0;
  }
  std::uint32_t number = 0;
  if (!free_numbers_.empty()) {
    number = free_numbers_.back();
    free_numbers_.pop_back();
  } else if (chunks_.size() < kChunksMax) {
    try {
      if (free_numbers_.capacity() <= chunks_.size()) free_numbers_.reserve(2 * chunks_.size());
      chunks_.push_back(Chunk{});
      number = static_cast<std::uint32_t>(chunks_.size() - 1);
    } catch (const std::bad_alloc&) {
      number = 0;
    }
  }
  if (number == 0) {
    Memory::free(pieces);
    return 0;
  }
  chunks_[number] = Chunk{.pieces = pieces,
                          .piece_bytes = static_cast<std::uint32_t>(piece_bytes),
                          .used = 0,
                          .touched = 0,
                          .free = kNoPiece,
                          .pieces_max = static_cast<std::uint16_t>(kChunkBytes / piece_bytes),
                          .previous = 0,
                          .next = 0};
  link_chunk(number);
  return number;
}

void JobStore::link_chunk(std::uint32_t number) {
  std::uint32_t& first = with_free_piece_[chunks_[number].piece_bytes / kGrainBytes];
  chunks_[number].previous = 0;
  chunks_[number].next = first;
  if (first != 0) chunks_[first].previous = number;
  first = number;
}

void JobStore::unlink_chunk(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  std::uint32_t& first = with_free_piece_[chunk.piece_bytes / kGrainBytes];
  if (chunk.previous != 0) chunks_[chunk.previous].next = chunk.next;
  if (chunk.next != 0) chunks_[chunk.next].previous = chunk.previous;
  if (first == number) first = chunk.next;
  chunk.previous = chunk.next = 0;
}

// Extras ------------------------------------------------------------------------------------------

std::size_t JobStore::extra_bytes(std::size_t note_bytes) {
  static_assert(sizeof(JobExtra) + kNoteBytesMax <= kPieceBytesMax);
  return (sizeof(JobExtra) + note_bytes + kGrainBytes - 1) / kGrainBytes * kGrainBytes;
}

JobExtra& JobStore::extra(const Job& job) const {
  return *reinterpret_cast<JobExtra*>(piece(extras_.find(job.id)));
}

JobExtra* JobStore::extra_for(Job& job, std::size_t note_bytes) {
  JobExtra* const known = job.history.has_extra == 0 ? nullptr : &extra(job);
  if (known != nullptr && known->note_bytes == note_bytes) return known;
  const JobRef ref = allocate(extra_bytes(note_bytes));
  if (ref == JobRef::none) return nullptr;
  auto* const added = new (piece(ref)) JobExtra{};
  if (known != nullptr) {
    added->carries = known->carries;
    drop_extra(job.id);
  }
  // The leaf of the one that was dropped is still there.
  if (!extras_.insert(job.id, ref)) {
    CHECK(known == nullptr);
    free(ref);
    return nullptr;
  }
  added->note_bytes = static_cast<std::uint16_t>(note_bytes);
  ++extras_size_;
  job.history.has_extra = 1;
  return added;
}

void JobStore::drop_extra(JobId id) {
  const JobRef ref = extras_.find(id);
  extras_.erase(id);
  free(ref);
  --extras_size_;
  if (steps_ != nullptr) *steps_ += turn_limits::kStepsPerJob;
}

std::string_view JobStore::note(JobRef ref) const {
  const Job& job = (*this)[ref];
  if (job.history.has_extra == 0) return {};
  const JobExtra& of_job = extra(job);
  return {of_job.note(), of_job.note_bytes};
}

bool JobStore::has_had_note(JobRef ref) const {
  const Job& job = (*this)[ref];
  return job.history.has_extra != 0 && extra(job).has_had_note;
}

bool JobStore::set_note(JobRef ref, std::string_view note) {
  CHECK(note.size() <= kNoteBytesMax);
  if (note.empty() && !has_had_note(ref)) return true;
  JobExtra* const of_job = extra_for((*this)[ref], note.size());
  if (of_job == nullptr) return false;
  of_job->has_had_note = true;
  if (!note.empty()) std::memcpy(of_job->note(), note.data(), note.size());
  return true;
}

std::uint64_t JobStore::memory_bytes_for_note(std::size_t note_bytes) {
  return extra_bytes(note_bytes) + kIndexBytes;
}

// Counters ----------------------------------------------------------------------------------------

namespace {

std::uint64_t low_part(const JobHistory& history, JobEvent event) {
  switch (event) {
    case JobEvent::reserve:
      return history.reserves;
    case JobEvent::timeout:
      return history.timeouts;
    case JobEvent::release:
      return history.releases;
    case JobEvent::bury:
      return history.buries;
    case JobEvent::kick:
      return history.kicks;
  }
  return 0;
}

void set_low_part(JobHistory& history, JobEvent event, std::uint64_t value) {
  switch (event) {
    case JobEvent::reserve:
      history.reserves = value & 0xfff;
      break;
    case JobEvent::timeout:
      history.timeouts = value & 0xfff;
      break;
    case JobEvent::release:
      history.releases = value & 0xfff;
      break;
    case JobEvent::bury:
      history.buries = value & 0xfff;
      break;
    case JobEvent::kick:
      history.kicks = value & 0xfff;
      break;
  }
}

}  // namespace

void JobStore::count(JobRef ref, JobEvent event) {
  Job& job = (*this)[ref];
  const std::uint64_t low = low_part(job.history, event) + 1;
  if (low < kCounterUnits) {
    set_low_part(job.history, event, low);
    return;
  }
  // Without memory the count stops at 4095. It is only a number in a report.
  JobExtra* const of_job = extra_for(job, note(ref).size());
  if (of_job == nullptr) return;
  ++of_job->carries[static_cast<std::size_t>(event)];
  set_low_part(job.history, event, 0);
}

void JobStore::set_counted(JobRef ref, const JobCounts& counts) {
  Job& job = (*this)[ref];
  JobCounts low = counts;
  if (bits_of(counts) >= kCounterUnits || job.history.has_extra != 0) [[unlikely]]
    carry(ref, low);
  JobHistory history = job.history;
  history.reserves = low[0] & 0xfff;
  history.timeouts = low[1] & 0xfff;
  history.releases = low[2] & 0xfff;
  history.buries = low[3] & 0xfff;
  history.kicks = low[4] & 0xfff;
  job.history = history;
}

// Moves the upper part of the counters to the job's extra. Without memory for that, the counters
// stop at 4095, as in count().
void JobStore::carry(JobRef ref, JobCounts& counts) {
  JobExtra* const of_job = extra_for((*this)[ref], note(ref).size());
  if (of_job == nullptr) {
    constexpr auto kLast = static_cast<std::uint32_t>(kCounterUnits - 1);
    for (std::uint32_t& count : counts) count = std::min(count, kLast);
    return;
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    of_job->carries[i] = static_cast<std::uint32_t>(counts[i] / kCounterUnits);
  }
}

std::uint64_t JobStore::counted(JobRef ref, JobEvent event) const {
  const Job& job = (*this)[ref];
  std::uint64_t value = low_part(job.history, event);
  if (job.history.has_extra != 0) {
    value += kCounterUnits * extra(job).carries[static_cast<std::size_t>(event)];
  }
  return value;
}

}  // namespace haricot
