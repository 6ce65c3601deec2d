#include "os/hand_over.hpp"

#include <cerrno>
#include <iterator>
#include <utility>

#include "os/connection.hpp"

namespace haricot::os {
namespace {

// Belongs to the format and never changes.
constexpr std::uint32_t kServer = 200;

std::string name_of(StateVersions versions) {
  const std::string last = std::to_string(versions.last);
  return versions.first == versions.last ? last : std::to_string(versions.first) + " to " + last;
}

}  // namespace

bool pack(Daemon& daemon, Service& service, const ServerIdentity& identity,
          const Listener* take_over_socket, const BinlogFolder* binlog,
          std::vector<NamedDescriptor>& parts, std::string& error) {
  ParcelWriter parcel;
  if (!parcel.open(error)) return false;
  const auto take = [](void* to, std::string_view bytes) {
    return static_cast<ParcelWriter*>(to)->write(bytes);
  };
  StateWriter writer({take, &parcel});
  std::vector<int> descriptors;
  const auto write = [&](const Listener& listener) {
    listener.write(writer);
    descriptors.push_back(listener.descriptor());
  };
  writer.value(identity.version);
  writer.begin(kServer);
  writer.value(identity);
  writer.value(static_cast<std::uint32_t>(daemon.listeners().size()));
  writer.value(take_over_socket != nullptr);
  for (const Listener& listener : daemon.listeners()) write(listener);
  if (take_over_socket != nullptr) write(*take_over_socket);
  if (binlog != nullptr) descriptors.push_back(binlog->folder_descriptor());
  for (Session* session = service.first_session(); session != nullptr;
       session = service.session_after(*session)) {
    descriptors.push_back(static_cast<Connection*>(session->owner())->descriptor);
  }
  const Bodies bodies = identity.folder.empty() ? Bodies::in_state : Bodies::in_journal;
  service.transfer().write(writer, bodies);
  if (!writer.end()) {
    error = "not enough memory for the state";
    return false;
  }
  return parcel.add(descriptors, error) && parcel.finish(parts, error);
}

TakeOver::TakeOver(Parcel parcel)
    : parcel_(std::make_unique<Parcel>(std::move(parcel))), reader_(parcel_->state()) {}

std::optional<TakeOver> TakeOver::open(std::vector<NamedDescriptor> parts, StateVersions versions,
                                       Fault& fault, std::string& error) {
  fault = Fault::damaged;
  std::optional<Parcel> parcel = Parcel::open(std::move(parts), error);
  std::vector<Descriptor> descriptors;
  if (!parcel || !parcel->copy_descriptors(descriptors, error)) {
    if (errno == EMFILE || errno == ENOMEM) fault = Fault::no_resources;
    return std::nullopt;
  }
  TakeOver result(std::move(*parcel));
  std::uint32_t& version = result.identity_.version;
  result.reader_.value(version);
  if (version < versions.first || version > versions.last) {
    fault = Fault::other_version;
    error = "the state has version " + std::to_string(version) + ", and this program reads " +
            name_of(versions);
  } else if (!result.reader_.is_whole() || !result.read_head(descriptors)) {
    error = "the state is damaged";
  } else {
    return result;
  }
  return std::nullopt;
}

bool TakeOver::read_head(std::vector<Descriptor>& descriptors) {
  std::uint32_t listeners = 0;
  bool has_take_over_socket = false;
  if (!reader_.begin(kServer)) return false;
  reader_.value(identity_);
  reader_.value(listeners);
  reader_.value(has_take_over_socket);
  const bool has_folder = !identity_.folder.empty();
  const std::size_t before_sockets =
      std::size_t{listeners} + (has_take_over_socket ? 1 : 0) + (has_folder ? 1 : 0);
  if (!reader_.is_good() || before_sockets > descriptors.size()) return false;
  auto at = descriptors.begin();
  for (std::uint32_t i = 0; i < listeners; ++i, ++at) {
    listeners_.push_back(Listener::from_other(reader_, std::move(*at)));
  }
  if (has_take_over_socket) {
    take_over_socket_ = Listener::from_other(reader_, std::move(*at));
    ++at;
  }
  if (has_folder) folder_ = std::move(*at++);
  sockets_.assign(std::make_move_iterator(at), std::make_move_iterator(descriptors.end()));
  return reader_.is_good();
}

ServiceTransfer::Read TakeOver::read(Daemon& daemon, Service& service, Instant now) {
  using Read = ServiceTransfer::Read;
  ServiceTransfer transfer = service.transfer();
  const Read queue = transfer.read_queue(reader_);
  if (queue == Read::broken) return queue;
  for (std::uint32_t i = 0; i < transfer.sessions(); ++i) {
    Descriptor socket = i < sockets_.size() ? std::move(sockets_[i]) : Descriptor();
    if (!daemon.take_over(std::move(socket), transfer, reader_)) return Read::broken;
  }
  return transfer.finish(reader_, now) ? queue : Read::broken;
}

}  // namespace haricot::os
