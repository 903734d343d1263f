/* SPDX-License-Identifier: MIT */
#include "operations/quantised/conversion.h"

#include "layers/registry.h"

namespace cpuacc {
namespace {

/* Real numbers to real numbers: what lifting has put on either side converts them. */
bool lower_within_fallback(Lowering &l, bool converts) {
  if (!converts || l.input(0).type != ARMNN_FLOAT32 || l.output().type != ARMNN_FLOAT32) return false;
  const Order order = l.order(0);
  l.share(0, l.in(0, order), order);
  return true;
}

void lower_dequantize(Lowering &l) {
  if (lower_within_fallback(l, l.input(0).stored_type != ARMNN_FLOAT32)) return;
  const Value &in = l.input(0);
  require(is_quantized(in.type) && in.quantization.scales.size() == 1,
          "only 8 and 16 bits with one scale are dequantised here", 0);
  require(l.output().type == ARMNN_FLOAT32, "the output must be Float32");
  const Order order = l.order(0);
  const TensorId from = l.in(0, order);
  l.add<Dequantize>(from, l.out(0, order));
}

void lower_quantize(Lowering &l) {
  if (lower_within_fallback(l, is_quantized(l.output().stored_type))) return;
  const Value &out = l.output();
  require(l.input(0).type == ARMNN_FLOAT32, "the input must be Float32", 0);
  require(is_quantized(out.type) && out.quantization.scales.size() == 1,
          "only 8 and 16 bits with one scale are quantised here");
  const Order order = l.order(0);
  const TensorId from = l.in(0, order);
  l.add<Quantize>(from, l.out(0, order));
}

}  // namespace

bool is_quantized(armnn_data_type type) {
  return type == ARMNN_QASYMM_U8 || type == ARMNN_QASYMM_S8 || type == ARMNN_QSYMM_S8 ||
         type == ARMNN_QSYMM_S16;
}

Integer integer_of(armnn_data_type type) {
  if (type == ARMNN_QASYMM_U8) return Integer::unsigned8;
  return type == ARMNN_QSYMM_S16 ? Integer::signed16 : Integer::signed8;
}

size_t Dequantize::prepare(const Setup &setup) {
  const Tensor &from = setup[inputs[0]];
  integer_ = integer_of(from.type);
  scale_ = from.quantization.scales[0];
  zero_point_ = from.quantization.zero_points[0];
  return Unary::prepare(setup);
}

void Dequantize::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                              int64_t n) const {
  kernels.dequantize[static_cast<int>(integer_)](operands[0], static_cast<float *>(to), n, scale_,
                                                 zero_point_);
}

size_t Quantize::prepare(const Setup &setup) {
  const Tensor &to = setup[outputs[0]];
  integer_ = integer_of(to.type);
  scale_ = to.quantization.scales[0];
  zero_point_ = to.quantization.zero_points[0];
  return Unary::prepare(setup);
}

void Quantize::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                            int64_t n) const {
  kernels.quantize[static_cast<int>(integer_)](static_cast<const float *>(operands[0]), to, n, scale_,
                                               zero_point_);
}

std::vector<LayerType> quantizing_layers() {
  return {{ARMNN_LAYER_DEQUANTIZE, lower_dequantize}, {ARMNN_LAYER_QUANTIZE, lower_quantize}};
}

}  // namespace cpuacc
