#include "folders.hpp"

#include <functional>
#include <iterator>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "legacy_maker.hpp"
#include "model.hpp"
#include "support/log_maker.hpp"
#include "support/random.hpp"

namespace haricot::damage {
namespace {

using binlog::Record;
using binlog::RecordState;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kTurn = 3;  // Commands in a turn.
constexpr std::size_t kLargeBody = 2000;
// Large enough that compaction keeps the files of beanstalkd.
constexpr binlog::BinlogOptions kLargeFiles{.file_bytes = 16384,
                                            .sync = binlog::SyncPolicy::every_turn};

void one_command(Server& server, test::Random& choice) {
  const Jobs jobs = server.jobs();
  const std::size_t kind = jobs.size() < 4 ? 0 : choice.below(12);
  if (kind < 6) {
    static const std::string kTubes[] = {"default", "mail", "a-tube-with-a-somewhat-longer-name"};
    server.use(kTubes[choice.below(3)]);
    const std::size_t body = choice.below(9) == 0 ? 400 + choice.below(300) : choice.below(250);
    server.put(body, 1 + static_cast<std::uint32_t>(choice.below(5000)),
               choice.below(4) == 0 ? 1000 + static_cast<std::uint32_t>(choice.below(99)) : 0);
    return;
  }
  const auto job = std::next(jobs.begin(), static_cast<std::ptrdiff_t>(choice.below(jobs.size())));
  const JobId id = job->first;
  const auto priority = 7000 + static_cast<std::uint32_t>(choice.below(5000));
  if (kind < 8) {
    if (job->second.body.size() < kLargeBody) server.delete_job(id);
  } else if (kind == 8) {
    server.bury(id, priority);
  } else if (kind == 9) {
    server.release(id, priority);
  } else if (kind == 10) {
    server.release(id, priority, 2000);
  } else if (job->second.known.state != JobState::ready) {
    server.kick(id);
  }
}

// Returns the folder of a server on which `use` is called, and which is then stopped or killed.
KnownFolder folder_by(std::string name, SimDisk& disk, Ending ending,
                      const std::function<void(Server&)>& use, std::uint64_t store_id = kStoreId,
                      const binlog::BinlogOptions& options = kSmallFiles) {
  Server server(disk, kWall, options, store_id);
  CHECK(server.reading().is_good);
  use(server);
  server.end_turn();
  if (ending == Ending::stopped) {
    server.close();
  } else {
    name += ", killed";
  }
  KnownFolder folder = know(std::move(name), image_of(disk), server.next_id() - 1);
  folder.note = disk.folder_note();
  return folder;
}

// Runs commands until the folder has `files` files, and then a few more.
void work_until(Server& server, std::uint64_t files, std::uint64_t seed) {
  while (server.files() < files) work(server, seed++, kTurn);
  work(server, seed, 6);
}

// Compaction keeps a folder if a third of it is living jobs. The large job gets its own file, and
// the file before it is removed at once.
void put_a_large_job(Server& server, std::size_t bytes) {
  server.put(bytes);
  server.idle();
}

KnownFolder make_of(std::string name, std::uint64_t files, Ending ending, std::uint64_t store_id) {
  SimDisk disk;
  return folder_by(
      std::move(name), disk, ending,
      [files, store_id](Server& server) {
        put_a_large_job(server, 2500 * files);
        work_until(server, files, 7 * files + store_id);
      },
      store_id);
}

KnownFolder make_of_one(Ending ending) {
  SimDisk disk;
  return folder_by(
      "one file", disk, ending, [](Server& server) { work(server, 4, 40); }, kStoreId, kLargeFiles);
}

KnownFolder make_compacted(Ending ending) {
  SimDisk disk;
  KnownFolder folder = folder_by("compacted", disk, ending, [](Server& server) {
    put_a_large_job(server, 9000);
    work_until(server, 4, 1);
    test::Random choice(5);
    for (const auto& [id, job] : server.jobs()) {
      if (choice.below(4) != 0 && job.body.size() < kLargeBody) server.delete_job(id);
    }
    work_until(server, 3, 2);
    server.idle();
    work(server, 3, 40);
  });
  CHECK(folder.files.front().number > 1);
  return folder;
}

// Keeps keys of one record and of seven. Compaction moves those of the first files.
KnownFolder make_with_tombstones(Ending ending) {
  SimDisk disk;
  KnownFolder folder = folder_by("kept keys", disk, ending, [](Server& server) {
    const auto leave_keys = [&server](int from, int until, const std::string& front) {
      for (int i = from; i < until; ++i) {
        server.use(i % 3 == 0 ? "default" : "a-tube-with-a-somewhat-longer-name");
        const std::string tags = "idp:" + front + std::to_string(i) + (i % 5 == 0 ? ":1" : ":9000");
        const JobId id = server.put(30, 500, 0, tags);
        if (i % 4 != 1) server.delete_job(id);
        server.end_turn();
      }
    };
    put_a_large_job(server, 6000);
    leave_keys(0, 20, "key-");
    work_until(server, 4, 11);
    server.idle();
    leave_keys(20, 34, std::string(90, 'k'));
    work(server, 12, 10);
    // Marks the last sector as durable: a sector of zeros counts as torn unless a later record
    // marks it as durable.
    server.end_turn();
    server.put(20);
  });
  CHECK(folder.files.front().number > 1);
  return folder;
}

KnownFolder make_restarted() {
  SimDisk disk;
  KnownFolder folder;
  for (std::uint64_t life = 1; life <= 5; ++life) {
    const Ending ending = life % 2 == 0 ? Ending::killed : Ending::stopped;
    folder = folder_by("restarted", disk, ending, [life](Server& server) {
      if (life == 1) put_a_large_job(server, 7000);
      work(server, 40 + life, 16);
    });
  }
  return folder;
}

// Folders of beanstalkd ---------------------------------------------------------------------------

// Returns a job's record of beanstalkd. A change record has all fields except tube and body.
Record legacy_job(JobId id, std::string_view tube, std::string_view body) {
  Record record;
  record.tube_name = tube;
  record.id = id;
  record.priority = static_cast<std::uint32_t>(900 + id);
  record.ttr_ns = 61 * kSecond;
  record.body = body;
  record.body_bytes = static_cast<std::uint32_t>(body.size());
  record.created_at = kWall - 50 * kSecond + static_cast<std::int64_t>(id) * 1'234'567;
  return record;
}

Record changed(Record record, RecordState state) {
  record.tube_name = {};
  record.body = {};
  record.state = state;
  record.priority += 5000;
  record.deadline_at = state == RecordState::delayed ? kWall + 900 * kSecond : 0;
  record.delay_ns = state == RecordState::delayed ? 1000 * kSecond : 0;
  record.counts = {2, 1, 1, state == RecordState::buried ? 1U : 0U, 0};
  return record;
}

// Three files with about a dozen jobs each.
Image legacy_image(std::uint32_t version) {
  Image image;
  JobId id = 0;
  std::vector<std::string> bodies(64);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    LegacyMaker maker(version);
    for (int i = 0; i < 12; ++i) {
      ++id;
      bodies[id] = binlog::body_for(id, 11 + (id * 37) % 90) + "\r\n";
      const Record job = legacy_job(id, id % 3 == 0 ? "mail" : "default", bodies[id]);
      maker.add(job);
      if (id % 5 == 0) maker.add(changed(job, RecordState::buried));
      if (id % 5 == 1) maker.add(changed(job, RecordState::delayed));
      if (id % 5 == 2) maker.add(changed(job, RecordState::deleted));
      // Deletes a job of an earlier file.
      if (number > 1 && id % 4 == 0) {
        maker.add(changed(legacy_job(id - 11, "mail", bodies[id - 11]), RecordState::deleted));
      }
    }
    image[binlog::binlog_file_name(number)] = maker.padded();
  }
  return image;
}

KnownFolder make_migrated(std::uint32_t version) {
  SimDisk disk;
  put_all(legacy_image(version), disk);
  KnownFolder folder = folder_by(
      "migrated from version " + std::to_string(version), disk, Ending::stopped,
      [](Server& server) { work(server, 3, 40); }, kStoreId, kLargeFiles);
  CHECK(folder.files.front().writer != Writer::haricot);
  CHECK(folder.files.back().writer == Writer::haricot);
  return folder;
}

// Returns the padding of the job's last record, which beanstalkd copies.
Padding last_padding(const KnownFolder& folder, JobId id) {
  Padding padding;
  for (const KnownFile& file : folder.files) {
    for (const Piece& piece : file.pieces) {
      if (!piece.is_record() || piece.id != id) continue;
      padding = padding_of(std::string_view(file.bytes).substr(piece.offset));
    }
  }
  return padding;
}

KnownFolder make_there_and_back() {
  const KnownFolder ours = make_of("", 2, Ending::stopped, kStoreId);
  LegacyMaker maker(binlog::kVersion);
  const Jobs jobs = acknowledged_jobs(ours);
  for (const auto& [id, job] : jobs) {
    const std::string body = job.body + "\r\n";
    Record record = legacy_job(id, job.known.tube, body);
    const Padding padding = last_padding(ours, id);
    const RecordState states[] = {RecordState::buried, RecordState::deleted, RecordState::ready};
    if (id % 4 == 3) {
      maker.add(record, padding);  // The copy of beanstalkd's compaction.
    } else {
      maker.add(changed(record, states[id % 4]), padding);
    }
  }
  for (JobId id = ours.highest_id + 1; id <= ours.highest_id + 5; ++id) {
    const std::string body = binlog::body_for(id, 70 + id) + "\r\n";
    maker.add(legacy_job(id, "default", body));
  }
  SimDisk disk;
  for (const KnownFile& file : ours.files)
    disk.put(binlog::binlog_file_name(file.number), file.bytes);
  disk.put(binlog::binlog_file_name(ours.last_number() + 1), maker.padded());
  disk.set_folder_note(ours.note);
  return folder_by(
      "there and back", disk, Ending::stopped, [](Server& server) { work(server, 9, 50); },
      kStoreId, kLargeFiles);
}

Diverged make_diverged() {
  Diverged made;
  SimDisk first;
  const KnownFolder common = folder_by("", first, Ending::stopped, [](Server& server) {
    put_a_large_job(server, 9000);
    work_until(server, 3, 60);
  });
  made.last_in_common = common.last_number();
  SimDisk second;
  put_all(image_of(first), second);
  second.set_folder_note(first.folder_note());
  const auto live_on = [&](SimDisk& disk, std::uint64_t seed) {
    KnownFolder folder;
    for (int life = 0; life < 3; ++life) {
      folder = folder_by(
          "diverged", disk, Ending::stopped, [&](Server& server) { work(server, ++seed, 15); },
          kStoreId + seed);
    }
    return folder;
  };
  made.one = live_on(first, 100);
  made.other = live_on(second, 200);
  return made;
}

}  // namespace

void work(Server& server, std::uint64_t seed, int commands) {
  test::Random choice(seed);
  for (int i = 1; i <= commands; ++i) {
    one_command(server, choice);
    if (i % kTurn == 0) server.end_turn();
  }
}

const KnownFolder& of_one_file(Ending ending) {
  static const KnownFolder stopped = make_of_one(Ending::stopped);
  static const KnownFolder killed = make_of_one(Ending::killed);
  return ending == Ending::stopped ? stopped : killed;
}

const KnownFolder& of_three_files(Ending ending) {
  static const KnownFolder stopped = make_of("three files", 3, Ending::stopped, kStoreId);
  static const KnownFolder killed = make_of("three files", 3, Ending::killed, kStoreId);
  return ending == Ending::stopped ? stopped : killed;
}

const KnownFolder& of_eighteen_files() {
  static const KnownFolder folder = make_of("eighteen files", 18, Ending::stopped, kStoreId);
  return folder;
}

const KnownFolder& compacted(Ending ending) {
  static const KnownFolder stopped = make_compacted(Ending::stopped);
  static const KnownFolder killed = make_compacted(Ending::killed);
  return ending == Ending::stopped ? stopped : killed;
}

const KnownFolder& with_tombstones(Ending ending) {
  static const KnownFolder stopped = make_with_tombstones(Ending::stopped);
  static const KnownFolder killed = make_with_tombstones(Ending::killed);
  return ending == Ending::stopped ? stopped : killed;
}

const KnownFolder& restarted() {
  static const KnownFolder folder = make_restarted();
  return folder;
}

const KnownFolder& of_another_store() {
  static const KnownFolder folder = make_of("another store", 4, Ending::stopped, kStoreId + 1);
  return folder;
}

const KnownFolder& of_beanstalkd(std::uint32_t version) {
  static const KnownFolder v7 =
      know("of beanstalkd, version 7", legacy_image(binlog::kVersion), 36);
  static const KnownFolder v5 =
      know("of beanstalkd, version 5", legacy_image(binlog::kVersionOfBeanstalkd14), 36);
  return version == binlog::kVersion ? v7 : v5;
}

const KnownFolder& migrated(std::uint32_t version) {
  static const KnownFolder from_v7 = make_migrated(binlog::kVersion);
  static const KnownFolder from_v5 = make_migrated(binlog::kVersionOfBeanstalkd14);
  return version == binlog::kVersion ? from_v7 : from_v5;
}

const KnownFolder& there_and_back() {
  static const KnownFolder folder = make_there_and_back();
  return folder;
}

const Diverged& diverged() {
  static const Diverged made = make_diverged();
  return made;
}

std::vector<const KnownFolder*> folders_of_haricotd() {
  return {&of_one_file(Ending::stopped),
          &of_one_file(Ending::killed),
          &of_three_files(Ending::stopped),
          &of_three_files(Ending::killed),
          &of_eighteen_files(),
          &compacted(Ending::stopped),
          &compacted(Ending::killed),
          &with_tombstones(Ending::stopped),
          &with_tombstones(Ending::killed),
          &restarted()};
}

std::vector<const KnownFolder*> folders_with_beanstalkd() {
  return {&of_beanstalkd(binlog::kVersion), &of_beanstalkd(binlog::kVersionOfBeanstalkd14),
          &migrated(binlog::kVersion), &migrated(binlog::kVersionOfBeanstalkd14),
          &there_and_back()};
}

}  // namespace haricot::damage
