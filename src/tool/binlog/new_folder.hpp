// Writes the jobs of a folder that was read into a new folder.

#pragma once

#include <string>

#include "tool/binlog/folder_jobs.hpp"

namespace haricot::tool {

// Writes all jobs and tombstones to a folder that is new or empty. Returns false and sets `error`
// on failure. May throw std::bad_alloc.
[[nodiscard]] bool write_to_new_folder(FolderJobs& folder_jobs, const std::string& to,
                                       bool is_quiet, std::string& error);

}  // namespace haricot::tool
