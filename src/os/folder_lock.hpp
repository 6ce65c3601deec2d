// The lock that prevents two servers from writing to the same folder, compatible with beanstalkd's.
//
// It is a write lock (fcntl) on the whole of a file named `lock` in the folder. The kernel drops
// the lock when the process ends, in whatever way, so the file may stay. Such locks have pitfalls:
// a process loses its lock as soon as it closes any descriptor of the file, so FolderDisk does not
// touch this name; a child does not inherit the lock; and a process does not conflict with itself,
// so it could lock the same folder twice.

#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/binlog/folder_note.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

inline constexpr std::string_view kLockFileName = "lock";

enum class LockStatus : std::uint8_t {
  taken,
  held,    // By another process: see holder().
  cannot,  // See error().
};

class FolderLock {
 public:
  // Takes the lock without waiting. Requires: a folder, and no lock taken yet.
  [[nodiscard]] LockStatus take(int folder_descriptor);

  // Opens the lock's file for a later take(), which then needs no new descriptor. Does not create
  // the file; returns true if it does not exist. On failure, see error(). Requires: not taken.
  [[nodiscard]] bool can_open(int folder_descriptor);

  // Releases the lock for another process. Requires: taken.
  void release() { file_.reset(); }

  // Returns true if that folder has the file of this lock. Requires: taken.
  bool is_in(int folder_descriptor) const;

  // Removes the file of the lock if take() has created it and it is empty, so that a server that
  // fails to start leaves the folder as it was. The lock is held until the process ends. Requires:
  // taken in that folder.
  void remove_if_made(int folder_descriptor);

  // Makes that user the owner of the lock's file, if root calls this: the next server may run as
  // that user from its start. Requires: taken.
  void give_to(const std::string& user);

  // Returns the note of the folder, which is in the file of the lock; beanstalkd ignores it. All
  // fields are 0 if there is none, or it is damaged. Requires: taken.
  binlog::FolderNote note() const;
  // Writes the note without waiting for the disk. On failure there is no note, or an older one of
  // the same run. Requires: taken.
  void write_note(const binlog::FolderNote& note);
  // Makes the note durable, as far as the disk can. Blocks. Requires: taken.
  void sync_note();
  // Descriptor of the lock's file, for syncing the note in another thread. Requires: taken.
  int descriptor() const { return file_.get(); }
  // Returns the note of a folder that is only read. Requires: this process does not hold the lock.
  static binlog::FolderNote note_in(int folder_descriptor);

  // Returns the process that holds the lock of a folder, or 0. Changes nothing.
  static pid_t user_of(int folder_descriptor);

  // 0 if unknown: the holder runs on another machine or in another container.
  pid_t holder() const { return holder_; }
  const std::string& error() const { return error_; }
  // Returns why take() has failed, as a sentence about the folder at that path.
  std::string why_not(const std::string& path) const;

 private:
  LockStatus fail(std::string_view doing);
  Descriptor open_or_make(int folder_descriptor);

  Descriptor opened_;        // Opened by can_open(), for take().
  Descriptor file_;          // While it is open, the lock is held.
  struct stat identity_ {};  // Device and number of that file.
  bool was_made_ = false;
  pid_t holder_ = 0;
  std::string error_;
};

}  // namespace haricot::os
