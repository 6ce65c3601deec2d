// What a loss of power took away of the files that were read, and what follows from that.

#include <algorithm>

#include "haricot/binlog/replay.hpp"

namespace haricot::binlog {
namespace {

// All that is torn of a file is told, and kept, as one stretch.
void add_torn(FileReport& file, const Damage& damage) {
  Damage& torn = file.torn;
  if (torn.bytes == 0) {
    torn = damage;
  } else {
    const std::uint64_t end = std::max(torn.offset + torn.bytes, damage.offset + damage.bytes);
    torn.offset = std::min(torn.offset, damage.offset);
    torn.bytes = end - torn.offset;
    torn.highest_id = std::max(torn.highest_id, damage.highest_id);
  }
  if (damage.offset == 0) file.is_head_torn = true;
}

bool is_damaged_at(const FileReport& file, std::uint64_t offset) {
  return std::any_of(file.damages.begin(), file.damages.end(),
                     [offset](const Damage& damage) { return damage.offset == offset; });
}

}  // namespace

std::vector<DurabilityFacts> Replay::durability_facts() const {
  std::vector<DurabilityFacts> facts;
  for (std::size_t i = 0; i < report_.files.size(); ++i) {
    const FileReport& file = report_.files[i];
    const auto& signature = plan_[i].identity.signature;
    facts.push_back({.marks = file.marks,
                     .run = signature ? signature->run : 0,
                     .tells_end_before = i > 0 && witness_of(i - 1) != nullptr,
                     .is_as_told_before = i > 0 && report_.files[i - 1].is_as_told,
                     .was_stopped = note_.end > 0 && noted_end_of(i) > 0});
  }
  return facts;
}

// Whether a file of that number, in front of the one of that index, may have lost its name with the
// power, and nothing of it was safe. The note is that of the server that was lost, or of a later
// one.
bool Replay::may_have_lost_its_name(std::uint64_t number, std::size_t index) const {
  if (!note_tells() || note_.ids_end == 0) return false;
  // Files that have lost their heads, too, do not tell when they were begun.
  bool is_told = false;
  while (index < plan_.size() && !plan_[index].identity.signature) {
    const FileReport& file = report_.files[index];
    if (!file.is_head_torn && file.kind != FileKind::empty) return false;
    if (file.marks.has_durable_past) return false;
    is_told |= file.is_head_torn;
    ++index;
  }
  if (index == plan_.size()) return is_told || had_no_safe_record(number);
  const std::uint32_t run = plan_[index].identity.signature->run;
  if (run == 0 || (run == note_.run && number <= note_.newest)) return false;
  return !report_.files[index].marks.are_of_earlier_version() &&
         !has_durable_past(durability_facts(), index);
}

// When all is read: later records, and files, tell how far a file was durable.
void Replay::settle_holes() {
  const std::vector<DurabilityFacts> facts = durability_facts();
  for (std::size_t i = 0; i < report_.files.size(); ++i) {
    FileReport& file = report_.files[i];
    if (file.damages.empty()) continue;
    const std::uint64_t durable_bytes = durable_bytes_of(facts, i);
    const auto is_torn = [durable_bytes](const Damage& damage) {
      return damage.looks_torn && damage.offset >= durable_bytes;
    };
    for (const Damage& damage : file.damages) {
      if (!is_torn(damage)) continue;
      add_torn(file, damage);
      std::erase_if(file.lost_jobs, [&damage](const FileReport::LostJob& job) {
        return job.offset == damage.offset;
      });
    }
    std::erase_if(file.damages, is_torn);
  }
  for (const HalfWritten& half : half_written_) {
    const bool is_torn = !is_damaged_at(report_.files[half.file], half.hole);
    const JobRef ref = engine_.jobs().find(half.id);
    if (ref == JobRef::none || is_torn == half.is_deletion) continue;
    // A job may have been written anew, whole.
    const bool is_there = segments_.of(ref)->number == plan_[half.file].number;
    if (half.is_deletion || is_there) drop(ref);
  }
}

}  // namespace haricot::binlog
