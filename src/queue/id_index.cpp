#include "haricot/queue/id_index.hpp"

#include <new>

namespace haricot {

IdIndex::~IdIndex() {
  if (root_ != nullptr) free_node(root_, height_ - 1);
}

void IdIndex::free_node(void* node, unsigned level) {
  if (level == 0) {
    delete static_cast<Leaf*>(node);
    return;
  }
  auto* branch = static_cast<Branch*>(node);
  for (void* child : branch->children) {
    if (child != nullptr) free_node(child, level - 1);
  }
  delete branch;
}

JobRef IdIndex::first_from(JobId from) const {
  if (root_ == nullptr || !covers(from)) return JobRef::none;
  return first_from(root_, height_ - 1, from);
}

// Searches below a node. Only the digits of `from` at this level and below count. Only one leaf in
// the tree can be empty, so at most two children are searched in vain.
JobRef IdIndex::first_from(const void* node, unsigned level, JobId from) {
  const unsigned first = digit(from, level);
  if (level == 0) {
    const auto& jobs = static_cast<const Leaf*>(node)->jobs;
    for (unsigned i = first; i < kFanout; ++i) {
      if (jobs[i] != JobRef::none) return jobs[i];
    }
    return JobRef::none;
  }
  const auto& children = static_cast<const Branch*>(node)->children;
  for (unsigned i = first; i < kFanout; ++i) {
    if (children[i] == nullptr) continue;
    const JobRef found = first_from(children[i], level - 1, i == first ? from : 0);
    if (found != JobRef::none) return found;
  }
  return JobRef::none;
}

// Adds a root above the old one. An empty tree only becomes higher.
bool IdIndex::add_level() {
  if (root_ != nullptr) {
    auto* branch = new (std::nothrow) Branch;
    if (branch == nullptr) return false;
    branch->children[0] = root_;
    branch->used = 1;
    root_ = branch;
  }
  ++height_;
  return true;
}

// Inserts an id whose leaf does not exist. The missing nodes below the deepest existing one are
// built first and linked last.
bool IdIndex::insert_with_leaf(JobId id, JobRef job) {
  while (height_ == 0 || !covers(id)) {
    if (!add_level()) {
      drop_levels();
      return false;
    }
  }
  void** entry = &root_;
  Branch* above = nullptr;
  unsigned level = height_ - 1;
  while (level > 0 && *entry != nullptr) {
    above = static_cast<Branch*>(*entry);
    entry = &above->children[digit(id, level)];
    --level;
  }
  CHECK(*entry == nullptr);
  auto* leaf = new (std::nothrow) Leaf;
  if (leaf == nullptr) {
    drop_levels();
    return false;
  }
  leaf->jobs[digit(id, 0)] = job;
  leaf->used = 1;
  void* chain = leaf;
  for (unsigned depth = 1; depth <= level; ++depth) {
    auto* branch = new (std::nothrow) Branch;
    if (branch == nullptr) {
      free_node(chain, depth - 1);
      drop_levels();
      return false;
    }
    branch->children[digit(id, depth)] = chain;
    branch->used = 1;
    chain = branch;
  }
  *entry = chain;
  if (above != nullptr) ++above->used;
  return true;
}

// Frees the empty leaf that was kept before, unless it is in use again. The tree still has a leaf
// then.
void IdIndex::keep_emptied(Leaf& leaf, JobId id) {
  if (emptied_ != nullptr && emptied_->used == 0) drop_leaf(emptied_id_);
  emptied_ = &leaf;
  emptied_id_ = id;
}

// Frees the leaf of an id, and each branch above it that has no other child. Requires: there is
// another leaf.
void IdIndex::drop_leaf(JobId id) {
  std::array<Branch*, kHeightMax> path{};
  void* node = root_;
  for (unsigned level = height_ - 1; level > 0; --level) {
    path[level] = static_cast<Branch*>(node);
    node = path[level]->children[digit(id, level)];
  }
  delete static_cast<Leaf*>(node);
  for (unsigned level = 1; level < height_; ++level) {
    path[level]->children[digit(id, level)] = nullptr;
    if (--path[level]->used > 0) return;
    delete path[level];
  }
  CHECK(false);
}

// Removes the levels that a failed insertion has added: roots whose only child is the first one, or
// all of them if the tree is empty.
void IdIndex::drop_levels() {
  if (root_ == nullptr) height_ = 0;
  while (height_ > 1) {
    auto* branch = static_cast<Branch*>(root_);
    if (branch->used != 1 || branch->children[0] == nullptr) return;
    root_ = branch->children[0];
    delete branch;
    --height_;
  }
}

}  // namespace haricot
