// Hands a running server over to the next process, and takes over from the previous one.
//
//   version | server, listeners | the service with its sessions           the state of a parcel
//   listeners' sockets, the folder of the binlog if there is one,
//   then the sockets of the sessions in their order                       its descriptors

#pragma once

#include <array>
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
#include "os/binlog_folder.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/listener.hpp"
#include "os/notify.hpp"
#include "os/parcel.hpp"

namespace haricot::os {

// Versions of the format that a program reads. It writes the last one.
struct StateVersions {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Data of a server in a parcel, besides its service.
struct ServerIdentity {
  std::uint32_t version = 0;  // Version of the format; comes first.
  std::string addresses;      // Addresses that it was asked to listen on.
  std::string folder;         // Identity of its binlog's folder on the machine; empty: no binlog.

  // Key of the hashes of names. Clients that read tubes page by page continue in that order.
  std::array<std::uint64_t, 2> hash_key{};
  Instant rested_at = {};  // Nothing was read since then.

  using Fields = FieldList<&ServerIdentity::addresses, &ServerIdentity::folder,
                           &ServerIdentity::hash_key, &ServerIdentity::rested_at>;
};

// Packs the server into a parcel; `take_over_socket` and `binlog` may be null. On failure returns
// false and sets `error`, and nothing has been given away. Requires: the daemon is at rest, and its
// journal is durable.
[[nodiscard]] bool pack(Daemon& daemon, Service& service, const ServerIdentity& identity,
                        const Listener* take_over_socket, const BinlogFolder* binlog,
                        std::vector<NamedDescriptor>& parts, std::string& error);

class TakeOver {
 public:
  enum class Fault : std::uint8_t {
    damaged,
    other_version,
    no_resources,  // Memory or descriptors are short. A later try may succeed.
  };
  // Opens the parts that were passed. On failure returns nothing, and sets `fault` and `error`. May
  // throw std::bad_alloc.
  static std::optional<TakeOver> open(std::vector<NamedDescriptor> parts, StateVersions versions,
                                      Fault& fault, std::string& error);

  // Identity of the previous server.
  const ServerIdentity& identity() const { return identity_; }
  // Its listeners, and its take-over socket if it had one. Their files still belong to it.
  std::vector<Listener>& listeners() { return listeners_; }
  std::optional<Listener>& take_over_socket() { return take_over_socket_; }
  std::size_t connections() const { return sockets_.size(); }
  const std::vector<NamedDescriptor>& parts() const { return parcel_->parts(); }

  // Reads the jobs from the folder of the previous server, so that the state has their bodies and
  // names no folder: for a server with another folder, or none. Does not change the folder. Returns
  // false and sets `error` on failure. May throw std::bad_alloc.
  [[nodiscard]] bool bring_bodies(const ServerInfo& info, Notifier& notifier, std::string& error);
  // Reads into a service without sessions, whose journal has restored its jobs. May throw
  // std::bad_alloc, which leaves the service as `broken` does.
  [[nodiscard]] ServiceTransfer::Read read(Daemon& daemon, Service& service, Instant now);

 private:
  explicit TakeOver(Parcel parcel);
  bool read_head(std::vector<Descriptor>& descriptors);

  std::unique_ptr<Parcel> parcel_;
  StateReader reader_;
  // Input of the reader; null: the parcel's state.
  std::unique_ptr<std::string> state_with_bodies_;
  ServerIdentity identity_;
  Descriptor folder_;  // Folder of the binlog.
  std::vector<Listener> listeners_;
  std::optional<Listener> take_over_socket_;
  std::vector<Descriptor> sockets_;
};

}  // namespace haricot::os
