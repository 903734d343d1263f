/* SPDX-License-Identifier: MIT */
/* Operations on bytes: convolutions, pooling, exact gemm, functions, and quantization while running. */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"
#include "operations/convolution/convolution.h"
#include "operations/depthwise/depthwise.h"
#include "operations/gemm/gemm.h"
#include "operations/pointwise/binary.h"
#include "operations/quantized/int8_epilogue.h"
#include "operations/quantized/int8_gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* As indirect_convolution(), without a bias beside that of the parameters, as all below. */
OperationPtr int8_indirect_convolution(const WeightedTensors &tensors, const Windows &windows,
                                       const WeightLayout &layout, int64_t groups, int64_t group_stride,
                                       Int8Params params);

/* Whether these windows, of one group, are worth it, and it takes these weights. */
bool suits_int8_direct(const Windows &windows, const Int8Params &params);

/* The direct convolution of one group. Args: layout: as direct_convolution() takes it. */
OperationPtr int8_direct_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, Int8Params params, const Kernels &kernels);

OperationPtr int8_depthwise_convolution(const WeightedTensors &tensors, const Windows &windows,
                                        const WindowSteps &steps, Int8Params params, const Kernels &kernels);

struct Int8PoolingKind {
  bool takes_maximum;
  bool counts_padding;
  bool rounds_stored;
};

/* Args: scale: steps of the output in one of the input. */
OperationPtr int8_pool(Io io, const Windows &windows, const Int8PoolingKind &kind, float scale, Int8Params params);

OperationPtr int8_lookup(Io io, const ByteFunction &function);

OperationPtr int8_binary(const BinaryOperands &operands, const Int8Operation &operation);
/* Computes n bytes of it; a step is 1, or 0 for an operand that is one number. */
void compute_int8(const Int8Kernels &kernels, const Int8Operation &operation, const void *x, int64_t x_step,
                  const void *y, int64_t y_step, void *z, int64_t n);

/* Along the last axis. */
OperationPtr int8_softmax(Io io, float beta, bool takes_logarithm);

/* Args: operands: data, weights, and, each of them or kNone, their zero points. */
OperationPtr integer_gemm(std::vector<TensorId> operands, TensorId out, const Windows &windows,
                          const WeightLayout &layout);

/* How DynamicQuantize rounds numbers: round(x / scale) + zero_point. */
struct ByteSteps {
  float scale;
  int32_t zero_point;
};

/* The steps for numbers between these two. */
ByteSteps steps_of_bytes(float least, float largest);
/* The extremes of the finite numbers; the others do not widen the steps. */
Extremes finite_extremes(const Kernels &kernels, const float *x, int64_t n);

OperationPtr dynamic_quantize(TensorId from, TensorId steps, TensorId scale, TensorId zero_point);

}  // namespace cpuacc
