/* SPDX-License-Identifier: MIT */
/* Recurrent layers: gemv with packed weights, the loop over steps, and the cells. */
#include "operations/recurrent/recurrence.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "costs/costs.h"
#include "operations/storage/formats.h"

namespace cpuacc {

/* As few rows are multiplied, the time to read the weights counts, which are not in the first cache. */
template <typename T>
double GemvMatrix<T>::weight_ns(const Frame &frame, int64_t rows) const {
  const double read = frame.ns_of(costs::weight_row) / static_cast<double>(frame.kernels.columns);
  const double bytes = storage == GemvStorage::steps ? 1.0 : storage == GemvStorage::bfloat16 ? 2.0 : sizeof(T);
  return frame.ns_of(costs::multiply_add) * static_cast<double>(rows) + read * bytes / sizeof(float);
}

template <typename T>
size_t GemvMatrix<T>::scale_bytes() const {
  return storage == GemvStorage::steps ? bytes_of<float>(padded(columns)) : 0;
}

template <typename T>
size_t GemvMatrix<T>::bytes(const Rows<T> &rows) const {
  const int64_t whole = ratio_up(columns, rows.lanes) * rows.lanes;
  if (storage == GemvStorage::steps) return scale_bytes() + aligned_bytes(static_cast<size_t>(whole * depth));
  if (storage == GemvStorage::bfloat16) return aligned_bytes(bytes_of<Bfloat16>(whole * depth));
  return bytes_of<T>(padded(whole * depth));
}

template <typename T>
bool GemvMatrix<T>::find_steps(const T *weights, std::vector<float> &steps) const {
  if constexpr (std::is_same_v<T, float>) {
    for (int64_t j = 0; j < columns; ++j) {
      steps.push_back(step_of(weights + j * depth, depth, 1));
      if (steps.back() == 0.0f) return false;
    }
    return true;
  }
  return false;
}

template <typename T>
void GemvMatrix<T>::pack_numbers(const T *weights, const Rows<T> &rows, T *packed) const {
  for (int64_t first = 0; first < columns; first += rows.gemv_columns) {
    const int64_t width = std::min<int64_t>(rows.gemv_columns, columns - first);
    const int64_t whole = ratio_up(width, rows.lanes) * rows.lanes;
    if (width < whole) std::fill_n(packed, whole * depth, T{});
    rows.transpose(weights + first * depth, depth, packed, whole, width, depth);
    packed += whole * depth;
  }
}

/* A few rows of a panel at a time are transposed into floats, which stay in the first cache. */
template <typename T>
void GemvMatrix<T>::pack_steps(const float *weights, const Rows<float> &rows, const float *scales,
                               int8_t *steps) const {
  constexpr int64_t kTogether = 16;
  std::vector<float> block(static_cast<size_t>(kTogether * rows.gemv_columns));
  for (int64_t first = 0; first < columns; first += rows.gemv_columns) {
    const int64_t width = std::min<int64_t>(rows.gemv_columns, columns - first);
    const int64_t whole = ratio_up(width, rows.lanes) * rows.lanes;
    for (int64_t k = 0; k < depth; k += kTogether) {
      const int64_t count = std::min(kTogether, depth - k);
      rows.transpose(weights + first * depth + k, depth, block.data(), whole, width, count);
      for (int64_t i = 0; i < count; ++i, steps += whole) {
        put_in_steps(block.data() + i * whole, scales + first, width, steps);
        std::fill(steps + width, steps + whole, int8_t{});
      }
    }
  }
}

template <typename T>
void GemvMatrix<T>::pack(const T *weights, const Rows<T> &rows, std::byte *packed, const float *known) const {
  if constexpr (std::is_same_v<T, float>) {
    if (storage == GemvStorage::bfloat16) {
      /* Panel by panel: rounded in one go, without a second copy of all weights. */
      std::vector<float> panel(static_cast<size_t>(rows.gemv_columns * depth));
      for (int64_t first = 0; first < columns; first += rows.gemv_columns) {
        const GemvMatrix<float> part{std::min<int64_t>(rows.gemv_columns, columns - first), depth};
        part.pack(weights + first * depth, rows, reinterpret_cast<std::byte *>(panel.data()));
        const int64_t numbers = ratio_up(part.columns, rows.lanes) * rows.lanes * depth;
        rows.round(panel.data(), reinterpret_cast<Bfloat16 *>(packed) + first * depth, numbers);
      }
      return;
    }
    if (storage == GemvStorage::steps) {
      auto *scales = reinterpret_cast<float *>(packed);
      for (int64_t j = 0; j < columns; ++j) {
        scales[j] = known == nullptr ? step_of(weights + j * depth, depth, 1) : known[j];
      }
      std::fill(scales + columns, scales + padded(columns), 0.0f);
      return pack_steps(weights, rows, scales, reinterpret_cast<int8_t *>(packed + scale_bytes()));
    }
  }
  pack_numbers(weights, rows, reinterpret_cast<T *>(packed));
}

template <typename T>
void GemvMatrix<T>::multiply(const Frame &frame, bool is_shared, const GemvOperands<T> &all,
                             const std::byte *packed) const {
  const Rows<T> rows(frame.kernels);
  const int64_t width = rows.gemv_columns;
  const auto *numbers = reinterpret_cast<const T *>(packed);
  const auto *scales = reinterpret_cast<const float *>(packed);
  const auto *steps = reinterpret_cast<const int8_t *>(packed + scale_bytes());
  const auto *rounded = reinterpret_cast<const Bfloat16 *>(packed);
  const auto compute = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * width;
      const int64_t place = first * depth;
      PanelOf<T> panel{};
      switch (storage) {
        case GemvStorage::numbers: panel.numbers = numbers + place; break;
        case GemvStorage::steps: panel.steps = steps + place, panel.scales = scales + first; break;
        case GemvStorage::bfloat16: panel.bfloat16 = rounded + place; break;
      }
      rows.gemv(all, depth, panel, first, std::min(width, columns - first));
    }
  };
  const int64_t panels = ratio_up(columns, width);
  const double panel_ns = static_cast<double>(depth * width) * weight_ns(frame, all.count);
  is_shared ? frame.pool.run(panels, panel_ns, compute) : compute(0, panels, 0);
}

template struct GemvMatrix<float>;
template struct GemvMatrix<double>;

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
void Recurrence<T>::multiply(const Step &at, const GemvMatrix<T> &matrix, const std::byte *packed, ItemField row,
                             ItemField x, const T *bias, ItemField y) const {
  const T *rows[kItemsTogether];
  const T *added[kItemsTogether];
  T *results[kItemsTogether];
  size_t i = 0;
  for (const Item &item : at.items) {
    rows[i] = item.*row.member + row.first;
    if (x.member != nullptr) added[i] = item.*x.member + x.first;
    results[i++] = item.*y.member + y.first;
  }
  const GemvOperands<T> all{rows, x.member == nullptr ? nullptr : added, results, at.items.count(), bias};
  matrix.multiply(at.frame, at.is_shared, all, packed);
}

template <typename T>
void Recurrence<T>::activate(const Rows<T> &rows, const Elementwise &function, T *x, int64_t n) const {
  if (clip_ > 0) rows.clamp(clip_, x, n);
  rows.elementwise(function, x, x, n);
}

/* For the output and the cell of the step before, a row of gates, and further numbers. */
template <typename T>
int64_t Recurrence<T>::item_numbers() const {
  return padded(reading_.outputs) + padded(reading_.units) + padded(gates_ * reading_.units) + further_numbers();
}

template <typename T>
int64_t Recurrence<T>::thread_numbers() const {
  return item_numbers() * std::min(reading_.batch, kItemsTogether);
}

template <typename T>
int64_t Recurrence<T>::bias_numbers() const { return padded(gates_ * reading_.units); }

template <typename T>
void Recurrence<T>::pack_ahead(const Setup &setup) {
  const Rows<T> rows(setup.kernels);
  const Tensor &weights = setup[inputs[kWeights]];
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
}

template <typename T>
size_t Recurrence<T>::prepare(const Setup &setup) {
  matrices_ = matrices();
  if (setup[inputs[kWeights]].constant != nullptr) {
    pack_ahead(setup);
  } else {
    way_bytes_ = way_bytes(Rows<T>(setup.kernels));
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

/* Each step reads all weights of its way: if they exceed the first cache, half the bytes take half the time. */
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

/* Weights that were quantized and are floats again are whole multiples of a scale. */
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

/* The time of a chain of steps for so many items. */
template <typename T>
double Recurrence<T>::chain_ns(const Frame &frame, int64_t items) const {
  double step_ns = 0.0;
  for (const GemvMatrix<T> &matrix : matrices_) step_ns += matrix.ns(frame, items);
  return static_cast<double>(reading_.steps) * step_ns;
}

/* If all threads share each step, one way after the other, each reads its part of the weights from its own caches.
 * Otherwise each way and block of items has one thread, and the other threads wait.
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
  T *spare = states[1] + padded(reading_.units);
  return {nullptr, states[0], states[1], spare, spare + padded(gates_ * reading_.units)};
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
  Step at{frame, way, is_shared, packed, bias,
          whole_bias == nullptr ? nullptr : whole_bias + (2 * way + 1) * columns,
          peepholes == nullptr ? nullptr : peepholes + way * 3 * units,
          functions_.data() + functions * static_cast<size_t>(way), {}};
  /* The numbers that the steps add to the gates have no other reader: a step may write there. */
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

namespace {

class Rnn final : public Recurrence<float> {
 public:
  using Recurrence::Recurrence;

 private:
  void step(const Step &at) const override {
    const int64_t units = reading_.units;
    multiply(at, matrices_[0], at.packed, {&Item::hidden}, {&Item::gates}, at.bias, {&Item::spare});
    for (const Item &item : at.items) {
      activate(Rows<float>(at.frame.kernels), at.functions[0], item.spare, units);
      std::copy_n(item.spare, units, item.hidden);
    }
  }
};

}  // namespace

OperationPtr rnn(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions) {
  return std::make_unique<Rnn>(std::move(inputs), std::move(outputs), reading, 1, clip, std::move(functions));
}

namespace {

/* Gates in the order update, reset, candidate. */
class Gru final : public Recurrence<float> {
 public:
  Gru(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, float clip,
      std::vector<Elementwise> functions, bool resets_behind)
      : Recurrence(std::move(inputs), std::move(outputs), reading, 3, clip, std::move(functions)),
        resets_behind_(resets_behind) {}

 private:
  std::vector<GemvMatrix<float>> matrices() const override {
    const int64_t units = reading_.units;
    return {{2 * units, units}, {units, units}};
  }

  void step(const Step &at) const override {
    const int64_t units = reading_.units;
    const Kernels &kernels = at.frame.kernels;
    const Rows<float> rows(kernels);
    const std::byte *second = at.packed + matrices_[0].bytes(rows);
    const ItemField reset{&Item::spare, units};
    const ItemField seen{&Item::spare, 2 * units};
    const ItemField candidate{&Item::gates, 2 * units};
    multiply(at, matrices_[0], at.packed, {&Item::hidden}, {&Item::gates}, at.bias, {&Item::spare});
    for (const Item &item : at.items) activate(rows, at.functions[0], item.spare, 2 * units);
    if (resets_behind_) {
      const float *bias = at.recurrent_bias == nullptr ? nullptr : at.recurrent_bias + 2 * units;
      multiply(at, matrices_[1], second, {&Item::hidden}, {nullptr}, bias, seen);
      for (const Item &item : at.items) {
        float *to = item.gates + candidate.first;
        if (bias != nullptr) kernels.arithmetic(Arithmetic::add, to, 1, bias - 3 * units, 1, to, units);
        kernels.multiply_add(item.spare + reset.first, item.spare + seen.first, to, units);
      }
    } else {
      for (const Item &item : at.items) {
        float *to = item.spare + reset.first;
        kernels.arithmetic(Arithmetic::multiply, to, 1, item.hidden, 1, to, units);
      }
      multiply(at, matrices_[1], second, reset, candidate, at.bias + 2 * units, candidate);
    }
    for (const Item &item : at.items) {
      float *next = item.gates + candidate.first;
      activate(rows, at.functions[1], next, units);
      kernels.arithmetic(Arithmetic::subtract, item.hidden, 1, next, 1, item.hidden, units);
      kernels.multiply_add(item.spare, item.hidden, next, units); /* the update gate */
      std::copy_n(next, units, item.hidden);
    }
  }

  bool resets_behind_;
};

}  // namespace

OperationPtr gru(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions, bool resets_behind) {
  return std::make_unique<Gru>(std::move(inputs), std::move(outputs), reading, clip, std::move(functions),
                               resets_behind);
}

template <typename T>
std::vector<GemvMatrix<T>> LstmSequence<T>::matrices() const {
  std::vector<GemvMatrix<T>> all = Base::matrices();
  if (options_.is_projected) all.push_back({this->reading_.outputs, this->reading_.units});
  return all;
}

/* Normalizes the gates first .. last - 1, each by its own mean and variance. */
template <typename T>
void LstmSequence<T>::normalize(const Frame &frame, T *gates, int64_t first, int64_t last) const {
  const auto *factors = frame.in<T>(this->inputs[kNormalization]);
  if (factors == nullptr) return;
  const int64_t units = this->reading_.units;
  const Rows<T> rows(frame.kernels);
  for (int64_t i = first; i < last; ++i) {
    rows.normalize(factors + i * units, factors + (kLstmGates + i) * units, gates + i * units, units, kNoVariance<T>);
  }
}

/* hidden = clip(cell's output * projection + bias); the cell's output is in the place of the output gate. */
template <typename T>
void LstmSequence<T>::project(const Step &at) const {
  const Rows<T> rows(at.frame.kernels);
  const std::vector<GemvMatrix<T>> &both = this->matrices_;
  const auto *bias = at.frame.template in<T>(this->inputs[kProjectionBias]);
  const ItemField shown{&Item::spare, kOutputGate * this->reading_.units};
  this->multiply(at, both[1], at.packed + both[0].bytes(rows), shown, {nullptr}, bias, {&Item::hidden});
  if (options_.projection_clip == 0) return;
  for (const Item &item : at.items) rows.clamp(options_.projection_clip, item.hidden, this->reading_.outputs);
}

template <typename T>
void LstmSequence<T>::step(const Step &at) const {
  this->multiply(at, this->matrices_[0], at.packed, {&Item::hidden}, {&Item::gates}, at.bias, {&Item::spare});
  for (const Item &item : at.items) show(at, item);
  if (options_.is_projected) project(at);
}

/* Computes the cell and the output from the sums of the gates. */
template <typename T>
void LstmSequence<T>::show(const Step &at, const Item &item) const {
  const int64_t units = this->reading_.units;
  const Rows<T> rows(at.frame.kernels);
  T *gates = item.spare;
  T *input = gates + kInputGate * units;
  T *output = gates + kOutputGate * units;
  T *forget = gates + kForgetGate * units;
  T *candidate = gates + kCandidate * units;
  if (at.peepholes == nullptr) {
    normalize(at.frame, gates, kInputGate, kLstmGates);
    this->activate(rows, at.functions[0], input, 3 * units);
  } else {
    rows.multiply_add(at.peepholes, item.cell, input, units);
    rows.multiply_add(at.peepholes + 2 * units, item.cell, forget, units);
    normalize(at.frame, gates, kInputGate, kOutputGate);
    normalize(at.frame, gates, kForgetGate, kLstmGates);
    this->activate(rows, at.functions[0], input, units);
    this->activate(rows, at.functions[0], forget, units);
  }
  if (options_.couples_gates) rows.elementwise({Function::linear, -1.0f, 1.0f}, input, forget, units);
  this->activate(rows, at.functions[1], candidate, units);
  rows.multiply(item.cell, forget, item.cell, units);
  rows.multiply_add(input, candidate, item.cell, units);
  if (options_.cell_clip > 0) rows.clamp(options_.cell_clip, item.cell, units);
  if (at.peepholes != nullptr) {
    rows.multiply_add(at.peepholes + units, item.cell, output, units);
    normalize(at.frame, gates, kOutputGate, kForgetGate);
    this->activate(rows, at.functions[0], output, units);
  }
  std::copy_n(item.cell, units, candidate);
  this->activate(rows, at.functions[2], candidate, units);
  rows.multiply(output, candidate, options_.is_projected ? output : item.hidden, units);
}

template class LstmSequence<float>;
template class LstmSequence<double>;

}  // namespace cpuacc
