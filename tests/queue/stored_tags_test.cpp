#include "haricot/queue/stored_tags.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace haricot {
namespace {

// A text with these tags, each with a value of its form.
std::string text_of(unsigned bits) {
  std::string text;
  for (const TagRow& row : kTagTable) {
    if ((bits >> static_cast<unsigned>(row.tag) & 1) == 0) continue;
    text += (text.empty() ? "" : " ") + std::string(row.word) + ":";
    text += row.value.is_number() ? "7" : "key-of-" + std::string(row.word);
  }
  return text;
}

struct Range {
  const std::byte* begin;
  const std::byte* end;
};

template <Tag kTag>
void add_node(const StoredTags& tags, std::vector<Range>& nodes) {
  if constexpr (!std::is_same_v<TagNode<kTag>, NoNode>) {
    if (!tags.has(kTag)) return;
    auto& node = tags.node<kTag>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&node) % alignof(TagNode<kTag>), 0U);
    const std::string zeros(sizeof node, '\0');
    EXPECT_EQ(std::memcmp(&node, zeros.data(), sizeof node), 0) << "a new node is all zero";
    const auto* const begin = reinterpret_cast<const std::byte*>(&node);
    nodes.push_back({begin, begin + sizeof node});
  }
}

std::vector<Range> nodes_of(const StoredTags& tags) {
  std::vector<Range> nodes;
#define HARICOT_TAG(tag, ...) add_node<Tag::tag>(tags, nodes);
#include "haricot/base/tag_rows.inc"
  return nodes;
}

// Each set of tags, at each alignment of the end of the text.
TEST(StoredTags, NodesOfAllSetsStandInFrontOfTheTextAndApart) {
  alignas(8) std::array<std::byte, 512> memory{};
  for (unsigned bits = 1; bits < 1U << kTags; ++bits) {
    const std::string text = text_of(bits);
    const ReadTags read{text, tags_in(text)};
    ASSERT_EQ(set_of(read.tags).bits(), bits);
    for (std::size_t end_at = 480; end_at < 488; ++end_at) {
      SCOPED_TRACE(text + " at " + std::to_string(end_at));
      memory.fill(std::byte{0xff});
      std::byte* const end = &memory[end_at];
      const StoredTags tags = StoredTags::write(end, read);
      EXPECT_EQ(tags.text(), text);
      EXPECT_EQ(tags.set().bits(), bits);
      EXPECT_FALSE(tags.leaves_key());
      const std::byte* front = end - text.size();
      for (const Range& node : nodes_of(tags)) {
        EXPECT_LE(node.end, front);
        front = node.begin;
      }
      EXPECT_GE(front, end - StoredTags::bytes_of(read));
      EXPECT_EQ(end[StoredTags::kEndBytes], std::byte{0xff});
      EXPECT_LE(StoredTags::bytes_of(read), StoredTags::bytes_max());
    }
  }
}

TEST(StoredTags, HaveAMarkOfAKeyThatOutlivesItsJob) {
  std::array<std::byte, 64> memory{};
  const std::string_view text = "idp:k:60";
  EXPECT_TRUE(StoredTags::write(&memory[60], {text, tags_in(text)}).leaves_key());
}

TEST(StoredTags, OfATagWithoutANodeTakeItsTextAlone) {
  const std::string_view text = "try:3";
  EXPECT_EQ(StoredTags::bytes_of({text, tags_in(text)}), text.size());
}

}  // namespace
}  // namespace haricot
