// What the makers of requests share.

#pragma once

#include <string>
#include <string_view>

#include "requests.hpp"

namespace haricot::simulation {

inline constexpr std::size_t kLineBytesMax = 224;             // With CR LF.
inline constexpr std::size_t kBatchLineBytesMax = 24 * 1024;  // The same, of delete-batch.
inline constexpr std::string_view kBadFormat = "BAD_FORMAT\r\n";
inline constexpr std::string_view kUnknown = "UNKNOWN_COMMAND\r\n";
// With more jobs than this, where there is to be a crowd, there are more deletes than puts.
inline constexpr std::size_t kJobsWantedInCrowd = 2800;

std::string random_tube(test::Random& chance);
std::string random_group(test::Random& chance);
// One of those there are, one that the client holds if it does, or any.
JobId random_id(test::Random& chance, const Model& model, int client);

// Arguments, with the blank in front.
std::string number(std::uint64_t value);
std::string name(const std::string& tube);
// A command with its word as the table of commands has it, and what stands after the word.
void make_line(Request& request, Verb verb, std::string_view arguments = "");

// Commands of one kind.
void make_put(Request& request, test::Random& chance, const Model& model, int client,
              const Mix& mix, std::uint32_t job_bytes_max);
void make_reserve(Request& request, test::Random& chance, const Model& model, int client);
void make_change(Request& request, test::Random& chance, const Model& model, int client);
void make_flush(Request& request, test::Random& chance);
void make_wait_job(Request& request, test::Random& chance, const Model& model);

// The tags of a put of groups; of one of very many puts.
void add_groups(Request& request, test::Random& chance, const Model& model);
void add_group_of_crowd(Request& request, test::Random& chance);
// A command that makes, changes or ends groups and the jobs that they hold.
void make_of_groups(Request& request, test::Random& chance, const Mix& mix, const Model& model,
                    int client, std::uint32_t job_bytes_max);
// A command of the extended set, or something like one.
void make_extended(Request& request, test::Random& chance, const Mix& mix, const Model& model,
                   int client);

}  // namespace haricot::simulation
