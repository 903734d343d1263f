/* SPDX-License-Identifier: MIT */
/* The function query of the table: a node is taken if it can be lowered, so that query and compile never disagree. */
#include <list>

#include "abi/backend.h"
#include "abi/importing.h"

namespace cpuacc {
namespace {

/* Tries each node on its own, all its inputs in plain order. */
std::string refusal_of(const ImportedGraph &graph, const Layer &layer, const Kernels &kernels, int32_t &input) {
  const auto newer = graph.newer_than_api.find(layer.id);
  if (newer != graph.newer_than_api.end()) return "the parameter '" + newer->second + "' is not known";
  Graph scratch;
  Lowering lowering(graph.values, scratch, kernels);
  try {
    for (const int32_t value : layer.inputs) {
      if (value >= 0 && !graph.values[static_cast<size_t>(value)].is_constant()) {
        lowering.add_input(value);
      }
    }
    lowering.lower(layer);
  } catch (const Refusal &refusal) {
    input = refusal.input;
    return refusal.reason;
  }
  return "";
}

}  // namespace

void answer(const armnn_backend &backend, const armnn_graph &from, armnn_support *supports, uint64_t stride) {
  thread_local std::list<std::string> reasons; /* until the next query on this thread */
  reasons.clear();
  const ImportedGraph graph = import_graph(from, false);
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    armnn_support &row = *ARMNN_AT(armnn_support, supports, stride, i);
    int32_t input = -1;
    reasons.push_back(refusal_of(graph, *graph.layers[i], backend.kernels, input));
    const std::string &reason = reasons.back();
    row.level = reason.empty() ? ARMNN_PREFERRED : ARMNN_NOT_SUPPORTED;
    row.input = input + 1;
    row.reason = {reason.c_str(), reason.size()};
  }
}

}  // namespace cpuacc
