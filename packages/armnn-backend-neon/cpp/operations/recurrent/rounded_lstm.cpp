/* SPDX-License-Identifier: MIT */
/* A step of QLstm and QuantizedLstm, whose inner values are rounded. */
#include "operations/recurrent/rounded_lstm.h"

#include <algorithm>
#include <limits>

#include "costs/costs.h"
#include "operations/recurrent/recurrence.h"

namespace cpuacc {
namespace {

constexpr Elementwise kLogistic{Function::sigmoid, 0.0f, 0.0f};

/* The operands of the kernel that adds the products of a row and weights to sums. */
SumsInSteps sums_of(const float *row, int64_t depth, const float *weights, int64_t stride, const Kept &kept,
                    float *sums, int64_t n) {
  constexpr int32_t kLowest = std::numeric_limits<int16_t>::min();
  constexpr int32_t kHighest = std::numeric_limits<int16_t>::max();
  return {row, depth, weights, stride, kept.scale, static_cast<float>(kLowest - kept.zero_point),
          static_cast<float>(kHighest - kept.zero_point), sums, n};
}

/* Sets sums to the bias; nullptr: to zeros. */
void begin(const float *bias, float *sums, int64_t n) {
  if (bias == nullptr) {
    std::fill_n(sums, n, 0.0f);
  } else {
    std::copy_n(bias, n, sums);
  }
}

}  // namespace

/* The bytes of a row of all gates, or of an output that is longer. */
size_t RoundedLstm::row_bytes() const {
  return aligned_bytes(static_cast<size_t>(std::max<int64_t>(kLstmGates * sizes_.units, sizes_.outputs)) * sizeof(float));
}

size_t RoundedLstm::prepare(const Setup &setup) { return 3 * row_bytes() * static_cast<size_t>(setup.threads); }

void RoundedLstm::run(const Frame &frame) const {
  const auto &[batch, width, units, outputs] = sizes_;
  const int64_t terms = (width + outputs) * kLstmGates * units + (inputs[kProjection] == kNone ? 0 : outputs * units);
  frame.for_each(batch, static_cast<double>(terms) * frame.element_ns(), [&](int64_t i, int32_t thread) {
    auto *own = frame.scratch_of<std::byte>(thread, 3 * row_bytes());
    step(frame, i,
         {reinterpret_cast<float *>(own), reinterpret_cast<float *>(own + row_bytes()),
          reinterpret_cast<int16_t *>(own + 2 * row_bytes())});
  });
}

void RoundedLstm::round(const Kernels &kernels, const Kept &kept, float *x, int64_t n, const Memory &memory) const {
  if (kept.scale == 0.0f) return;
  const auto type = static_cast<int>(kept.type);
  kernels.quantize[type](x, memory.stored, n, kept.scale, kept.zero_point);
  kernels.dequantize[type](memory.stored, x, n, kept.scale, kept.zero_point);
}

void RoundedLstm::add_sums(const Frame &frame, int64_t item, const Memory &memory) const {
  const auto &[batch, width, units, outputs] = sizes_;
  const int64_t columns = kLstmGates * units;
  begin(frame.in<float>(inputs[kFactors] == kNone ? inputs[kBias] : kNone), memory.gates, columns);
  const float *x = frame.in<float>(inputs[kX]) + item * width;
  const float *hidden = frame.in<float>(inputs[kHidden]) + item * outputs;
  for (int64_t gate = 0; gate < kLstmGates; ++gate) {
    if (gate == kInputGate && rules_.couples_gates) continue;
    const int64_t first = gate * units;
    const float *weights = frame.in<float>(inputs[kWeights]) + first;
    const Kept kept = rules_.rounds_terms ? rules_.sums[static_cast<size_t>(gate)] : Kept{};
    float *sums = memory.gates + first;
    round(frame.kernels, kept, sums, units, memory);
    frame.kernels.accumulate_requantized(sums_of(x, width, weights, columns, kept, sums, units));
    frame.kernels.accumulate_requantized(sums_of(hidden, outputs, weights + width * columns, columns, kept, sums, units));
    round(frame.kernels, rules_.rounds_terms ? Kept{} : rules_.sums[static_cast<size_t>(gate)], sums, units, memory);
  }
}

/* The product and the sum are two operations: in one, the product would not be rounded. */
void RoundedLstm::finish_sum(const Frame &frame, int64_t gate, const float *cell, const Memory &memory) const {
  const int64_t units = sizes_.units;
  const Kernels &kernels = frame.kernels;
  float *sums = memory.gates + gate * units;
  if (gate != kCandidate && inputs[kPeepholes] != kNone) {
    const float *peephole = frame.in<float>(inputs[kPeepholes]) + gate * units;
    kernels.arithmetic(Arithmetic::multiply, peephole, 1, cell, 1, memory.terms, units);
    kernels.arithmetic(Arithmetic::add, sums, 1, memory.terms, 1, sums, units);
    round(kernels, rules_.sums[static_cast<size_t>(gate)], sums, units, memory);
  }
  if (inputs[kFactors] == kNone) return;
  const float *factors = frame.in<float>(inputs[kFactors]) + gate * units;
  const float *bias = frame.in<float>(inputs[kBias]) + gate * units;
  kernels.normalize(sums, nullptr, nullptr, sums, units, kNoVariance<float>, true);
  round(kernels, rules_.normalized[static_cast<size_t>(gate)], sums, units, memory);
  kernels.arithmetic(Arithmetic::multiply, sums, 1, factors, 1, sums, units);
  round(kernels, rules_.normalized[static_cast<size_t>(gate)], sums, units, memory);
  kernels.arithmetic(Arithmetic::add, sums, 1, bias, 1, sums, units);
  round(kernels, rules_.biased, sums, units, memory);
}

void RoundedLstm::activate(const Kernels &kernels, const Elementwise &function, float *x,
                           const Memory &memory) const {
  kernels.elementwise(function, x, x, sizes_.units);
  round(kernels, rules_.activated, x, sizes_.units, memory);
}

void RoundedLstm::show(const Frame &frame, float *shown, float *output, const Memory &memory) const {
  const auto &[batch, width, units, outputs] = sizes_;
  const Kernels &kernels = frame.kernels;
  round(kernels, rules_.shown, shown, units, memory);
  if (inputs[kProjection] == kNone) {
    std::copy_n(shown, units, output);
  } else {
    begin(frame.in<float>(inputs[kProjectionBias]), output, outputs);
    round(kernels, rules_.projected, output, outputs, memory);
    const auto *weights = frame.in<float>(inputs[kProjection]);
    kernels.accumulate_requantized(sums_of(shown, units, weights, outputs, rules_.projected, output, outputs));
    const float clip = rules_.projection_clip;
    if (clip > 0.0f) kernels.elementwise({Function::clamp, clip, -clip}, output, output, outputs);
  }
  round(kernels, rules_.output, output, outputs, memory);
}

void RoundedLstm::step(const Frame &frame, int64_t item, const Memory &memory) const {
  const int64_t units = sizes_.units;
  const Kernels &kernels = frame.kernels;
  const auto multiply = [&](const float *x, const float *y, float *z) {
    kernels.arithmetic(Arithmetic::multiply, x, 1, y, 1, z, units);
  };
  float *cell = frame.out<float>(outputs[1]) + item * units;
  float *input = memory.gates;
  float *output = input + units;
  float *forget = output + units;
  float *candidate = forget + units;
  std::copy_n(frame.in<float>(inputs[kCell]) + item * units, units, cell);
  add_sums(frame, item, memory);
  finish_sum(frame, kForgetGate, cell, memory);
  activate(kernels, kLogistic, forget, memory);
  if (rules_.couples_gates) {
    std::copy_n(forget, units, input);
    activate(kernels, {Function::linear, -1.0f, 1.0f}, input, memory);
  } else {
    finish_sum(frame, kInputGate, cell, memory);
    activate(kernels, kLogistic, input, memory);
  }
  finish_sum(frame, kCandidate, nullptr, memory);
  activate(kernels, rules_.function, candidate, memory);
  multiply(forget, cell, cell);
  round(kernels, rules_.cell, cell, units, memory);
  multiply(input, candidate, candidate);
  kernels.arithmetic(Arithmetic::add, cell, 1, candidate, 1, cell, units);
  round(kernels, rules_.cell, cell, units, memory);
  if (rules_.cell_clip > 0.0f) {
    kernels.elementwise({Function::clamp, rules_.cell_clip, -rules_.cell_clip}, cell, cell, units);
    round(kernels, rules_.cell, cell, units, memory);
  }
  finish_sum(frame, kOutputGate, cell, memory);
  activate(kernels, kLogistic, output, memory);
  std::copy_n(cell, units, candidate);
  activate(kernels, rules_.function, candidate, memory);
  multiply(output, candidate, output);
  show(frame, output, frame.out<float>(outputs[0]) + item * sizes_.outputs, memory);
}

}  // namespace cpuacc
