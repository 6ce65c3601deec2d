// What a folder may be, where its files do not say it: what a server does not do, because it may be
// wrong.
//
//   which folder   if as many files are of one as of another, and there is no note: the one of
//   which
//                  less is missing or renamed
//   which file     that without its signature, or with one against which its records speak: the one
//                  on whose seed most sectors agree
//
// A file that a server has moved aside because nothing told what it is counts like one in its old
// place.

#pragma once

#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/read/folder_facts.hpp"

namespace haricot::tool {

// One that was made.
struct Guess {
  std::string file;  // Its name in the folder.
  std::string what;  // As a part of a sentence: "is taken for binlog.3, by 12 of its sectors".
};

// Puts the guesses into the facts. False: a file cannot be read, and `error` says why. May throw
// std::bad_alloc.
[[nodiscard]] bool guess(binlog::Disk& disk, binlog::FolderFacts& facts,
                         std::vector<Guess>& guesses, std::string& error);

}  // namespace haricot::tool
