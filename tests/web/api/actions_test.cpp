#include "web/api/actions.hpp"

#include <gtest/gtest.h>

namespace haricot::web {
namespace {

std::string error_of(const std::string& json) {
  std::string error;
  return ActionRequest::read(json, error) ? "" : error;
}

TEST(ActionRequest, ReadsTheMembersOfAnAction) {
  std::string error;
  const auto kick = ActionRequest::read(
      "{\"server\":\"a:1\",\n\"action\":\"kick\",\"tube\":\"mail\",\"count\":10}", error);
  ASSERT_TRUE(kick) << error;
  EXPECT_EQ(kick->server, "a:1");
  EXPECT_EQ(kick->log_text(), "tube=mail count=10");
  const auto move = ActionRequest::read(
      "{\"action\":\"move\",\"ids\":[1, 18446744073709551615],\"to\":\"other\"}", error);
  ASSERT_TRUE(move) << error;
  EXPECT_EQ(move->ids, (std::vector<std::uint64_t>{1, 18446744073709551615U}));
  EXPECT_EQ(move->log_text(), "to=other jobs=2 ids=1,18446744073709551615");
  const auto put = ActionRequest::read(
      "{\"action\":\"put\",\"tube\":\"t\",\"body_base64\":\"AAEC\",\"delay\":5}", error);
  ASSERT_TRUE(put) << error;
  EXPECT_EQ(put->body, std::string("\0\1\2", 3));
  EXPECT_EQ(put->priority, 1024U);
  EXPECT_EQ(put->delay, 5U);
}

TEST(ActionRequest, NamesIdsForTheLogUpToABound) {
  std::string json = "{\"action\":\"delete\",\"ids\":[1";
  for (int id = 2; id <= 60; ++id) json += "," + std::to_string(id);
  std::string error;
  const auto request = ActionRequest::read(json + "]}", error);
  ASSERT_TRUE(request) << error;
  EXPECT_TRUE(request->log_text().starts_with("jobs=60 ids=1,2,3,")) << request->log_text();
  EXPECT_TRUE(request->log_text().ends_with(",49,50 more=10")) << request->log_text();
}

TEST(ActionRequest, RefusesEachMistakeWithAReason) {
  std::string many = "{\"action\":\"delete\",\"ids\":[1";
  for (int i = 0; i < 1000; ++i) many += ",2";
  for (const std::string& json :
       {std::string(),
        std::string("[]"),
        std::string("{}"),
        std::string("{\"action\":\"dance\"}"),
        std::string("{\"action\":\"kick\",\"count\":1}"),
        std::string("{\"action\":\"kick\",\"tube\":\"a b\",\"count\":1}"),
        std::string("{\"action\":\"kick\",\"tube\":\"-a\",\"count\":1}"),
        std::string("{\"action\":\"kick\",\"tube\":\"a\"}"),
        std::string("{\"action\":\"kick\",\"tube\":\"a\",\"count\":\"1\"}"),
        std::string("{\"action\":\"kick\",\"tube\":\"a\",\"count\":4294967296}"),
        std::string("{\"action\":\"kick\",\"tube\":\"a\",\"count\":-1}"),
        std::string("{\"action\":\"pause\",\"tube\":\"a\",\"seconds\":1.5}"),
        std::string("{\"action\":\"delete\",\"ids\":[]}"),
        std::string("{\"action\":\"delete\",\"ids\":7}"),
        std::string("{\"action\":\"delete\",\"ids\":[-1]}"),
        std::string("{\"action\":\"delete\",\"ids\":[\"1\"]}"),
        std::string("{\"action\":\"move\",\"ids\":[1]}"),
        std::string("{\"action\":\"flush\",\"tube\":\"a\",\"state\":\"reserved\"}"),
        std::string("{\"action\":\"put\",\"tube\":\"a\",\"body_base64\":\"%\"}"),
        std::string("{\"action\":\"put\",\"tube\":\"a\",\"body\":{}}"),
        many + "]}"}) {
    EXPECT_NE(error_of(json), "") << json;
  }
}

}  // namespace
}  // namespace haricot::web
