/* SPDX-License-Identifier: MIT */
/* Pooling of floats. */
#include "operations/reduction/reduction.h"

namespace cpuacc {
namespace {

class Pooling2d final : public Operation {
 public:
  Pooling2d(Io io, const Windows &windows, Pooling pooling, bool counts_padding)
      : Operation(io), windows_(windows), pooling_(pooling), counts_padding_(counts_padding) {}

  bool can_read_bfloat16(const Kernels &, size_t) const override { return true; }
  bool can_store_bfloat16(const Kernels &) const override { return true; }
  bool keeps_format() const override { return true; }

  size_t prepare(const Setup &setup) override {
    is_bfloat16_ = setup.is_bfloat16(inputs[0]);
    return 0;
  }

  void run(const Frame &frame) const override {
    is_bfloat16_ ? run_by(frame, frame.kernels.pooling_row_of_bfloat16) : run_by(frame, frame.kernels.pooling_row);
  }

 private:
  template <typename Number>
  void run_by(const Frame &frame, void (*kernel)(const PoolingRowOf<Number> &)) const {
    PoolingRowOf<Number> shared{};
    static_cast<PoolingShape &>(shared) = pooling_shape(windows_, counts_padding_);
    shared.pooling = pooling_;
    for_each_pooling_row(frame, windows_, frame.in<Number>(inputs[0]), frame.out<Number>(outputs[0]), shared, kernel);
  }

  Windows windows_;
  Pooling pooling_;
  bool counts_padding_;
  bool is_bfloat16_ = false; /* the image is stored in bfloat16 */
};

}  // namespace

PoolingShape pooling_shape(const Windows &w, bool counts_padding) {
  return {w.height,      w.width,      w.channels,   w.output_width, w.window_height,         w.window_width,
          w.stride_x,    w.dilation_x, w.dilation_y, -w.pad_left,    w.height + w.pad_bottom, w.width + w.pad_right,
          counts_padding};
}

OperationPtr pool(Io io, const Windows &windows, Pooling pooling, bool counts_padding) {
  return std::make_unique<Pooling2d>(io, windows, pooling, counts_padding);
}

}  // namespace cpuacc
