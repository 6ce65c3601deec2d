// Folders that a server refuses: it reports the reason, exits, and changes nothing.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kNobody = 65534;

class FolderRefusal : public PersistenceTest {
 protected:
  // Starts a server on this path, and expects it to exit. Sets error_ to its output.
  void expect_refused(const std::string& path, std::vector<std::string> launcher = {},
                      const std::vector<std::string>& flags = {}) {
    const auto binary = find_server_binary(ServerKind::haricot);
    ASSERT_TRUE(binary);
    std::vector<std::string> arguments = {"-l", "127.0.0.1", "-p", "0", "-b", path};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    ASSERT_TRUE(server_.launch(
        {.binary = *binary, .arguments = arguments, .launcher = std::move(launcher)}));
    const auto end = server_.wait_exit();
    ASSERT_TRUE(end) << "it has started";
    code_ = end->code;
    error_ = server_.standard_error();
    EXPECT_GT(end->code, 0) << "signal " << end->signal << ", stderr: " << error_;
    EXPECT_NE(end->code, 127) << error_;
    EXPECT_FALSE(error_.empty());
  }

  void expect_refused_and_untouched(const std::vector<std::string>& flags = {}) {
    const auto before = folder_contents(folder_.path());
    ASSERT_NO_FATAL_FAILURE(expect_refused(folder_.path(), {}, flags));
    EXPECT_TRUE(folder_contents(folder_.path()) == before) << "something has changed";
  }

  bool error_names(const std::string& what) { return error_.find(what) != std::string::npos; }

  // Writes files with `jobs` jobs, and stops the server.
  void make_log(std::uint64_t jobs) {
    ASSERT_TRUE(start({"-s", "16384"})) << server_.failure();
    const Client client = connect();
    for (std::uint64_t id = 1; id <= jobs; ++id) {
      ASSERT_EQ(inserted_id(client->put(numbered_body(id, 300))), id);
    }
    ASSERT_NO_FATAL_FAILURE(stop());
  }

  // Returns the command with which root runs a program as an unprivileged user; empty if it cannot.
  std::vector<std::string> as_nobody() {
    if (::geteuid() != 0) return {};
    const std::string nobody = std::to_string(kNobody);
    const std::vector<std::string> words = {"/usr/bin/setpriv", "--reuid", nobody,
                                            "--regid",          nobody,    "--clear-groups"};
    std::string check;
    for (const std::string& word : words) check += word + " ";
    const auto binary = find_server_binary(ServerKind::haricot);
    check += "test -x " + binary.value_or("/nowhere");
    return std::system(check.c_str()) == 0 ? words : std::vector<std::string>{};
  }

  std::string error_;
  int code_ = 0;  // Its exit status.
};

TEST_F(FolderRefusal, AStrictServerDoesNotStartOverDamageAndNamesIt) {
  ASSERT_NO_FATAL_FAILURE(make_log(100));
  const Position position = find_in_files(folder_.path(), numbered_body(50, 300));
  ASSERT_GT(position.file, 0U);
  flip_bit(file_path(folder_.path(), position.file), position.offset + 7);
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched({"--strict"}));
  EXPECT_EQ(code_, 10) << error_;
  const std::string sentence = "binlog." + std::to_string(position.file) + " is damaged at offset ";
  const std::size_t end = error_.find("event=cannot-start");
  ASSERT_NE(end, std::string::npos) << error_;
  EXPECT_NE(error_.find(sentence, end), std::string::npos) << error_;
  // Without the flag, the server starts on this folder, without the damaged job.
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(connect()->ask("peek 50"), "NOT_FOUND\r\n");
  EXPECT_TRUE(connect()->ask("peek 51").starts_with("FOUND 51 300\r\n"));
}

TEST_F(FolderRefusal, NoServerStartsWithoutAFileThatIsNeeded) {
  ASSERT_NO_FATAL_FAILURE(make_log(200));
  ASSERT_GT(file_numbers(folder_.path()).size(), 3U);
  fs::remove(file_path(folder_.path(), 2));
  for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--strict"}}) {
    ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched(flags));
    EXPECT_EQ(code_, 10) << error_;
    EXPECT_TRUE(error_names("message=\"binlog.2 is missing\"")) << error_;
    EXPECT_TRUE(error_names("haricot binlog repair " + folder_.path() + " NEW")) << error_;
  }
}

// Each file has a line in the log.
TEST_F(FolderRefusal, FilesThatWereRenamedOrCopiedAreRefused) {
  ASSERT_NO_FATAL_FAILURE(make_log(200));
  const std::string third = file_path(folder_.path(), 3);
  fs::rename(third, folder_.file("third"));
  fs::rename(file_path(folder_.path(), 2), third);
  fs::rename(folder_.file("third"), file_path(folder_.path(), 2));
  fs::copy_file(file_path(folder_.path(), 1), file_path(folder_.path(), 90));
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched());
  EXPECT_EQ(code_, 10) << error_;
  for (const char* line : {"message=\"binlog.2 was written as binlog.3\"",
                           "message=\"binlog.3 was written as binlog.2\"",
                           "message=\"binlog.90 was written as binlog.1\""}) {
    EXPECT_TRUE(error_names(line)) << line << "\n" << error_;
  }
}

// beanstalkd follows such a link. haricotd does not: the link might point out of the sandbox, and
// moving or removing it would not affect the file itself.
TEST_F(FolderRefusal, ALinkInThePlaceOfAFileIsNotFollowedAndNamed) {
  ASSERT_NO_FATAL_FAILURE(make_log(100));
  const std::uint64_t number = file_numbers(folder_.path()).front();
  const TemporaryFolder elsewhere;
  const std::string file = file_path(folder_.path(), number);
  ASSERT_TRUE(write_file(elsewhere.file("jobs"), read_file(file)));
  fs::remove(file);
  fs::create_symlink(elsewhere.file("jobs"), file);
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched());
  EXPECT_EQ(code_, 10) << error_;
  EXPECT_TRUE(error_names("cannot read binlog." + std::to_string(number) +
                          ": it is a symbolic link, which haricotd does not follow"))
      << error_;
  // With the file in place of the link, all jobs are restored.
  fs::remove(file);
  fs::rename(elsewhere.file("jobs"), file);
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), 100U);
}

TEST_F(FolderRefusal, ARefusedServerLeavesNoLockThatWasNotThere) {
  ASSERT_NO_FATAL_FAILURE(make_log(100));
  const std::string lock = folder_.file("lock");
  const std::string note = read_file(lock);
  fs::remove(file_path(folder_.path(), 2));
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched({"--strict"}));
  EXPECT_EQ(read_file(lock), note);
  fs::remove(lock);
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched({"--strict"}));
  EXPECT_FALSE(fs::exists(lock));
  // An existing lock file stays, also without a note.
  ASSERT_TRUE(write_file(lock, ""));
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched({"--strict"}));
  EXPECT_TRUE(fs::exists(lock));
  // A server that cannot listen does not change the folder either.
  fs::remove(lock);
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched({"-l", "192.0.2.1"}));
  EXPECT_FALSE(fs::exists(lock));
}

// The note is the only rest of the folder.
TEST_F(FolderRefusal, NoServerStartsWithoutAllFiles) {
  ASSERT_NO_FATAL_FAILURE(make_log(100));
  const std::vector<std::uint64_t> numbers = file_numbers(folder_.path());
  for (const std::uint64_t number : numbers) fs::remove(file_path(folder_.path(), number));
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched());
  EXPECT_TRUE(error_names("binlog." + std::to_string(numbers.back()) + " is missing")) << error_;
  // Without the note, the folder is new.
  fs::remove(folder_.file("lock"));
  ASSERT_TRUE(start({"--strict"})) << server_.failure();
  EXPECT_EQ(inserted_id(connect()->put("new")), 1U);
}

TEST_F(FolderRefusal, AStrictServerDoesNotStartOverAFileThatWasCutAfterAStop) {
  ASSERT_NO_FATAL_FAILURE(make_log(100));
  const std::uint64_t newest = file_numbers(folder_.path()).back();
  const std::string path = file_path(folder_.path(), newest);
  const Position last = find_in_files(folder_.path(), numbered_body(100, 300));
  ASSERT_EQ(last.file, newest);
  constexpr std::uint64_t kHeaderBytes = 84 + 7;
  fs::resize_file(path, last.offset - kHeaderBytes);  // Between two records.
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched({"--strict"}));
  EXPECT_TRUE(error_names("binlog." + std::to_string(newest) + " is damaged")) << error_;
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), 99U);
  EXPECT_GT(inserted_id(connect()->put("new")), 100U) << "no id comes again";
}

TEST_F(FolderRefusal, AStrictServerStartsAfterAVisitOfBeanstalkd) {
  if (!find_server_binary(ServerKind::beanstalkd_1_12))
    GTEST_SKIP() << "there is no beanstalkd here";
  ASSERT_NO_FATAL_FAILURE(make_log(20));
  const std::string note = read_file(folder_.file("lock"));
  for (const bool is_idle : {true, false}) {
    SCOPED_TRACE(is_idle);
    ASSERT_TRUE(start(ServerKind::beanstalkd_1_12)) << server_.failure();
    const Client client = connect();
    EXPECT_TRUE(client->ask("stats").starts_with("OK "));
    for (int i = 0; !is_idle && i < 5; ++i) EXPECT_NE(inserted_id(client->put("theirs")), 0U);
    server_.stop();
    EXPECT_TRUE(!is_idle || read_file(folder_.file("lock")) == note);
    ASSERT_TRUE(start({"--strict"})) << server_.failure();
    EXPECT_EQ(stat("current-jobs-ready"), is_idle ? 20U : 25U);
    ASSERT_NO_FATAL_FAILURE(stop());
  }
}

TEST_F(FolderRefusal, AStrictServerStartsOnASoundFolderAndAfterACrash) {
  ASSERT_TRUE(start({"--strict"})) << server_.failure();
  ASSERT_EQ(connect()->put("first"), "INSERTED 1\r\n");
  ASSERT_TRUE(restart()) << server_.failure();
  ASSERT_EQ(connect()->put("second"), "INSERTED 2\r\n");
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  ASSERT_EQ(connect()->put("third"), "INSERTED 3\r\n");
  kill();
  // A torn write: the crash lost the last byte of the last record.
  const Position position = find_in_files(folder_.path(), "third\r\n");
  ASSERT_GT(position.file, 0U);
  overwrite(file_path(folder_.path(), position.file), position.offset + 5, std::string(2, '\0'));
  ASSERT_TRUE(start({"--strict"})) << server_.failure();
  EXPECT_EQ(connect()->ask("peek 2"), "FOUND 2 6\r\nsecond\r\n");
  EXPECT_EQ(connect()->ask("peek 3"), "NOT_FOUND\r\n");
}

TEST_F(FolderRefusal, AFolderThatIsMissingIsNotMade) {
  const std::string path = folder_.file("missing");
  ASSERT_NO_FATAL_FAILURE(expect_refused(path));
  EXPECT_TRUE(error_names(path)) << error_;
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(FolderRefusal, AFileIsNoFolder) {
  const std::string path = folder_.file("file");
  ASSERT_TRUE(write_file(path, "text"));
  ASSERT_NO_FATAL_FAILURE(expect_refused(path));
  EXPECT_TRUE(error_names(path)) << error_;
  EXPECT_EQ(read_file(path), "text");
}

TEST_F(FolderRefusal, AFolderThatMayNotBeReadIsRefused) {
  const auto launcher = as_nobody();
  if (::geteuid() == 0 && launcher.empty()) GTEST_SKIP() << "nobody may not run the server";
  const std::string path = folder_.file("closed");
  fs::create_directory(path);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  ASSERT_NO_FATAL_FAILURE(expect_refused(path, launcher));
  EXPECT_TRUE(error_names(path)) << error_;
}

TEST_F(FolderRefusal, AFileThatMayNotBeReadIsNotPassedOver) {
  const auto launcher = as_nobody();
  if (::geteuid() == 0 && launcher.empty()) GTEST_SKIP() << "nobody may not run the server";
  ASSERT_NO_FATAL_FAILURE(make_log(150));
  if (!launcher.empty()) {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      ASSERT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
    }
    ASSERT_EQ(::chown(folder_.path().c_str(), kNobody, kNobody), 0);
  }
  const std::string closed = file_path(folder_.path(), file_numbers(folder_.path()).at(1));
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  const auto before = folder_contents(folder_.path());
  ASSERT_NO_FATAL_FAILURE(expect_refused(folder_.path(), launcher));
  EXPECT_TRUE(error_names(fs::path(closed).filename())) << error_;
  EXPECT_TRUE(folder_contents(folder_.path()) == before);
}

TEST_F(FolderRefusal, AFolderInPlaceOfAFileIsNotPassedOver) {
  ASSERT_NO_FATAL_FAILURE(make_log(20));
  const std::uint64_t next = file_numbers(folder_.path()).back() + 1;
  fs::create_directory(file_path(folder_.path(), next));
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched());
  EXPECT_TRUE(error_names("binlog." + std::to_string(next))) << error_;
}

TEST_F(FolderRefusal, AnUnknownVersionIsNotTouched) {
  for (const std::string& version : {std::string("\x08\0\0\0", 4), std::string("\x06\0\0\0", 4),
                                     std::string("\0\0\0\x07", 4), std::string("text")}) {
    SCOPED_TRACE(escaped(version));
    TemporaryFolder other;
    const std::string path = file_path(other.path(), 3);
    const std::string bytes = version + std::string(1000, '\1');
    ASSERT_TRUE(write_file(path, bytes));
    ASSERT_NO_FATAL_FAILURE(expect_refused(other.path()));
    EXPECT_TRUE(error_names("binlog.3")) << error_;
    EXPECT_TRUE(folder_contents(other.path()) ==
                (std::map<std::string, std::string>{{"binlog.3", bytes}}));
  }
}

TEST_F(FolderRefusal, AnUnknownVersionAmongOurFilesIsRefusedBeforeAnythingIsTouched) {
  ASSERT_NO_FATAL_FAILURE(make_log(150));
  const auto numbers = file_numbers(folder_.path());
  ASSERT_GT(numbers.size(), 2U);
  const std::string last = file_path(folder_.path(), numbers.back() + 1);
  ASSERT_TRUE(write_file(last, std::string("\x08\0\0\0", 4) + std::string(500, 'x')));
  ASSERT_NO_FATAL_FAILURE(expect_refused_and_untouched());
  EXPECT_TRUE(error_names(fs::path(last).filename())) << error_;
  // Without that file the server starts.
  fs::remove(last);
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), 150U);
}

TEST_F(FolderRefusal, FilesOfOthersAreLeftAlone) {
  const std::map<std::string, std::string> others = {
      {"README", "hello"},       {"binlog.7.bak", "x"}, {"binlog.x", "x"}, {"binlog.-1", "x"},
      {"binlog.1.damaged", "y"}, {"notbinlog.1", "z"},  {"binlog", ""},
  };
  for (const auto& [name, text] : others) ASSERT_TRUE(write_file(folder_.file(name), text));
  ASSERT_NO_FATAL_FAILURE(make_log(100));
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), 100U);
  for (const auto& [name, text] : others) EXPECT_EQ(read_file(folder_.file(name)), text) << name;
}

}  // namespace
}  // namespace haricot::test
