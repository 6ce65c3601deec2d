// Writes the jobs of a folder that was read to a new one.

#pragma once

#include <string>

#include "tool/binlog/folder_jobs.hpp"

namespace haricot::tool {

// Makes the folder, or takes one that is there and empty, and writes all jobs and tombstones to it.
// False: `error` says why. May throw std::bad_alloc.
[[nodiscard]] bool write_to_new_folder(FolderJobs& folder_jobs, const std::string& to,
                                       bool is_quiet, std::string& error);

}  // namespace haricot::tool
