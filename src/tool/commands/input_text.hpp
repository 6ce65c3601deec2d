// The input of a command, from stdin or a file.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "os/descriptor.hpp"
#include "tool/client/errand.hpp"

namespace haricot::tool {

// Bounds of a batch of puts: number of jobs, and bytes.
inline constexpr std::size_t kBatchJobs = 500;
inline constexpr std::size_t kBatchBytes = 1024 * 1024;

// Returns true if the line contains only blanks and tabs.
bool is_blank(std::string_view line);

class InputText final {
 public:
  // Opens a file, or stdin if the path is empty or "-". On failure prints a message and returns
  // false.
  bool open(const Errand& errand, const std::string& path);

  // Name for messages.
  const std::string& name() const { return name_; }

  // Appends available input to `text`, and waits if there is none. Sets `is_over` at the end of the
  // input. Returns false if reading failed or `text` exceeds `bytes_max`, after printing a message;
  // or, without a message, if is_interrupted().
  bool read(const Errand& errand, std::size_t bytes_max, std::string& text, bool& is_over);

  using Over = std::optional<int>;  // Set to the exit status when the subcommand has to end.

  // Passes each line to `take`, without its LF or CR LF and without a byte order mark. Calls
  // `pause` when all available input is taken, and at the end. Stops when one of the two returns a
  // status, and stores it in `over`. Returns false in the cases of read(); `pause` was called
  // before.
  bool read_lines(const Errand& errand, std::size_t bytes_max,
                  const std::function<Over(std::string_view)>& take,
                  const std::function<Over()>& pause, Over& over);

  // Bytes read so far, and bytes in all; 0 if unknown.
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t bytes() const { return bytes_; }

  // Returns the position of the next read, or nothing if the input is no file and can be read only
  // once.
  std::optional<std::int64_t> position() const;
  // Returns to an earlier position(). On failure prints a message and returns false.
  bool rewind(const Errand& errand, std::int64_t position);

 private:
  int descriptor() const;

  static constexpr std::size_t kReadBytes = 64 * 1024;

  std::string name_;
  os::Descriptor file_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_ = 0;
  std::array<char, kReadBytes> buffer_{};
};

}  // namespace haricot::tool
