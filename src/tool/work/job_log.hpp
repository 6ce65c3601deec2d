// A log file with a line for each run of a program, in the columns of GNU parallel's --joblog and
// some more.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"

namespace haricot::tool {

struct JobRun {
  std::uint64_t id = 0;
  std::string tube;
  std::uint64_t reserves = 0;
  std::int64_t start_ns = 0;  // Wall clock; 0 if nothing was run.
  Duration time;
  std::uint64_t body_bytes = 0;
  std::uint64_t output_bytes = 0;
  int status = -1;  // Exit status; 0 if a signal ended the program, -1 if nothing was run.
  int signal = 0;
  std::string_view end;  // Fate of the job: done, released, buried or doubt.
};

// Quotes a word for a shell. Writes bytes that are not printable ASCII as \xHH.
std::string shell_word(std::string_view word);

class JobLog final {
 public:
  // Opens the file for appending, and writes a line of titles if it is empty. The command is logged
  // as given, without bodies. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(const std::string& path, const std::vector<std::string>& command,
                          std::string& error);
  // Appends a line with one write, so that several processes can share a file. Does nothing if no
  // file is open. Returns false and sets `error` on failure.
  [[nodiscard]] bool write(const JobRun& run, std::string& error);

 private:
  bool add(std::string_view line, std::string& error);

  std::string path_;
  std::string command_;
  os::Descriptor file_;
};

}  // namespace haricot::tool
