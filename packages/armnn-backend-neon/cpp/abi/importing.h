/* SPDX-License-Identifier: MIT */
/* The host's graph as values and layers. */
#ifndef CPUACC_ABI_IMPORTING_H_
#define CPUACC_ABI_IMPORTING_H_

#include <string>
#include <vector>

#include "armnn/backend.h"
#include "graph/lowering.h"

namespace cpuacc {

struct ImportedGraph {
  std::vector<Value> values;
  std::vector<Layer> layers;
  std::vector<std::string> names; /* of the layers */
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
};

/* Copies what a graph says; its constants are kept while a value has them, if keeps_constants. */
ImportedGraph import_graph(const armnn_graph &graph, bool keeps_constants);

inline std::string text_of(const armnn_string &text) {
  return text.size == 0 ? std::string() : std::string(text.data, text.size);
}

}  // namespace cpuacc

#endif
