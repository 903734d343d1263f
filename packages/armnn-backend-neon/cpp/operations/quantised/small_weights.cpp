/* SPDX-License-Identifier: MIT */
#include "operations/quantised/small_weights.h"

#include <cstring>
#include <utility>
#include <vector>

#include "operations/quantised/widened_rows.h"

namespace cpuacc {
namespace {

/* A four apart takes the time of four of the others. */
constexpr int64_t kMostApart = 8; /* one in so many */

int64_t most_apart(const WeightLayout &layout) { return layout.taps * fours_of(layout) / kMostApart; }

/* Up to a whole line of memory, so that panels stay aligned. */
int64_t number_bytes(const WeightLayout &layout) {
  return static_cast<int64_t>(aligned_bytes(static_cast<size_t>(2 + most_apart(layout)) * sizeof(int32_t)));
}

/* The sums of weights above and below 0 that are added in 16 bits. */
class Sums {
 public:
  explicit Sums(int64_t columns) : above_(static_cast<size_t>(columns * 2)), below_(above_) {}

  void add(const int8_t *row, int32_t times) {
    for (size_t i = 0; i < above_.size(); ++i) {
      const int32_t x = row[2 * i];
      const int32_t y = row[2 * i + 1];
      above_[i] += times * (std::max(x, 0) + std::max(y, 0));
      below_[i] -= times * (std::min(x, 0) + std::min(y, 0));
    }
  }

  int32_t largest() const {
    int32_t most = 0;
    for (size_t i = 0; i < above_.size(); ++i) most = std::max({most, above_[i], below_[i]});
    return most;
  }

 private:
  std::vector<int32_t> above_, below_;
};

/* Of a panel, those that were moved. */
class Apart {
 public:
  Apart(int8_t *panel, int64_t row_bytes) : panel_(panel), row_bytes_(row_bytes) {}

  void move(int64_t four) {
    int8_t *row = panel_ + four * row_bytes_;
    fours_.push_back(static_cast<int32_t>(four));
    weights_.insert(weights_.end(), row, row + row_bytes_);
    std::memset(row, 0, static_cast<size_t>(row_bytes_));
  }

  void move_back() {
    for (size_t i = 0; i < fours_.size(); ++i) {
      std::memcpy(panel_ + fours_[i] * row_bytes_, weights_.data() + static_cast<int64_t>(i) * row_bytes_,
                  static_cast<size_t>(row_bytes_));
    }
  }

  int64_t count() const { return static_cast<int64_t>(fours_.size()); }

  void write(int8_t *numbers, int8_t *weights) const {
    const auto number = static_cast<int32_t>(count());
    std::memcpy(numbers, &number, sizeof number);
    if (number == 0) return; /* memcpy takes no null pointer, not even for no bytes */
    std::memcpy(numbers + sizeof number, fours_.data(), fours_.size() * sizeof number);
    std::memcpy(weights, weights_.data(), weights_.size());
  }

 private:
  int8_t *panel_;
  int64_t row_bytes_;
  std::vector<int32_t> fours_;
  std::vector<int8_t> weights_;
};

/* Moves fours until no group of so many makes too large a sum. Returns false once that are too many. */
bool move_large(int8_t *panel, const WeightLayout &layout, const Int8Kernels &kernels, int64_t together, int64_t most,
                Apart &apart) {
  const int64_t row_bytes = int64_t{kernels.columns} * 4;
  const int64_t fours = fours_of(layout);
  for (int64_t i = 0; i < layout.taps * fours; i = std::min(i + together, (i / fours + 1) * fours)) {
    const int64_t end = std::min(i + together, (i / fours + 1) * fours);
    Sums all(kernels.columns);
    for (int64_t four = i; four < end; ++four) all.add(panel + four * row_bytes, 1);
    while (all.largest() > kMostSmallSum) {
      /* The one without which the others are smallest. */
      int64_t best = i;
      int32_t least = INT32_MAX;
      for (int64_t four = i; four < end; ++four) {
        Sums others = all;
        others.add(panel + four * row_bytes, -1);
        if (others.largest() >= least) continue;
        least = others.largest();
        best = four;
      }
      all.add(panel + best * row_bytes, -1);
      apart.move(best);
      if (apart.count() > most) return false;
    }
  }
  return true;
}

}  // namespace

size_t large_weights_bytes(const WeightLayout &layout, const Int8Kernels &kernels) {
  return static_cast<size_t>(number_bytes(layout) + most_apart(layout) * kernels.columns * 4);
}

bool set_large_apart(int8_t *panel, const WeightLayout &layout, const Int8Kernels &kernels, int8_t *behind) {
  std::memset(behind, 0, large_weights_bytes(layout, kernels));
  const int64_t most = most_apart(layout);
  for (const auto &[together, allowed] : {std::pair(kManySmallFours, most / 4), std::pair(kFewSmallFours, most)}) {
    Apart apart(panel, int64_t{kernels.columns} * 4);
    if (move_large(panel, layout, kernels, together, allowed, apart)) {
      const int32_t number = together;
      std::memcpy(behind, &number, sizeof number);
      apart.write(behind + sizeof number, behind + number_bytes(layout));
      return true;
    }
    apart.move_back();
  }
  return false;
}

LargeWeights::LargeWeights(const std::byte *behind, const WeightLayout &layout)
    : numbers_(reinterpret_cast<const int32_t *>(behind)),
      weights_(reinterpret_cast<const int8_t *>(behind + number_bytes(layout))) {}

}  // namespace cpuacc
