/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

#include <algorithm>

#include "costs/costs.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

/* Whether an element takes the place of the best one before it. */
template <bool IsLargest, typename T>
bool is_better(T x, T best) {
  if (x != x) return best == best;
  return IsLargest ? x > best : x < best;
}

/* The places of the first best ones of so many columns; places and best have room for them. */
template <bool IsLargest, typename T>
void find_best(const void *from, int64_t count, int64_t stride, int64_t columns, int64_t *places) {
  const auto *x = static_cast<const T *>(from);
  T best[costs::kReducedColumns];
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = x[j];
    places[j] = 0;
  }
  for (int64_t i = 1; i < count; ++i) {
    const T *row = x + i * stride;
    for (int64_t j = 0; j < columns; ++j) {
      if (!is_better<IsLargest>(row[j], best[j])) continue;
      best[j] = row[j];
      places[j] = i;
    }
  }
}

class ArgMinMax final : public Operation {
 public:
  ArgMinMax(Ends ends, Along along, FindBest find) : Operation(ends), along_(along), find_(find) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = static_cast<int64_t>(element_bytes(setup[inputs[0]].type));
    is_wide_ = setup[outputs[0]].type == ARMNN_SIGNED64;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    void *to = frame.out<void>(outputs[0]);
    const int64_t pieces = ratio_up(along_.inner, costs::kReducedColumns);
    const double item_ns =
        static_cast<double>(along_.size * std::min(along_.inner, costs::kReducedColumns)) * 4 * frame.element_ns();
    frame.for_each(along_.outer * pieces, item_ns, [&](int64_t i, int32_t) {
      int64_t places[costs::kReducedColumns];
      const int64_t first = i % pieces * costs::kReducedColumns;
      const int64_t columns = std::min(costs::kReducedColumns, along_.inner - first);
      const int64_t row = i / pieces;
      find_(from + (row * along_.size * along_.inner + first) * bytes_, along_.size, along_.inner, columns, places);
      for (int64_t j = 0; j < columns; ++j) store_index(to, is_wide_, row * along_.inner + first + j, places[j]);
    });
  }

 private:
  Along along_;
  FindBest find_;
  int64_t bytes_ = 0;
  bool is_wide_ = false;
};

}  // namespace

void store_index(void *to, bool is_wide, int64_t i, int64_t index) {
  if (is_wide) {
    static_cast<int64_t *>(to)[i] = index;
  } else {
    static_cast<int32_t *>(to)[i] = static_cast<int32_t>(index);
  }
}

FindBest argminmax_function(armnn_data_type type, bool is_largest) {
  return visit_number(type, [&](auto tag) -> FindBest {
    using T = typename decltype(tag)::Type;
    return is_largest ? find_best<true, T> : find_best<false, T>;
  });
}

OperationPtr arg_min_max(Ends ends, const Along &along, FindBest find) {
  return std::make_unique<ArgMinMax>(ends, along, find);
}

}  // namespace cpuacc
