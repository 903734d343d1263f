/* SPDX-License-Identifier: MIT */
/* The host's graph as values and layers. */
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "armnn/backend.h"
#include "layers/lowering/lowering.h"

namespace cpuacc {

struct ImportedGraph {
  /* Keeps what the host lent as long as tensors, or values that lowering read, have it. Called once
   * no layer is refused any more: the host may let a constant go for good when it is dropped.
   */
  void keep_constants();
  /* Leaves the host's constants to the tensors that have them. */
  void release_unused();

  std::vector<Value> values;
  std::vector<std::shared_ptr<const Layer>> layers; /* by position */
  std::map<int32_t, std::string> newer_than_api; /* by position: a parameter that is not known here */
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
};

/* The bytes of a value's elements. */
inline size_t bytes_of(const Value &value) {
  return static_cast<size_t>(elements(value.shape)) * element_bytes(value.type);
}

/* Copies a graph, and its constants if has_constants; those that the host can keep are only
 * lent, and not kept yet.
 *
 * Args: earlier: the same graph of other shapes, whose constants are in memory already.
 */
ImportedGraph import_graph(const armnn_graph &graph, bool has_constants, const ImportedGraph *earlier = nullptr);

inline std::string text_of(const armnn_string &text) {
  return text.size == 0 ? std::string() : std::string(text.data, text.size);
}

}  // namespace cpuacc
