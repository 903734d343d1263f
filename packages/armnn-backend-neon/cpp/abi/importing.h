/* SPDX-License-Identifier: MIT */
/* The host's graph as values and layers. */
#pragma once

#include <map>
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

  /* The host's id of a layer; a program from a blob has none but the positions. */
  int32_t id_of(const Layer &layer) const {
    return ids.empty() ? layer.id : ids[static_cast<size_t>(layer.id)];
  }

  std::vector<Value> values;
  std::vector<Layer> layers;      /* the id of each is its position */
  std::vector<int32_t> ids;       /* the host's */
  std::map<int32_t, std::string> younger; /* by position: a parameter that is not known here */
  std::vector<std::string> names; /* of the layers */
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
};

/* Copies a graph, and its constants if has_constants; those that the host can keep are only
 * lent, and not kept yet.
 */
ImportedGraph import_graph(const armnn_graph &graph, bool has_constants);

inline std::string text_of(const armnn_string &text) {
  return text.size == 0 ? std::string() : std::string(text.data, text.size);
}

}  // namespace cpuacc
