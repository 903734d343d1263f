/* SPDX-License-Identifier: MIT */
#include "operations/gemm/plain.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "costs/costs.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

/* Where products of a type do not overflow but wrap around. */
template <typename T>
using Product = std::conditional_t<std::is_floating_point_v<T>, T,
                                   std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>>;

/* A row of the left matrix times the right one. */
template <typename T>
void multiply_row(const T *row, const T *right, const WeightLayout &layout, T *to) {
  const auto wide = [](T number) { return static_cast<Product<T>>(number); };
  if (layout.column_stride == 1) {
    std::fill_n(to, layout.columns, T{});
    for (int64_t k = 0; k < layout.depth; ++k, right += layout.depth_stride) {
      for (int64_t j = 0; j < layout.columns; ++j) {
        to[j] = static_cast<T>(wide(to[j]) + wide(row[k]) * wide(right[j]));
      }
    }
    return;
  }
  for (int64_t j = 0; j < layout.columns; ++j, right += layout.column_stride) {
    Product<T> sum{};
    for (int64_t k = 0; k < layout.depth; ++k) sum += wide(row[k]) * wide(right[k * layout.depth_stride]);
    to[j] = static_cast<T>(sum);
  }
}

template <typename T>
class PlainGemm final : public Operation {
 public:
  PlainGemm(TensorId left, TensorId right, TensorId out, GemmShape shape)
      : Operation({left, right}, {out}), shape_(std::move(shape)) {}

  void run(const Frame &frame) const override {
    const WeightLayout &layout = shape_.layout;
    const int64_t size = layout.depth * layout.columns;
    const double ns = static_cast<double>(std::max(size, layout.columns)) * frame.element_ns();
    frame.for_each(elements(shape_.batch) * shape_.rows, ns, [&](int64_t i, int32_t) {
      const int64_t item = i / shape_.rows;
      const int64_t left_row = shape_.left_of(item) + i % shape_.rows;
      multiply_row(frame.in<T>(inputs[0]) + left_row * layout.depth,
                   frame.in<T>(inputs[1]) + shape_.right_of(item) * size, layout,
                   frame.out<T>(outputs[0]) + i * layout.columns);
    });
  }

 private:
  GemmShape shape_;
};

}  // namespace

OperationPtr plain_gemm(TensorId left, TensorId right, TensorId out, armnn_data_type type, GemmShape shape) {
  return visit_number(type, [&](auto tag) -> OperationPtr {
    return std::make_unique<PlainGemm<typename decltype(tag)::Type>>(left, right, out, std::move(shape));
  });
}

}  // namespace cpuacc
