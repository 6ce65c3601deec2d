#include "tool/client/place.hpp"

namespace haricot::tool {

std::string_view name_of(Place place) {
  switch (place) {
    case Place::ready:
      return "ready";
    case Place::delayed:
      return "delayed";
    case Place::buried:
      return "buried";
  }
  return {};
}

bool PlaceFlags::has(Place place) const {
  switch (place) {
    case Place::ready:
      return ready;
    case Place::delayed:
      return delayed;
    case Place::buried:
      return buried;
  }
  return false;
}

}  // namespace haricot::tool
