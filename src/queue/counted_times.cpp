#include "haricot/queue/counted_times.hpp"

#include <new>

namespace haricot {

TubeTimes* make_times(Tube& tube, Instant now) {
  tube.times.reset(new (std::nothrow) TubeTimes(now));
  return tube.times.get();
}

}  // namespace haricot
