#include "web/observe/kept_link.hpp"

#include <algorithm>
#include <utility>

namespace haricot::web {
namespace {

constexpr Duration kFirstPause = Duration::milliseconds(500);
constexpr Duration kConnectPatience = Duration::seconds(5);

}  // namespace

KeptLink::KeptLink(Kind kind, const tool::Address& address, std::span<char> buffer, Hooks hooks)
    : kind_(kind),
      hooks_(std::move(hooks)),
      link_(address, buffer,
            {.opened =
                 [this](Instant now) {
                   opened_ = now;
                   if (hooks_.opened) hooks_.opened(now);
                 },
             .lost = [this](Instant now, const tool::Loss& loss) { lost(now, loss); }},
            kAnswersMax) {}

void KeptLink::open(os::Poller& poller) {
  link_.set_poller(poller);
  is_started_ = true;
  retry_ = Instant::at(0);
  pause_ = kFirstPause;
}

void KeptLink::close() {
  is_started_ = false;
  link_.close();
}

Instant KeptLink::next_event() const {
  if (!is_started_) return Instant::never();
  if (link_.is_open()) return std::min(link_.next_event(), idle_end());
  return is_wanted() ? retry_ : Instant::never();
}

Instant KeptLink::idle_end() const {
  if (!is_connected() || is_wanted()) return Instant::never();
  return closes_when_idle_ ? used_ : used_ + kIdleMax;
}

void KeptLink::advance(Instant now) {
  if (!is_started_) return;
  if (!is_idle()) used_ = now;
  // The server answers, so the next pause is short again.
  if (is_connected() && link_.pipeline().received() >= opened_) pause_ = kFirstPause;
  if (!link_.is_open() && is_wanted() && now >= retry_) link_.open(kConnectPatience, now);
  link_.advance(now);
  if (now >= idle_end()) {
    closes_when_idle_ = false;
    link_.close();
  }
}

void KeptLink::lost(Instant now, const tool::Loss& loss) {
  closes_when_idle_ = false;
  retry_ = kind_ == Kind::on_demand ? now : now + pause_;
  pause_ = std::min(kPauseMax, Duration::nanoseconds(pause_.count() * 2));
  if (hooks_.lost) hooks_.lost(now, tool::to_sentence(loss, "the server did not answer in time"));
}

}  // namespace haricot::web
