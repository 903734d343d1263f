/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/recurrence.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>


namespace cpuacc {
namespace {

constexpr int64_t kNumbersPerLine = 16; /* of a cache, or of two: Float64 */

int64_t padded(int64_t numbers) { return ratio_up(numbers, kNumbersPerLine) * kNumbersPerLine; }

template <typename T>
size_t bytes_of(int64_t numbers) { return static_cast<size_t>(numbers) * sizeof(T); }

/* What a weight takes in each step: a row is multiplied once, so all weights come from behind the first cache. */
template <typename T>
double weight_ns(const Frame &frame) {
  const double read = frame.ns_of(costs::cold_step) / static_cast<double>(frame.kernels.columns);
  return frame.ns_of(costs::multiply_add) + read * sizeof(T) / sizeof(float);
}

}  // namespace

template <typename T>
size_t GemvMatrix<T>::bytes(const Rows<T> &rows) const {
  const int64_t whole = ratio_up(columns, rows.lanes) * rows.lanes;
  return bytes_of<T>(padded(whole * depth));
}

template <typename T>
void GemvMatrix<T>::pack(const T *weights, const Rows<T> &rows, T *packed) const {
  for (int64_t first = 0; first < columns; first += rows.gemv_columns) {
    const int64_t width = std::min<int64_t>(rows.gemv_columns, columns - first);
    const int64_t whole = ratio_up(width, rows.lanes) * rows.lanes;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < width; ++j) packed[j] = weights[(first + j) * depth + k];
      std::fill(packed + width, packed + whole, T{});
      packed += whole;
    }
  }
}

template <typename T>
void GemvMatrix<T>::multiply(const Frame &frame, bool is_shared, const T *row, const T *packed, const T *x,
                             const T *bias, T *y) const {
  const Rows<T> rows(frame.kernels);
  const int64_t width = rows.gemv_columns;
  const auto compute = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * width;
      rows.gemv(row, depth, packed + first * depth, x == nullptr ? nullptr : x + first,
                bias == nullptr ? nullptr : bias + first, y + first, std::min(width, columns - first));
    }
  };
  const int64_t panels = ratio_up(columns, width);
  const double panel_ns = static_cast<double>(depth * width) * weight_ns<T>(frame);
  is_shared ? frame.pool.run(panels, panel_ns, compute) : compute(0, panels, 0);
}

template <typename T>
Recurrence<T>::Recurrence(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, int64_t gates,
                          T clip, std::vector<Elementwise> functions)
    : Operation(std::move(inputs), std::move(outputs)),
      reading_(reading),
      gates_(gates),
      clip_(clip),
      functions_(std::move(functions)) {}

template <typename T>
std::vector<GemvMatrix<T>> Recurrence<T>::matrices() const { return {{gates_ * reading_.units, reading_.outputs}}; }

template <typename T>
void Recurrence<T>::activate(const Rows<T> &rows, const Elementwise &function, T *x, int64_t n) const {
  if (clip_ > 0) rows.clamp(clip_, x, n);
  rows.elementwise(function, x, x, n);
}

/* A chain's output and cell of the step before, and its spare memory. */
template <typename T>
int64_t Recurrence<T>::chain_numbers() const {
  return padded(reading_.outputs) + padded(reading_.units) + padded(gates_ * reading_.units);
}

template <typename T>
int64_t Recurrence<T>::bias_numbers() const { return padded(gates_ * reading_.units); }

template <typename T>
size_t Recurrence<T>::prepare(const Setup &setup) {
  const Rows<T> rows(setup.kernels);
  const Tensor &weights = setup[inputs[kWeights]];
  way_bytes_ = 0;
  matrices_ = matrices();
  for (const GemvMatrix<T> &matrix : matrices_) way_bytes_ += matrix.bytes(rows);
  const auto ways = static_cast<size_t>(reading_.ways);
  if (weights.constant != nullptr) {
    std::string recipe = std::string("recurrence ") + setup.kernels.name + " " + std::to_string(sizeof(T));
    for (const GemvMatrix<T> &matrix : matrices_) {
      recipe += " " + std::to_string(matrix.columns) + " " + std::to_string(matrix.depth);
    }
    packed_ = setup.packed.get(weights.constant, recipe, way_bytes_ * ways, [&](void *to) {
      pack(static_cast<const T *>(weights.constant), rows, static_cast<std::byte *>(to));
    });
    inputs[kWeights] = kNone;
  }
  if (inputs[kLengths] != kNone) has_wide_lengths_ = setup[inputs[kLengths]].type == ARMNN_SIGNED64;
  const int64_t chains = chain_numbers() * setup.threads;
  return bytes_of<T>(chains + bias_numbers() * reading_.ways) + (packed_ ? 0 : way_bytes_ * ways);
}

template <typename T>
void Recurrence<T>::pack(const T *weights, const Rows<T> &rows, std::byte *packed) const {
  for (int64_t way = 0; way < reading_.ways; ++way) {
    for (const GemvMatrix<T> &matrix : matrices_) {
      matrix.pack(weights, rows, reinterpret_cast<T *>(packed));
      weights += matrix.columns * matrix.depth;
      packed += matrix.bytes(rows);
    }
  }
}

template <typename T>
void Recurrence<T>::add_biases(const Frame &frame, T *sums) const {
  const int64_t columns = gates_ * reading_.units;
  for (int64_t way = 0; way < reading_.ways; ++way) {
    T *sum = sums + way * bias_numbers();
    if (inputs[kBias] == kNone) {
      std::fill(sum, sum + columns, T{});
      continue;
    }
    const T *bias = frame.in<T>(inputs[kBias]) + way * 2 * columns;
    Rows<T>(frame.kernels).add(bias, bias + columns, sum, columns);
  }
}

template <typename T>
void Recurrence<T>::run(const Frame &frame) const {
  auto *chains = reinterpret_cast<T *>(frame.scratch());
  T *biases = chains + chain_numbers() * frame.pool.threads();
  const auto *packed = static_cast<const std::byte *>(packed_.get());
  if (!packed_) {
    auto *memory = reinterpret_cast<std::byte *>(biases + bias_numbers() * reading_.ways);
    pack(frame.in<T>(inputs[kWeights]), Rows<T>(frame.kernels), memory);
    packed = memory;
  }
  add_biases(frame, biases);
  for (int64_t item = 0; item < reading_.batch; ++item) length_of(frame, item);
  const int64_t count = reading_.ways * reading_.batch;
  if (count == 1) return run_chain(frame, 0, 0, true, packed, biases, chains);
  int64_t products = 0;
  for (const GemvMatrix<T> &matrix : matrices_) products += matrix.columns * matrix.depth;
  const double step_ns = static_cast<double>(products) * weight_ns<T>(frame);
  const double chain_ns = static_cast<double>(reading_.steps) * step_ns;
  frame.for_each(count, chain_ns, [&](int64_t i, int32_t thread) {
    const int64_t way = i / reading_.batch;
    run_chain(frame, way, i % reading_.batch, false, packed + way_bytes_ * static_cast<size_t>(way),
              biases + bias_numbers() * way, chains + chain_numbers() * thread);
  });
}

template <typename T>
int64_t Recurrence<T>::length_of(const Frame &frame, int64_t item) const {
  if (inputs[kLengths] == kNone) return reading_.steps;
  const int64_t length = has_wide_lengths_ ? frame.in<int64_t>(inputs[kLengths])[item]
                                           : frame.in<int32_t>(inputs[kLengths])[item];
  if (length < 0 || length > reading_.steps) {
    throw std::out_of_range("the sequence length " + std::to_string(length) +
                            " is not that of an item: expected 0 to " + std::to_string(reading_.steps));
  }
  return length;
}

template <typename T>
void Recurrence<T>::run_chain(const Frame &frame, int64_t way, int64_t item, bool is_shared,
                              const std::byte *packed, const T *bias, T *memory) const {
  const auto &[steps, batch, units, numbers, ways, is_backward, is_time_major] = reading_;
  const int64_t columns = gates_ * units;
  const size_t bytes = bytes_of<T>(numbers);
  const int64_t state = is_time_major ? way * batch + item : item * ways + way;
  T *states[] = {memory, memory + padded(numbers)};
  const int64_t sizes[] = {numbers, units};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const TensorId first = inputs[kHidden + i];
    if (first == kNone) {
      std::fill(states[i], states[i] + sizes[i], T{});
    } else {
      std::memcpy(states[i], frame.in<T>(first) + state * sizes[i], bytes_of<T>(sizes[i]));
    }
  }
  const size_t functions = functions_.size() / static_cast<size_t>(ways);
  const T *whole_bias = frame.in<T>(inputs[kBias]);
  const T *peepholes = frame.in<T>(inputs[kPeepholes]);
  Step at{frame, is_shared, packed, bias,
          whole_bias == nullptr ? nullptr : whole_bias + (2 * way + 1) * columns,
          peepholes == nullptr ? nullptr : peepholes + way * 3 * units,
          functions_.data() + functions * static_cast<size_t>(way), nullptr, states[0], states[1],
          states[1] + padded(units)};
  /* What the steps add to the gates has no other reader: a step may write there. */
  T *gates = frame.out<T>(inputs[kGates]) + way * steps * batch * columns;
  auto *all = frame.out<T>(outputs[0]);
  const int64_t length = length_of(frame, item);
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t time = t < length && (is_backward || way == 1) ? length - 1 - t : t;
    T *to = all + ((is_time_major ? (time * ways + way) * batch + item
                                      : (item * steps + time) * ways + way)) * numbers;
    if (t >= length) {
      std::fill(to, to + numbers, T{});
      continue;
    }
    at.gates = gates + (is_time_major ? time * batch + item : item * steps + time) * columns;
    step(at);
    std::memcpy(to, at.hidden, bytes);
  }
  for (size_t i = 1; i < outputs.size(); ++i) {
    std::memcpy(frame.out<T>(outputs[i]) + state * sizes[i - 1], states[i - 1], bytes_of<T>(sizes[i - 1]));
  }
}

template struct GemvMatrix<float>;
template struct GemvMatrix<double>;
template class Recurrence<float>;
template class Recurrence<double>;

}  // namespace cpuacc
