// Inspection of the simulated folder by a test, and damage to its files.

#include <algorithm>
#include <numeric>
#include <utility>

#include "haricot/base/check.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {

std::uint64_t SimDisk::calls() const {
  return std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
}

std::uint64_t SimDisk::used_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : names_.seen()) {
    if (files_[file].opens == 0) bytes += taken_by(files_[file].file.seen().size);
  }
  for (const FileState& state : files_) {
    if (state.opens > 0) bytes += taken_by(state.file.seen().size);
  }
  return bytes;
}

std::string SimDisk::bytes_of(const std::string& name) const {
  const Image& image = files_[file_named(name)].file.seen();
  return image.slice(0, image.size);
}

std::string SimDisk::durable_bytes_of(const std::string& name) const {
  const auto found = names_.durable().find(name);
  CHECK(found != names_.durable().end());
  const Image& image = files_[found->second].file.durable();
  return image.slice(0, image.size);
}

void SimDisk::put(const std::string& name, std::string bytes) {
  CHECK(!tracing_ && names_.is_clean() && is_file_name(name));
  Image image;
  image.size = bytes.size();
  image.bytes = std::move(bytes);
  names_.put(name, static_cast<std::uint32_t>(files_.size()));
  files_.push_back({SimFile(std::move(image)), 0});
  forget_unused_files();
}

void SimDisk::flip(const std::string& name, std::uint64_t offset, std::uint8_t bits) {
  std::string byte = files_[file_named(name)].file.durable().slice(offset, offset + 1);
  byte[0] = static_cast<char>(static_cast<std::uint8_t>(byte[0]) ^ bits);
  overwrite(name, offset, byte);
}

void SimDisk::zero(const std::string& name, std::uint64_t offset, std::uint64_t bytes) {
  overwrite(name, offset, std::string(bytes, '\0'));
}

void SimDisk::overwrite(const std::string& name, std::uint64_t offset, std::string_view bytes) {
  CHECK(!tracing_);
  files_[file_named(name)].file.overwrite(offset, bytes);
}

DiskStatus SimDisk::read_ends(const std::string& name, FileEnds& ends) {
  FileBytes all;
  const DiskStatus status = read(name, all);
  --calls_[static_cast<std::size_t>(DiskCall::read)];
  if (status != DiskStatus::ok) return status;
  const std::size_t bytes = std::min(all.size(), FileEnds::kBytesMax);
  ends.file_bytes = all.size();
  ends.front = all.view().substr(0, bytes);
  ends.back = all.view().substr(all.size() - bytes);
  return status;
}

}  // namespace haricot::binlog
