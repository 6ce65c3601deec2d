// An awaitable for coroutines that write long responses: room for the next piece.

#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "web/http/exchange.hpp"

namespace haricot::web {

// Resumes when the exchange can take more, or when its peer is gone, which write() reports.
struct Room {
  Exchange& exchange;

  bool await_ready() const { return exchange.can_take() || exchange.is_ended(); }
  void await_suspend(std::coroutine_handle<> handle) const {
    // The first of the two callbacks resumes the coroutine.
    const auto waiting = std::make_shared<std::coroutine_handle<>>(handle);
    const auto go_on = [waiting] {
      if (const auto once = std::exchange(*waiting, nullptr)) once.resume();
    };
    exchange.on_ready = go_on;
    exchange.on_gone = go_on;
  }
  void await_resume() const {}
};

}  // namespace haricot::web
