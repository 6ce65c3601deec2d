#include "haricot/binlog/write/stream_state.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

StreamState::StreamState(BinlogState& state, const StreamEvents& on_events)
    : binlog(state),
      events(on_events),
      note(state.disk, ids_of_a_file(state.options.file_bytes)),
      sync_line(state.disk) {}

std::uint64_t StreamState::oldest_needed() const {
  const Segments& segments = *binlog.segments;
  if (segments.empty()) return 0;
  // The oldest file is being removed.
  std::size_t index = sync_line.has_removal() && segments.size() > 1 ? 1 : 0;
  while (index + 1 < segments.size() && segments.at(index).was_passed_over) ++index;
  return segments.at(index).number;
}

NoteWriter::Files StreamState::noted_files() const {
  const Segments& segments = *binlog.segments;
  return {.oldest_needed = oldest_needed(),
          .newest = segments.empty() ? 0 : segments.newest().number,
          .next_id = binlog.engine->next_id()};
}

Instant StreamState::oldest_unsynced() const {
  return std::min({progress.unsynced_since(), sync_line.oldest(), progress.doubtful_since()});
}

}  // namespace haricot::binlog
