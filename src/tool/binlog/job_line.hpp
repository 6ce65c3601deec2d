// A job as one line of text, for eyes or for a program.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::tool {

struct JobLine {
  std::uint64_t id = 0;
  std::string_view tube;
  std::string_view state;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::uint64_t age_s = 0;
  std::uint64_t left_s = 0;                 // Until a delayed job gets ready; 0: it is held.
  std::array<std::uint64_t, 5> counters{};  // reserves, timeouts, releases, buries, kicks
  std::string_view tags = {};               // Their text (base/job_tags.hpp).
  bool is_held = false;                     // It waits for a group: time-left is 0.
  std::string_view body;
};

// A key that has outlived its job.
struct TombstoneLine {
  std::uint64_t id = 0;  // Of the job.
  std::string_view tube;
  std::string_view key;
  std::uint32_t seconds = 0;  // For which it outlives the job,
  std::uint64_t left_s = 0;   // and those that are left.
};

// key=value words with the body last, in quotes; what is not printable ASCII in it as \xHH. A tag
// is a key, and a held job has `held` after them. Ends in a newline.
std::string to_text(const JobLine& job);
std::string to_text(const TombstoneLine& tombstone);
// A JSON object. The body is in "body" if it is UTF-8, else in "body_base64". Ends in a newline.
std::string to_json(const JobLine& job);
std::string to_json(const TombstoneLine& tombstone);

}  // namespace haricot::tool
