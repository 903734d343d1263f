/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* [outer, count, inner] -> [outer, inner]. */
class Reduce final : public Operation {
 public:
  Reduce(TensorId from, TensorId to, Reduction reduction, int64_t outer, int64_t count, int64_t inner)
      : Operation({from}, {to}), reduction_(reduction), outer_(outer), count_(count), inner_(inner) {}

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    if (inner_ == 1) {
      frame.pool.run(outer_, static_cast<double>(count_) * costs::kElementNs,
                     [&](int64_t begin, int64_t end, int32_t) {
                       for (int64_t i = begin; i < end; ++i) {
                         y[i] = frame.kernels.reduce_row(reduction_, x + i * count_, count_);
                       }
                     });
      return;
    }
    const int64_t pieces = (inner_ + costs::kReducedColumns - 1) / costs::kReducedColumns;
    const double piece_ns =
        static_cast<double>(count_ * std::min(costs::kReducedColumns, inner_)) * costs::kElementNs;
    frame.pool.run(outer_ * pieces, piece_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * costs::kReducedColumns;
        const int64_t place = i / pieces;
        frame.kernels.reduce_columns(reduction_, x + place * count_ * inner_ + first, count_, inner_,
                                     y + place * inner_ + first, std::min(costs::kReducedColumns, inner_ - first));
      }
    });
  }

 private:
  Reduction reduction_;
  int64_t outer_, count_, inner_;
};

}  // namespace

OperationPtr reduce(TensorId from, TensorId to, Reduction reduction, int64_t outer, int64_t count, int64_t inner) {
  return std::make_unique<Reduce>(from, to, reduction, outer, count, inner);
}

}  // namespace cpuacc
