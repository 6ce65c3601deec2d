#include "tool/client/json_object.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "haricot/base/encoding.hpp"

namespace haricot::tool {
namespace {

std::string text_of(std::string_view line, std::string_view name = "a") {
  std::string error;
  const auto object = JsonObject::parse(line, error);
  const JsonObject::Value* value = object ? object->find(name) : nullptr;
  return value == nullptr ? "nothing: " + error : value->text;
}

TEST(JsonObject, PlainValuesAreRead) {
  EXPECT_EQ(text_of(R"({"a":"text","b":1})"), "text");
  EXPECT_EQ(text_of(R"( { "b" : true , "a" : 12.5e+3 } )"), "12.5e+3");
  EXPECT_EQ(text_of(R"({"a":null})"), "null");
  EXPECT_EQ(text_of("{}"), "nothing: ");
}

TEST(JsonObject, EscapesAreRead) {
  EXPECT_EQ(text_of(R"({"a":"\"\\\/\b\f\n\r\t"})"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text_of(R"({"a":"\u0041\u00e4\u20AC\ud83d\ude00"})"),
            "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(text_of(R"({"a":"\u0000"})"), std::string(1, '\0'));
}

TEST(JsonObject, TheOutputOfOurWriterCanBeRead) {
  std::string all;
  for (int i = 0; i < 128; ++i) all += static_cast<char>(i);
  all += "\xc2\x85\xc3\xa4\xf0\x9f\x98\x80";
  EXPECT_EQ(text_of("{\"a\":" + json_string(all) + "}"), all);
}

TEST(JsonObject, InvalidJsonIsRefused) {
  for (const std::string_view line : {"",
                                      "{",
                                      "}",
                                      "[]",
                                      "{}x",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "{a:1}",
                                      "{\"a\":01}",
                                      "{\"a\":1.}",
                                      "{\"a\":.5}",
                                      "{\"a\":1e}",
                                      "{\"a\":+1}",
                                      "{\"a\":\"x}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":\"\\ud800\"}",
                                      "{\"a\":\"\\ud800\\u0041\"}",
                                      "{\"a\":\"\\udc00\"}",
                                      "{\"a\":\"\t\"}",
                                      "{\"a\":\"\xff\"}",
                                      "{\"a\":{}}",
                                      "{\"a\":[1]}",
                                      "{\"a\":1,\"a\":2}",
                                      "{\"a\":True}"}) {
    EXPECT_TRUE(text_of(line).starts_with("nothing: ")) << line;
    EXPECT_GT(text_of(line).size(), 9U) << line;
  }
}

TEST(Base64, ComesBackAsItWas) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    std::string written = json_base64(bytes);
    written = written.substr(1, written.size() - 2);
    EXPECT_EQ(from_base64(written), bytes) << i;
    bytes += static_cast<char>(i);
  }
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const std::string_view text : {"A", "AA", "AAA", "AA=A", "====", "A===", "AA A", "AA-_"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

TEST(JsonObject, ReadsArraysOfNumbersWhereTheyAreWanted) {
  std::string error;
  const auto object = JsonObject::parse("{\"a\": [1, 22 ,3],\n\"b\":[]}", error,
                                        JsonObject::Nested::arrays_of_numbers);
  ASSERT_TRUE(object) << error;
  EXPECT_EQ(object->find("a")->kind, JsonObject::Value::Kind::numbers);
  EXPECT_EQ(object->find("a")->items, (std::vector<std::string>{"1", "22", "3"}));
  EXPECT_TRUE(object->find("b")->items.empty());
  for (const char* text : {"{\"a\":[1,]}", "{\"a\":[,]}", "{\"a\":[\"1\"]}", "{\"a\":[[1]]}",
                           "{\"a\":[1}", "{\"a\":[1 2]}"}) {
    EXPECT_FALSE(JsonObject::parse(text, error, JsonObject::Nested::arrays_of_numbers)) << text;
  }
  EXPECT_FALSE(JsonObject::parse("{\"a\":[1]}", error));
}

}  // namespace
}  // namespace haricot::tool
