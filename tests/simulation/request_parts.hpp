// Shared parts of the makers of requests.

#pragma once

#include <string>
#include <string_view>

#include "requests.hpp"

namespace haricot::simulation {

inline constexpr std::size_t kLineBytesMax = 224;             // With CR LF.
inline constexpr std::size_t kBatchLineBytesMax = 24 * 1024;  // A line of delete-batch with CR LF.
inline constexpr std::string_view kBadFormat = "BAD_FORMAT\r\n";
inline constexpr std::string_view kUnknown = "UNKNOWN_COMMAND\r\n";
// In a crowded run, above this number of jobs there are more deletes than puts.
inline constexpr std::size_t kJobsWantedInCrowd = 2800;

std::string random_tube(test::Random& chance);
std::string random_group(test::Random& chance);
// Returns the id of an existing job, of one that the client holds if it does, or any id.
JobId random_id(test::Random& chance, const Model& model, int client);

// Arguments with a leading blank.
std::string number(std::uint64_t value);
std::string name(const std::string& tube);
// Makes a command of its word in the table of commands, and the text after the word.
void make_line(Request& request, Verb verb, std::string_view arguments = "");

// Make commands of one kind.
void make_put(Request& request, test::Random& chance, const Model& model, int client,
              const Mix& mix, std::uint32_t job_bytes_max);
void make_reserve(Request& request, test::Random& chance, const Model& model, int client);
void make_change(Request& request, test::Random& chance, const Model& model, int client);
void make_flush(Request& request, test::Random& chance);
void make_wait_job(Request& request, test::Random& chance, const Model& model);

// Add the tags of a put with groups, or of one of very many puts.
void add_groups(Request& request, test::Random& chance, const Model& model);
void add_group_of_crowd(Request& request, test::Random& chance);
// Makes a command that creates, changes or ends groups and their held jobs.
void make_of_groups(Request& request, test::Random& chance, const Mix& mix, const Model& model,
                    int client, std::uint32_t job_bytes_max);
// Makes a command of the extended set, or something similar.
void make_extended(Request& request, test::Random& chance, const Mix& mix, const Model& model,
                   int client);

}  // namespace haricot::simulation
