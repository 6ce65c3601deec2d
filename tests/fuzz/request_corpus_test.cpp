// Plays the corpus of the fuzz target for HTTP with every compiler.

#include <gtest/gtest.h>

#include <filesystem>

#include "corpus_files.hpp"
#include "request_play.hpp"

namespace haricot::fuzz {
namespace {

TEST(RequestCorpus, IsReadAlikeHoweverItIsCut) {
  std::size_t requests = 0;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HARICOT_REQUEST_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    requests += check_requests(read_input(entry.path()));
    ++files;
  }
  EXPECT_GE(files, 10U);
  EXPECT_GE(requests, 10U);
}

}  // namespace
}  // namespace haricot::fuzz
