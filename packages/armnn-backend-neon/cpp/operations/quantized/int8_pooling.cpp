/* SPDX-License-Identifier: MIT */
/* Pooling of bytes. */
#include "operations/quantized/quantized.h"

#include "operations/reduction/reduction.h"

namespace cpuacc {
namespace {

class Int8Pooling final : public WithInt8Epilogue {
 public:
  /* Args: scale: steps of the output in one of the input. */
  Int8Pooling(Io io, const Windows &windows, Int8PoolingKind kind, float scale, Int8Params params)
      : WithInt8Epilogue({io.from}, io.to, std::move(params)), windows_(windows), kind_(kind), scale_(scale) {}

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    Int8PoolingRow shared{};
    static_cast<PoolingShape &>(shared) = pooling_shape(w, kind_.counts_padding);
    shared.takes_maximum = kind_.takes_maximum;
    shared.rounds_stored = kind_.rounds_stored;
    shared.is_signed = params_.left_is_signed;
    shared.input_zero_point = params_.left_zero_point;
    shared.scale = scale_;
    shared.requantization = params_.requantization();
    const Int8Epilogue epilogue = epilogue_of(frame);
    for_each_pooling_row(frame, w, frame.in<uint8_t>(inputs[0]), frame.out<uint8_t>(outputs[0]), shared,
                         [&](const Int8PoolingRow &row) {
                           frame.kernels.int8.pooling_row(row);
                           epilogue(frame.kernels.int8, row.output, w.output_width * w.channels);
                         });
  }

 private:
  Windows windows_;
  Int8PoolingKind kind_;
  float scale_;
};

}  // namespace

OperationPtr int8_pool(Io io, const Windows &windows, const Int8PoolingKind &kind, float scale, Int8Params params) {
  return std::make_unique<Int8Pooling>(io, windows, kind, scale, std::move(params));
}

}  // namespace cpuacc
