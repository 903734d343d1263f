/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/recurrence.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "costs/costs.h"

namespace cpuacc {
namespace {

constexpr int64_t kFloatsPerLine = 16; /* of a cache */

int64_t padded(int64_t floats) { return ratio_up(floats, kFloatsPerLine) * kFloatsPerLine; }

size_t float_bytes(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

}  // namespace

size_t GemvMatrix::bytes(const Kernels &kernels) const {
  const int64_t whole = ratio_up(columns, kernels.lanes) * kernels.lanes;
  return float_bytes(padded(whole * depth));
}

void GemvMatrix::pack(const float *weights, const Kernels &kernels, float *packed) const {
  for (int64_t first = 0; first < columns; first += kernels.gemv_columns) {
    const int64_t width = std::min<int64_t>(kernels.gemv_columns, columns - first);
    const int64_t whole = ratio_up(width, kernels.lanes) * kernels.lanes;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < width; ++j) packed[j] = weights[(first + j) * depth + k];
      std::fill(packed + width, packed + whole, 0.0f);
      packed += whole;
    }
  }
}

void GemvMatrix::multiply(const Frame &frame, bool is_shared, const float *row, const float *packed,
                          const float *x, const float *bias, float *y) const {
  const int64_t width = frame.kernels.gemv_columns;
  const auto compute = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * width;
      frame.kernels.gemv(row, depth, packed + first * depth, x == nullptr ? nullptr : x + first,
                         bias == nullptr ? nullptr : bias + first, y + first, std::min(width, columns - first));
    }
  };
  const int64_t panels = ratio_up(columns, width);
  const double panel_ns = static_cast<double>(depth * width) * costs::kMultiplyAddNs;
  is_shared ? frame.pool.run(panels, panel_ns, compute) : compute(0, panels, 0);
}

Recurrence::Recurrence(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading,
                       int64_t gates, float clip, std::vector<Elementwise> functions)
    : Operation(std::move(inputs), std::move(outputs)),
      reading_(reading),
      gates_(gates),
      clip_(clip),
      functions_(std::move(functions)) {}

std::vector<GemvMatrix> Recurrence::matrices() const { return {{gates_ * reading_.units, reading_.outputs}}; }

void Recurrence::activate(const Frame &frame, const Elementwise &function, float *x, int64_t n) const {
  if (clip_ > 0.0f) frame.kernels.elementwise({Function::clamp, clip_, -clip_}, x, x, n);
  frame.kernels.elementwise(function, x, x, n);
}

/* A chain's output and cell of the step before, and its spare memory. */
int64_t Recurrence::chain_floats() const {
  return padded(reading_.outputs) + padded(reading_.units) + padded(gates_ * reading_.units);
}

int64_t Recurrence::bias_floats() const { return padded(gates_ * reading_.units); }

size_t Recurrence::prepare(const Setup &setup) {
  const Tensor &weights = setup[inputs[kWeights]];
  way_bytes_ = 0;
  matrices_ = matrices();
  for (const GemvMatrix &matrix : matrices_) way_bytes_ += matrix.bytes(setup.kernels);
  const auto ways = static_cast<size_t>(reading_.ways);
  if (weights.constant != nullptr) {
    std::string recipe = std::string("recurrence ") + setup.kernels.name;
    for (const GemvMatrix &matrix : matrices_) {
      recipe += " " + std::to_string(matrix.columns) + " " + std::to_string(matrix.depth);
    }
    packed_ = setup.packed.get(weights.constant, recipe, way_bytes_ * ways, [&](void *to) {
      pack(static_cast<const float *>(weights.constant), setup.kernels, static_cast<std::byte *>(to));
    });
    inputs[kWeights] = kNone;
  }
  if (inputs[kLengths] != kNone) has_wide_lengths_ = setup[inputs[kLengths]].type == ARMNN_SIGNED64;
  const int64_t chains = chain_floats() * setup.threads;
  return float_bytes(chains + bias_floats() * reading_.ways) + (packed_ ? 0 : way_bytes_ * ways);
}

void Recurrence::pack(const float *weights, const Kernels &kernels, std::byte *packed) const {
  for (int64_t way = 0; way < reading_.ways; ++way) {
    for (const GemvMatrix &matrix : matrices_) {
      matrix.pack(weights, kernels, reinterpret_cast<float *>(packed));
      weights += matrix.columns * matrix.depth;
      packed += matrix.bytes(kernels);
    }
  }
}

void Recurrence::add_biases(const Frame &frame, float *sums) const {
  const int64_t columns = gates_ * reading_.units;
  for (int64_t way = 0; way < reading_.ways; ++way) {
    float *sum = sums + way * bias_floats();
    if (inputs[kBias] == kNone) {
      std::fill(sum, sum + columns, 0.0f);
      continue;
    }
    const float *bias = frame.in<float>(inputs[kBias]) + way * 2 * columns;
    frame.kernels.arithmetic(Arithmetic::add, bias, 1, bias + columns, 1, sum, columns);
  }
}

void Recurrence::run(const Frame &frame) const {
  auto *chains = reinterpret_cast<float *>(frame.scratch());
  float *biases = chains + chain_floats() * frame.pool.threads();
  const auto *packed = static_cast<const std::byte *>(packed_.get());
  if (!packed_) {
    auto *memory = reinterpret_cast<std::byte *>(biases + bias_floats() * reading_.ways);
    pack(frame.in<float>(inputs[kWeights]), frame.kernels, memory);
    packed = memory;
  }
  add_biases(frame, biases);
  for (int64_t item = 0; item < reading_.batch; ++item) length_of(frame, item);
  const int64_t count = reading_.ways * reading_.batch;
  if (count == 1) return run_chain(frame, 0, 0, true, packed, biases, chains);
  int64_t products = 0;
  for (const GemvMatrix &matrix : matrices_) products += matrix.columns * matrix.depth;
  const double step_ns = static_cast<double>(products) * costs::kMultiplyAddNs;
  const double chain_ns = static_cast<double>(reading_.steps) * step_ns;
  frame.for_each(count, chain_ns, [&](int64_t i, int32_t thread) {
    const int64_t way = i / reading_.batch;
    run_chain(frame, way, i % reading_.batch, false, packed + way_bytes_ * static_cast<size_t>(way),
              biases + bias_floats() * way, chains + chain_floats() * thread);
  });
}

int64_t Recurrence::length_of(const Frame &frame, int64_t item) const {
  if (inputs[kLengths] == kNone) return reading_.steps;
  const int64_t length = has_wide_lengths_ ? frame.in<int64_t>(inputs[kLengths])[item]
                                           : frame.in<int32_t>(inputs[kLengths])[item];
  if (length < 0 || length > reading_.steps) {
    throw std::out_of_range("the sequence length " + std::to_string(length) +
                            " is not that of an item: expected 0 to " + std::to_string(reading_.steps));
  }
  return length;
}

void Recurrence::run_chain(const Frame &frame, int64_t way, int64_t item, bool is_shared,
                           const std::byte *packed, const float *bias, float *memory) const {
  const auto &[steps, batch, units, numbers, ways, is_backward, is_time_major] = reading_;
  const int64_t columns = gates_ * units;
  const size_t bytes = float_bytes(numbers);
  const int64_t state = is_time_major ? way * batch + item : item * ways + way;
  float *states[] = {memory, memory + padded(numbers)};
  const int64_t sizes[] = {numbers, units};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const TensorId first = inputs[kHidden + i];
    if (first == kNone) {
      std::fill(states[i], states[i] + sizes[i], 0.0f);
    } else {
      std::memcpy(states[i], frame.in<float>(first) + state * sizes[i], float_bytes(sizes[i]));
    }
  }
  const size_t functions = functions_.size() / static_cast<size_t>(ways);
  const float *whole_bias = frame.in<float>(inputs[kBias]);
  const float *peepholes = frame.in<float>(inputs[kPeepholes]);
  Step at{frame, is_shared, packed, bias,
          whole_bias == nullptr ? nullptr : whole_bias + (2 * way + 1) * columns,
          peepholes == nullptr ? nullptr : peepholes + way * 3 * units,
          functions_.data() + functions * static_cast<size_t>(way), nullptr, states[0], states[1],
          states[1] + padded(units)};
  /* What the steps add to the gates has no other reader: a step may write there. */
  float *gates = frame.out<float>(inputs[kGates]) + way * steps * batch * columns;
  auto *all = frame.out<float>(outputs[0]);
  const int64_t length = length_of(frame, item);
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t time = t < length && (is_backward || way == 1) ? length - 1 - t : t;
    float *to = all + ((is_time_major ? (time * ways + way) * batch + item
                                      : (item * steps + time) * ways + way)) * numbers;
    if (t >= length) {
      std::fill(to, to + numbers, 0.0f);
      continue;
    }
    at.gates = gates + (is_time_major ? time * batch + item : item * steps + time) * columns;
    step(at);
    std::memcpy(to, at.hidden, bytes);
  }
  for (size_t i = 1; i < outputs.size(); ++i) {
    std::memcpy(frame.out<float>(outputs[i]) + state * sizes[i - 1], states[i - 1], float_bytes(sizes[i - 1]));
  }
}

}  // namespace cpuacc
