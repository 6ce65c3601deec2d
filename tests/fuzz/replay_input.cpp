#include "replay_input.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "haricot/base/check.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/queue/engine.hpp"
#include "support/job_history.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

constexpr std::size_t kFiles = 3;
constexpr std::size_t kHeadBytes = 5;
constexpr std::uint64_t kStoreId = 77;
// A server takes a random id for a folder without one, so no file can know it.
constexpr std::uint64_t kNewStoreId = 0x51c0'4e7d'93ab'26f8;
constexpr std::uint32_t kRun = 5;
constexpr std::uint8_t kHasNote = 0x08;
const Instant kNow = Instant::at(1'000'000'000);
const Duration kWallOffset = Duration::nanoseconds(1'700'000'000'000'000'000);

// Writes a signature at the beginning of a file, and the checksums of each record for its place.
void repair(std::string& file, std::uint64_t number) {
  if (file.size() < kFirstRecordOffset) return;
  Signature signature;
  signature.salt = salt_of(kStoreId, number);
  signature.file_number = number;
  signature.store_id = kStoreId;
  signature.next_id = 1;
  signature.run = kRun;
  store_little_endian(file.data(), kVersion);
  write_signature(signature, file.data() + kVersionBytes);
  std::size_t at = kFirstRecordOffset;
  std::uint32_t count = 0;
  while (at < file.size()) {
    const std::string copy = file.substr(at);
    const std::optional<Parsed> parsed = parse_record(copy);
    if (!parsed || !parsed->body_is_there) return;
    const Position position{seed_of(signature.salt, number), at, ++count};
    const Record& record = parsed->record;
    const std::uint32_t sum = record.is_full() ? body_crc(position, record.body) : 0;
    write_header(record, position, sum, file.data() + at);
    at += record.bytes();
  }
}

FolderNote note_of(const ReplayInput& input) {
  FolderNote note;
  if ((input.repaired & kHasNote) == 0) return note;
  note.store_id = kStoreId;
  note.run = note.run_before = kRun;
  note.newest = input.repaired >> 4 & 3;
  note.ids_end = 1000;
  if ((input.repaired & 0x40) != 0) note.end = input.files.empty() ? 500 : input.files[0].size();
  if ((input.repaired & 0x80) != 0) note.oldest_needed = 2;
  return note;
}

struct Seen {
  std::optional<std::string> error;
  std::map<JobId, std::pair<KnownJob, std::string>> jobs;
  JobId next_id = 0;
};

// A server on the folder. It ends without a stop, unless close() is called.
class Server {
 public:
  explicit Server(SimDisk& disk)
      : binlog_(disk, {.file_bytes = 4096, .sync = SyncPolicy::every_turn}),
        engine_(kNow, binlog_) {
    std::string error;
    binlog_.set_note(disk.folder_note());
    if (!binlog_.open(engine_, kWallOffset, kNow, kNewStoreId, {}, error)) seen_.error = error;
    if (seen_.error) return;
    engine_.check_invariants();
    binlog_.check_invariants();
    look();
  }

  const Seen& seen() const { return seen_; }

  void delete_all_and_put_one() {
    Client client(nullptr);
    CHECK(engine_.open(client));
    for (const auto& [id, job] : seen_.jobs) CHECK(engine_.delete_job(client, id) == Outcome::done);
    const NewJob job{.id = engine_.take_id(), .priority = 5, .delay_s = 0, .ttr_s = 10};
    CHECK(engine_.put(client, job, {.bytes = "new", .blob = {}}, kNow) == Outcome::done);
    for (int i = 0; i < 20; ++i) binlog_.end_turn(kNow);
    engine_.close(client, kNow);
    CHECK(binlog_.close(kNow));
  }

 private:
  void take(JobRef ref) {
    const JobId id = engine_.jobs()[ref].id;
    const bool is_new = seen_.jobs
                            .try_emplace(id, known_from(engine_, ref, kWallOffset),
                                         std::string(engine_.jobs().body(ref)))
                            .second;
    CHECK(is_new && id != 0 && engine_.peek(id) == ref);
  }
  void look() {
    for (std::uint32_t i = 0; i < engine_.tubes().size(); ++i) {
      const Tube& tube = engine_.tubes().at(i);
      for (std::uint32_t at = 0; at < tube.ready.size(); ++at) take(tube.ready.at(at).job);
      for (std::uint32_t at = 0; at < tube.delayed.size(); ++at) take(tube.delayed.at(at).job);
      std::uint64_t position = 0;
      for (JobRef ref = tube.first_buried; ref != JobRef::none;) {
        take(ref);
        const Job& job = engine_.jobs()[ref];
        seen_.jobs.at(job.id).first.burial = ++position;
        ref = static_cast<JobRef>(job.links.second);
      }
    }
    CHECK(seen_.jobs.size() == engine_.jobs().size());
    seen_.next_id = engine_.next_id();
    CHECK(seen_.jobs.empty() || seen_.next_id > seen_.jobs.rbegin()->first);
  }

  Binlog binlog_;
  Engine engine_;
  Seen seen_;
};

std::unique_ptr<SimDisk> killed(const SimDisk& disk) {
  SimDisk::Random chance(1);
  return disk.crash(chance, {Unsynced::kept, UnsyncedNames::kept});
}

}  // namespace

ReplayInput input_from(std::string_view bytes) {
  ReplayInput input;
  if (bytes.size() < kHeadBytes) return input;
  input.repaired = static_cast<std::uint8_t>(bytes[0]);
  std::size_t lengths[kFiles - 1];
  for (std::size_t i = 0; i + 1 < kFiles; ++i) {
    lengths[i] = load_little_endian<std::uint16_t>(bytes.data() + 1 + 2 * i);
  }
  bytes.remove_prefix(kHeadBytes);
  for (const std::size_t length : lengths) {
    input.files.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(std::min(bytes.size(), length));
  }
  input.files.emplace_back(bytes);
  return input;
}

std::string bytes_of(const ReplayInput& input) {
  std::string bytes(kHeadBytes, '\0');
  bytes[0] = static_cast<char>(input.repaired);
  for (std::size_t i = 0; i + 1 < kFiles; ++i) {
    const std::size_t length = i < input.files.size() ? input.files[i].size() : 0;
    CHECK(length <= 0xffff);
    store_little_endian(bytes.data() + 1 + 2 * i, static_cast<std::uint16_t>(length));
  }
  for (const std::string& file : input.files) bytes += file;
  return bytes;
}

void check_replay(const ReplayInput& input) {
  SimDisk disk;
  disk.set_folder_note(note_of(input));
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    std::string file = input.files[i];
    if (file.empty()) continue;
    if ((input.repaired >> i & 1) != 0) repair(file, i + 1);
    disk.put("binlog." + std::to_string(i + 1), std::move(file));
  }
  Seen first;
  JobId next_id = 0;
  {
    const Server server(disk);
    first = server.seen();
  }
  const auto again = killed(disk);
  {
    Server server(*again);
    CHECK(server.seen().error == first.error);
    if (first.error) return;
    CHECK(server.seen().jobs == first.jobs);
    // If a file is missing, each start skips the ids that it may have had.
    next_id = server.seen().next_id;
    CHECK(next_id >= first.next_id);
    // There is no id after these that could be assigned.
    if (first.next_id > ~JobId{0} - 10) return;
    server.delete_all_and_put_one();
  }
  const Server last(*again);
  CHECK(!last.seen().error);
  CHECK(last.seen().jobs.size() == 1);
  CHECK(last.seen().jobs.begin()->first == next_id);
}

}  // namespace haricot::binlog
