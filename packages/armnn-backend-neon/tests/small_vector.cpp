/* SPDX-License-Identifier: MIT */
/* Random changes of SmallVector beside the same of std::vector: prints how many steps left them different. */
#include "graph/small_vector.h"

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace {

using SmallVector = cpuacc::SmallVector<int64_t>;
using Many = std::vector<int64_t>;

bool is_same(const SmallVector &few, const Many &many) {
  return few.size() == many.size() && few.empty() == many.empty() &&
         std::equal(few.begin(), few.end(), many.begin()) &&
         std::equal(few.rbegin(), few.rend(), many.rbegin());
}

class Steps {
 public:
  explicit Steps(uint32_t seed) : random_(seed) {}

  int run(int count) {
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
      step();
      wrong += is_same(few_, many_) && is_same(other_few_, other_many_) ? 0 : 1;
      wrong += (few_ == other_few_) == (many_ == other_many_) ? 0 : 1;
      wrong += (few_ < other_few_) == (many_ < other_many_) ? 0 : 1;
    }
    return wrong;
  }

 private:
  int64_t up_to(size_t most) { return static_cast<int64_t>(random_() % (most + 1)); }

  enum class Change : uint32_t {
    push, push_again, insert_number, insert_list, insert_range, erase, pop, resize, copy, move, exchange, assign, count
  };

  void step() {
    const int64_t number = up_to(2), at = up_to(few_.size());
    switch (Change{static_cast<uint32_t>(random_()) % static_cast<uint32_t>(Change::count)}) {
      case Change::push:
      case Change::push_again: few_.push_back(number), many_.push_back(number); break;
      case Change::insert_number: few_.insert(few_.begin() + at, number), many_.insert(many_.begin() + at, number); break;
      case Change::insert_list: few_.insert(few_.begin() + at, {5, 6}), many_.insert(many_.begin() + at, {5, 6}); break;
      case Change::insert_range:
        few_.insert(few_.begin() + at, other_few_.begin(), other_few_.end());
        many_.insert(many_.begin() + at, other_many_.begin(), other_many_.end());
        break;
      case Change::erase:
        few_.erase(few_.begin() + at / 2, few_.begin() + at);
        many_.erase(many_.begin() + at / 2, many_.begin() + at);
        break;
      case Change::pop:
        if (!many_.empty()) few_.pop_back(), many_.pop_back();
        break;
      case Change::resize: few_.resize(static_cast<size_t>(up_to(9)), 4), many_.resize(few_.size(), 4); break;
      case Change::copy: other_few_ = few_, other_many_ = many_; break;
      case Change::move: few_ = std::move(other_few_), many_ = std::move(other_many_), other_many_.clear(); break;
      case Change::exchange: std::swap(few_, other_few_), std::swap(many_, other_many_); break;
      default: few_ = SmallVector(many_.begin(), many_.begin() + at), many_.resize(static_cast<size_t>(at)); break;
    }
    if (many_.size() > 40) few_.clear(), many_.clear();
  }

  std::mt19937 random_;
  SmallVector few_, other_few_;
  Many many_, other_many_;
};

}  // namespace

int main() {
  int wrong = 0;
  for (uint32_t seed = 0; seed < 50; ++seed) wrong += Steps(seed).run(2000);
  const SmallVector filled(8, 3), listed{1, 2, 3};
  wrong += is_same(filled, Many(8, 3)) && is_same(listed, Many{1, 2, 3}) ? 0 : 1;
  std::printf("%d wrong\n", wrong);
}
