/* SPDX-License-Identifier: MIT */
/* The largest and smallest elements along an axis: ArgMinMax and TopK. NaN counts as the largest, and
 * for ArgMinMax as the smallest as well.
 */
#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/data_types.h"
#include "layers/registry.h"
#include "operations/copy/indices.h"

namespace cpuacc {
namespace {

constexpr int64_t kColumns = 256; /* that one thread takes at a time */

void store_index(void *to, bool is_wide, int64_t i, int64_t index) {
  if (is_wide) {
    static_cast<int64_t *>(to)[i] = index;
  } else {
    static_cast<int32_t *>(to)[i] = static_cast<int32_t>(index);
  }
}

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
  T best[kColumns];
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = x[j];
    places[j] = 0;
  }
  for (int64_t i = 1; i < count; ++i) {
    const T *line = x + i * stride;
    for (int64_t j = 0; j < columns; ++j) {
      if (!is_better<IsLargest>(line[j], best[j])) continue;
      best[j] = line[j];
      places[j] = i;
    }
  }
}

using Find = void (*)(const void *from, int64_t count, int64_t stride, int64_t columns, int64_t *places);

class ArgMinMax final : public Operation {
 public:
  ArgMinMax(TensorId from, TensorId to, Along along, Find find)
      : Operation({from}, {to}), along_(along), find_(find) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = static_cast<int64_t>(element_bytes(setup[inputs[0]].type));
    is_wide_ = setup[outputs[0]].type == ARMNN_SIGNED64;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    void *to = frame.out<void>(outputs[0]);
    const int64_t pieces = (along_.inner + kColumns - 1) / kColumns;
    const double item_ns =
        static_cast<double>(along_.size * std::min(along_.inner, kColumns)) * 4 * kElementNs;
    frame.pool.run(along_.outer * pieces, item_ns, [&](int64_t begin, int64_t end, int32_t) {
      int64_t places[kColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kColumns;
        const int64_t columns = std::min(kColumns, along_.inner - first);
        const int64_t line = i / pieces;
        find_(from + (line * along_.size * along_.inner + first) * bytes_, along_.size, along_.inner,
              columns, places);
        for (int64_t j = 0; j < columns; ++j) {
          store_index(to, is_wide_, line * along_.inner + first + j, places[j]);
        }
      }
    });
  }

 private:
  Along along_;
  Find find_;
  int64_t bytes_ = 0;
  bool is_wide_ = false;
};

void require_index(armnn_data_type type) {
  require(type == ARMNN_SIGNED32 || type == ARMNN_SIGNED64, "the indices must be Signed32 or Signed64");
}

void lower_arg_min_max(Lowering &l) {
  require_index(l.output().type);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty(), "a scalar has no axis", 0);
  const auto axis =
      static_cast<int32_t>(whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_ARG_MIN_MAX_AXIS)), shape.size()));
  require(shape[static_cast<size_t>(axis)] > 0, "the axis has no element to choose from", 0);
  const bool is_largest = l.layer().integer(ARMNN_PARAMETER(ARMNN_ARG_MIN_MAX_FUNCTION)) ==
                          ARMNN_ARG_MIN_MAX_FUNCTION_MAX;
  const Find find = visit_number(l.input(0).type, [&](auto tag) -> Find {
    using T = typename decltype(tag)::Type;
    return is_largest ? find_best<true, T> : find_best<false, T>;
  });
  require(find != nullptr, std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  const Order order = l.order(0);
  Order left;
  for (const int32_t each : order) {
    if (each != axis) left.push_back(each - (each > axis ? 1 : 0));
  }
  require(l.output().shape.size() == left.size(), "the output's rank does not fit");
  const TensorId from = l.in(0, order);
  l.add<ArgMinMax>(from, l.out(0, left), along(in_memory(shape, order), place_of(order, axis)), find);
}

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
  TopK(TensorId from, TensorId values, TensorId indices, Along along, int64_t k, Find find)
      : Operation({from}, {values, indices}), along_(along), k_(k), find_(find) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = element_bytes(setup[inputs[0]].type);
    is_wide_ = setup[outputs[1]].type == ARMNN_SIGNED64;
    return static_cast<size_t>(along_.size * setup.threads) * sizeof(int64_t);
  }

  void run(const Frame &frame) const override {
    const double line_ns = static_cast<double>(along_.size) * kFunctionNs * 10;
    frame.pool.run(along_.outer * along_.inner, line_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      auto *places = reinterpret_cast<int64_t *>(frame.scratch()) + along_.size * thread;
      for (int64_t i = begin; i < end; ++i) pick(frame, i / along_.inner, i % along_.inner, places);
    });
  }

 private:
  void pick(const Frame &frame, int64_t outer, int64_t inner, int64_t *places) const {
    const auto bytes = static_cast<int64_t>(bytes_);
    const auto *line =
        frame.in<std::byte>(inputs[0]) + (outer * along_.size * along_.inner + inner) * bytes;
    find_(line, along_.size, along_.inner, k_, places);
    for (int64_t i = 0; i < k_; ++i) {
      const int64_t to = (outer * k_ + i) * along_.inner + inner;
      std::copy_n(line + places[i] * along_.inner * bytes, bytes_,
                  frame.out<std::byte>(outputs[0]) + to * bytes);
      store_index(frame.out<void>(outputs[1]), is_wide_, to, places[i]);
    }
  }

  Along along_;
  int64_t k_;
  Find find_;
  size_t bytes_ = 0;
  bool is_wide_ = false;
};

void lower_top_k(Lowering &l) {
  require(!l.has_input(1), "the number must be known", 1);
  require(l.layer().outputs.size() == 2 && l.output().type == l.input(0).type,
          "the values must have the input's data type");
  require_index(l.output(1).type);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty(), "a scalar has no axis", 0);
  const auto axis =
      static_cast<size_t>(whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_TOP_K_AXIS)), shape.size()));
  const int64_t k = l.layer().integer(ARMNN_PARAMETER(ARMNN_TOP_K_K));
  Shape expected = shape;
  expected[axis] = k;
  require(k >= 0 && k <= shape[axis] && l.output().shape == expected && l.output(1).shape == expected,
          "the output's shape does not fit to the number");
  const bool is_largest = l.layer().integer(ARMNN_PARAMETER(ARMNN_TOP_K_LARGEST)) != 0;
  const Find find = visit_number(l.input(0).type, [&](auto tag) -> Find {
    using T = typename decltype(tag)::Type;
    return is_largest ? find_first<true, T> : find_first<false, T>;
  });
  require(find != nullptr, std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  const TensorId from = l.in(0);
  const TensorId values = l.out(0);
  l.add<TopK>(from, values, l.out(1), along(shape, axis), k, find);
}

}  // namespace

std::vector<LayerType> argminmax_layers() {
  return {{ARMNN_LAYER_ARG_MIN_MAX, lower_arg_min_max}, {ARMNN_LAYER_TOP_K, lower_top_k}};
}

}  // namespace cpuacc
