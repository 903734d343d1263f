/* SPDX-License-Identifier: MIT */
#include "ops/quantizing.h"

#include <algorithm>

#include "ops/registry.h"

namespace cpuacc {
namespace {

constexpr int64_t kChunk = 4096; /* elements that are worth a thread's while */

template <typename Body>
void in_chunks(const Frame &frame, int64_t count, const Body &body) {
  frame.pool.run((count + kChunk - 1) / kChunk, kChunk * kElementNs, [&](int64_t begin, int64_t end, int32_t) {
    const int64_t first = begin * kChunk;
    body(first, std::min(end * kChunk, count) - first);
  });
}

int64_t bytes_of(Integer integer) { return integer == Integer::signed16 ? 2 : 1; }

void lower_dequantize(Lowering &l) {
  const Value &in = l.input(0);
  require(is_quantized(in.type) && in.quantization.scales.size() == 1,
          "only 8 and 16 bits with one scale are dequantised here", 0);
  require(l.output().type == ARMNN_FLOAT32, "the output must be Float32");
  const Order order = l.order(0);
  const TensorId from = l.in(0, order);
  l.add<Dequantize>(from, l.out(0, order));
}

void lower_quantize(Lowering &l) {
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
  count_ = from.count();
  return 0;
}

void Dequantize::run(const Frame &frame) const {
  const auto *x = frame.in<std::byte>(inputs[0]);
  float *y = frame.out<float>(outputs[0]);
  in_chunks(frame, count_, [&](int64_t first, int64_t n) {
    frame.kernels.dequantize[static_cast<int>(integer_)](x + first * bytes_of(integer_), y + first, n,
                                                         scale_, zero_point_);
  });
}

size_t Quantize::prepare(const Setup &setup) {
  const Tensor &to = setup[outputs[0]];
  integer_ = integer_of(to.type);
  scale_ = to.quantization.scales[0];
  zero_point_ = to.quantization.zero_points[0];
  count_ = to.count();
  return 0;
}

void Quantize::run(const Frame &frame) const {
  const float *x = frame.in<float>(inputs[0]);
  auto *y = frame.out<std::byte>(outputs[0]);
  in_chunks(frame, count_, [&](int64_t first, int64_t n) {
    frame.kernels.quantize[static_cast<int>(integer_)](x + first, y + first * bytes_of(integer_), n,
                                                       scale_, zero_point_);
  });
}

std::vector<LayerType> quantizing_layers() {
  return {{"Dequantize", lower_dequantize}, {"Quantize", lower_quantize}};
}

}  // namespace cpuacc
