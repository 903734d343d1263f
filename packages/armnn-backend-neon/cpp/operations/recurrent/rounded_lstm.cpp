/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/rounded_lstm.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"

namespace cpuacc {
namespace {

constexpr Elementwise kLogistic{Function::sigmoid, 0.0f, 0.0f};

int64_t padded_to_line(int64_t floats) { return ratio_up(floats, 16) * 16; }

}  // namespace

size_t RoundedLstm::prepare(const Setup &setup) {
  const auto floats = static_cast<size_t>(3 * padded_to_line(4 * sizes_.units));
  return floats * sizeof(float) * static_cast<size_t>(setup.threads);
}

void RoundedLstm::run(const Frame &frame) const {
  const int64_t floats = padded_to_line(4 * sizes_.units);
  const double item_ns =
      static_cast<double>((sizes_.width + sizes_.units) * 4 * sizes_.units) * 4 * costs::kElementNs;
  frame.for_each(sizes_.batch, item_ns, [&](int64_t i, int32_t thread) {
    float *own = reinterpret_cast<float *>(frame.scratch()) + 3 * floats * thread;
    step(frame, i, {own, own + floats, reinterpret_cast<int16_t *>(own + 2 * floats)});
  });
}

void RoundedLstm::round(const Kernels &kernels, float scale, float *x, int64_t n, const Memory &memory) const {
  if (scale == 0.0f) return;
  kernels.quantize[static_cast<int>(Integer::signed16)](x, memory.stored, n, scale, 0);
  kernels.dequantize[static_cast<int>(Integer::signed16)](memory.stored, x, n, scale, 0);
}

/* The product and the sum are two operations: in one, the product would not be rounded. */
void RoundedLstm::add_terms(const Frame &frame, const float *row, int64_t depth, const float *weights,
                            const Memory &memory) const {
  const int64_t columns = 4 * sizes_.units;
  for (int64_t k = 0; k < depth; ++k) {
    frame.kernels.arithmetic(Arithmetic::multiply, weights + k * columns, 1, row + k, 0, memory.terms, columns);
    frame.kernels.arithmetic(Arithmetic::add, memory.gates, 1, memory.terms, 1, memory.gates, columns);
    round(frame.kernels, rules_.scale, memory.gates, columns, memory);
  }
}

void RoundedLstm::add_peephole(const Frame &frame, int64_t gate, const float *cell, float *sums,
                               const Memory &memory) const {
  if (inputs[kPeepholes] == kNone) return;
  const int64_t units = sizes_.units;
  const float *peephole = frame.in<float>(inputs[kPeepholes]) + gate * units;
  frame.kernels.arithmetic(Arithmetic::multiply, peephole, 1, cell, 1, memory.terms, units);
  frame.kernels.arithmetic(Arithmetic::add, sums, 1, memory.terms, 1, sums, units);
  round(frame.kernels, rules_.scale, sums, units, memory);
}

void RoundedLstm::activate(const Kernels &kernels, const Elementwise &function, float *x,
                           const Memory &memory) const {
  kernels.elementwise(function, x, x, sizes_.units);
  round(kernels, rules_.scale, x, sizes_.units, memory);
}

void RoundedLstm::step(const Frame &frame, int64_t item, const Memory &memory) const {
  const auto &[batch, width, units] = sizes_;
  const Kernels &kernels = frame.kernels;
  const auto multiply = [&](const float *x, const float *y, float *z) {
    kernels.arithmetic(Arithmetic::multiply, x, 1, y, 1, z, units);
  };
  const float *weights = frame.in<float>(inputs[kWeights]);
  float *hidden = frame.out<float>(outputs[0]) + item * units;
  float *cell = frame.out<float>(outputs[1]) + item * units;
  std::copy_n(frame.in<float>(inputs[kCell]) + item * units, units, cell);
  std::copy_n(frame.in<float>(inputs[kBias]), 4 * units, memory.gates);
  round(kernels, rules_.scale, memory.gates, 4 * units, memory);
  add_terms(frame, frame.in<float>(inputs[kX]) + item * width, width, weights, memory);
  add_terms(frame, frame.in<float>(inputs[kHidden]) + item * units, units, weights + width * 4 * units, memory);
  float *input = memory.gates;
  float *output = input + units;
  float *forget = output + units;
  float *candidate = forget + units;
  add_peephole(frame, 2, cell, forget, memory);
  activate(kernels, kLogistic, forget, memory);
  if (rules_.couples_gates) {
    std::copy_n(forget, units, input);
    activate(kernels, {Function::linear, -1.0f, 1.0f}, input, memory);
  } else {
    add_peephole(frame, 0, cell, input, memory);
    activate(kernels, kLogistic, input, memory);
  }
  activate(kernels, rules_.function, candidate, memory);
  multiply(forget, cell, cell);
  round(kernels, rules_.cell_scale, cell, units, memory);
  multiply(input, candidate, candidate);
  kernels.arithmetic(Arithmetic::add, cell, 1, candidate, 1, cell, units);
  round(kernels, rules_.cell_scale, cell, units, memory);
  if (rules_.cell_clip > 0.0f) {
    kernels.elementwise({Function::clamp, rules_.cell_clip, -rules_.cell_clip}, cell, cell, units);
    round(kernels, rules_.cell_scale, cell, units, memory);
  }
  add_peephole(frame, 1, cell, output, memory);
  activate(kernels, kLogistic, output, memory);
  std::copy_n(cell, units, candidate);
  activate(kernels, rules_.function, candidate, memory);
  multiply(output, candidate, hidden);
  round(kernels, rules_.scale, hidden, units, memory);
}

}  // namespace cpuacc
