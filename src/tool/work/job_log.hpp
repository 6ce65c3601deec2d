// A file with a line for each run of a program, in the columns of GNU parallel's --joblog and some
// more: for who wants to know later what was done, and how long it took.

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
  std::int64_t start_ns = 0;  // Of the wall clock; 0: there was no run.
  Duration time;
  std::uint64_t body_bytes = 0;
  std::uint64_t output_bytes = 0;
  int status = -1;  // Of exit; 0 if a signal ended it; -1: nothing was run.
  int signal = 0;
  std::string_view end;  // What has become of the job: done, released, buried, doubt.
};

// A word as a shell reads it. What is no printable ASCII is \xHH.
std::string shell_word(std::string_view word);

class JobLog final {
 public:
  // Adds to the file, after a line of titles if it is empty. The command is written as it was
  // given, without bodies. False: `error` says why.
  [[nodiscard]] bool open(const std::string& path, const std::vector<std::string>& command,
                          std::string& error);
  // Writes a line with one call, so that several processes can share a file. Does nothing if no
  // file is open. False: `error` says why.
  [[nodiscard]] bool write(const JobRun& run, std::string& error);

 private:
  bool add(std::string_view line, std::string& error);

  std::string path_;
  std::string command_;
  os::Descriptor file_;
};

}  // namespace haricot::tool
