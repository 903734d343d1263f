/* SPDX-License-Identifier: MIT */
/* Layers that change the number of axes, and layers on tensors of one number. */
#include "layers/lowering/lowering.h"
#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

/* Every element of the output is that number. */
void fill(Lowering &l, double value) {
  std::vector<std::byte> element = element_of(l.output().type, value);
  l.add<CopyBoxes>(std::vector<TensorId>{}, l.out(), std::vector<CopyBox>{}, std::move(element));
}

/* In quantized tensors and halves by way of floats. */
void lower_fill(Lowering &l) {
  require(l.output().quantization.scales.empty(), "a real number is not filled into a quantized tensor");
  fill(l, l.real(ARMNN_PARAMETER(ARMNN_FILL_VALUE)));
}

void lower_rank(Lowering &l) {
  require_index_output(l.output().type);
  fill(l, static_cast<double>(l.input(0).shape.size()));
}

}  // namespace

std::vector<LayerType> dimensions_layers() {
  return {
      {ARMNN_LAYER_FILL, lower_fill},
      {ARMNN_LAYER_RANK, lower_rank},
  };
}

}  // namespace cpuacc
