/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* [outer, count, inner] -> [outer, inner]. */
class Reduce final : public Operation {
 public:
  Reduce(Ends ends, Reduction reduction, int64_t outer, int64_t count, int64_t inner)
      : Operation(ends), reduction_(reduction), outer_(outer), count_(count), inner_(inner) {}

  bool can_read_bfloat16(const Kernels &, size_t) const override { return inner_ != 1; }

  size_t prepare(const Setup &setup) override {
    is_rounded_ = setup.is_bfloat16(inputs[0]);
    return 0;
  }

  void run(const Frame &frame) const override {
    if (is_rounded_) {
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
  bool is_rounded_ = false; /* the input is stored in bfloat16 */
};

}  // namespace

OperationPtr reduce(Ends ends, Reduction reduction, int64_t outer, int64_t count, int64_t inner) {
  return std::make_unique<Reduce>(ends, reduction, outer, count, inner);
}

}  // namespace cpuacc
