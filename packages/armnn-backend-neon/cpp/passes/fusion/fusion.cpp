/* SPDX-License-Identifier: MIT */
/* Operations that the producer of their input computes as well. */
#include <algorithm>

#include "passes/fusion/rules.h"
#include "passes/passes.h"

namespace cpuacc {

/* What lowering swapped into something else may have no reader left. */
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

/* A producer moves to the place of what it absorbed, where all that it reads by now has been computed, and
 * may be absorbed itself there.
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

}  // namespace cpuacc
