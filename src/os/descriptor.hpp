// A file descriptor that its owner's destructor closes.

#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace haricot::os {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Returns the descriptor, which the caller has to close.
  int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

// A descriptor that comes from, or goes to, another process, which recognizes it by the name.
struct NamedDescriptor {
  std::string name;
  Descriptor descriptor;
};

}  // namespace haricot::os
