#include "os/rules_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

class RulesFile : public ::testing::Test {
 protected:
  // Returns the rules of a file with this text, or the error without the path.
  std::string read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_path();
  }
  std::string read_path() {
    Options options;
    options.rules_file = path_;
    options.rules.push_back({"of-the-flag", "try:1"});
    std::vector<Rule> rules;
    std::string error;
    if (!read_rules(options, rules, error)) {
      return error.starts_with(path_) ? error.substr(path_.size()) : error;
    }
    EXPECT_EQ(rules.at(0).pattern, "of-the-flag");
    std::string all;
    for (std::size_t i = 1; i < rules.size(); ++i) {
      all += rules[i].pattern + " " + rules[i].tags + "\n";
    }
    return all;
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("rules");
};

TEST_F(RulesFile, HasOneRuleALine) {
  EXPECT_EQ(read("# comment\n\na try:5\n  # another one\n\t \nb* con:key:2\r\nc try:1"),
            "a try:5\nb* con:key:2\nc try:1\n");
  EXPECT_EQ(read(""), "");
}

TEST_F(RulesFile, AMistakeIsReportedWithItsLine) {
  EXPECT_EQ(read("a try:5\n\nb idp:key\n"), ":3: a rule cannot have this tag: idp:key");
  EXPECT_EQ(read("a try:5 # comment\n"), ":1: unknown tag: #");
  EXPECT_EQ(read(std::string("a try:5\0\n", 9)),
            ":1: invalid value of a tag: " + std::string("try:5\0", 6));
}

TEST_F(RulesFile, TooMuchIsRefused) {
  std::string lines;
  for (std::size_t i = 1; i < kRulesMax; ++i) lines += "a try:5\n";
  EXPECT_EQ(read(lines), lines);
  EXPECT_EQ(read(lines + "a try:5\n"), "more than 256 rules");
  EXPECT_EQ(read(std::string(64 * 1024 + 1, '#')), " has more than 65536 bytes");
}

TEST_F(RulesFile, AFileThatCannotBeReadIsRefused) {
  EXPECT_EQ(read_path(), "cannot read " + path_ + ": No such file or directory");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(read_path(), " is not a file");
}

}  // namespace
}  // namespace haricot::os
