// The tags of a job in its piece of memory: their text, and in front of it a node for each tag
// whose row (base/tag_rows.inc) names the type of a node.
//
//   node of the last tag ... node of the first tag, text, kinds, length of the text
//
// Each node is at a multiple of its alignment. The kinds are the bits of a TagSet, and one for a
// key that outlives the job; kinds and length have a byte each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// Type of the node of a tag: NoNode for a tag without one.
template <Tag kTag>
struct NodeOfTag;
#define HARICOT_TAG(tag, word, value, part, node, ...) \
  template <>                                          \
  struct NodeOfTag<Tag::tag> {                         \
    using Type = node;                                 \
  };
#include "haricot/base/tag_rows.inc"
template <Tag kTag>
using TagNode = typename NodeOfTag<kTag>::Type;

class StoredTags {
 public:
  // Bytes after the text.
  static constexpr std::size_t kEndBytes = 2;

  // Requires: `end` is the end of a text that write() has written.
  explicit StoredTags(std::byte* end) : end_(end) {}

  // Returns the bytes that tags take, without kEndBytes: their text, their nodes, and the gaps that
  // the alignment of the nodes may need.
  static constexpr std::size_t bytes_of(const ReadTags& tags) {
    return tags.text.size() + node_bytes(set_of(tags.tags));
  }
  // Returns an upper bound of bytes_of().
  static constexpr std::size_t bytes_max() {
    return kTagTextBytesMax + node_bytes(TagSet(static_cast<std::uint8_t>(kTagBits)));
  }

  // Writes a text that ends at `end`, its nodes and the kEndBytes. Requires: there is room for
  // them, and the text is not empty.
  static StoredTags write(std::byte* end, const ReadTags& read) {
    const TagSet tags = set_of(read.tags);
    std::memcpy(end - read.text.size(), read.text.data(), read.text.size());
    const bool leaves_key = read.tags.tombstone_s > 0 && tags.has(Tag::unique);
    end[0] = static_cast<std::byte>(tags.bits() | (leaves_key ? kLeavesKey : 0));
    end[1] = static_cast<std::byte>(read.text.size());
    make_nodes(end - read.text.size(), tags);
    return StoredTags(end);
  }

  std::string_view text() const {
    return {reinterpret_cast<const char*>(end_ - text_bytes()), text_bytes()};
  }
  TagSet set() const { return TagSet(static_cast<std::uint8_t>(kinds() & kTagBits)); }
  bool has(Tag tag) const { return set().has(tag); }
  // Returns true if the key of the job outlives it.
  bool leaves_key() const { return (kinds() & kLeavesKey) != 0; }
  // Returns the node of a tag, all zero at first. Requires: the job has the tag.
  template <Tag kTag>
  TagNode<kTag>& node() const {
    return *before<TagNode<kTag>>(front_of<static_cast<std::size_t>(kTag)>());
  }

 private:
  static constexpr unsigned kTagBits = (1U << kTags) - 1;
  static constexpr unsigned kLeavesKey = 128;
  static_assert((kTagBits & kLeavesKey) == 0, "more tags need another byte for the kinds");

  // The smallest alignment of a node.
  static constexpr std::size_t kAlign = 4;

  template <std::size_t kTag>
  using NodeAt = TagNode<static_cast<Tag>(kTag)>;
  template <std::size_t kTag>
  static constexpr bool has_node() {
    return !std::is_same_v<NodeAt<kTag>, NoNode>;
  }

  // Returns the bytes of a node and of the gap behind it, if a multiple of kAlign follows.
  template <typename Node>
  static constexpr std::size_t bytes_with_gap() {
    if constexpr (std::is_same_v<Node, NoNode>) {
      return 0;
    } else {
      static_assert(alignof(Node) >= kAlign && sizeof(Node) % kAlign == 0);
      return sizeof(Node) + alignof(Node) - kAlign;
    }
  }
  static constexpr std::size_t node_bytes(TagSet tags) {
    std::size_t bytes = 0;
#define HARICOT_TAG(tag, word, value, part, node, ...) \
  bytes += tags.has(Tag::tag) ? bytes_with_gap<node>() : 0;
#include "haricot/base/tag_rows.inc"
    return bytes == 0 ? 0 : bytes + kAlign - 1;
  }

  // Returns the address of a node that precedes `end`, rounded down to the alignment of the node.
  template <typename Node>
  static Node* before(void* end) {
    const auto bits = static_cast<std::uintptr_t>(alignof(Node) - 1);
    const std::uintptr_t gap = reinterpret_cast<std::uintptr_t>(end) & bits;
    return reinterpret_cast<Node*>(static_cast<std::byte*>(end) - gap - sizeof(Node));
  }
  // Returns the front of the text and of the nodes of all tags before the one with that number.
  template <std::size_t kTag>
  void* front_of() const {
    if constexpr (kTag == 0) {
      return end_ - text_bytes();
    } else {
      void* const front = front_of<kTag - 1>();
      if constexpr (has_node<kTag - 1>()) {
        if (has(static_cast<Tag>(kTag - 1))) return before<NodeAt<kTag - 1>>(front);
      }
      return front;
    }
  }
  // Makes the nodes of all tags from the one with that number on, in front of `front`.
  template <std::size_t kTag = 0>
  static void make_nodes(void* front, TagSet tags) {
    if constexpr (kTag < kTags) {
      if constexpr (has_node<kTag>()) {
        using Node = NodeAt<kTag>;
        if (tags.has(static_cast<Tag>(kTag))) front = new (before<Node>(front)) Node{};
      }
      make_nodes<kTag + 1>(front, tags);
    }
  }

  unsigned kinds() const {
    return std::to_integer<unsigned>(end_[0]);
  }
  std::size_t text_bytes() const {
    return std::to_integer<std::size_t>(end_[1]);
  }

  std::byte* end_;
};

}  // namespace haricot
