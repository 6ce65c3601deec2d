// What a command reads from stdin, or from a file instead.

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

// What goes out at once where many jobs are put: so many, or as many as have so many bytes.
inline constexpr std::size_t kBatchJobs = 500;
inline constexpr std::size_t kBatchBytes = 1024 * 1024;

// Whether a line has nothing in it but blanks and tabs.
bool is_blank(std::string_view line);

class InputText final {
 public:
  // Opens a file, or stdin if the path is empty or "-". On failure prints a message and returns
  // false.
  bool open(const Errand& errand, const std::string& path);

  // For messages.
  const std::string& name() const { return name_; }

  // Adds what is there to the text, and waits if nothing is. False: it could not be read, or the
  // text has more bytes than this now; then the message is printed. Or is_interrupted(), and there
  // is no message. `is_over`: that was the end.
  bool read(const Errand& errand, std::size_t bytes_max, std::string& text, bool& is_over);

  using Over = std::optional<int>;  // Something: it is over, with this status.

  // Hands over each line, whoever wrote it: without CR LF or LF, and the first one without the mark
  // of UTF-8 (BOM). Calls `pause` whenever no more is there for the moment, and at the end. Nothing
  // in `over`: neither of the two has ended it. False: as read(); `pause` was called before it. A
  // line may have so many bytes.
  bool read_lines(const Errand& errand, std::size_t bytes_max,
                  const std::function<Over(std::string_view)>& take,
                  const std::function<Over()>& pause, Over& over);

  // How much was read, of how many bytes; 0: unknown.
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t bytes() const { return bytes_; }

  // Where the next read begins. Nothing: it is no file, and so can be read only once.
  std::optional<std::int64_t> position() const;
  // Goes back to what position() was. False: the message is printed.
  bool go_back(const Errand& errand, std::int64_t position);

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
