#include "random_hurts.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "folders.hpp"
#include "support/random.hpp"

namespace haricot::damage {
namespace {

using binlog::kSectorBytes;

class Hurting {
 public:
  explicit Hurting(std::uint64_t seed) : random_(seed), hurt_(choose()) {}

  HurtFolder run() {
    // At most one file is moved or replaced, because the rest of the folder has to show that. Files
    // of beanstalkd do not show their place.
    if (is_all_ours() && below(3) == 0) {
      move_a_file();
      first_ = 600;  // Keeps the heads, which show the place of a file.
    }
    const std::size_t count = 1 + below(5);
    for (std::size_t i = 0; i < count; ++i) hurt_some_bytes();
    return std::move(hurt_);
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_.below(bound)); }

  const KnownFolder& choose() {
    std::vector<const KnownFolder*> all = folders_of_haricotd();
    const auto more = folders_with_beanstalkd();
    all.insert(all.end(), more.begin(), more.end());
    all.push_back(&diverged().one);
    return *all[below(all.size())];
  }
  bool is_all_ours() const {
    const std::vector<KnownFile>& files = hurt_.known().files;
    return std::all_of(files.begin(), files.end(),
                       [](const KnownFile& file) { return file.writer == Writer::haricot; });
  }
  std::uint64_t any_number() {
    return hurt_.known().files[below(hurt_.known().files.size())].number;
  }

  void move_a_file() {
    const std::uint64_t number = any_number();
    const std::uint64_t free = hurt_.known().last_number() + 1 + below(3);
    const bool is_one = hurt_.known().files.size() == 1;
    switch (below(5)) {
      case 0:
        if (!is_one) hurt_.remove(number);
        break;
      case 1:
        hurt_.rename(number, free);
        break;
      case 2:
        hurt_.exchange(number, any_number());
        break;
      case 3:
        hurt_.copy(number, free);
        break;
      default:
        if (hurt_.known().files.size() > 2) {
          const auto& strange = of_another_store().files;
          hurt_.add_strange(below(2) == 0 ? number : free, strange[below(strange.size())].bytes);
        }
    }
  }

  void hurt_some_bytes() {
    const std::uint64_t number = any_number();
    if (!hurt_.has(number)) return;
    const HurtFile& file = hurt_.file(number);
    if (file.origin == nullptr || file.bytes.empty()) return;
    const std::size_t size = file.bytes.size();
    if (size <= first_ + kSectorBytes) return;
    const std::size_t rest = size - first_;
    const std::size_t at =
        first_ + (below(3) == 0 ? below(std::min<std::size_t>(rest, 200)) : below(rest));
    const std::size_t sector = std::max(at / kSectorBytes * kSectorBytes, first_);
    switch (below(10)) {
      case 0:
      case 1:
        hurt_.flip(number, at, static_cast<unsigned>(below(8)));
        break;
      case 2:
        hurt_.overwrite(number, at, random_.bytes(1 + below(3)));
        break;
      case 3:
        hurt_.zero(number, at, 1 + below(300));
        break;
      case 4:
        hurt_.overwrite(number, at, random_.bytes(1 + below(300)));
        break;
      case 5:
        hurt_.zero(number, sector, kSectorBytes);
        break;
      case 6:
        hurt_.overwrite(number, sector, random_.bytes(kSectorBytes));
        break;
      case 7: {
        // Nothing shows that a record of beanstalkd is in the wrong place.
        if (!is_all_ours()) break;
        const std::string& other = hurt_.known().file(any_number()).bytes;
        const std::size_t from = below(other.size()) / kSectorBytes * kSectorBytes;
        hurt_.misdirect(number, sector, std::string_view(other).substr(from, kSectorBytes));
        break;
      }
      case 8:
        hurt_.cut(number, at);
        break;
      default:
        hurt_.append(number, random_.bytes(1 + below(600)));
    }
  }

  test::Random random_;
  HurtFolder hurt_;
  std::size_t first_ = 0;  // Offset of the first byte that may be damaged.
};

}  // namespace

HurtFolder hurt_at_random(std::uint64_t seed) {
  return Hurting(seed).run();
}

}  // namespace haricot::damage
