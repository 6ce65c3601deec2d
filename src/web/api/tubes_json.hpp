// Tubes as JSON, and the choice among very many of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/api/json_writer.hpp"
#include "web/history/history.hpp"
#include "web/observe/facts.hpp"

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
std::optional<TubeOrder> tube_order_called(std::string_view name);

struct TubeQuery {
  TubeOrder order = TubeOrder::name;
  bool is_reversed = false;
  std::string filter = {};  // What the name has in it, whatever the case; empty: any.
  std::size_t from = 0;
  std::size_t count = 0;
};

// The page of tubes that a query means. It looks at some tubes at a time.
class TubePage final {
 public:
  // Requires: the sample is one.
  TubePage(std::shared_ptr<const TubeSample> sample, TubeQuery query);

  // False: all have been looked at, and the page is there.
  bool look_at(std::size_t tubes);

  std::size_t matching() const { return ranks_.size(); }
  // The indices of the tubes of the page, in their order.
  const std::vector<std::uint32_t>& tubes() const { return page_; }
  // The sums of all that match.
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

// Adds what is known of a tube. `track` may be null. `step`: of the history.
void add_tube(JsonWriter& json, const TubeRow& row, bool has_details, const Track* track,
              std::int64_t step);

// What /api/history answers. `track` may be null: then all is null.
enum class HistoryRange : std::uint8_t { hour, day };
std::string history_json(const Track* track, bool is_tube, HistoryRange range, std::int64_t step,
                         double end);

}  // namespace haricot::web
