// What a server notes of its folder outside of the binlog files: a second home for what their
// signatures say, and the only witness of the newest file.
//
// A run is one server on the folder, from its start to its end. Each file says in which run it was
// begun. So the newest file of a copy of the folder, on which another server ran, can be told from
// ours though it follows the same file.

#pragma once

#include <cstdint>

namespace haricot::binlog {

struct FolderNote {
  std::uint64_t store_id = 0;  // 0: nothing is noted.
  std::uint32_t run = 0;       // Of the server that opened the folder last. 0: not known.
  // Of the newest file that this server found, 0: none told; and when the server has recorded
  // something, its own.
  std::uint32_t run_before = 0;

  // What follows is 0 in the notes of earlier versions: not known.

  // Files with lower numbers are not needed.
  std::uint32_t oldest_needed = 0;
  // The newest file that has records, as far as that is durable.
  std::uint32_t newest = 0;
  // If the server was stopped after that file, the length of that file; else 0.
  std::uint64_t end = 0;
  // No id from here on was given out. While the server runs, this is ahead of what it gives out.
  std::uint64_t ids_end = 0;

  // Whether the newest file is one of the last run, which has recorded something then.
  bool tells_last_run() const { return run != 0 && run_before == run; }

  bool operator==(const FolderNote&) const = default;
};

}  // namespace haricot::binlog
