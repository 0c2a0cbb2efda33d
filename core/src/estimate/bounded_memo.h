// A hash table that never outgrows its memory: full, it starts anew and uses its pages again. Private to the core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace meshwise {

// Capacity: a power of two. A reference to a value is valid until the memo starts anew, which only insert() does.
template <class Key, class Value, class Hash, std::size_t Capacity>
class BoundedMemo {
 public:
  BoundedMemo() : slots_(2 * Capacity, 0) {}

  Value* find(const Key& key) {
    const std::uint32_t index = slots_[slotOf(key)];
    return index == 0 ? nullptr : &entry(index - 1).value;
  }

  // A fresh value for a key that is not in the memo.
  Value& insert(const Key& key) {
    if (size_ == Capacity) {
      slots_.assign(slots_.size(), 0);
      size_ = 0;
    }
    if (size_ == pages_.size() * kPage) pages_.push_back(std::make_unique<Page>());
    Entry& fresh = entry(size_++);
    slots_[slotOf(key)] = static_cast<std::uint32_t>(size_);
    fresh.key = key;
    fresh.value = Value{};
    return fresh.value;
  }

 private:
  static constexpr std::size_t kPage = 64;
  struct Entry {
    Key key{};
    Value value{};
  };
  using Page = std::array<Entry, kPage>;

  Entry& entry(std::size_t index) { return (*pages_[index / kPage])[index % kPage]; }

  // The slot of the key, or the empty one where it belongs; at most half of the slots are in use.
  std::size_t slotOf(const Key& key) {
    std::size_t slot = Hash{}(key) % slots_.size();
    while (slots_[slot] != 0 && !(entry(slots_[slot] - 1).key == key)) slot = (slot + 1) % slots_.size();
    return slot;
  }

  std::vector<std::uint32_t> slots_;  // index of the entry + 1; 0 = empty
  std::vector<std::unique_ptr<Page>> pages_;
  std::size_t size_ = 0;
};

}  // namespace meshwise
