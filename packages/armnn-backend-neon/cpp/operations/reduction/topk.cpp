/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

#include <algorithm>
#include <numeric>

#include "costs/costs.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

/* Writes the places of the first k of count elements, stride apart, in order. */
template <bool IsLargest, typename T>
void find_first(const void *from, int64_t count, int64_t stride, int64_t k, int64_t *places) {
  const auto *x = static_cast<const T *>(from);
  std::iota(places, places + count, int64_t{0});
  const auto is_before = [&](int64_t a, int64_t b) {
    const T one = x[a * stride];
    const T other = x[b * stride];
    const bool is_nan = one != one;
    if (is_nan || other != other) {
      return is_nan == (other != other) ? a < b : is_nan == IsLargest;
    }
    return one == other ? a < b : IsLargest ? one > other : one < other;
  };
  std::partial_sort(places, places + k, places + count, is_before);
}

class TopK final : public Operation {
 public:
  TopK(TensorId from, TensorId values, TensorId indices, Along along, int64_t k, FindBest find)
      : Operation({from}, {values, indices}), along_(along), k_(k), find_(find) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = element_bytes(setup[inputs[0]].type);
    is_wide_ = setup[outputs[1]].type == ARMNN_SIGNED64;
    return static_cast<size_t>(along_.size * setup.threads) * sizeof(int64_t);
  }

  void run(const Frame &frame) const override {
    const double row_ns = static_cast<double>(along_.size) * costs::kFunctionElements * frame.element_ns() * 10;
    frame.for_each(along_.outer * along_.inner, row_ns, [&](int64_t i, int32_t thread) {
      auto *places = reinterpret_cast<int64_t *>(frame.scratch()) + along_.size * thread;
      pick(frame, i / along_.inner, i % along_.inner, places);
    });
  }

 private:
  void pick(const Frame &frame, int64_t outer, int64_t inner, int64_t *places) const {
    const auto bytes = static_cast<int64_t>(bytes_);
    const auto *row = frame.in<std::byte>(inputs[0]) + (outer * along_.size * along_.inner + inner) * bytes;
    find_(row, along_.size, along_.inner, k_, places);
    for (int64_t i = 0; i < k_; ++i) {
      const int64_t to = (outer * k_ + i) * along_.inner + inner;
      std::copy_n(row + places[i] * along_.inner * bytes, bytes_, frame.out<std::byte>(outputs[0]) + to * bytes);
      store_index(frame.out<void>(outputs[1]), is_wide_, to, places[i]);
    }
  }

  Along along_;
  int64_t k_;
  FindBest find_;
  size_t bytes_ = 0;
  bool is_wide_ = false;
};

}  // namespace

FindBest topk_function(armnn_data_type type, bool is_largest) {
  return visit_number(type, [&](auto tag) -> FindBest {
    using T = typename decltype(tag)::Type;
    return is_largest ? find_first<true, T> : find_first<false, T>;
  });
}

OperationPtr top_k(TensorId from, TensorId values, TensorId indices, const Along &along, int64_t k, FindBest find) {
  return std::make_unique<TopK>(from, values, indices, along, k, find);
}

}  // namespace cpuacc
