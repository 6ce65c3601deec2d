// Lists that a server sends in pages: scan-jobs, list-jobs, list-clients; and tables of their
// items.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Largest number of items in a page that a server accepts.
inline constexpr std::uint64_t kPageItemsMax = 1000;

struct ListPage {
  std::uint64_t next = 0;  // First id of the next page; 0 after the last page.
  std::vector<StatsText> items;
};

// Reads a page whose list has the key `name`. Returns nothing if the text is no such answer, or an
// item in it has no id.
std::optional<ListPage> parse_list_page(std::string_view answer, std::string_view name);

// Largest number of jobs in a page that a server accepts.
inline constexpr std::uint64_t kPageJobsMax = kPageItemsMax;

// An answer of scan-jobs or list-jobs.
struct JobPage {
  std::uint64_t next = 0;       // First id of the next page; 0 after the last page.
  std::vector<StatsText> jobs;  // Each with keys of stats-job, and perhaps others.
};

// Returns nothing if the text is no such answer, or a job in it has no id.
std::optional<JobPage> parse_job_page(std::string_view answer);

// Takes the body or the note of a job, and may move the job.
using TakeText = std::function<void(StatsText& job, std::string_view text)>;

// Number of bodies or notes that are requested at once, unless their sizes are known.
inline constexpr std::size_t kTextsAtOnce = 100;

// Asks for the bodies of all these jobs at once. `take` gets each job that still exists, in order.
// Returns false if the server failed; server.failure() has the reason.
[[nodiscard]] bool ask_bodies(Remote& server, std::span<StatsText> jobs, const TakeText& take);
// Asks for the notes of all these jobs at once. `take` gets each job that has a note, in order.
// Returns false if the server failed; server.failure() has the reason.
[[nodiscard]] bool ask_notes(Remote& server, std::span<StatsText> jobs, const TakeText& take);

// A column of a table of items.
struct ListColumn {
  std::string_view title;
  std::string_view key;  // Key of the item.
  std::size_t width;     // Minimum.
};

// Appends a right-aligned cell, separated by a blank unless it is the first.
void append_cell(std::string& line, std::string_view text, std::size_t width);

// Return a line without its end. A key that the item lacks is shown as "-".
std::string titles_of(std::span<const ListColumn> columns);
std::string row_of(std::span<const ListColumn> columns, const StatsText& item);

// The columns of a table of connections.
inline constexpr std::array<ListColumn, 9> kClientColumns = {{{"id", "id", 6},
                                                              {"state", "state", 8},
                                                              {"jobs", "jobs", 5},
                                                              {"age", "age", 8},
                                                              {"idle", "idle", 8},
                                                              {"commands", "commands", 10},
                                                              {"watching", "watching", 8},
                                                              {"address", "address", 21},
                                                              {"used", "used", 0}}};

// Asks with list-clients for the connections with ids from `from` on, at most `page_items` in a
// page, or kPageItemsMax if that is less. `take` gets each page and returns false to stop. Returns
// false if the server failed; server.failure() has the reason. Requires: page_items > 0.
[[nodiscard]] bool ask_clients(Remote& server, std::uint64_t from, std::uint64_t page_items,
                               const std::function<bool(ListPage& page)>& take);

}  // namespace haricot::tool
