/* SPDX-License-Identifier: MIT */
/* Reductions: along an axis, of whole rows or columns, and the places of the largest numbers. */
#include "operations/reduction/reduction.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "costs/costs.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

class AlongAxis final : public Operation {
 public:
  /* Args: to_size: of the axis in the output. */
  AlongAxis(Io io, Along along, int64_t to_size, AxisFunction compute, int64_t flags)
      : Operation(io), along_(along), to_size_(to_size), compute_(compute), flags_(flags) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = static_cast<int64_t>(element_bytes(setup[inputs[0]].type));
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const double row_ns = static_cast<double>(along_.size) * costs::kFunctionElements * frame.element_ns();
    frame.for_each(along_.outer * along_.inner, row_ns, [&](int64_t i, int32_t) {
      const int64_t outer = i / along_.inner * along_.inner;
      const int64_t inner = i % along_.inner;
      compute_(from + (outer * along_.size + inner) * bytes_, to + (outer * to_size_ + inner) * bytes_,
               along_.size, along_.inner, flags_);
    });
  }

 private:
  Along along_;
  int64_t to_size_;
  AxisFunction compute_;
  int64_t flags_;
  int64_t bytes_ = 0;
};

/* Integers wrap around: they are combined without their sign. */
template <typename T, bool IsProduct>
T combined(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<uint64_t>(x);
    const auto b = static_cast<uint64_t>(y);
    return static_cast<T>(IsProduct ? a * b : a + b);
  } else {
    return IsProduct ? x * y : x + y;
  }
}

template <typename T, bool IsProduct>
void scan(const void *from, void *to, int64_t count, int64_t stride, int64_t flags) {
  const auto *x = static_cast<const T *>(from);
  auto *y = static_cast<T *>(to);
  T sum = IsProduct ? T(1) : T(0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = ((flags & kReverse) != 0 ? count - 1 - i : i) * stride;
    const T next = combined<T, IsProduct>(sum, x[at]);
    y[at] = (flags & kExclusive) != 0 ? sum : next;
    sum = next;
  }
}

template <typename T, Reduction R>
void reduce(const void *from, void *to, int64_t count, int64_t stride, int64_t) {
  const auto *x = static_cast<const T *>(from);
  constexpr bool kIsExtreme = R == Reduction::maximum || R == Reduction::minimum;
  T result = R == Reduction::product ? T(1) : T(0);
  if (kIsExtreme) result = x[0];
  for (int64_t i = 0; i < count; ++i) {
    const T next = x[i * stride];
    if constexpr (kIsExtreme) {
      const bool is_better = R == Reduction::maximum ? next > result : next < result;
      if (result == result && (is_better || next != next)) result = next;
    } else {
      result = combined<T, R == Reduction::product>(result, next);
    }
  }
  *static_cast<T *>(to) = R == Reduction::mean ? static_cast<T>(result / static_cast<T>(count)) : result;
}

template <Reduction R>
AxisFunction reducer(armnn_data_type type) {
  /* The mean of integers is not defined alike everywhere. */
  if (R == Reduction::mean) return type == ARMNN_FLOAT64 ? reduce<double, R> : nullptr;
  return visit_number(type, [](auto tag) -> AxisFunction { return reduce<typename decltype(tag)::Type, R>; });
}

template <bool TakesLogarithm>
void exponentiate(const void *from, void *to, int64_t count, int64_t stride, int64_t) {
  const auto *x = static_cast<const double *>(from);
  auto *y = static_cast<double *>(to);
  double top = x[0];
  for (int64_t i = 0; i < count; ++i) top = std::max(top, x[i * stride]);
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double power = std::exp(x[i * stride] - top);
    y[i * stride] = TakesLogarithm ? x[i * stride] - top : power;
    sum += power;
  }
  for (int64_t i = 0; i < count; ++i) {
    y[i * stride] = TakesLogarithm ? y[i * stride] - std::log(sum) : y[i * stride] / sum;
  }
}

}  // namespace

AxisFunction scan_function(armnn_data_type type, bool is_product) {
  return visit_number(type, [&](auto tag) -> AxisFunction {
    using T = typename decltype(tag)::Type;
    return is_product ? scan<T, true> : scan<T, false>;
  });
}

AxisFunction reduction_function(Reduction reduction, armnn_data_type type) {
  switch (reduction) {
    case Reduction::sum: return reducer<Reduction::sum>(type);
    case Reduction::maximum: return reducer<Reduction::maximum>(type);
    case Reduction::mean: return reducer<Reduction::mean>(type);
    case Reduction::minimum: return reducer<Reduction::minimum>(type);
    case Reduction::product: return reducer<Reduction::product>(type);
  }
  return nullptr;
}

AxisFunction softmax_function(bool takes_logarithm) {
  return takes_logarithm ? exponentiate<true> : exponentiate<false>;
}

OperationPtr along_axis(Io io, const Along &along, int64_t to_size, AxisFunction compute, int64_t flags) {
  return std::make_unique<AlongAxis>(io, along, to_size, compute, flags);
}

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
  ArgMinMax(Io io, Along along, FindBest find) : Operation(io), along_(along), find_(find) {}

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

OperationPtr arg_min_max(Io io, const Along &along, FindBest find) {
  return std::make_unique<ArgMinMax>(io, along, find);
}

namespace {

/* [outer, count, inner] -> [outer, inner]. */
class Reduce final : public Operation {
 public:
  Reduce(Io io, Reduction reduction, int64_t outer, int64_t count, int64_t inner)
      : Operation(io), reduction_(reduction), outer_(outer), count_(count), inner_(inner) {}

  bool can_read_bfloat16(const Kernels &, size_t) const override { return inner_ != 1; }

  size_t prepare(const Setup &setup) override {
    is_bfloat16_ = setup.is_bfloat16(inputs[0]);
    return 0;
  }

  void run(const Frame &frame) const override {
    if (is_bfloat16_) {
      return reduce_columns(frame, frame.in<Bfloat16>(inputs[0]), frame.kernels.reduce_columns_of_bfloat16);
    }
    const float *x = frame.in<float>(inputs[0]);
    if (inner_ == 1) {
      float *y = frame.out<float>(outputs[0]);
      const double row_ns = static_cast<double>(count_) * frame.element_ns();
      return frame.pool.run(outer_, row_ns, [&](int64_t begin, int64_t end, int32_t) {
        frame.kernels.reduce_rows(reduction_, x + begin * count_, end - begin, count_, y + begin);
      });
    }
    reduce_columns(frame, x, frame.kernels.reduce_columns);
  }

 private:
  template <typename Number>
  void reduce_columns(const Frame &frame, const Number *x,
                      void (*kernel)(Reduction, const Number *, int64_t, int64_t, float *, int64_t)) const {
    float *y = frame.out<float>(outputs[0]);
    const int64_t pieces = ratio_up(inner_, costs::kReducedColumns);
    const double piece_ns =
        static_cast<double>(count_ * std::min(costs::kReducedColumns, inner_)) * frame.element_ns();
    frame.for_each(outer_ * pieces, piece_ns, [&](int64_t i, int32_t) {
      const int64_t first = i % pieces * costs::kReducedColumns;
      const int64_t place = i / pieces;
      kernel(reduction_, x + place * count_ * inner_ + first, count_, inner_, y + place * inner_ + first,
             std::min(costs::kReducedColumns, inner_ - first));
    });
  }

  Reduction reduction_;
  int64_t outer_, count_, inner_;
  bool is_bfloat16_ = false; /* the input is stored in bfloat16 */
};

}  // namespace

OperationPtr reduce(Io io, Reduction reduction, int64_t outer, int64_t count, int64_t inner) {
  return std::make_unique<Reduce>(io, reduction, outer, count, inner);
}

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
