// haricot pause: stops reserves from a tube for some time.

#include <string>

#include "haricot/base/encoding.hpp"
#include "tool/cli/clock_time.hpp"
#include "tool/client/errand.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "pause", "[OPTIONS] TUBE TIME",
    "Stops reserves from the tube for this time, or until then. 0 ends a pause. The server counts\n"
    "whole seconds: a part of a second is rounded up.\n",
    "    haricot pause mail 10m\n"
    "    haricot pause mail 17:30\n"
    "    haricot pause mail 0\n"};

}  // namespace

int pause_tube(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  subjects.add_tube_flag();
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::no, 1)) return *over;
  if (errand.operands().empty() || subjects.empty()) {
    return errand.mistake("requires a tube and a time");
  }
  const std::string tube = subjects.tube();
  const std::string length(errand.operands().back());
  std::uint64_t seconds = 0;
  if (!set_delay(seconds)(length)) {
    return errand.mistake("'" + length + "' is not " + std::string(kDelayWanted));
  }
  if (const std::optional<int> over = errand.connect()) return *over;

  const std::string digits = std::to_string(seconds);
  const std::optional<Response> paused =
      errand.server().ask("pause-tube " + tube + " " + digits, ReplyCode::paused);
  if (!paused) return errand.failed();
  if (paused->code == ReplyCode::not_found) return errand.no("there is no tube " + tube);
  if (errand.json()) {
    print("{\"tube\":" + json_string(tube) + ",\"seconds\":" + digits + "}\n");
  } else if (seconds == 0) {
    print("tube " + tube + " is resumed\n");
  } else {
    print("tube " + tube + " is paused for " + digits + " s\n");
  }
  return errand.done();
}

}  // namespace haricot::tool
