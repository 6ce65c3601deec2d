// Shared by the fuzzer of replay and the test of its corpus: bytes that encode a folder, and the
// checks that hold for any folder.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::binlog {

// Up to three files. As bytes:
//
//   u8      bits 0 to 2: the checksums of file n + 1 are corrected before it is read, so that
//           mutations reach the data after them. Bit 3: the folder has a note. Fields of the note
//           in bits 4 and 5: the newest file, 6: a server was stopped after it, 7: file 1 is not
//           needed
//   u16 x2  the lengths of the first two files, little-endian; the third one is the rest
//   bytes   of the files, which are binlog.1 to binlog.3; an empty one is absent
struct ReplayInput {
  std::uint8_t repaired = 0;  // The first byte.
  std::vector<std::string> files;
};

ReplayInput input_from(std::string_view bytes);
std::string bytes_of(const ReplayInput& input);

// Opens the folder, checks the invariants, opens it again, uses it, and opens it a last time. Ends
// the program if a check fails.
void check_replay(const ReplayInput& input);

}  // namespace haricot::binlog
