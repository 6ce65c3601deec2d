// Guesses about files that do not state what they are. A server makes none, because they may be
// wrong.
//
//   which folder   if two folders have equally many files here and there is no note: the folder
//                  with fewer missing or renamed files
//   which file     if a file has no signature, or its records contradict the signature: the file
//                  whose seed most sectors agree on
//
// A file that a server has set aside because nothing identified it is treated as if it were in its
// old place.

#pragma once

#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/read/folder_facts.hpp"

namespace haricot::tool {

// A guess that was made.
struct Guess {
  std::string file;  // Name in the folder.
  std::string what;  // Part of a sentence: "is taken for binlog.3, by 12 of its sectors".
};

// Adds guesses to the facts. Returns false and sets `error` if a file cannot be read. May throw
// std::bad_alloc.
[[nodiscard]] bool guess(binlog::Disk& disk, binlog::FolderFacts& facts,
                         std::vector<Guess>& guesses, std::string& error);

}  // namespace haricot::tool
