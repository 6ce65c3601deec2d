#include "os/sealed_state.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "haricot/binlog/binlog.hpp"
#include "os/clock.hpp"
#include "os/connection.hpp"
#include "os/disk.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {
namespace {

constexpr std::string_view kStateName = "parcel-state";
constexpr std::string_view kSocketName = "parcel-descriptors-";

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

std::string failure(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// Returns the bytes of a message: the number of its descriptors.
std::string_view bytes_of(const std::uint32_t& count) {
  return {reinterpret_cast<const char*>(&count), sizeof count};
}

std::string socket_name(std::size_t index) {
  return std::string(kSocketName) + std::to_string(index);
}

}  // namespace

bool SealedStateWriter::open(std::string& error) {
  state_ = Descriptor(::memfd_create("haricot-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!state_) error = failure("cannot make a file in memory");
  return static_cast<bool>(state_);
}

bool SealedStateWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(state_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool SealedStateWriter::add(std::span<const int> descriptors, std::string& error) {
  while (!descriptors.empty()) {
    const std::size_t count = std::min(descriptors.size(), DescriptorMessage::kDescriptorsMax);
    if (!add_some(descriptors.first(count), error)) return false;
    descriptors = descriptors.subspan(count);
  }
  return true;
}

// Sends a message. The buffer of a socket takes some ten thousand descriptors; then the next pair
// begins.
bool SealedStateWriter::add_some(std::span<const int> descriptors, std::string& error) {
  const auto count = static_cast<std::uint32_t>(descriptors.size());
  DescriptorMessage message(bytes_of(count), descriptors);
  for (bool is_new = false;; is_new = true) {
    if (!sender_ && !begin_pair(error)) return false;
    if (::sendmsg(sender_.get(), message.header(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
    if (errno != EAGAIN || is_new) break;
    sender_.reset();
  }
  error = failure("cannot put descriptors into a socket");
  return false;
}

bool SealedStateWriter::begin_pair(std::string& error) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    error = failure("cannot make a pair of sockets");
    return false;
  }
  sender_ = Descriptor(ends[0]);
  receivers_.emplace_back(ends[1]);
  return true;
}

bool SealedStateWriter::finish(std::vector<NamedDescriptor>& parts, std::string& error) {
  sender_.reset();  // The end of the input marks it as complete.
  if (::fcntl(state_.get(), F_ADD_SEALS, kSeals) != 0) {
    error = failure("cannot seal the file in memory");
    return false;
  }
  parts.push_back({std::string(kStateName), std::move(state_)});
  for (std::size_t i = 0; i < receivers_.size(); ++i) {
    parts.push_back({socket_name(i), std::move(receivers_[i])});
  }
  receivers_.clear();
  return true;
}

bool SealedState::is_part(std::string_view name) {
  return name == kStateName || name.starts_with(kSocketName);
}

std::optional<SealedState> SealedState::open(std::vector<NamedDescriptor> parts,
                                             std::string& error) {
  std::vector<NamedDescriptor> in_order;
  errno = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string wanted = i == 0 ? std::string(kStateName) : socket_name(i - 1);
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const NamedDescriptor& part) {
      return part.name == wanted;
    });
    if (found == parts.end()) {
      error = "the state has no part " + wanted;
      return std::nullopt;
    }
    in_order.push_back({wanted, std::move(found->descriptor)});
    found->name.clear();
  }
  if (in_order.empty()) {
    error = "the state is empty";
    return std::nullopt;
  }
  SealedState state(std::move(in_order));
  if (!state.map_state(error)) return std::nullopt;
  return state;
}

SealedState::SealedState(SealedState&& other) noexcept
    : parts_(std::move(other.parts_)), bytes_(std::exchange(other.bytes_, {})) {}

SealedState::~SealedState() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

bool SealedState::map_state(std::string& error) {
  const int file = parts_[0].descriptor.get();
  struct stat status {};
  if (::fcntl(file, F_GET_SEALS) != kSeals || ::fstat(file, &status) != 0) {
    error = "the state is not sealed";
    return false;
  }
  if (status.st_size == 0) return true;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    error = failure("cannot map the state");
    return false;
  }
  bytes_ = {static_cast<const char*>(memory), bytes};
  return true;
}

bool SealedState::copy_descriptors(std::vector<Descriptor>& copies, std::string& error) const {
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    const int socket = parts_[i].descriptor.get();
    // A peek advances past the bytes that it has returned, without consuming them.
    const int from_first = 0;
    if (::setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &from_first, sizeof from_first) != 0) {
      error = failure("cannot peek at the sockets of the state");
      return false;
    }
    while (true) {
      std::uint32_t count = 0;
      const std::size_t before = copies.size();
      DescriptorMessage message(std::span(reinterpret_cast<char*>(&count), sizeof count));
      const ssize_t received =
          ::recvmsg(socket, message.header(), MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (received == 0) break;
      if (received < 0) {
        error = failure("the state is not finished");
        return false;
      }
      if (!message.move_to(copies) || copies.size() - before != count) {
        error = "cannot receive all descriptors of the state: too many are open";
        errno = EMFILE;
        return false;
      }
    }
  }
  return true;
}

namespace {

// Belongs to the format and never changes.
constexpr std::uint32_t kServer = 200;

std::string name_of(StateVersions versions) {
  const std::string last = std::to_string(versions.last);
  return versions.first == versions.last ? last : std::to_string(versions.first) + " to " + last;
}

constexpr const char* kReadingJobs = "reading the jobs of the predecessor";

bool report_progress(void* notifier, const binlog::ReplayProgress& /*progress*/) {
  static_cast<Notifier*>(notifier)->takes_time(kReadingJobs);
  return true;
}

}  // namespace

bool seal_state(Daemon& daemon, Service& service, const ServerIdentity& identity,
                const Listener* take_over_socket, const BinlogFolder* binlog,
                std::vector<NamedDescriptor>& parts, std::string& error) {
  SealedStateWriter state;
  if (!state.open(error)) return false;
  const auto take = [](void* to, std::string_view bytes) {
    return static_cast<SealedStateWriter*>(to)->write(bytes);
  };
  StateWriter writer({take, &state});
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
  service.serializer().write(writer, bodies);
  if (!writer.end()) {
    error = "not enough memory for the state";
    return false;
  }
  return state.add(descriptors, error) && state.finish(parts, error);
}

PredecessorState::PredecessorState(SealedState sealed)
    : sealed_(std::make_unique<SealedState>(std::move(sealed))), reader_(sealed_->bytes()) {}

std::optional<PredecessorState> PredecessorState::open(std::vector<NamedDescriptor> parts,
                                                       StateVersions versions, Fault& fault,
                                                       std::string& error) {
  fault = Fault::damaged;
  std::optional<SealedState> sealed = SealedState::open(std::move(parts), error);
  std::vector<Descriptor> descriptors;
  if (!sealed || !sealed->copy_descriptors(descriptors, error)) {
    if (errno == EMFILE || errno == ENOMEM) fault = Fault::no_resources;
    return std::nullopt;
  }
  PredecessorState result(std::move(*sealed));
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

bool PredecessorState::read_head(std::vector<Descriptor>& descriptors) {
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

ServiceSerializer::Read PredecessorState::read(Daemon& daemon, Service& service, Instant now) {
  using Read = ServiceSerializer::Read;
  ServiceSerializer serializer = service.serializer();
  const Read queue = serializer.read_queue(reader_);
  if (queue == Read::broken) return queue;
  for (std::uint32_t i = 0; i < serializer.sessions(); ++i) {
    Descriptor socket = i < sockets_.size() ? std::move(sockets_[i]) : Descriptor();
    if (!daemon.take_over(std::move(socket), serializer, reader_)) return Read::broken;
  }
  return serializer.finish(reader_, now) ? queue : Read::broken;
}

// An engine that never runs takes over the state with the folder's jobs, and writes it with bodies.
bool PredecessorState::add_bodies(const ServerInfo& info, Notifier& notifier, std::string& error) {
  FolderDisk disk;
  FolderLock lock;
  if (!disk.open(std::move(folder_))) {
    error = disk.last_error();
    return false;
  }
  if (lock.take(disk.descriptor()) != LockStatus::taken) {
    error = lock.why_not("of the predecessor");
    return false;
  }
  const Instant now = read_clock();
  binlog::Binlog binlog(disk, {});
  binlog.set_note(lock.note());
  Service service(info, binlog, identity_.rested_at,
                  HashKey{identity_.hash_key[0], identity_.hash_key[1]});
  if (!binlog.read(service.engine(), read_wall_offset(), now, {report_progress, &notifier},
                   error)) {
    return false;
  }
  ServiceSerializer serializer = service.serializer();
  bool is_good = serializer.read_queue(reader_) == ServiceSerializer::Read::good;
  for (std::uint32_t i = 0; is_good && i < serializer.sessions(); ++i) {
    Session* session = nullptr;
    is_good = serializer.read_session(reader_, this, false, now, session);
  }
  if (!is_good || !serializer.finish(reader_, now, false) || !serializer.is_at_rest()) {
    error = "the folder of the predecessor has other jobs than its state";
    return false;
  }
  auto bytes = std::make_unique<std::string>();
  const auto take = [](void* to, std::string_view piece) {
    static_cast<std::string*>(to)->append(piece);
    return true;
  };
  StateWriter writer({take, bytes.get()});
  serializer.write(writer, Bodies::in_state);
  if (!writer.end()) return false;
  reader_ = StateReader(*bytes);
  state_with_bodies_ = std::move(bytes);
  identity_.folder.clear();
  return true;
}

}  // namespace haricot::os
