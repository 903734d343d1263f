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

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    if (inner_ == 1) {
      return frame.for_each(outer_, static_cast<double>(count_) * costs::kElementNs, [&](int64_t i, int32_t) {
        y[i] = frame.kernels.reduce_row(reduction_, x + i * count_, count_);
      });
    }
    const int64_t pieces = ratio_up(inner_, costs::kReducedColumns);
    const double piece_ns =
        static_cast<double>(count_ * std::min(costs::kReducedColumns, inner_)) * costs::kElementNs;
    frame.for_each(outer_ * pieces, piece_ns, [&](int64_t i, int32_t) {
      const int64_t first = i % pieces * costs::kReducedColumns;
      const int64_t place = i / pieces;
      frame.kernels.reduce_columns(reduction_, x + place * count_ * inner_ + first, count_, inner_,
                                   y + place * inner_ + first, std::min(costs::kReducedColumns, inner_ - first));
    });
  }

 private:
  Reduction reduction_;
  int64_t outer_, count_, inner_;
};

}  // namespace

OperationPtr reduce(Ends ends, Reduction reduction, int64_t outer, int64_t count, int64_t inner) {
  return std::make_unique<Reduce>(ends, reduction, outer, count, inner);
}

}  // namespace cpuacc
