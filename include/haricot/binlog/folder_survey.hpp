// Finds out which files of a folder are read, in which order, and which are left aside.
//
// A folder as a server leaves it needs none of this: each file says by its name and its signature
// what it is, and the file after it agrees. If one file does not agree, the survey looks at all
// files before it believes a record of any.
//
//   foreign       its records are those of another folder
//   displaced     it stands under another name than it was written under: read in its right place
//   duplicate     the same file stands under two names: read once
//   undecided     the same, and this folder may as well be the other one
//   contradicted  the next file says that it was begun after another one: a folder that was copied
//                 and lived on apart has files of the same number

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/file_identity.hpp"
#include "haricot/binlog/file_scan.hpp"
#include "haricot/binlog/problem.hpp"

namespace haricot::binlog {

struct PlannedFile {
  std::uint64_t name_number = 0;  // N of the name that it has.
  std::uint64_t number = 0;       // Of its place in the order: N of the name that it should have.
  FileIdentity identity;
};

// How the end of a file fits what the next one says of it.
enum class Link : std::uint8_t {
  good,
  damaged,  // It does not, but the file is damaged or cut off, which explains it.
  broken,   // It does not, and nothing explains it.
};

// Whether that signature tells how the file of that number ended.
bool knows_end_of(const Signature& next, std::uint64_t number);
// Requires: the scan is at its end; it was of as many bytes of the file as `next` says. `all` is
// the whole file. `next` knows the file's end.
Link link_between(const FileScan& scan, const Signature& next, std::string_view all,
                  const FileIdentity& identity);

class FolderSurvey {
 public:
  // The disk outlives this. `numbers` are those of the names, in order. `store_id` and `ours`, the
  // number of a file that a server of ours has begun, are what is known from elsewhere, or 0.
  // `newest`: the same of the newest file with records when the note was written, if it was.
  FolderSurvey(Disk& disk, const std::vector<std::uint64_t>& numbers, std::uint64_t store_id,
               std::uint64_t ours = 0, std::optional<std::uint64_t> newest = {})
      : disk_(disk),
        names_(numbers),
        remembered_store_id_(store_id),
        remembered_file_(ours),
        remembered_newest_(newest) {}

  // Reads all files, some of them twice. False: one cannot be read, and `error` says why. May throw
  // std::bad_alloc.
  [[nodiscard]] bool run(std::string& error);

  // In the order in which they are to be read.
  const std::vector<PlannedFile>& files() const { return files_; }
  // What is odd about whole files: displaced ones, and those left aside.
  const std::vector<Problem>& problems() const { return problems_; }
  // Of the folder; 0 if no file of ours is there.
  std::uint64_t store_id() const { return folder_.store_id; }
  // The highest id in the files of this folder that are left aside; 0: none.
  std::uint64_t highest_id_aside() const { return highest_id_aside_; }

 private:
  bool identify_all(std::string& error);
  bool was_never_safe(std::size_t index) const;
  bool was_begun_by_us(std::size_t index, bool& is_ours, std::string& error);
  bool is_likelier(std::size_t index, const Contradiction& contradiction,
                   const FileIdentity& by_signature) const;
  bool says_another(std::size_t index, const FileIdentity& identity) const;
  bool choose_store(const std::vector<std::uint64_t>& store_ids, std::string& error);
  bool count_oddities(std::uint64_t store_id, std::size_t& oddities, std::string& error);
  bool is_of(std::size_t index, std::uint64_t store_id) const;
  bool leave_strangers_aside(std::string& error);
  bool leave_stranger_aside(const PlannedFile& file, std::string& error);
  bool is_vouched_for(const PlannedFile& file, bool& vouched, std::string& error);
  bool leave_duplicates_aside(std::string& error);
  bool leave_contradicted_aside(std::string& error);
  bool leave_aside(const PlannedFile& file, Problem::Kind kind, std::uint64_t other,
                   std::string& error);
  bool load(std::uint64_t name_number, std::string& error);

  Disk& disk_;
  std::vector<std::uint64_t> names_;
  std::uint64_t remembered_store_id_;
  std::uint64_t remembered_file_;
  std::optional<std::uint64_t> remembered_newest_;
  FolderFacts folder_;
  std::vector<std::uint64_t> may_be_;  // Folders that this one may be as well as the chosen one.
  FileBytes bytes_;
  std::vector<PlannedFile> files_;
  std::vector<Problem> problems_;
  std::uint64_t highest_id_aside_ = 0;
};

}  // namespace haricot::binlog
