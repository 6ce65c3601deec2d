// Tests haricot binlog with folders that the daemon has written.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tool_fixture.hpp"

namespace haricot::test {
namespace {

class HaricotBinlog : public ToolTest {
 protected:
  // Writes a folder with five jobs: a ready one, one with odd bytes, a delayed one, and two buried
  // ones, the later one first.
  std::string written_folder() {
    const std::string folder = folder_.path() + "/binlog";
    EXPECT_EQ(::mkdir(folder.c_str(), 0700), 0);
    EXPECT_TRUE(start({"-b", folder}));
    const Client client = connect();
    say(*client, "use mail", "USING mail\r\n");
    EXPECT_EQ(client->put("hello", 10), "INSERTED 1\r\n");
    say(*client, "use odd", "USING odd\r\n");
    EXPECT_EQ(client->put("a\xff\"", 1), "INSERTED 2\r\n");
    EXPECT_EQ(client->put("d", 1, 4000), "INSERTED 3\r\n");
    say(*client, "use old", "USING old\r\n");
    for (const char* body : {"b", "c", "x"}) {
      EXPECT_TRUE(client->put(body).starts_with("INSERTED "));
    }
    for (const std::string id : {"5", "4"}) {
      EXPECT_TRUE(client->ask("reserve-job " + id).starts_with("RESERVED "));
      say(*client, "bury " + id + " 0", "BURIED\r\n");
    }
    say(*client, "delete 6", "DELETED\r\n");
    EXPECT_TRUE(server_.stop().has_value());
    return folder;
  }

  static void say(WireClient& client, const std::string& command, std::string_view answer) {
    EXPECT_EQ(client.ask(command), answer);
  }
};

std::string bytes_of(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST_F(HaricotBinlog, CheckReportsFilesAndTubesOfASoundFolder) {
  const std::string folder = written_folder();
  const std::string before = bytes_of(folder + "/binlog.1");
  const Ending ending = run_tool({"binlog", "check", folder});
  EXPECT_EQ(ending.status.code, 0) << ending.error;
  for (const char* part : {"binlog.1", "checked", "sealed", "mail", "5 jobs, the next id is 7",
                           "         0          0          2  old", "\nsound\n"}) {
    EXPECT_NE(ending.output.find(part), std::string::npos) << part << "\n" << ending.output;
  }
  EXPECT_EQ(bytes_of(folder + "/binlog.1"), before);
}

TEST_F(HaricotBinlog, CheckReportsDamageWithStatusOne) {
  const std::string folder = written_folder();
  const std::string path = folder + "/binlog.1";
  std::string bytes = bytes_of(path);
  const std::size_t at = bytes.find("hello");
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  const Ending ending = run_tool({"binlog", "check", folder});
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_NE(ending.output.find("DAMAGE: binlog.1 is damaged at offset 88"), std::string::npos)
      << ending.output;
  EXPECT_NE(ending.output.find("\ndamaged\n"), std::string::npos);
  EXPECT_NE(ending.output.find("4 jobs"), std::string::npos);
}

// An incomplete record at the end, as after a crash, is not damage; monitors can distinguish them.
TEST_F(HaricotBinlog, CheckReportsATornEndWithStatusTwo) {
  const std::string folder = written_folder();
  const std::string path = folder + "/binlog.1";
  constexpr std::size_t kRecord = 84;  // Size of a deletion or a seal.
  std::string bytes = bytes_of(path);
  bytes.resize(bytes.size() - kRecord - 10);  // Removes the seal and the end of the deletion.
  std::ofstream(path, std::ios::binary) << bytes;
  bytes.resize(bytes.size() - (kRecord - 10));  // Removes the rest of the deletion.
  // The note of a stopped server shows that the file was longer.
  const Ending stopped = run_tool({"binlog", "check", folder});
  EXPECT_EQ(stopped.status.code, 1) << stopped.output;
  EXPECT_NE(stopped.output.find("DAMAGE"), std::string::npos) << stopped.output;
  // A killed server leaves no such note.
  ASSERT_TRUE(std::filesystem::remove(folder + "/lock"));
  const Ending ending = run_tool({"binlog", "check", folder});
  EXPECT_EQ(ending.status.code, 2) << ending.error;
  EXPECT_EQ(ending.output.find("DAMAGE"), std::string::npos) << ending.output;
  const std::string offset = " bytes at offset " + std::to_string(bytes.size());
  for (const std::string& part :
       {std::string("  torn\n"), std::string("6 jobs"),
        std::string("\ntorn: binlog.1 has lost what was not on the disk yet: "),
        offset + ", as a crash leaves", std::string("them\ntorn\n")}) {
    EXPECT_NE(ending.output.find(part), std::string::npos) << part << "\n" << ending.output;
  }
  std::ofstream(path, std::ios::binary) << bytes;
  const Ending open = run_tool({"binlog", "check", folder});
  EXPECT_EQ(open.status.code, 0) << open.output;
  EXPECT_NE(open.output.find("  open\n"), std::string::npos) << open.output;
  EXPECT_TRUE(open.output.ends_with("\nsound\n")) << open.output;
}

TEST_F(HaricotBinlog, CheckReportsADuplicateFileAndChangesNothing) {
  const std::string folder = written_folder();
  const std::string bytes = bytes_of(folder + "/binlog.1");
  std::ofstream(folder + "/binlog.5", std::ios::binary) << bytes;
  const Ending ending = run_tool({"binlog", "check", folder});
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_EQ(ending.output, "DAMAGE: binlog.5 was written as binlog.1\n");
  const std::string command = "haricot binlog repair " + folder + " NEW";
  EXPECT_NE(ending.error.find(command), std::string::npos) << ending.error;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"binlog", "dump", folder},
        {"binlog", "copy", folder, folder_.path() + "/copy"}}) {
    const Ending refused = run_tool(words);
    EXPECT_EQ(refused.status.code, 6);
    EXPECT_NE(refused.error.find(command), std::string::npos) << refused.error;
  }
  const Ending repair = run_tool({"binlog", "repair", folder, folder_.path() + "/repaired"});
  EXPECT_EQ(repair.status.code, 1) << repair.error;
  for (const char* part :
       {"DAMAGE: binlog.5 is a copy of binlog.1 and is left out\n", "5 jobs written to "}) {
    EXPECT_NE(repair.output.find(part), std::string::npos) << part << "\n" << repair.output;
  }
  EXPECT_EQ(run_tool({"binlog", "check", folder_.path() + "/repaired"}).status.code, 0);
  EXPECT_EQ(bytes_of(folder + "/binlog.5"), bytes);
  EXPECT_EQ(bytes_of(folder + "/binlog.1"), bytes);
}

// Anyone with write permission may have chosen the names.
TEST_F(HaricotBinlog, NamesOfFilesDoNotSteerATerminal) {
  const std::string folder = written_folder();
  std::ofstream(folder + "/binlog.3.damaged.\x1b[2J", std::ios::binary) << "x";
  const Ending check = run_tool({"binlog", "check", folder});
  EXPECT_NE(check.output.find("binlog.3.damaged.\\x1b[2J: set aside"), std::string::npos)
      << check.output;
  for (const std::string action : {"check", "dump", "copy", "\x1b[2J"}) {
    const Ending ending = run_tool({"binlog", action, "/nowhere/\x1b[2J", folder + "/\x1b[2J"});
    EXPECT_EQ((ending.output + ending.error).find('\x1b'), std::string::npos) << action;
    const Ending one = run_tool({"binlog", action, "/nowhere/\x1b[2J"});
    EXPECT_EQ((one.output + one.error).find('\x1b'), std::string::npos) << action;
  }
}

TEST_F(HaricotBinlog, CheckReportsAFileUnderAWrongName) {
  const std::string folder = written_folder();
  ASSERT_EQ(std::rename((folder + "/binlog.1").c_str(), (folder + "/binlog.4").c_str()), 0);
  const Ending ending = run_tool({"binlog", "check", folder});
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_EQ(ending.output, "DAMAGE: binlog.4 was written as binlog.1\n");
}

TEST_F(HaricotBinlog, CheckReportsAMissingFile) {
  const std::string folder = written_folder();
  ASSERT_TRUE(start({"-b", folder}));
  EXPECT_EQ(connect()->put("more"), "INSERTED 7\r\n");
  EXPECT_TRUE(server_.stop().has_value());
  ASSERT_FALSE(bytes_of(folder + "/binlog.2").empty());
  ASSERT_EQ(std::remove((folder + "/binlog.1").c_str()), 0);
  const Ending ending = run_tool({"binlog", "check", folder});
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_EQ(ending.output, "DAMAGE: binlog.1 is missing\n");
  const Ending repair = run_tool({"binlog", "repair", folder, folder_.path() + "/repaired"});
  EXPECT_NE(repair.output.find("1 jobs written to "), std::string::npos) << repair.output;
}

TEST_F(HaricotBinlog, DumpPrintsALineForEachJob) {
  const std::string folder = written_folder();
  const Ending text = run_tool({"binlog", "dump", folder});
  EXPECT_EQ(text.status.code, 0) << text.error;
  EXPECT_EQ(std::count(text.output.begin(), text.output.end(), '\n'), 5);
  EXPECT_TRUE(text.output.starts_with("id=1 tube=mail state=ready pri=10 ")) << text.output;
  EXPECT_NE(text.output.find("body=\"a\\xff\\\"\"\n"), std::string::npos) << text.output;

  const Ending json = run_tool({"binlog", "dump", "--json", folder});
  EXPECT_EQ(json.status.code, 0) << json.error;
  EXPECT_NE(json.output.find("\"id\":2,\"tube\":\"odd\",\"state\":\"ready\""), std::string::npos);
  EXPECT_NE(json.output.find("\"body_base64\":\"Yf8i\""), std::string::npos) << json.output;
  EXPECT_NE(json.output.find("\"id\":3,\"tube\":\"odd\",\"state\":\"delayed\""), std::string::npos);
}

TEST_F(HaricotBinlog, ACopyHasTheSameJobsAndTheNextId) {
  const std::string folder = written_folder();
  const std::string copy = folder_.path() + "/copy";
  const Ending ending = run_tool({"binlog", "copy", folder, copy});
  EXPECT_EQ(ending.status.code, 0) << ending.error;
  EXPECT_EQ(ending.output, "5 jobs copied\n");
  EXPECT_EQ(run_tool({"binlog", "check", copy}).status.code, 0);

  ASSERT_TRUE(start({"-b", copy}));
  const Client client = connect();
  say(*client, "use old", "USING old\r\n");
  say(*client, "peek-buried", "FOUND 5 1\r\nc\r\n");
  say(*client, "use odd", "USING odd\r\n");
  say(*client, "peek-delayed", "FOUND 3 1\r\nd\r\n");
  EXPECT_EQ(client->put(""), "INSERTED 7\r\n");
}

TEST_F(HaricotBinlog, ACopyNeverWritesToAFolderThatHasSomething) {
  const std::string folder = written_folder();
  const std::string before = bytes_of(folder + "/binlog.1");
  const Ending ending = run_tool({"binlog", "copy", folder, folder});
  EXPECT_EQ(ending.status.code, 6);
  EXPECT_NE(ending.error.find("is not empty"), std::string::npos) << ending.error;
  EXPECT_EQ(bytes_of(folder + "/binlog.1"), before);
}

// Flips a bit of a file's signature and removes the note, so that nothing identifies the file.
void make_unidentified(const std::string& folder) {
  std::string bytes = bytes_of(folder + "/binlog.1");
  bytes[30] = static_cast<char>(bytes[30] ^ 1);
  std::ofstream(folder + "/binlog.1", std::ios::binary) << bytes;
  std::filesystem::remove(folder + "/lock");
}

TEST_F(HaricotBinlog, ARepairReadsAnUnidentifiedFile) {
  const std::string folder = written_folder();
  make_unidentified(folder);
  const std::string before = bytes_of(folder + "/binlog.1");
  const Ending checked = run_tool({"binlog", "check", folder});
  EXPECT_EQ(checked.status.code, 1);
  EXPECT_EQ(checked.output, "DAMAGE: binlog.1 does not state which file it is\n");

  const std::string repaired = folder_.path() + "/repaired";
  const Ending ending = run_tool({"binlog", "repair", folder, repaired});
  EXPECT_EQ(ending.status.code, 1) << ending.error;
  for (const char* part :
       {"binlog.1 is taken for binlog.1, by ", " of its sectors and its name\n",
        "unsure of job 1 in mail: it is in binlog.1, which is taken for binlog.1",
        "5 jobs written to ", ", unsure of 5\n"}) {
    EXPECT_NE(ending.output.find(part), std::string::npos) << part << "\n" << ending.output;
  }
  EXPECT_EQ(bytes_of(folder + "/binlog.1"), before) << "the folder is only read";
  EXPECT_EQ(run_tool({"binlog", "check", repaired}).status.code, 0);
  ASSERT_TRUE(start({"-b", repaired}));
  const Client client = connect();
  say(*client, "use old", "USING old\r\n");
  say(*client, "peek-buried", "FOUND 5 1\r\nc\r\n");
  EXPECT_GT(std::stoull(client->put("").substr(9)), 6U);
}

TEST_F(HaricotBinlog, ARepairOfASoundFolderIsSureOfAll) {
  const std::string folder = written_folder();
  const Ending ending = run_tool({"binlog", "repair", folder, folder_.path() + "/repaired"});
  EXPECT_EQ(ending.status.code, 0) << ending.output << ending.error;
  EXPECT_EQ(ending.output, "5 jobs written to " + folder_.path() + "/repaired, unsure of 0\n");
}

TEST_F(HaricotBinlog, ARepairReportsJobsThatMayHaveBeenDeleted) {
  const std::string folder = written_folder();
  std::string bytes = bytes_of(folder + "/binlog.1");
  const std::size_t deletion = bytes.size() - 2 * 84;  // The record before the seal.
  bytes[deletion + 20] = static_cast<char>(bytes[deletion + 20] ^ 1);
  std::ofstream(folder + "/binlog.1", std::ios::binary) << bytes;
  const Ending ending = run_tool({"binlog", "repair", folder, folder_.path() + "/repaired"});
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_NE(
      ending.output.find("unsure of job 6 in old: the lost part of binlog.1 may have changed or "
                         "deleted it\n"),
      std::string::npos)
      << ending.output;
}

TEST_F(HaricotBinlog, AMissingFolderIsReported) {
  const Ending ending = run_tool({"binlog", "check", folder_.path() + "/nowhere"});
  EXPECT_EQ(ending.status.code, 6);
  EXPECT_NE(ending.error.find("nowhere"), std::string::npos) << ending.error;
}

TEST_F(HaricotBinlog, MistakesEndWithStatusFive) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"binlog"},
                                                {"binlog", "check"},
                                                {"binlog", "brew", "x"},
                                                {"binlog", "copy", "x"},
                                                {"binlog", "repair", "x"},
                                                {"binlog", "check", "x", "y"}}) {
    EXPECT_EQ(run_tool(words).status.code, 5);
  }
  const auto said = [this](const std::vector<std::string>& words) { return run_tool(words).error; };
  EXPECT_EQ(said({"binlog", "chekc", "x"}),
            "haricot binlog: unknown action: chekc (did you mean check?)\n"
            "Try haricot binlog --help.\n");
  EXPECT_TRUE(
      said({"binlog", "copy", "x"}).starts_with("haricot binlog: copy requires two folders\n"));
  EXPECT_TRUE(said({"binlog", "dump"}).starts_with("haricot binlog: dump requires one folder\n"));
}

}  // namespace
}  // namespace haricot::test
