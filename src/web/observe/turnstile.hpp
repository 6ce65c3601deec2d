// Limits the number of coroutines that run at the same time; others wait in order.

#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>

namespace haricot::web {

class Turnstile final {
 public:
  Turnstile(std::size_t running_max, std::size_t waiting_max)
      : running_max_(running_max), waiting_max_(waiting_max) {}
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  // Returns true if no more may wait.
  bool is_full() const { return waiting_.size() >= waiting_max_; }

  // `co_await turnstile.enter()` waits for a place. leave() frees it.
  struct Entry {
    Turnstile& turnstile;
    bool await_ready() const {
      if (turnstile.running_ == turnstile.running_max_) return false;
      ++turnstile.running_;
      return true;
    }
    void await_suspend(std::coroutine_handle<> handle) { turnstile.waiting_.push_back(handle); }
    void await_resume() const {}
  };
  Entry enter() { return {*this}; }
  void leave() {
    if (waiting_.empty()) {
      --running_;
      return;
    }
    const std::coroutine_handle<> next = waiting_.front();
    waiting_.pop_front();
    next.resume();
  }

  // Calls leave() at the end of a scope.
  struct Pass {
    Turnstile& turnstile;
    ~Pass() { turnstile.leave(); }
  };

 private:
  std::size_t running_max_;
  std::size_t waiting_max_;
  std::size_t running_ = 0;
  std::deque<std::coroutine_handle<>> waiting_;
};

}  // namespace haricot::web
