// A parcel: the state of a server and its open descriptors, for the process that continues with
// them.
//
// The state is a sealed memfd. The descriptors are in socket pairs, as unreceived messages whose
// sender is closed. So a parcel is two or three descriptors, however many connections there are,
// and its holder can pass it to another process, or to a service manager for storage. Reading does
// not consume it: if a process that has begun to use a parcel ends, the next one finds the same
// content.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

class ParcelWriter {
 public:
  // Opens the parcel. This and all functions with `error` return false on failure, and set `error`.
  // Called once, before any other function.
  [[nodiscard]] bool open(std::string& error);
  // Appends to the state. Returns false and sets errno if memory is short.
  [[nodiscard]] bool write(std::string_view bytes);
  // Appends descriptors, which stay open here. A user can have at most as many of them in the
  // kernel as the sender's limit of open descriptors.
  [[nodiscard]] bool add(std::span<const int> descriptors, std::string& error);
  // Returns the parts, each with its own name. Afterwards the parcel cannot be changed by any
  // process.
  [[nodiscard]] bool finish(std::vector<NamedDescriptor>& parts, std::string& error);

 private:
  bool add_some(std::span<const int> descriptors, std::string& error);
  bool begin_pair(std::string& error);

  Descriptor state_;
  std::vector<Descriptor> receivers_;
  Descriptor sender_;  // Sender of the last receiver.
};

class Parcel {
 public:
  // Returns true if a descriptor that was passed with that name is part of a parcel.
  static bool is_part(std::string_view name);

  // Returns nothing if the parts are not those of one parcel, or another process could still change
  // them; or, with errno ENOMEM, if memory is short.
  static std::optional<Parcel> open(std::vector<NamedDescriptor> parts, std::string& error);
  Parcel(Parcel&& other) noexcept;
  Parcel& operator=(Parcel&&) = delete;
  ~Parcel();

  // Valid while the parcel exists.
  std::string_view state() const { return state_; }
  // Appends duplicates of all descriptors, in the order in which they were added. On failure
  // appends some of them; errno is EMFILE if too many are open here.
  [[nodiscard]] bool copy_descriptors(std::vector<Descriptor>& copies, std::string& error) const;
  const std::vector<NamedDescriptor>& parts() const { return parts_; }

 private:
  explicit Parcel(std::vector<NamedDescriptor> parts) : parts_(std::move(parts)) {}
  bool map_state(std::string& error);

  std::vector<NamedDescriptor> parts_;  // The state first, then the sockets in their order.
  std::string_view state_;
};

}  // namespace haricot::os
