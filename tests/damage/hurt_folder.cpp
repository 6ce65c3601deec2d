#include "hurt_folder.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::damage {

using binlog::binlog_file_name;

HurtFolder::HurtFolder(const KnownFolder& known) : known_(&known), what_(known.name) {
  for (const KnownFile& file : known.files) {
    files_.push_back({binlog_file_name(file.number), file.bytes, &file});
  }
}

Image HurtFolder::image() const {
  Image image = known_->others;
  for (const HurtFile& file : files_) image[file.name] = file.bytes;
  return image;
}

bool HurtFolder::has(std::uint64_t number) const {
  const std::string name = binlog_file_name(number);
  return std::any_of(files_.begin(), files_.end(),
                     [&](const HurtFile& file) { return file.name == name; });
}

HurtFile& HurtFolder::file(std::uint64_t number) {
  const std::string name = binlog_file_name(number);
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const HurtFile& file) { return file.name == name; });
  CHECK(found != files_.end());
  return *found;
}

void HurtFolder::told(std::string what) {
  what_ += "; " + std::move(what);
}

HurtFolder& HurtFolder::flip(std::uint64_t number, std::size_t offset, unsigned bit) {
  std::string& bytes = file(number).bytes;
  if (offset < bytes.size()) bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << bit));
  told(binlog_file_name(number) + " bit " + std::to_string(bit) + " flipped at " +
       std::to_string(offset));
  return *this;
}

HurtFolder& HurtFolder::overwrite(std::uint64_t number, std::size_t offset,
                                  std::string_view bytes) {
  std::string& all = file(number).bytes;
  if (offset < all.size()) {
    const std::size_t length = std::min(bytes.size(), all.size() - offset);
    all.replace(offset, length, bytes.substr(0, length));
  }
  told(binlog_file_name(number) + " " + std::to_string(bytes.size()) + " bytes written at " +
       std::to_string(offset));
  return *this;
}

HurtFolder& HurtFolder::misdirect(std::uint64_t number, std::size_t offset,
                                  std::string_view sector) {
  ++file(number).stray_sectors;
  told("the next one is a sector of another place");
  return overwrite(number, offset, sector);
}

HurtFolder& HurtFolder::zero(std::uint64_t number, std::size_t offset, std::size_t bytes) {
  overwrite(number, offset, std::string(bytes, '\0'));
  what_ += " (zeros)";
  return *this;
}

HurtFolder& HurtFolder::cut(std::uint64_t number, std::size_t length) {
  std::string& bytes = file(number).bytes;
  bytes.resize(std::min(length, bytes.size()));
  told(binlog_file_name(number) + " cut to " + std::to_string(length));
  return *this;
}

HurtFolder& HurtFolder::append(std::uint64_t number, std::string_view bytes) {
  file(number).bytes += bytes;
  told(binlog_file_name(number) + " longer by " + std::to_string(bytes.size()));
  return *this;
}

HurtFolder& HurtFolder::remove(std::uint64_t number) {
  const HurtFile* gone = &file(number);
  files_.erase(files_.begin() + (gone - files_.data()));
  told(binlog_file_name(number) + " removed");
  return *this;
}

HurtFolder& HurtFolder::rename(std::uint64_t from, std::uint64_t to) {
  CHECK(!has(to));
  file(from).name = binlog_file_name(to);
  told(binlog_file_name(from) + " renamed to " + binlog_file_name(to));
  return *this;
}

HurtFolder& HurtFolder::exchange(std::uint64_t one, std::uint64_t other) {
  if (one != other) std::swap(file(one).name, file(other).name);
  told(binlog_file_name(one) + " and " + binlog_file_name(other) + " exchanged");
  return *this;
}

HurtFolder& HurtFolder::copy(std::uint64_t from, std::uint64_t to) {
  CHECK(!has(to));
  HurtFile copied = file(from);
  copied.name = binlog_file_name(to);
  files_.push_back(std::move(copied));
  told(binlog_file_name(from) + " copied to " + binlog_file_name(to));
  return *this;
}

HurtFolder& HurtFolder::add_strange(std::uint64_t number, std::string bytes) {
  if (has(number)) remove(number);
  files_.push_back({binlog_file_name(number), std::move(bytes), nullptr});
  told(binlog_file_name(number) + " put there");
  return *this;
}

}  // namespace haricot::damage
