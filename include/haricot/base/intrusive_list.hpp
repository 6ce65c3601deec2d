// A doubly linked list whose links are in its elements: no allocation, O(1) operations.
//
//   struct Worker { ListHook waiting; };
//   IntrusiveList<Worker, &Worker::waiting> workers;
//
// `path` leads from the element to the hook: if the hook is inside a member, name that member
// first.
//
// The list owns nothing. An element is in at most one list per hook, and must be removed before it
// is destroyed; destroying a linked hook or list is a bug and ends the program.

#pragma once

#include <cstdint>

#include "haricot/base/check.hpp"

namespace haricot {

class ListHook {
 public:
  ListHook() = default;
  ~ListHook() { CHECK(!linked()); }
  ListHook(const ListHook&) = delete;
  ListHook& operator=(const ListHook&) = delete;

  bool linked() const { return next_ != nullptr; }

 private:
  template <typename T, auto... path>
  friend class IntrusiveList;
  ListHook* previous_ = nullptr;
  ListHook* next_ = nullptr;
};

template <typename T, auto... path>
class IntrusiveList {
 public:
  IntrusiveList() { end_.previous_ = end_.next_ = &end_; }
  ~IntrusiveList() {
    CHECK(empty());
    end_.previous_ = end_.next_ = nullptr;
  }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return end_.next_ == &end_; }

  // Requires: not empty.
  T& front() { return owner(end_.next_); }
  const T& front() const { return owner(end_.next_); }

  // Requires: the element is in no list through this hook.
  void push_back(T& element) {
    ListHook& link = hook_of(element);
    CHECK(!link.linked());
    link.previous_ = end_.previous_;
    link.next_ = &end_;
    link.previous_->next_ = &link;
    end_.previous_ = &link;
  }

  // Requires: the element is in no list through this hook.
  void push_front(T& element) {
    ListHook& link = hook_of(element);
    CHECK(!link.linked());
    link.previous_ = &end_;
    link.next_ = end_.next_;
    link.previous_->next_ = &link;
    link.next_->previous_ = &link;
  }

  // Requires: the element is in this list.
  void remove(T& element) {
    ListHook& link = hook_of(element);
    CHECK(link.linked());
    link.previous_->next_ = link.next_;
    link.next_->previous_ = link.previous_;
    link.previous_ = link.next_ = nullptr;
  }

  // Returns the element after the given one; null at the end.
  T* after(const T& element) {
    ListHook* next = hook_of(element).next_;
    return next == &end_ ? nullptr : &owner(next);
  }
  const T* after(const T& element) const {
    ListHook* next = hook_of(element).next_;
    return next == &end_ ? nullptr : &owner(next);
  }
  T* first() { return empty() ? nullptr : &front(); }
  const T* first() const { return empty() ? nullptr : &front(); }

  // Moves all elements of the other list to the end of this one.
  void append(IntrusiveList& other) {
    if (other.empty()) return;
    ListHook* head = other.end_.next_;
    ListHook* tail = other.end_.previous_;
    head->previous_ = end_.previous_;
    end_.previous_->next_ = head;
    tail->next_ = &end_;
    end_.previous_ = tail;
    other.end_.previous_ = other.end_.next_ = &other.end_;
  }

 private:
  // Folds the path: element.*first.*second.
  static ListHook& hook_of(T& element) { return (element.*....*path); }
  static const ListHook& hook_of(const T& element) { return (element.*....*path); }
  static T& owner(ListHook* link) {
    // The distance from an element to its hook, measured on an aligned address that is never read:
    // offsetof does not take a pointer to member.
    T* probe = reinterpret_cast<T*>(std::uintptr_t{1} << 20);
    const auto distance = reinterpret_cast<std::uintptr_t>(&hook_of(*probe)) -
                          reinterpret_cast<std::uintptr_t>(probe);
    return *reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(link) - distance);
  }

  ListHook end_;
};

}  // namespace haricot
