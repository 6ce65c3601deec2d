// Calls of a server that fail on demand: see failing_calls.hpp.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "failing_calls.hpp"

namespace haricot::faults {

class PlannedFailures {
 public:
  PlannedFailures() = default;
  PlannedFailures(const PlannedFailures&) = delete;
  PlannedFailures& operator=(const PlannedFailures&) = delete;
  ~PlannedFailures() {
    if (calls_ != nullptr) ::munmap(calls_, sizeof *calls_);
  }

  void open(const std::string& path) {
    path_ = path;
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::ftruncate(file, sizeof(FailingCalls)), 0);
    void* memory =
        ::mmap(nullptr, sizeof(FailingCalls), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    ASSERT_NE(memory, MAP_FAILED);
    calls_ = static_cast<FailingCalls*>(memory);
  }
  // Returns variables for the server.
  std::vector<std::string> environment() const {
    // The sanitizer's own library has to be the first only for the functions that it replaces.
    const char* known = std::getenv("ASAN_OPTIONS");
    return {
        std::string(kFailingCallsFile) + "=" + path_,
        std::string("LD_PRELOAD=") + HARICOT_FAILING_CALLS_LIBRARY,
        std::string("ASAN_OPTIONS=verify_asan_link_order=0:") + (known == nullptr ? "" : known)};
  }

  // Makes the calls from the first to the last fail with this error, counted from 1 from now on.
  void plan(SocketCall call, std::uint32_t error, std::uint64_t first, std::uint64_t last) {
    __atomic_store_n(&calls_->call, 0U, __ATOMIC_RELEASE);
    __atomic_store_n(&calls_->error, error, __ATOMIC_RELEASE);
    __atomic_store_n(&calls_->first, first, __ATOMIC_RELEASE);
    __atomic_store_n(&calls_->last, last, __ATOMIC_RELEASE);
    __atomic_store_n(&calls_->seen, std::uint64_t{0}, __ATOMIC_RELEASE);
    __atomic_store_n(&calls_->failed, std::uint64_t{0}, __ATOMIC_RELEASE);
    __atomic_store_n(&calls_->call, static_cast<std::uint32_t>(call), __ATOMIC_RELEASE);
  }
  // Ends the failures. Returns true if there was one.
  bool end() {
    __atomic_store_n(&calls_->call, 0U, __ATOMIC_RELEASE);
    return __atomic_load_n(&calls_->failed, __ATOMIC_ACQUIRE) > 0;
  }

 private:
  FailingCalls* calls_ = nullptr;
  std::string path_;
};

}  // namespace haricot::faults
