// The lock that keeps two servers from writing to one folder: the one that beanstalkd takes.
//
// It is a write lock, by fcntl, on the whole of a file named `lock` in the folder. The kernel drops
// the lock when the process ends, however that happens, so the file may stay. Two things about such
// locks are easily forgotten. A process loses its lock as soon as it closes any descriptor of the
// file, so FolderDisk does not touch this name. And a child does not inherit the lock. A process
// never excludes itself: it can take a second lock on the same folder.

#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/binlog/format/folder_note.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

inline constexpr std::string_view kLockFileName = "lock";

enum class LockStatus : std::uint8_t {
  taken,
  held,    // By another process, whose number holder() is.
  cannot,  // error() says why.
};

class FolderLock {
 public:
  // Never waits. Requires: a folder; none is taken yet.
  [[nodiscard]] LockStatus take(int folder_descriptor);

  // Returns whether take() could open the file, and makes none. On false, see error(). Requires:
  // not taken.
  [[nodiscard]] bool can_open(int folder_descriptor);

  // From here on another process may take it. Requires: taken.
  void release() { file_.reset(); }

  // Whether that folder has the file of this lock, rather than none or another one. Requires:
  // taken.
  bool is_in(int folder_descriptor) const;

  // Removes the file of the lock if take() has made it and nothing is in it: a server that does not
  // start leaves the folder as it was. The lock is held until the process ends. Requires: taken in
  // that folder.
  void remove_if_made(int folder_descriptor);

  // Gives the lock's file to that user, if root calls this: the next server may run as that user
  // from its start. Requires: taken.
  void give_to(const std::string& user);

  // The file of the lock also holds the note of the folder, which beanstalkd does not look at. All
  // 0: none is there, or it is not whole. Requires: taken.
  binlog::FolderNote note() const;
  // Writes the note, and does not wait for the disk. If that does not work, there is none, or an
  // older one of the same run. Requires: taken.
  void write_note(const binlog::FolderNote& note);
  // Makes the note durable, as far as the disk can. Blocks. Requires: taken.
  void sync_note();
  // The file of the lock, for who syncs the note in another thread. Requires: taken.
  int descriptor() const { return file_.get(); }
  // The same for a folder that is only looked at. Requires: this process does not hold its lock.
  static binlog::FolderNote note_in(int folder_descriptor);

  // The process that holds the lock of a folder, or 0. Only looks.
  static pid_t user_of(int folder_descriptor);

  // 0 when it is not known: the other one runs on another machine or in another container.
  pid_t holder() const { return holder_; }
  const std::string& error() const { return error_; }
  // Why take() did not end with taken, as a sentence about the folder of that path.
  std::string why_not(const std::string& path) const;

 private:
  LockStatus fail(std::string_view doing);
  Descriptor open_or_make(int folder_descriptor);

  Descriptor file_;          // As long as it is open, the lock is held.
  struct stat identity_ {};  // Of that file, by its device and number.
  bool was_made_ = false;
  pid_t holder_ = 0;
  std::string error_;
};

}  // namespace haricot::os
