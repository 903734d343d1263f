/* SPDX-License-Identifier: MIT */
/* Arithmetic in float32 between conversions from and to Float16 is computed in Float16 where the
 * level can, if the result has the same bits.
 */
#include <algorithm>
#include <map>

#include "graph/packed.h"
#include "operations/pointwise/functions.h"
#include "operations/storage/formats.h"
#include "passes/passes.h"

namespace cpuacc {
namespace {

class Halving {
 public:
  Halving(Graph &graph, const Kernels &kernels)
      : graph_(graph), kernels_(kernels), makers_(graph.tensors.size()) {
    for (const auto &operation : graph.operations) {
      for (const TensorId id : operation->outputs) makers_[static_cast<size_t>(id)] = operation.get();
    }
  }

  void run() {
    for (auto &operation : graph_.operations) {
      if (!converts(*operation, ARMNN_FLOAT32, ARMNN_FLOAT16)) continue;
      OperationPtr halved = halved_maker(*operation);
      if (halved == nullptr) continue;
      halved->node = operation->node;
      makers_[static_cast<size_t>(halved->outputs[0])] = halved.get();
      operation = std::move(halved);
    }
  }

 private:
  bool converts(const Operation &operation, armnn_data_type from, armnn_data_type to) const {
    return std::holds_alternative<Conversion>(operation.describe()) && graph_[operation.inputs[0]].type == from &&
           graph_[operation.outputs[0]].type == to;
  }

  OperationPtr halved_maker(const Operation &narrow) {
    const Operation *maker = makers_[static_cast<size_t>(narrow.inputs[0])];
    if (maker == nullptr) return nullptr;
    const Description description = maker->describe();
    const auto *function = std::get_if<Elementwise>(&description);
    const auto *arithmetic = std::get_if<BinaryArithmetic>(&description);
    if (function == nullptr && arithmetic == nullptr) return nullptr;
    std::vector<TensorId> halves;
    for (const TensorId id : maker->inputs) {
      halves.push_back(halves_of(id));
      if (halves.back() == kNone) return nullptr;
    }
    const TensorId to = narrow.outputs[0];
    if (function != nullptr) return float16_function(kernels_, {halves[0], to}, *function);
    return float16_arithmetic({halves[0], halves[1], to, arithmetic->broadcast}, arithmetic->operation);
  }

  /* The Float16 tensor that a float32 tensor was converted from; kNone: there is none. */
  TensorId halves_of(TensorId id) {
    if (id == kNone) return kNone;
    if (graph_[id].constant != nullptr) return constant_halves(id);
    const Operation *maker = makers_[static_cast<size_t>(id)];
    return maker != nullptr && converts(*maker, ARMNN_FLOAT16, ARMNN_FLOAT32) ? maker->inputs[0] : kNone;
  }

  TensorId constant_halves(TensorId id) {
    const auto known = constants_.find(id);
    if (known != constants_.end()) return known->second;
    Tensor tensor = graph_[id];
    const auto *numbers = tensor.read<float>();
    const int64_t count = tensor.count();
    const auto fits = [&](float number) { return is_float16(kernels_, number); };
    if (tensor.type != ARMNN_FLOAT32 || !std::all_of(numbers, numbers + count, fits)) return kNone;
    const std::shared_ptr<void> memory = aligned_memory(static_cast<size_t>(count) * sizeof(uint16_t));
    kernels_.float32_to_half[static_cast<int>(HalfFormat::float16)](
        numbers, static_cast<uint16_t *>(memory.get()), count);
    tensor.type = ARMNN_FLOAT16;
    tensor.constant = memory.get();
    tensor.memory = memory;
    tensor.decoded = nullptr;
    tensor.alias = kNone;
    const TensorId made = graph_.add(std::move(tensor));
    makers_.push_back(nullptr);
    return constants_[id] = made;
  }

  Graph &graph_;
  const Kernels &kernels_;
  std::vector<const Operation *> makers_; /* the operation that writes each tensor */
  std::map<TensorId, TensorId> constants_; /* float32 constants and their Float16 forms */
};

}  // namespace

void compute_in_float16(Graph &graph, const Kernels &kernels) {
  if (kernels.float16_arithmetic == nullptr) return;
  Halving(graph, kernels).run();
  drop_unread(graph);
}

}  // namespace cpuacc
