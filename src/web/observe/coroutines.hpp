// Coroutines that wait for answers of servers or for the next turn, written like sequential code.
//
// A `Task` is a coroutine without a waiting caller: it runs at once up to its first co_await, and
// frees itself at its end. A `Part<T>` is awaited by another coroutine: it starts then, and returns
// a T.
//
// Arguments of a coroutine must be values, or references to objects that live as long as the
// program.

#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

namespace haricot::web {

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }  // Out of memory.
  };
};

template <typename T>
class [[nodiscard]] Part final {
 public:
  struct promise_type {
    Part get_return_object() {
      return Part(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Back {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
          return handle.promise().waiting;
        }
        void await_resume() noexcept {}
      };
      return Back{};
    }
    void return_value(T value) { result.emplace(std::move(value)); }
    void unhandled_exception() { std::terminate(); }

    std::coroutine_handle<> waiting;
    std::optional<T> result;
  };

  Part(Part&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  T await_resume() { return std::move(*handle_.promise().result); }

 private:
  explicit Part(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

// Limits the number of coroutines that run at the same time; others wait in order.
class Semaphore final {
 public:
  Semaphore(std::size_t running_max, std::size_t waiting_max)
      : running_max_(running_max), waiting_max_(waiting_max) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Returns true if no more may wait.
  bool is_full() const { return waiting_.size() >= waiting_max_; }

  // `co_await semaphore.acquire()` waits for a place. release() frees it.
  struct Acquisition {
    Semaphore& semaphore;
    bool await_ready() const {
      if (semaphore.running_ == semaphore.running_max_) return false;
      ++semaphore.running_;
      return true;
    }
    void await_suspend(std::coroutine_handle<> handle) { semaphore.waiting_.push_back(handle); }
    void await_resume() const {}
  };
  Acquisition acquire() { return {*this}; }
  void release() {
    if (waiting_.empty()) {
      --running_;
      return;
    }
    const std::coroutine_handle<> next = waiting_.front();
    waiting_.pop_front();
    next.resume();
  }

  // Calls release() at the end of a scope.
  struct Permit {
    Semaphore& semaphore;
    ~Permit() { semaphore.release(); }
  };

 private:
  std::size_t running_max_;
  std::size_t waiting_max_;
  std::size_t running_ = 0;
  std::deque<std::coroutine_handle<>> waiting_;
};

}  // namespace haricot::web
