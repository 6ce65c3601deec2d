// Jobs as lines of text or JSON, and the order of the lines.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {

struct JobLine {
  std::uint64_t id = 0;
  std::string_view tube;
  std::string_view state;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::uint64_t age_s = 0;
  std::uint64_t left_s = 0;                 // Time until a delayed job is due; 0 if it is held.
  std::array<std::uint64_t, 5> counters{};  // reserves, timeouts, releases, buries, kicks
  std::string_view tags = {};               // Text of the tags (base/job_tags.hpp).
  bool is_held = false;                     // Waits for a group; left_s is 0.
  std::string_view body;
};

// A key that has outlived its job.
struct TombstoneLine {
  std::uint64_t id = 0;  // Id of the job.
  std::string_view tube;
  std::string_view key;
  std::uint32_t seconds = 0;  // Time for which the key outlives the job.
  std::uint64_t left_s = 0;   // Rest of this time.
};

// Returns key=value words and the body last, in quotes; bytes that are not printable ASCII are
// \xHH. Tags are keys too, and a held job has `held` after them. Ends with a line end.
std::string to_text(const JobLine& job);
std::string to_text(const TombstoneLine& tombstone);
// Returns a JSON object. The body is "body" if it is UTF-8, otherwise "body_base64". Ends with a
// line end.
std::string to_json(const JobLine& job);
std::string to_json(const TombstoneLine& tombstone);

// Groups of a job, for held_order().
struct HeldJob {
  std::string group;  // Group of the job; empty if it has none.
  std::string after;  // Group that the job waits for.
};

// Returns the order in which held jobs (`--after`) have to be put again, so that each is held
// again: the indices of the jobs, each once. A job comes after the members of the group that it
// waits for; otherwise the given order is kept. If jobs wait for each other, the first of them in
// the given order comes first.
std::vector<std::size_t> held_order(std::span<const HeldJob> jobs);

}  // namespace haricot::tool
