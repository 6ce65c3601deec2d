// A parcel: the state of a server and its open descriptors, for the process that goes on with them.
//
// The state is a sealed memfd. The descriptors lie in socket pairs, as messages that nobody has
// received and whose sender is closed. So a parcel is two or three descriptors, however many
// connections there are, and who holds it can hand it to another process, or to a service manager
// to keep. Looking into it takes nothing out: if a process that has begun to use it ends, the next
// one finds the same.

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
  // False: `error` says why, as in all others. Called once, before anything else.
  [[nodiscard]] bool open(std::string& error);
  // Adds to the state. False: there is no memory for it; errno says why.
  [[nodiscard]] bool write(std::string_view bytes);
  // Adds descriptors, after those that were added before. They stay open here. The kernel keeps no
  // more of them for a user than the sender's limit of open descriptors.
  [[nodiscard]] bool add(std::span<const int> descriptors, std::string& error);
  // The parts, each under a name of its own. Nothing can be added any more, nor changed by anybody.
  [[nodiscard]] bool finish(std::vector<NamedDescriptor>& parts, std::string& error);

 private:
  bool add_some(std::span<const int> descriptors, std::string& error);
  bool begin_pair(std::string& error);

  Descriptor state_;
  std::vector<Descriptor> receivers_;
  Descriptor sender_;  // Of the last of these.
};

class Parcel {
 public:
  // Whether a descriptor that was passed under that name is of a parcel.
  static bool is_part(std::string_view name);

  // Nothing: they are not all parts of one parcel, or somebody could still change it; or, with
  // errno ENOMEM, memory is short.
  static std::optional<Parcel> open(std::vector<NamedDescriptor> parts, std::string& error);
  Parcel(Parcel&& other) noexcept;
  Parcel& operator=(Parcel&&) = delete;
  ~Parcel();

  // Valid as long as the parcel.
  std::string_view state() const { return state_; }
  // Appends all descriptors, in the order in which they were added, duplicates of those in the
  // parcel. False: not all can be had, with errno EMFILE if too many are open here; those that can
  // are appended.
  [[nodiscard]] bool copy_descriptors(std::vector<Descriptor>& copies, std::string& error) const;
  const std::vector<NamedDescriptor>& parts() const { return parts_; }

 private:
  explicit Parcel(std::vector<NamedDescriptor> parts) : parts_(std::move(parts)) {}
  bool map_state(std::string& error);

  std::vector<NamedDescriptor> parts_;  // The state first, then the sockets in their order.
  std::string_view state_;
};

}  // namespace haricot::os
