/* SPDX-License-Identifier: MIT */
/* Tables of embeddings that are also the weights of a product are read in its packed form, so that they are in memory
 * once.
 */
#include <utility>
#include <variant>
#include <vector>

#include "operations/quantized/few_bits.h"
#include "passes/passes.h"

namespace cpuacc {
namespace {

using Writers = std::vector<const Operation *>;

/* The constant matrix of which an operation gathers rows; nullptr: it does something else. */
const Tensor *table_of(const Graph &graph, const Operation *operation) {
  if (operation == nullptr || !std::holds_alternative<GatheredRows>(operation->describe())) return nullptr;
  const Tensor &table = graph.tensors[static_cast<size_t>(operation->inputs[0])];
  const bool is_known = table.constant != nullptr && table.decoded == nullptr && table.shape.size() == 2;
  return is_known ? &table : nullptr;
}

/* Whether numbers, scales and zero points are rows of the weights of a product, chosen by the same indices. */
bool is_tied(const Graph &graph, const Writers &writers, const Operation &floats, const Operation &product) {
  TensorId indices = kNone;
  for (size_t i = 0; i < 3; ++i) {
    const TensorId row = floats.inputs[i];
    const TensorId weights = product.inputs[i + 1];
    if ((row == kNone) != (weights == kNone)) return false;
    if (row == kNone) continue;
    const Operation *gathered = writers[static_cast<size_t>(row)];
    const Tensor *table = table_of(graph, gathered);
    const Tensor &other = graph.tensors[static_cast<size_t>(weights)];
    if (table == nullptr || table->constant != other.constant || table->shape != other.shape) return false;
    if (indices != kNone && gathered->inputs[1] != indices) return false;
    indices = gathered->inputs[1];
  }
  return true;
}

bool is_alike(const FewBits &one, const FewBits &other) {
  return one.bits == other.bits && one.block_size == other.block_size && one.size == other.size &&
         one.row_bytes == other.row_bytes;
}

}  // namespace

void read_tied_tables(Graph &graph) {
  Writers writers(graph.tensors.size());
  for (const auto &operation : graph.operations) {
    for (const TensorId id : operation->outputs) writers[static_cast<size_t>(id)] = operation.get();
  }
  bool is_changed = false;
  for (auto &operation : graph.operations) {
    const Description floats = operation->describe();
    const auto *rows = std::get_if<FewBitsAsFloats>(&floats);
    if (rows == nullptr) continue;
    for (const auto &other : graph.operations) {
      const Description described = other->describe();
      const auto *product = std::get_if<FewBitsProduct>(&described);
      if (product == nullptr || !is_alike(rows->form, product->form)) continue;
      if (!is_tied(graph, writers, *operation, *other)) continue;
      const Operation &gathered = *writers[static_cast<size_t>(operation->inputs[0])];
      std::vector<TensorId> inputs{gathered.inputs[1], other->inputs[1], other->inputs[2], other->inputs[3]};
      const int32_t node = operation->node;
      operation = few_bits_rows(std::move(inputs), operation->outputs[0], product->form, product->columns);
      operation->node = node;
      writers[static_cast<size_t>(operation->outputs[0])] = operation.get();
      is_changed = true;
      break;
    }
  }
  if (is_changed) drop_unread(graph);
}

}  // namespace cpuacc
