// The state of a server as its successor gets it: bytes, and the open descriptors.
//
//   version | server, listeners | the service with its sessions           bytes
//   listeners' sockets, the folder of the binlog if there is one,
//   then the sockets of the sessions in their order                       descriptors
//
// It is sealed. The bytes are a sealed memfd. The descriptors are in socket pairs, as unreceived
// messages whose sender is closed. So the state is two or three descriptors, however many
// connections there are, and its holder can pass it to another process, or to the descriptor store
// of a service manager. Reading does not consume it: if a process that has begun to use it ends,
// the next one finds the same content.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/serialization.hpp"
#include "haricot/queue/engine_serializer.hpp"
#include "haricot/service/service.hpp"
#include "os/binlog_folder.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/listener.hpp"
#include "os/service_manager.hpp"

namespace haricot::os {

class SealedStateWriter {
 public:
  // Opens the state. This and all functions with `error` return false on failure, and set `error`.
  // Called once, before any other function.
  [[nodiscard]] bool open(std::string& error);
  // Appends bytes. Returns false and sets errno if memory is short.
  [[nodiscard]] bool write(std::string_view bytes);
  // Appends descriptors, which stay open here. The kernel bounds the descriptors in unread messages
  // of a user by the sender's limit of open descriptors.
  [[nodiscard]] bool add(std::span<const int> descriptors, std::string& error);
  // Returns the parts, each with its own name. Afterwards the state cannot be changed by any
  // process.
  [[nodiscard]] bool finish(std::vector<NamedDescriptor>& parts, std::string& error);

 private:
  bool add_some(std::span<const int> descriptors, std::string& error);
  bool begin_pair(std::string& error);

  Descriptor state_;
  std::vector<Descriptor> receivers_;
  Descriptor sender_;  // Sender of the last receiver.
};

class SealedState {
 public:
  // Returns true if a descriptor that was passed with that name is part of a state.
  static bool is_part(std::string_view name);

  // Returns nothing if the parts are not those of one state, or another process could still change
  // them; or, with errno ENOMEM, if memory is short.
  static std::optional<SealedState> open(std::vector<NamedDescriptor> parts, std::string& error);
  SealedState(SealedState&& other) noexcept;
  SealedState& operator=(SealedState&&) = delete;
  ~SealedState();

  // Valid while this object exists.
  std::string_view bytes() const { return bytes_; }
  // Appends duplicates of all descriptors, in the order in which they were added. On failure
  // appends some of them; errno is EMFILE if too many are open here.
  [[nodiscard]] bool copy_descriptors(std::vector<Descriptor>& copies, std::string& error) const;
  const std::vector<NamedDescriptor>& parts() const { return parts_; }

 private:
  explicit SealedState(std::vector<NamedDescriptor> parts) : parts_(std::move(parts)) {}
  bool map_state(std::string& error);

  std::vector<NamedDescriptor> parts_;  // The bytes first, then the sockets in their order.
  std::string_view bytes_;
};

// Versions of the format that a program reads. It writes the last one.
struct StateVersions {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Data of a server in its state, besides its service.
struct ServerIdentity {
  std::uint32_t version = 0;  // Version of the format; comes first.
  std::string addresses;      // Addresses that it was asked to listen on.
  std::string folder;         // Identity of its binlog's folder on the machine; empty: no binlog.

  // Key of the hashes of names. Clients that read tubes page by page continue in that order.
  std::array<std::uint64_t, 2> hash_key{};
  Instant rested_at = {};  // Time since which no input has been read.

  using Fields = FieldList<&ServerIdentity::addresses, &ServerIdentity::folder,
                           &ServerIdentity::hash_key, &ServerIdentity::rested_at>;
};

// Writes the state of the server and seals it; `take_over_socket` and `binlog` may be null. On
// failure returns false and sets `error`, and nothing has been given away. Requires: the daemon is
// at rest, and its journal is durable.
[[nodiscard]] bool seal_state(Daemon& daemon, Service& service, const ServerIdentity& identity,
                              const Listener* take_over_socket, const BinlogFolder* binlog,
                              std::vector<NamedDescriptor>& parts, std::string& error);

// The state of the predecessor, opened by its successor.
class PredecessorState {
 public:
  enum class Fault : std::uint8_t {
    damaged,
    other_version,
    no_resources,  // Memory or descriptors are short. A later try may succeed.
  };
  // Opens the parts that were passed. On failure returns nothing, and sets `fault` and `error`. May
  // throw std::bad_alloc.
  static std::optional<PredecessorState> open(std::vector<NamedDescriptor> parts,
                                              StateVersions versions, Fault& fault,
                                              std::string& error);

  // Identity of the predecessor.
  const ServerIdentity& identity() const { return identity_; }
  // Listeners of the predecessor, and its take-over socket if it had one. Their files still
  // belong to that server.
  std::vector<Listener>& listeners() { return listeners_; }
  std::optional<Listener>& take_over_socket() { return take_over_socket_; }
  std::size_t connections() const { return sockets_.size(); }

  // Reads the jobs from the folder of the predecessor, so that the state has their bodies and
  // names no folder: for a server with another folder, or none. Does not change the folder. Returns
  // false and sets `error` on failure. May throw std::bad_alloc.
  [[nodiscard]] bool add_bodies(const ServerInfo& info, Notifier& notifier, std::string& error);
  // Reads into a service without sessions, whose journal has restored its jobs. May throw
  // std::bad_alloc; the service is unusable then, as after `broken`.
  [[nodiscard]] ServiceSerializer::Read read(Daemon& daemon, Service& service, Instant now);

 private:
  explicit PredecessorState(SealedState sealed);
  bool read_head(std::vector<Descriptor>& descriptors);

  std::unique_ptr<SealedState> sealed_;
  StateReader reader_;
  // Input of the reader; null: the bytes of `sealed_`.
  std::unique_ptr<std::string> state_with_bodies_;
  ServerIdentity identity_;
  Descriptor folder_;  // Folder of the binlog.
  std::vector<Listener> listeners_;
  std::optional<Listener> take_over_socket_;
  std::vector<Descriptor> sockets_;
};

}  // namespace haricot::os
