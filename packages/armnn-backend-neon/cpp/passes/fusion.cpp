/* SPDX-License-Identifier: MIT */
/* Fusion: the producer of an input absorbs the operation that reads it, by rules. */
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/ir.h"
#include "operations/copy/copy.h"
#include "operations/quantized/quantized.h"
#include "passes/passes.h"

namespace cpuacc {

/* An operation and its slots; no slots if the operation is nullptr. */
struct Producer {
  Operation *operation = nullptr;
  EpilogueSlots slots;
};

/* The operation that writes each tensor, and how many read it: aliases and outputs of the graph count, too. */
struct Uses {
  std::vector<int32_t> readers;
  std::vector<Operation *> writers;

  explicit Uses(const Graph &graph);
  /* The writer of a tensor if the tensor has one reader. */
  Producer only_producer(TensorId id) const;
};

/* An operation that a producer may absorb. */
struct Candidate {
  const Graph &graph;
  const Kernels &kernels;
  Uses &uses;
  const Operation &operation;
  const Description description;

  template <typename T>
  const T *computes() const { return std::get_if<T>(&description); }
  /* The operation that computes an input for this operation alone. */
  Producer producer(size_t input) const { return uses.only_producer(operation.inputs[input]); }
  /* As producer, but the operation may read the producer's memory in another shape. */
  Producer producer_of_memory(size_t input) const;
};

/* Fills slots of a producer so that it computes the candidate as well, and returns this producer; nullptr if the
 * candidate fits none, and then nothing has changed.
 */
using Rule = Operation *(const Candidate &candidate);

/* In the order in which they are tried. */
Rule fuse_function, fuse_residual_and_bias, fuse_row_arithmetic, fuse_dequantization, fuse_byte_function,
    fuse_byte_pair, fuse_int8_addition, fuse_permutation;
constexpr Rule *kRules[] = {fuse_function,      fuse_residual_and_bias, fuse_row_arithmetic, fuse_dequantization,
                            fuse_byte_function, fuse_byte_pair,         fuse_int8_addition,  fuse_permutation};

/* Drops the operations whose outputs nobody reads: lowering may have swapped them into others. */
void drop_unread(Graph &graph) {
  std::vector<bool> is_read(graph.tensors.size());
  const auto read = [&](TensorId id) { is_read[static_cast<size_t>(graph.owner(id))] = true; };
  for (const TensorId id : graph.outputs) read(id);
  auto &operations = graph.operations;
  for (size_t i = operations.size(); i-- > 0;) {
    const auto &made = operations[i]->outputs;
    const auto is_wanted = [&](TensorId id) { return is_read[static_cast<size_t>(graph.owner(id))]; };
    if (std::none_of(made.begin(), made.end(), is_wanted)) {
      operations[i].reset();
      continue;
    }
    for (const TensorId id : operations[i]->inputs) {
      if (id != kNone) read(id);
    }
  }
  operations.erase(std::remove(operations.begin(), operations.end(), nullptr), operations.end());
}

Uses::Uses(const Graph &graph) : readers(graph.tensors.size()), writers(graph.tensors.size()) {
  const auto read = [&](TensorId id) {
    if (id != kNone) ++readers[static_cast<size_t>(id)];
  };
  for (const Tensor &tensor : graph.tensors) read(tensor.alias);
  for (const TensorId id : graph.outputs) read(id);
  for (const auto &operation : graph.operations) {
    for (const TensorId id : operation->inputs) read(id);
    for (const TensorId id : operation->outputs) writers[static_cast<size_t>(id)] = operation.get();
  }
}

Producer Uses::only_producer(TensorId id) const {
  Operation *writer = readers[static_cast<size_t>(id)] == 1 ? writers[static_cast<size_t>(id)] : nullptr;
  return writer == nullptr ? Producer{} : Producer{writer, writer->epilogue_slots()};
}

Producer Candidate::producer_of_memory(size_t input) const {
  TensorId id = operation.inputs[input];
  for (; graph[id].alias != kNone; id = graph[id].alias) {
    const bool is_whole = graph[id].bytes() == graph[graph[id].alias].bytes();
    if (uses.readers[static_cast<size_t>(id)] != 1 || !is_whole) return {};
  }
  return uses.only_producer(id);
}

namespace {

Operation *absorbing_producer(const Graph &graph, const Kernels &kernels, Uses &uses, const Operation &operation) {
  const Candidate candidate{graph, kernels, uses, operation, operation.describe()};
  for (Rule *rule : kRules) {
    if (Operation *producer = rule(candidate)) return producer;
  }
  return nullptr;
}

}  // namespace

/* A producer moves to the position of the operation that it absorbed, where all that it reads now has been
 * computed. There it may be absorbed itself.
 */
void fuse(Graph &graph, const Kernels &kernels) {
  drop_unread(graph);
  Uses uses(graph);
  auto &operations = graph.operations;
  for (auto &operation : operations) {
    if (operation == nullptr) continue;
    while (Operation *producer = absorbing_producer(graph, kernels, uses, *operation)) {
      producer->outputs[0] = operation->outputs[0];
      uses.writers[static_cast<size_t>(producer->outputs[0])] = producer;
      const auto is_producer = [&](const auto &each) { return each.get() == producer; };
      operation = std::move(*std::find_if(operations.begin(), operations.end(), is_producer));
    }
  }
  operations.erase(std::remove(operations.begin(), operations.end(), nullptr), operations.end());
}

/* A function of the producer's result. */

namespace {

/* Extends a function by a later one, if kernels compute both as one. */
bool append(Elementwise &function, bool scales, const Elementwise &later) {
  if (function.function == Function::identity) {
    function = later;
    return true;
  }
  if (!scales || later.function != Function::linear) return false;
  if (function.function == Function::linear) {
    function.a *= later.a;
    function.b = function.b * later.a + later.b;
  } else {
    function.scale *= later.a;
    function.shift = function.shift * later.a + later.b;
  }
  return true;
}

}  // namespace

Operation *fuse_function(const Candidate &candidate) {
  const auto *function = candidate.computes<Elementwise>();
  if (function == nullptr) return nullptr;
  const auto [producer, slots] = candidate.producer(0);
  if (slots.function == nullptr || !append(*slots.function, slots.scales, *function)) return nullptr;
  return producer;
}

/* A clamp, or another function, of the bytes that a producer stores. */

Operation *fuse_byte_function(const Candidate &candidate) {
  const auto *later = candidate.computes<ByteFunction>();
  if (later == nullptr) return nullptr;
  const auto [producer, slots] = candidate.producer(0);
  if (later->bounds && slots.lowest != nullptr) {
    *slots.lowest = std::max(*slots.lowest, later->bounds->lowest);
    *slots.highest = std::min(*slots.highest, later->bounds->highest);
    return producer;
  }
  if (slots.table == nullptr) return nullptr;
  ByteFunction both{later->table};
  if (*slots.table) {
    for (size_t i = 0; i < both.table.size(); ++i) both.table[i] = later->table[(*slots.table)->table[i]];
  }
  *slots.table = both;
  return producer;
}

/* Arithmetic of bytes x and a function f(x): together they are one function of x. */

Operation *fuse_byte_pair(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<Int8Arithmetic>();
  if (arithmetic == nullptr) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId other = candidate.operation.inputs[1 - side];
    const auto [producer, slots] = candidate.producer(side);
    if (producer == nullptr || producer->inputs.size() != 1 || producer->inputs[0] != other) continue;
    const Description description = producer->describe();
    const auto *function = std::get_if<ByteFunction>(&description);
    if (function == nullptr) continue;
    ByteTable same;
    std::iota(same.begin(), same.end(), uint8_t{0});
    const ByteTable &x = side == 0 ? function->table : same;
    const ByteTable &y = side == 0 ? same : function->table;
    ByteFunction both{};
    compute_int8(candidate.kernels.int8, arithmetic->operation, x.data(), 1, y.data(), 1, both.table.data(), 256);
    *slots.table = both;
    --candidate.uses.readers[static_cast<size_t>(other)];
    return producer;
  }
  return nullptr;
}

/* The conversion of accumulators to float32, and the product of these with one number. */

Operation *fuse_dequantization(const Candidate &candidate) {
  const Operation &operation = candidate.operation;
  if (candidate.computes<Conversion>() != nullptr) {
    const auto [producer, slots] = candidate.producer(0);
    const bool is_float = candidate.graph[operation.outputs[0]].type == ARMNN_FLOAT32;
    if (!is_float || slots.dequantizes == nullptr) return nullptr;
    *slots.dequantizes = true;
    return producer;
  }
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr || arithmetic->operation != Arithmetic::multiply) return nullptr;
  const auto count = [&](TensorId id) { return candidate.graph[id].count(); };
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId scale = operation.inputs[1 - side];
    if (count(scale) != 1 || count(operation.inputs[side]) != count(operation.outputs[0])) continue;
    const auto [producer, slots] = candidate.producer(side);
    if (slots.scale == nullptr) return nullptr;
    *slots.scale = scale;
    return producer;
  }
  return nullptr;
}

/* The weighted sum of the bytes that a producer stores and another tensor of the same shape. */

Operation *fuse_int8_addition(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<Int8Arithmetic>();
  if (arithmetic == nullptr || !arithmetic->is_plain) return nullptr;
  const auto *addition = std::get_if<Int8Addition>(&arithmetic->operation);
  if (addition == nullptr) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto [producer, slots] = candidate.producer(side);
    if (slots.addition == nullptr) continue;
    *slots.addition = *addition;
    if (side == 1) std::swap((*slots.addition)->x_factor, (*slots.addition)->y_factor);
    producer->inputs.push_back(candidate.operation.inputs[1 - side]);
    return producer;
  }
  return nullptr;
}

/* A permutation of axes after another one, where the memory in between may be read in another shape. */

namespace {

/* Two permutations as one. They may divide the memory in between into different axes: from the densest one on,
 * an axis is split where the other permutation's axis ends. nullopt: an axis cannot be split so.
 */
std::optional<CopyBox> composed(const CopyBox &first, const CopyBox &second) {
  if (elements(first.shape) == 0) return std::nullopt;
  std::vector<size_t> written(first.shape.size()), read(second.shape.size());
  std::iota(written.begin(), written.end(), size_t{0});
  std::iota(read.begin(), read.end(), size_t{0});
  std::sort(written.begin(), written.end(), [&](size_t a, size_t b) { return first.to[a] < first.to[b]; });
  std::sort(read.begin(), read.end(), [&](size_t a, size_t b) { return second.from[a] < second.from[b]; });
  CopyBox result;
  int64_t made_left = 1, read_left = 1, from = 0, to = 0;
  for (size_t i = 0, j = 0;;) {
    if (made_left == 1 && i < written.size()) {
      made_left = first.shape[written[i]];
      from = first.from[written[i++]];
    }
    if (read_left == 1 && j < read.size()) {
      read_left = second.shape[read[j]];
      to = second.to[read[j++]];
    }
    const int64_t size = std::min(made_left, read_left);
    if (made_left % size != 0 || read_left % size != 0) return std::nullopt;
    result.shape.push_back(size);
    result.from.push_back(from);
    result.to.push_back(to);
    made_left /= size;
    read_left /= size;
    from *= size;
    to *= size;
    if (made_left == 1 && read_left == 1 && i == written.size() && j == read.size()) return simplified(result);
  }
}

/* Lets dense matrices be stored with permuted axes, if the numbers of each row stay side by side. */
bool permute(OutputMatrices &matrices, const CopyBox &box) {
  if (matrices.row_step != matrices.columns) return false; /* the rows are permuted already */
  const auto axis_of = [&](int64_t count, int64_t step) {
    size_t axis = 0;
    while (axis < box.shape.size() && (box.shape[axis] != count || box.from[axis] != step)) ++axis;
    return axis;
  };
  const size_t none = box.shape.size();
  const size_t column = axis_of(matrices.columns, 1), row = axis_of(matrices.rows, matrices.columns);
  if (column == none || row == none || column == row || box.to[column] != 1) return false;
  ItemOffsets offsets = matrices.offsets;
  size_t found = 2;
  for (size_t i = offsets.counts.size(); i-- > 0;) {
    if (offsets.counts[i] == 1) continue;
    const size_t axis = axis_of(offsets.counts[i], offsets.steps[i]);
    if (axis == none || axis == column || axis == row) return false;
    offsets.steps[i] = box.to[axis];
    ++found;
  }
  if (found != none) return false;
  matrices.offsets = std::move(offsets);
  matrices.row_step = box.to[row];
  return true;
}

}  // namespace

Operation *fuse_permutation(const Candidate &candidate) {
  const auto *later = candidate.computes<CopyBox>();
  if (later == nullptr) return nullptr;
  const auto [producer, slots] = candidate.producer_of_memory(0);
  if (slots.matrices != nullptr) return permute(*slots.matrices, *later) ? producer : nullptr;
  if (slots.box == nullptr) return nullptr;
  std::optional<CopyBox> both = composed(*slots.box, *later);
  if (!both || !is_fast(*both)) return nullptr;
  *slots.box = std::move(*both);
  return producer;
}

/* The sum of the producer's result and a residual of its shape, or a bias: the same row for all rows. */

Operation *fuse_residual_and_bias(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr || arithmetic->operation != Arithmetic::add) return nullptr;
  const Broadcast &broadcast = arithmetic->broadcast;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto [producer, slots] = candidate.producer(side);
    const TensorId other = candidate.operation.inputs[1 - side];
    const int64_t columns = broadcast.row_of(1 - side);
    if (slots.adds_residual != nullptr && broadcast.is_plain()) {
      *slots.adds_residual = true;
      producer->inputs.push_back(other);
      return producer;
    }
    if (slots.bias != nullptr && columns > 0 && columns == slots.columns) {
      *slots.bias = other;
      return producer;
    }
  }
  return nullptr;
}

/* Multiplies a producer's result by one row for all of its rows, or adds one. */

Operation *fuse_row_arithmetic(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto [producer, slots] = candidate.producer(side);
    bool *slot = arithmetic->operation == Arithmetic::multiply ? slots.multiplies_row
                 : arithmetic->operation == Arithmetic::add    ? slots.adds_row
                                                               : nullptr;
    const int64_t columns = arithmetic->broadcast.row_of(1 - side);
    if (slot == nullptr || columns == 0 || columns != slots.columns) continue;
    *slot = true;
    producer->inputs.push_back(candidate.operation.inputs[1 - side]);
    return producer;
  }
  return nullptr;
}

}  // namespace cpuacc
