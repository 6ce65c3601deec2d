// Gives a running server to the process that comes after it, and takes over from the one before.
//
//   version | addresses, listeners | the service with its sessions        the state of a parcel
//   listeners' sockets, then those of the sessions in their order         its descriptors

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/state_stream.hpp"
#include "haricot/queue/state_transfer.hpp"
#include "haricot/service/service.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/listener.hpp"
#include "os/parcel.hpp"

namespace haricot::os {

// Of the format that this program writes, and the only one that it reads.
inline constexpr std::uint32_t kStateVersion = 1;

// Puts the server into a parcel. `addresses`: what it was asked to listen on. The files of its
// sockets are left to the next process. False: `error` says why, and nobody has anything. Requires:
// the daemon has come to rest, and all that its journal has to keep is kept.
[[nodiscard]] bool pack(Daemon& daemon, Service& service, Bodies bodies, std::string_view addresses,
                        std::vector<NamedDescriptor>& parts, std::string& error);

class TakeOver {
 public:
  // From the parts that were passed. Nothing: they are of no use, and `error` says why. May throw
  // std::bad_alloc.
  static std::optional<TakeOver> open(std::vector<NamedDescriptor> parts, std::string& error);

  // What the server before was asked to listen on.
  const std::string& addresses() const { return addresses_; }
  std::vector<Listener>& listeners() { return listeners_; }
  std::size_t connections() const { return sockets_.size(); }
  const std::vector<NamedDescriptor>& parts() const { return parcel_->parts(); }

  // Into a service without sessions, whose journal has brought its jobs back. May throw
  // std::bad_alloc, with the same end as `broken`.
  [[nodiscard]] ServiceTransfer::Read read(Daemon& daemon, Service& service, Instant now);

 private:
  explicit TakeOver(Parcel parcel);
  bool read_head(std::vector<Descriptor>& descriptors);

  std::unique_ptr<Parcel> parcel_;
  StateReader reader_;
  std::string addresses_;
  std::vector<Listener> listeners_;
  std::vector<Descriptor> sockets_;
};

}  // namespace haricot::os
