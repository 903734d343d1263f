/* SPDX-License-Identifier: MIT */
/* Operations on bytes: convolutions, pooling, exact gemm, functions, and quantisation while running. */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"
#include "operations/convolution/convolution.h"
#include "operations/gemm/gemm.h"
#include "operations/pointwise/binary.h"
#include "operations/quantised/int8_epilogue.h"
#include "operations/quantised/int8_gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* As indirect_convolution(). */
OperationPtr int8_indirect_convolution(TensorId input, TensorId weights, TensorId out, const Windows &windows,
                                       const WeightLayout &layout, int64_t groups, int64_t group_stride,
                                       Int8Params params);

/* Whether these windows, of one group, are worth it, and it takes these weights. */
bool suits_int8_direct(const Windows &windows, const Int8Params &params);

/* Of one group. Args: layout: as direct_convolution() takes it. */
OperationPtr int8_direct_convolution(TensorId input, TensorId weights, TensorId out, const Windows &windows,
                                     const WeightLayout &layout, Int8Params params);

/* How far apart in the weights those of neighbouring channels are, and of a window's rows and columns. */
struct Int8WeightSteps {
  int64_t channel, row, column;
};

OperationPtr int8_depthwise_convolution(TensorId input, TensorId weights, TensorId out, const Windows &windows,
                                        const Int8WeightSteps &steps, Int8Params params);

struct Int8PoolingKind {
  bool takes_maximum;
  bool counts_padding;
  bool rounds_stored;
};

/* Args: scale: steps of the output in one of the input. */
OperationPtr int8_pool(TensorId input, TensorId out, const Windows &windows, const Int8PoolingKind &kind, float scale,
                       Int8Params params);

OperationPtr int8_lookup(TensorId from, TensorId to, const ByteFunction &function);

OperationPtr int8_add(const BinaryOperands &operands, TensorId to, Int8Params params, const Int8Addition &addition);

OperationPtr int8_multiply(const BinaryOperands &operands, TensorId to, Int8Params params,
                           const Int8Multiplication &multiplication);

/* Along the last axis. */
OperationPtr int8_softmax(TensorId from, TensorId to, float beta, bool takes_logarithm);

/* Args: operands: data, weights, and, each of them or kNone, their zero points. */
OperationPtr integer_gemm(std::vector<TensorId> operands, TensorId out, const Windows &windows,
                          const WeightLayout &layout);

OperationPtr dynamic_quantise(TensorId from, TensorId steps, TensorId scale, TensorId zero_point);

}  // namespace cpuacc
