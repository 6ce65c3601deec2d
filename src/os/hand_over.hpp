// Gives a running server to the process that comes after it, and takes over from the one before.
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

// The versions of the format that a program reads, from the first to the last, which it writes.
struct StateVersions {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// What a parcel tells of a server, beside its service.
struct ServerIdentity {
  std::uint32_t version = 0;  // Of the format; it comes before all else.
  std::string addresses;      // What it was asked to listen on.
  std::string folder;         // Of its binlog, which machine-wide no other has; empty: it has none.

  // By which names are hashed: pages of tubes that a client has not read to their end go on in that
  // order.
  std::array<std::uint64_t, 2> hash_key{};
  Instant rested_at = {};  // Nothing was read since then.

  using Fields = FieldList<&ServerIdentity::addresses, &ServerIdentity::folder,
                           &ServerIdentity::hash_key, &ServerIdentity::rested_at>;
};

// Puts the server into a parcel; `take_over_socket` and `binlog` may be null. False: `error` says
// why, and nobody has anything. Requires: the daemon has come to rest, and what its journal has to
// keep is kept.
[[nodiscard]] bool pack(Daemon& daemon, Service& service, const ServerIdentity& identity,
                        const Listener* take_over_socket, const BinlogFolder* binlog,
                        std::vector<NamedDescriptor>& parts, std::string& error);

class TakeOver {
 public:
  enum class Fault : std::uint8_t {
    damaged,
    other_version,
    no_resources,  // Memory or descriptors are short. A later try may find them.
  };
  // Opens the parts that were passed. Nothing: `fault` and `error` say why. May throw
  // std::bad_alloc.
  static std::optional<TakeOver> open(std::vector<NamedDescriptor> parts, StateVersions versions,
                                      Fault& fault, std::string& error);

  // Of the server before.
  const ServerIdentity& identity() const { return identity_; }
  // Its listeners, and that of --take-over-socket if it had one. Their files are not theirs yet.
  std::vector<Listener>& listeners() { return listeners_; }
  std::optional<Listener>& take_over_socket() { return take_over_socket_; }
  std::size_t connections() const { return sockets_.size(); }
  const std::vector<NamedDescriptor>& parts() const { return parcel_->parts(); }

  // Reads the jobs of the folder that the server before had, so that the state has their bodies and
  // names no folder any more: for a server with another folder, or none. Changes nothing in the
  // folder. False: `error` says why. May throw std::bad_alloc.
  [[nodiscard]] bool bring_bodies(const ServerInfo& info, Notifier& notifier, std::string& error);
  // Into a service without sessions, whose journal has brought its jobs back. May throw
  // std::bad_alloc, with the same end as `broken`.
  [[nodiscard]] ServiceTransfer::Read read(Daemon& daemon, Service& service, Instant now);

 private:
  explicit TakeOver(Parcel parcel);
  bool read_head(std::vector<Descriptor>& descriptors);

  std::unique_ptr<Parcel> parcel_;
  StateReader reader_;
  std::unique_ptr<std::string> state_with_bodies_;  // What the reader reads; null: the parcel's.
  ServerIdentity identity_;
  Descriptor folder_;  // Of the binlog.
  std::vector<Listener> listeners_;
  std::optional<Listener> take_over_socket_;
  std::vector<Descriptor> sockets_;
};

}  // namespace haricot::os
