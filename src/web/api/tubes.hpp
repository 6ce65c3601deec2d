// /api/tubes, /api/tube and /api/history: tubes and their past as JSON, and queries over very many
// tubes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/api/messages.hpp"
#include "web/history/history.hpp"
#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"
#include "web/observe/sampler.hpp"

namespace haricot::web {

enum class TubeOrder : std::uint8_t {
  name,
  ready,
  urgent,
  reserved,
  delayed,
  buried,
  waiting,
  put_rate,
  delete_rate,
  oldest
};
std::optional<TubeOrder> find_tube_order(std::string_view name);

struct TubeQuery {
  TubeOrder order = TubeOrder::name;
  bool is_reversed = false;
  std::string filter = {};  // Part of the name, in any case; empty for all tubes.
  std::size_t from = 0;
  std::size_t count = 0;
};

// The page of tubes that a query selects. It reads the tubes in pieces.
class TubePage final {
 public:
  // Requires: sample != nullptr.
  TubePage(std::shared_ptr<const TubeSample> sample, TubeQuery query);

  // Reads some tubes. Returns false when all have been read and the page is complete.
  bool read(std::size_t tubes);

  std::size_t matching() const { return ranks_.size(); }
  // Returns the indices of the page's tubes in order.
  const std::vector<std::uint32_t>& tubes() const { return page_; }
  // Returns the sums of all matching tubes.
  std::string sums_json() const;

 private:
  struct Rank {
    double key;
    std::uint32_t index;
  };
  bool is_before(const Rank& a, const Rank& b) const;

  std::shared_ptr<const TubeSample> sample_;
  TubeQuery query_;
  std::size_t next_ = 0;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> page_;
  TubeRow sums_;
  double puts_ = 0;
  double deletes_ = 0;
};

// Adds the members of a tube. `track` may be null. `step` is that of the history.
void add_tube(JsonWriter& json, const TubeRow& row, bool has_details, const Track* track,
              std::int64_t step);

// Range of a history.
enum class HistoryRange : std::uint8_t { hour, day };
// Returns the answer of /api/history. `track` may be null; then there are no points.
std::string history_json(const Track* track, bool is_tube, HistoryRange range, std::int64_t step,
                         double end);

Task answer_tubes(Observer& observer, const History& history, Server& server,
                  std::shared_ptr<Exchange> exchange);
Task answer_tube(const History& history, Server& server, std::shared_ptr<Exchange> exchange);

}  // namespace haricot::web
