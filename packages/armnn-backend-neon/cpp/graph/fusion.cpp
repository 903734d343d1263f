/* SPDX-License-Identifier: MIT */
/* Sums and functions go into the operation whose output they are computed from. */
#include <algorithm>

#include "graph/ir.h"

namespace cpuacc {
namespace {

/* Who makes and who uses each tensor; an alias counts as a use. */
struct Uses {
  std::vector<int32_t> users;
  std::vector<Operation *> makers;

  explicit Uses(const Graph &graph) : users(graph.tensors.size()), makers(graph.tensors.size()) {
    for (const Tensor &tensor : graph.tensors) {
      if (tensor.alias != kNone) ++users[static_cast<size_t>(tensor.alias)];
    }
    for (const TensorId id : graph.outputs) ++users[static_cast<size_t>(id)];
    for (const auto &operation : graph.operations) {
      for (const TensorId id : operation->inputs) {
        if (id != kNone) ++users[static_cast<size_t>(id)];
      }
      for (const TensorId id : operation->outputs) makers[static_cast<size_t>(id)] = operation.get();
    }
  }

  Operation *only_maker(TensorId id) const {
    return users[static_cast<size_t>(id)] == 1 ? makers[static_cast<size_t>(id)] : nullptr;
  }
};

class Fusion {
 public:
  explicit Fusion(Graph &graph) : graph_(graph), uses_(graph) {}

  /* Whether the operation at this position went into the maker of one of its inputs. The maker moves
   * to this position, where everything that it reads by now has been computed.
   */
  bool merge(size_t position) {
    Operation &operation = *graph_.operations[position];
    if (const Elementwise *function = operation.as_function()) {
      Operation *maker = uses_.only_maker(operation.inputs[0]);
      if (maker != nullptr && maker->absorb(*function)) return replace(position, *maker);
    }
    if (operation.is_sum()) {
      for (const size_t side : {size_t{0}, size_t{1}}) {
        Operation *maker = uses_.only_maker(operation.inputs[side]);
        const TensorId other = operation.inputs[1 - side];
        if (maker != nullptr && maker->absorb_sum(other)) return replace(position, *maker);
      }
    }
    return false;
  }

 private:
  bool replace(size_t position, Operation &maker) {
    maker.outputs[0] = graph_.operations[position]->outputs[0];
    uses_.makers[static_cast<size_t>(maker.outputs[0])] = &maker;
    auto &operations = graph_.operations;
    const auto found = std::find_if(operations.begin(), operations.end(),
                                    [&](const auto &each) { return each.get() == &maker; });
    operations[position] = std::move(*found);
    return true;
  }

  Graph &graph_;
  Uses uses_;
};

}  // namespace

void fuse(Graph &graph) {
  Fusion fusion(graph);
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    if (graph.operations[i] != nullptr) fusion.merge(i);
  }
  auto &operations = graph.operations;
  operations.erase(std::remove(operations.begin(), operations.end(), nullptr), operations.end());
}

}  // namespace cpuacc
