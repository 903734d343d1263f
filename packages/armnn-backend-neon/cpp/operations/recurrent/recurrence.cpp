/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/recurrence.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace cpuacc {

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
void Recurrence<T>::multiply(const Step &at, const GemvMatrix<T> &matrix, const std::byte *packed, Place row, Place x,
                             const T *bias, Place y) const {
  const T *rows[kItemsTogether];
  const T *added[kItemsTogether];
  T *results[kItemsTogether];
  size_t i = 0;
  for (const Item &item : at.items) {
    rows[i] = item.*row.of + row.first;
    if (x.of != nullptr) added[i] = item.*x.of + x.first;
    results[i++] = item.*y.of + y.first;
  }
  const GemvOperands<T> all{rows, x.of == nullptr ? nullptr : added, results, at.items.count(), bias};
  matrix.multiply(at.frame, at.is_shared, all, packed);
}

template <typename T>
void Recurrence<T>::activate(const Rows<T> &rows, const Elementwise &function, T *x, int64_t n) const {
  if (clip_ > 0) rows.clamp(clip_, x, n);
  rows.elementwise(function, x, x, n);
}

/* An item's output and cell of the step before, and its spare memory. */
template <typename T>
int64_t Recurrence<T>::item_numbers() const {
  return padded(reading_.outputs) + padded(reading_.units) + padded(gates_ * reading_.units);
}

template <typename T>
int64_t Recurrence<T>::thread_numbers() const {
  return item_numbers() * std::min(reading_.batch, kItemsTogether);
}

template <typename T>
int64_t Recurrence<T>::bias_numbers() const { return padded(gates_ * reading_.units); }

template <typename T>
size_t Recurrence<T>::prepare(const Setup &setup) {
  const Rows<T> rows(setup.kernels);
  const Tensor &weights = setup[inputs[kWeights]];
  matrices_ = matrices();
  if (weights.constant != nullptr) {
    std::string recipe = weights.recipe("recurrence ") + setup.kernels.name + " " + std::to_string(sizeof(T));
    for (const GemvMatrix<T> &matrix : matrices_) {
      recipe += " " + std::to_string(matrix.columns) + " " + std::to_string(matrix.depth);
    }
    const std::string in_steps = recipe + " steps";
    std::vector<float> steps;
    const auto fits = [&] { return find_steps(weights.read<T>(), steps); };
    const bool are_steps = setup.packed.is_packed_as(weights.source(), in_steps, true, fits);
    if (are_steps) {
      recipe = in_steps;
      store_as(GemvStorage::steps);
    } else if (gains_by_bfloat16(setup, way_bytes(rows))) {
      recipe += " bfloat16";
      store_as(GemvStorage::bfloat16);
    }
    way_bytes_ = way_bytes(rows);
    const size_t all_bytes = way_bytes_ * static_cast<size_t>(reading_.ways);
    const float *known = are_steps && !steps.empty() ? steps.data() : nullptr;
    packed_ = setup.packed.get(weights.source(), recipe, all_bytes, [&](void *to) {
      pack(weights.read<T>(), rows, static_cast<std::byte *>(to), known);
    });
    inputs[kWeights] = kNone;
  } else {
    way_bytes_ = way_bytes(rows);
  }
  if (inputs[kLengths] != kNone) has_wide_lengths_ = setup[inputs[kLengths]].type == ARMNN_SIGNED64;
  const int64_t chains = thread_numbers() * setup.threads;
  const size_t packed_bytes = packed_ ? 0 : way_bytes_ * static_cast<size_t>(reading_.ways);
  return bytes_of<T>(chains + bias_numbers() * reading_.ways) + packed_bytes;
}

template <typename T>
void Recurrence<T>::store_as(GemvStorage storage) {
  for (GemvMatrix<T> &matrix : matrices_) matrix.storage = storage;
}

/* Each step reads all weights of its way: from behind the first cache it takes half the time to read half as much. */
template <typename T>
bool Recurrence<T>::gains_by_bfloat16(const Setup &setup, size_t bytes) const {
  return std::is_same_v<T, float> && setup.multiplies_bfloat16 &&
         bytes > static_cast<size_t>(setup.machine().caches.first);
}

template <typename T>
size_t Recurrence<T>::way_bytes(const Rows<T> &rows) const {
  size_t bytes = 0;
  for (const GemvMatrix<T> &matrix : matrices_) bytes += matrix.bytes(rows);
  return bytes;
}

/* As weights are that were quantised and are floats again. */
template <typename T>
bool Recurrence<T>::find_steps(const T *weights, std::vector<float> &steps) const {
  for (int64_t way = 0; way < reading_.ways; ++way) {
    for (const GemvMatrix<T> &matrix : matrices_) {
      if (!matrix.find_steps(weights, steps)) return false;
      weights += matrix.columns * matrix.depth;
    }
  }
  return true;
}

template <typename T>
void Recurrence<T>::pack(const T *weights, const Rows<T> &rows, std::byte *packed, const float *steps) const {
  for (int64_t way = 0; way < reading_.ways; ++way) {
    for (const GemvMatrix<T> &matrix : matrices_) {
      matrix.pack(weights, rows, packed, steps);
      weights += matrix.columns * matrix.depth;
      packed += matrix.bytes(rows);
      if (steps != nullptr) steps += matrix.columns;
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
  if (reading_.batch == 0) return;
  auto *chains = reinterpret_cast<T *>(frame.scratch());
  T *biases = chains + thread_numbers() * frame.pool.threads();
  const auto *packed = static_cast<const std::byte *>(packed_.get());
  if (!packed_) {
    auto *memory = reinterpret_cast<std::byte *>(biases + bias_numbers() * reading_.ways);
    pack(frame.in<T>(inputs[kWeights]), Rows<T>(frame.kernels), memory);
    packed = memory;
  }
  add_biases(frame, biases);
  for (int64_t item = 0; item < reading_.batch; ++item) length_of(frame, item);
  const int64_t ways = reading_.ways, batch = reading_.batch;
  const int64_t least_blocks = std::max(ratio_up(frame.pool.threads(), ways), ratio_up(batch, kItemsTogether));
  const int64_t blocks = std::min(batch, least_blocks);
  if (shares_steps(frame, blocks)) {
    for (int64_t way = 0; way < ways; ++way) {
      run_chains(frame, way, 0, batch, true, packed + way_bytes_ * static_cast<size_t>(way),
                 biases + bias_numbers() * way, chains);
    }
    return;
  }
  frame.for_each(ways * blocks, chain_ns(frame, ratio_up(batch, blocks)), [&](int64_t i, int32_t thread) {
    const int64_t way = i / blocks;
    const int64_t block = i % blocks;
    run_chains(frame, way, block * batch / blocks, (block + 1) * batch / blocks, false,
               packed + way_bytes_ * static_cast<size_t>(way), biases + bias_numbers() * way,
               chains + thread_numbers() * thread);
  });
}

/* Of so many items. */
template <typename T>
double Recurrence<T>::chain_ns(const Frame &frame, int64_t items) const {
  double step_ns = 0.0;
  for (const GemvMatrix<T> &matrix : matrices_) step_ns += matrix.ns(frame, items);
  return static_cast<double>(reading_.steps) * step_ns;
}

/* Threads that share the steps of one way after the other read a part of its weights each, from their own caches; if
 * ways and blocks of items have threads of their own, the other threads wait.
 */
template <typename T>
bool Recurrence<T>::shares_steps(const Frame &frame, int64_t blocks) const {
  const int64_t chains = reading_.ways * blocks;
  const int64_t threads = frame.pool.threads();
  if (chains == 1) return true;
  if (chains >= threads || reading_.batch > kItemsTogether) return false;
  const auto loops = static_cast<double>(reading_.steps * static_cast<int64_t>(matrices_.size()));
  const double shared_ns = chain_ns(frame, reading_.batch) / static_cast<double>(threads) + loops * frame.ns_of(costs::fork);
  return static_cast<double>(reading_.ways) * shared_ns < chain_ns(frame, ratio_up(reading_.batch, blocks));
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
int64_t Recurrence<T>::state_of(int64_t way, int64_t item) const {
  return reading_.is_time_major ? way * reading_.batch + item : item * reading_.ways + way;
}

template <typename T>
typename Recurrence<T>::Item Recurrence<T>::begin(const Frame &frame, int64_t way, int64_t item, T *memory) const {
  T *states[] = {memory, memory + padded(reading_.outputs)};
  const int64_t sizes[] = {reading_.outputs, reading_.units};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const TensorId first = inputs[kHidden + i];
    if (first == kNone) {
      std::fill(states[i], states[i] + sizes[i], T{});
    } else {
      std::memcpy(states[i], frame.in<T>(first) + state_of(way, item) * sizes[i], bytes_of<T>(sizes[i]));
    }
  }
  return {nullptr, states[0], states[1], states[1] + padded(reading_.units)};
}

template <typename T>
void Recurrence<T>::end(const Frame &frame, int64_t way, int64_t item, const Item &states) const {
  const int64_t sizes[] = {reading_.outputs, reading_.units};
  const T *last[] = {states.hidden, states.cell};
  for (size_t i = 1; i < outputs.size(); ++i) {
    T *to = frame.out<T>(outputs[i]) + state_of(way, item) * sizes[i - 1];
    std::memcpy(to, last[i - 1], bytes_of<T>(sizes[i - 1]));
  }
}

template <typename T>
void Recurrence<T>::run_chains(const Frame &frame, int64_t way, int64_t first, int64_t last, bool is_shared,
                               const std::byte *packed, const T *bias, T *memory) const {
  const auto &[steps, batch, units, numbers, ways, is_backward, is_time_major] = reading_;
  const int64_t columns = gates_ * units;
  const size_t functions = functions_.size() / static_cast<size_t>(ways);
  const T *whole_bias = frame.in<T>(inputs[kBias]);
  const T *peepholes = frame.in<T>(inputs[kPeepholes]);
  Step at{frame, is_shared, packed, bias,
          whole_bias == nullptr ? nullptr : whole_bias + (2 * way + 1) * columns,
          peepholes == nullptr ? nullptr : peepholes + way * 3 * units,
          functions_.data() + functions * static_cast<size_t>(way), {}};
  /* What the steps add to the gates has no other reader: a step may write there. */
  T *gates = frame.out<T>(inputs[kGates]) + way * steps * batch * columns;
  auto *all = frame.out<T>(outputs[0]);
  std::array<Item, kItemsTogether> states;
  for (int64_t i = first; i < last; ++i) {
    states[i - first] = begin(frame, way, i, memory + item_numbers() * (i - first));
  }
  for (int64_t t = 0; t < steps; ++t) {
    T *to[kItemsTogether];
    at.items.clear();
    for (int64_t i = first; i < last; ++i) {
      const int64_t length = length_of(frame, i);
      const int64_t time = t < length && (is_backward || way == 1) ? length - 1 - t : t;
      T *row = all + (is_time_major ? (time * ways + way) * batch + i : (i * steps + time) * ways + way) * numbers;
      if (t >= length) {
        std::fill(row, row + numbers, T{});
        continue;
      }
      to[at.items.count()] = row;
      Item item = states[i - first];
      item.gates = gates + (is_time_major ? time * batch + i : i * steps + time) * columns;
      at.items.add(item);
    }
    if (at.items.count() == 0) continue;
    step(at);
    T **row = to;
    for (const Item &item : at.items) std::copy_n(item.hidden, numbers, *row++);
  }
  for (int64_t i = first; i < last; ++i) end(frame, way, i, states[i - first]);
}

template class Recurrence<float>;
template class Recurrence<double>;

}  // namespace cpuacc
