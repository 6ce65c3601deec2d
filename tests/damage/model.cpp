#include "model.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::damage {
namespace {

using Kind = Piece::Kind;
using binlog::RecordState;

enum class Wholeness : std::uint8_t { whole, body_hurt, hurt };

bool is_same(std::string_view now, std::string_view before, std::size_t offset, std::size_t bytes) {
  if (offset + bytes > now.size()) return false;
  return now.substr(offset, bytes) == before.substr(offset, bytes);
}

Wholeness wholeness(const HurtFile& file, const Piece& piece) {
  const std::string& before = file.origin->bytes;
  if (is_same(file.bytes, before, piece.offset, piece.bytes)) return Wholeness::whole;
  const bool has_head =
      piece.kind == Kind::full && is_same(file.bytes, before, piece.offset, piece.head_bytes);
  return has_head ? Wholeness::body_hurt : Wholeness::hurt;
}

RecordedState after(RecordedState state, const Piece& piece) {
  const bool is_full = piece.kind == Kind::full;
  if (piece.state == RecordState::deleted) return {};
  if (is_full) return {&piece, &piece};
  return state.full == nullptr ? RecordedState{} : RecordedState{state.full, &piece};
}

// A full record with a damaged body changes the state of a known job only.
RecordedState after_head_of(RecordedState state, const Piece& piece) {
  return state.full == nullptr ? RecordedState{} : RecordedState{state.full, &piece};
}

void add(States& states, RecordedState state) {
  if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
}

// An original file and its files in the damaged folder.
struct Placed {
  const KnownFile* known = nullptr;
  std::vector<const HurtFile*> files;  // Empty: missing. More than one: copies.
};

std::vector<Placed> placed_files(const HurtFolder& folder) {
  std::vector<Placed> placed;
  for (const KnownFile& known : folder.known().files) {
    Placed& here = placed.emplace_back();
    here.known = &known;
    for (const HurtFile& file : folder.files()) {
      if (file.origin == &known) here.files.push_back(&file);
    }
  }
  return placed;
}

bool is_all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

class Expecting {
 public:
  Expecting(const HurtFolder& folder, bool has_note)
      : folder_(folder),
        placed_(placed_files(folder)),
        note_(has_note ? folder.known().note : binlog::FolderNote{}) {}

  Expectation run() {
    find_torn();
    find_torn_holes();
    for (std::size_t place = 0; place < placed_.size(); ++place) {
      const Placed& here = placed_[place];
      const std::size_t silent = silent_end(place);
      for (const Piece& piece : here.known->pieces) {
        if (!piece.is_record()) continue;
        auto& acknowledged = result_.acknowledged[piece.id];
        acknowledged = after(acknowledged, piece);
        if (gone_.contains(here.known) || torn_.contains(&piece)) continue;
        auto& without = result_.without_torn[piece.id];
        without = after(without, piece);
      }
      for (const HurtFile* file : here.files) {
        look_for_strange(*file, silent);
        note_stray_ones(*file);
      }
      take_records(here);
    }
    find_highest();
    for (const HurtFile& file : folder_.files()) {
      if (file.origin != nullptr) continue;
      note_strange(file, 0, file.bytes.size());
      result_.must_tell = true;
    }
    return std::move(result_);
  }

 private:
  // Finds the pieces at the end of the folder that a crash could have torn off.
  void find_torn() {
    for (std::size_t i = placed_.size(); i > 0; --i) {
      const Placed& here = placed_[i - 1];
      const std::vector<Piece>& pieces = here.known->pieces;
      if (pieces.empty()) continue;  // beanstalkd makes its next file in advance.
      torn_file_ = here.known;
      torn_from_ = pieces.size();
      if (here.files.empty()) {
        // Only the seal of the previous file and the note show that the file existed.
        if (i == 1 || was_followed(placed_[i - 2]) || is_noted(*here.known)) return;
        gone_.insert(here.known);
        continue;
      }
      // A file in the note has at least one record; all of its pieces, if the server was stopped.
      constexpr std::size_t kPiecesWithARecord = 3;
      std::size_t known = 0;
      if (is_noted(*here.known)) known = note_.end != 0 ? pieces.size() : kPiecesWithARecord;
      const HurtFile& file = *here.files.front();
      while (torn_from_ > known && wholeness(file, pieces[torn_from_ - 1]) != Wholeness::whole) {
        torn_.insert(&pieces[--torn_from_]);
      }
      return;
    }
  }
  // Finds holes that a crash could have left in the last file and earlier files of its run: sectors
  // of zeros that no undamaged piece marks as durable.
  void find_torn_holes() {
    std::uint32_t run = 0;
    bool is_end_known = false;  // The head of the next file has the end of this one.
    bool is_durable = false;    // Later files of the run show that this one is durable.
    for (std::size_t i = placed_.size(); i > 0; --i) {
      const Placed& here = placed_[i - 1];
      const KnownFile& known = *here.known;
      if (known.pieces.empty() || gone_.contains(&known)) continue;
      if (here.files.size() != 1 || known.run == 0) return;
      const HurtFile& file = *here.files.front();
      if (run != 0 && run != known.run) return;
      const MarksLeft marks = marks_left(file);
      is_durable = is_durable || (is_noted(known) && note_.end != 0);
      if (!is_durable) find_torn_holes_of(file, marks.durable_bytes, is_end_known);
      // Only the head shows the run of a file.
      is_end_known = wholeness(file, known.pieces[1]) == Wholeness::whole;
      if (is_end_known) run = known.run;
      is_durable = is_end_known && (is_durable || marks.has_durable_past);
    }
  }
  struct MarksLeft {
    std::uint64_t durable_bytes = 0;
    bool has_durable_past = false;
  };
  static MarksLeft marks_left(const HurtFile& file) {
    MarksLeft marks;
    for (const Piece& piece : file.origin->pieces) {
      if (!piece.mark || wholeness(file, piece) != Wholeness::whole) continue;
      marks.durable_bytes = std::max(marks.durable_bytes, piece.mark->durable_bytes);
      marks.has_durable_past |= piece.mark->has_durable_past;
    }
    return marks;
  }
  void find_torn_holes_of(const HurtFile& file, std::uint64_t durable_bytes, bool is_end_known) {
    const std::vector<Piece>& pieces = file.origin->pieces;
    for (auto begin = pieces.begin(); begin != pieces.end(); ++begin) {
      // The head of a file and the rest are separate stretches.
      const bool is_head = begin->kind == Kind::version || begin->kind == Kind::signature;
      const auto end = std::find_if(
          begin, is_head ? pieces.begin() + 2 : pieces.end(),
          [&](const Piece& piece) { return wholeness(file, piece) == Wholeness::whole; });
      if (end == begin) continue;
      // Lost pieces at an unknown end look like the zeros after it.
      const bool looks_torn = (end == pieces.end() && !is_end_known) ||
                              ends_in_zeros(file.bytes, begin->offset, end[-1].end());
      if (looks_torn && end[-1].offset >= durable_bytes) {
        for (; begin != end; ++begin) {
          if (begin->offset >= durable_bytes) torn_.insert(&*begin);
        }
        note_half_written(end, pieces.end());
      }
      begin = end - 1;
    }
  }
  // Marks the record after a torn stretch as torn if its text may have been in the stretch.
  template <typename Iterator>
  void note_half_written(Iterator piece, Iterator end) {
    while (piece != end && piece->kind == Kind::pseudo) ++piece;
    if (piece == end || !piece->is_record()) return;
    const bool is_put_or_end = piece->kind == Kind::full || piece->state == RecordState::deleted;
    const bool may_have_text = !piece->mark || piece->mark->text_records > 0;
    if (is_put_or_end && may_have_text) torn_.insert(&*piece);
  }
  // Returns true if the bytes exceed the file, or if one of their sectors is zero from the first of
  // these bytes in it.
  static bool ends_in_zeros(std::string_view bytes, std::size_t begin, std::size_t end) {
    if (end > bytes.size()) return true;
    for (std::size_t at = begin; at < end;
         at = (at / binlog::kSectorBytes + 1) * binlog::kSectorBytes) {
      const std::size_t sector_end = (at / binlog::kSectorBytes + 1) * binlog::kSectorBytes;
      if (at >= bytes.size() || is_all_zero(bytes.substr(at, sector_end - at))) return true;
    }
    return false;
  }
  bool is_noted(const KnownFile& file) const {
    return file.writer == Writer::haricot && note_.newest != 0 && file.number == note_.newest;
  }
  void find_highest() {
    for (const KnownFile* file : gone_) result_.forgotten.insert(file->number);
    bool is_all = misread_.empty();
    for (std::size_t place = 0; place < placed_.size(); ++place) {
      const KnownFile& file = *placed_[place].known;
      const std::size_t end = gone_.contains(&file) ? 0 : silent_end(place);
      is_all = is_all && end == file.pieces.size();
      for (std::size_t i = 0; i < end; ++i) {
        if (torn_.contains(&file.pieces[i])) {
          is_all = false;
          continue;
        }
        // A change record of beanstalkd is meaningless without its job.
        const bool is_change = file.pieces[i].kind == Kind::change;
        if (file.writer != Writer::haricot && is_change) continue;
        if (misread_.contains(&file.pieces[i])) continue;
        result_.highest_known = std::max(result_.highest_known, file.pieces[i].id);
      }
    }
    if (is_all) result_.highest_known = folder_.known().highest_id;
    // A file with only its head left looks newly begun, and the next file replaces it.
    const auto& left = torn_file_->pieces;
    const bool has_records =
        std::any_of(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(torn_from_),
                    [](const Piece& piece) { return piece.is_record(); });
    if (!has_records && torn_from_ >= 2) result_.forgotten.insert(torn_file_->number);
  }
  static bool was_followed(const Placed& here) {
    if (here.files.empty() || !here.known->is_followed()) return false;
    return wholeness(*here.files.front(), here.known->pieces.back()) == Wholeness::whole;
  }

  bool any_head_is_whole() const {
    return std::any_of(folder_.files().begin(), folder_.files().end(), [](const HurtFile& file) {
      if (file.origin == nullptr || file.origin->writer != Writer::haricot) return false;
      return wholeness(file, file.origin->pieces[1]) == Wholeness::whole;
    });
  }

  // Returns true if the reader recognises a file of haricotd.
  bool is_known_as_ours(const HurtFile& file) const {
    const std::vector<Piece>& pieces = file.origin->pieces;
    if (wholeness(file, pieces[0]) == Wholeness::whole &&
        wholeness(file, pieces[1]) == Wholeness::whole) {
      return true;
    }
    // Without its head, a file is recognised only under its own number, and only if a head or the
    // note has the id of the store. Unlike `haricot binlog repair`, the server does not guess the
    // id.
    if (note_.store_id == 0 && !any_head_is_whole()) return false;
    if (file.name != binlog::binlog_file_name(file.origin->number)) return false;
    std::size_t evidence = 0;
    std::set<std::size_t> sectors;
    for (std::size_t i = 2; i < pieces.size(); ++i) {
      if (wholeness(file, pieces[i]) == Wholeness::whole) {
        evidence += pieces[i].kind == Kind::full ? 2U : 1U;
        sectors.insert(pieces[i].offset / binlog::kSectorBytes);
      }
    }
    // The records of a stray sector match each other, too, so they are no evidence.
    if (sectors.size() <= file.stray_sectors) return false;
    if (evidence >= 2) return true;
    return evidence > 0 &&
           std::any_of(folder_.files().begin(), folder_.files().end(), [](const HurtFile& other) {
             return other.origin != nullptr && other.origin->writer == Writer::haricot &&
                    !other.is_hurt();
           });
  }

  // Notes that the reader has to report the damage of a piece: a later piece or another file shows
  // that the piece existed.
  void tell(const HurtFile& file, std::size_t piece, std::size_t silent) {
    const std::vector<Piece>& pieces = file.origin->pieces;
    if (piece >= silent) return;
    if (pieces[piece].kind == Kind::seal) return;  // A seal adds no information.
    if (!torn_.contains(&pieces[piece])) result_.must_tell = true;
  }

  void look_for_strange(const HurtFile& file, std::size_t silent) {
    const KnownFile& known = *file.origin;
    if (!file.is_hurt()) return;
    std::size_t at = 0;
    std::size_t taken_until = 0;  // End of a damaged record of beanstalkd that seems longer.
    for (std::size_t i = 0; i < known.pieces.size(); ++i) {
      const Piece& piece = known.pieces[i];
      const bool is_whole = wholeness(file, piece) == Wholeness::whole;
      if (known.writer != Writer::haricot && !is_whole && piece.is_record() &&
          piece.offset >= taken_until) {
        taken_until = piece.offset + legacy_length(file, piece).value_or(0);
      }
      const bool is_good = is_whole || piece.offset < taken_until;
      note_strange(file, at, piece.offset);
      if (!is_good) {
        note_strange(file, piece.offset, piece.end());
        tell(file, i, silent);
      }
      at = piece.end();
    }
    note_strange(file, at, file.bytes.size());
  }

  // Returns the end of the undamaged pieces of another file at the beginning of this one, or 0:
  // with a stray sector at its beginning, a file is read as that other file.
  std::size_t end_of_another(const HurtFile& file) const {
    for (const KnownFile& known : folder_.known().files) {
      if (&known == file.origin || known.writer != Writer::haricot) continue;
      std::size_t end = 0;
      for (const Piece& piece : known.pieces) {
        if (!is_same(file.bytes, known.bytes, piece.offset, piece.bytes)) break;
        end = piece.end();
      }
      if (end >= known.pieces[1].end()) return end;
    }
    return 0;
  }

  void note_strange(const HurtFile& file, std::size_t begin, std::size_t end) {
    if (file.stray_sectors > 0) begin = std::max(begin, end_of_another(file));
    end = std::min(end, file.bytes.size());
    while (begin < end && file.bytes[begin] == '\0') ++begin;
    while (begin < end && file.bytes[end - 1] == '\0') --end;
    if (begin >= end) return;
    if (!result_.strange.empty() && result_.strange.back().file == file.name) {
      result_.strange.back().end = end;
      return;
    }
    result_.strange.push_back({file.name, begin, end});
  }

  // Returns the length of a damaged record of beanstalkd if it is still valid: it has no checksum.
  static std::optional<std::size_t> legacy_length(const HurtFile& file, const Piece& piece) {
    if (piece.offset > file.bytes.size()) return std::nullopt;
    const std::string_view rest = std::string_view(file.bytes).substr(piece.offset);
    std::size_t head = 0;
    const bool is_v5 = file.origin->writer == Writer::beanstalkd_v5;
    const auto parsed = is_v5 ? binlog::parse_record_v5(rest, head) : binlog::parse_record(rest);
    if (!parsed || !parsed->body_is_there) return std::nullopt;
    if (!is_v5) head = binlog::header_bytes(parsed->record.tube_name.size());
    const std::string_view body = parsed->record.body;
    if (parsed->record.is_full() && !body.ends_with("\r\n")) return std::nullopt;
    return head + body.size();
  }

  // Returns the index of the first piece of a file of beanstalkd that is lost without evidence:
  // only zeros follow. Returns the number of pieces if none is, or if the next file is haricotd's.
  std::size_t silent_end(std::size_t place) const {
    const Placed& here = placed_[place];
    const std::vector<Piece>& pieces = here.known->pieces;
    if (here.known->writer == Writer::haricot || here.files.empty()) return pieces.size();
    const bool is_known_after = place + 1 < placed_.size() && !placed_[place + 1].files.empty() &&
                                placed_[place + 1].known->writer == Writer::haricot &&
                                !placed_[place + 1].files[0]->is_hurt();
    if (is_known_after) return pieces.size();
    const std::string_view bytes = here.files[0]->bytes;
    std::size_t end = pieces.size();
    while (end > 0 && (pieces[end - 1].offset >= bytes.size() ||
                       is_all_zero(bytes.substr(pieces[end - 1].offset)))) {
      --end;
    }
    return end;
  }

  // Notes jobs of a stray sector: if nothing else is left of the file, a damaged sector may be read
  // as records of beanstalkd.
  void note_stray_ones(const HurtFile& file) {
    if (file.stray_sectors == 0 || is_known_as_ours(file)) return;
    const std::string_view bytes = file.bytes;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::size_t head = 0;
      const auto v7 = binlog::parse_record(bytes.substr(at));
      const auto v5 = binlog::parse_record_v5(bytes.substr(at), head);
      if (v7) result_.unknowable.insert(v7->record.id);
      if (v5) result_.unknowable.insert(v5->record.id);
    }
  }

  // Notes the jobs that a damaged record of beanstalkd may now refer to.
  void note_unknowable(const HurtFile& file, const Piece& piece) {
    result_.unknowable.insert(piece.id);
    if (legacy_length(file, piece)) misread_.insert(&piece);
    if (const auto length = legacy_length(file, piece)) {
      const std::size_t end = piece.offset + *length;
      for (const Piece& other : file.origin->pieces) {
        // The record may be longer now and include others in its body.
        if (other.offset > piece.offset && other.offset < end) result_.unknowable.insert(other.id);
      }
    }
    const bool is_v5 = file.origin->writer == Writer::beanstalkd_v5;
    const std::size_t name_bytes = piece.job.known.tube.size();
    const std::size_t id_at = piece.offset + (is_v5 ? 8 : 4) + name_bytes;
    if (id_at + 8 <= file.bytes.size()) {
      result_.unknowable.insert(load_little_endian<std::uint64_t>(file.bytes.data() + id_at));
    }
  }

  void take_records(const Placed& here) {
    if (here.files.empty()) return;
    const bool is_ours = here.known->writer == Writer::haricot;
    const bool has_head = wholeness(*here.files[0], here.known->pieces[0]) == Wholeness::whole;
    if (!is_ours && !has_head && !is_all_zero(here.files[0]->bytes)) result_.may_be_refused = true;
    for (const Piece& piece : here.known->pieces) {
      if (piece.id == 0 || !(piece.is_record() || piece.kind == Kind::pseudo)) continue;
      std::size_t whole = 0;
      std::size_t with_head = 0;
      bool is_known = true;
      for (const HurtFile* file : here.files) {
        const Wholeness how = wholeness(*file, piece);
        whole += how == Wholeness::whole;
        with_head += how == Wholeness::body_hurt;
        is_known = is_known && (!is_ours || is_known_as_ours(*file));
        // Bytes without evidence of their origin may look like an unknown version.
        if (!is_known && wholeness(*file, here.known->pieces[0]) != Wholeness::whole) {
          result_.may_be_refused = true;
        }
        const bool has_sums = is_ours && is_known;
        if (!has_sums && how != Wholeness::whole) note_unknowable(*file, piece);
        if (is_ours && !is_known) result_.may_lack_cause.insert(&piece);
      }
      const bool is_certain = is_known && whole == here.files.size() && !torn_.contains(&piece);
      if (is_certain && (is_ours || piece.kind == Kind::full)) {
        result_.highest_whole = std::max(result_.highest_whole, piece.id);
      }
      const bool may_be = whole > 0 || (is_ours && is_elsewhere(*here.known, piece));
      if (piece.is_record()) take(piece, is_certain, may_be, with_head > 0);
    }
  }

  // Returns true if a stray sector contains the piece. At another offset this counts only if the
  // file is not recognised.
  bool is_elsewhere(const KnownFile& known, const Piece& piece) const {
    const std::string_view bytes = std::string_view(known.bytes).substr(piece.offset, piece.bytes);
    return std::any_of(folder_.files().begin(), folder_.files().end(), [&](const HurtFile& file) {
      if (file.origin == nullptr) return false;
      if (file.origin != &known && is_same(file.bytes, known.bytes, piece.offset, piece.bytes)) {
        return true;
      }
      return !is_known_as_ours(file) && file.bytes.find(bytes) != std::string::npos;
    });
  }

  void take(const Piece& piece, bool is_certain, bool may_be, bool may_be_head) {
    States& states = result_.states[piece.id];
    if (states.empty()) states.emplace_back();
    States next;
    for (const RecordedState& state : states) {
      if (!is_certain) add(next, state);
      if (is_certain || may_be) add(next, after(state, piece));
      if (may_be_head) add(next, after_head_of(state, piece));
    }
    states = std::move(next);
  }

  const HurtFolder& folder_;
  std::vector<Placed> placed_;
  binlog::FolderNote note_;
  // Losses that a crash could have caused: files, pieces, and torn_file_ from piece torn_from_ on.
  std::set<const KnownFile*> gone_;
  std::set<const Piece*> torn_;
  const KnownFile* torn_file_ = nullptr;
  std::size_t torn_from_ = 0;
  // Damaged records of beanstalkd that are still valid.
  std::set<const Piece*> misread_;
  Expectation result_;
};

}  // namespace

Expectation expect(const HurtFolder& folder, bool has_note) {
  return Expecting(folder, has_note).run();
}

ModelJob job_in(const RecordedState& state, std::int64_t wall) {
  ModelJob job = state.last->job;
  job.known.tube = state.full->job.known.tube;
  job.known.body_bytes = state.full->job.known.body_bytes;
  job.body = state.full->job.body;
  if (job.known.state == JobState::delayed && job.known.deadline_at <= wall) {
    job.known.state = JobState::ready;
    job.known.deadline_at = 0;
  }
  return job;
}

Jobs acknowledged_jobs(const KnownFolder& folder) {
  Jobs jobs;
  for (const auto& [id, state] : expect(HurtFolder(folder), false).acknowledged) {
    if (state.full != nullptr) jobs[id] = job_in(state, folder.wall);
  }
  return jobs;
}

}  // namespace haricot::damage
