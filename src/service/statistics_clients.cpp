// The rows of list-clients.

#include <array>
#include <cstdint>
#include <string_view>

#include "haricot/service/statistic_rows.hpp"
#include "haricot/service/statistics.hpp"

namespace haricot {
namespace {

using OfClient = Rows<ClientFacts>;

constexpr std::array kClientRows = {
    OfClient::integer(
        "id",
        [](const ClientFacts& c) {
          return std::uint64_t{static_cast<std::uint32_t>(c.client.ref())};
        },
        "its id, which a later connection may get again"),
    OfClient::quoted(
        "address", [](const ClientFacts& c) { return c.address; },
        "address and port of its peer, or `unix`"),
    OfClient::integer(
        "age", [](const ClientFacts& c) { return c.age_s; }, "seconds since it connected"),
    OfClient::quoted(
        "used", [](const ClientFacts& c) { return std::string_view(c.client.used().name); },
        "the tube that it uses"),
    OfClient::integer(
        "watching", [](const ClientFacts& c) { return c.client.watched_tubes(); },
        "number of tubes that it watches"),
    OfClient::word(
        "state", [](const ClientFacts& c) { return c.state; },
        "`waiting`: in a reserve or a `wait-job`; `running`: its commands or answers are under "
        "way; "
        "`body`: in the middle of the body of a put; otherwise `idle`"),
    OfClient::integer(
        "jobs", [](const ClientFacts& c) { return c.client.held_jobs(); },
        "number of jobs that it holds"),
    OfClient::integer(
        "commands", [](const ClientFacts& c) { return c.commands; },
        "its command lines that were run or refused, except those that were too long"),
    OfClient::integer(
        "idle", [](const ClientFacts& c) { return c.idle_s; },
        "seconds since its last input or the end of its last wait; if it waits, since the wait "
        "began"),
};
static_assert(has_each_key_once(kClientRows));

}  // namespace

std::span<const Statistic<ClientFacts>> client_statistics() {
  return kClientRows;
}

}  // namespace haricot
