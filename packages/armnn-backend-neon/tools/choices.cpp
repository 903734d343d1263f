/* SPDX-License-Identifier: MIT */
/* What the costs choose for a level that this CPU need not have, and what a kernel's work is there, as nothing is computed:
 * choices.py asks.
 *
 * Args: lanes, rows and vectors of a tile, the same of bytes; whether bytes are widened, bfloat16 is multiplied, and
 * there are tile registers. Standard input: a question a line, after that of work the kernel's name; standard output: an answer a line.
 */
#include "costs/machine.cpp"
#include "costs/this_cpu.cpp"
#include "operations/convolution/choice.cpp"
#include "operations/convolution/direct.cpp"
#include "operations/convolution/output_blocking.cpp"
#include "operations/convolution/raster.cpp"
#include "operations/depthwise/depthwise.cpp"
#include "operations/quantised/int8_gemm.cpp"
#include "operations/windows.cpp"
#include "operations/winograd/winograd_1d.cpp"
#include "operations/winograd/winograd_2d.cpp"

#include <cstdio>
#include <sstream>

using namespace cpuacc;

namespace {

constexpr int32_t kThreads = 2;

Kernels kernels_of(char **numbers) {
  int32_t next = 1;
  const auto take = [&] { return std::atoi(numbers[next++]); };
  Kernels kernels{};
  kernels.lanes = kernels.int8.lanes = take();
  kernels.rows = kernels.rows_bfloat16 = take();
  kernels.columns = kernels.lanes * take();
  kernels.paired_columns = kernels.lanes > 4 ? kernels.lanes / 2 : 0;
  kernels.int8.rows = take();
  kernels.int8.columns = kernels.lanes * take();
  if (take() != 0) kernels.int8.widen = [](const uint8_t *, int16_t *, int64_t, bool) {};
  if (take() != 0) kernels.gemm_tile_bfloat16 = [](const GemmTileBfloat16 &) {};
  if (take() != 0) {
    kernels.rows_bfloat16 = 2 * costs::kTileRegisterRows;
    kernels.begin_tiles_bfloat16 = [](TileState &, int64_t) {};
    kernels.raster_tile_bfloat16 = [](const RasterTile &) {};
    kernels.int8_in_tile_registers.gemm_tile = [](const Int8GemmTile &) {};
  }
  return kernels;
}

/* Height, width and channels of an image, outputs, height, width and stride of a window; images keep their size. */
struct Question {
  int64_t height, width, channels, outputs, window_height, window_width, stride;

  Windows windows() const {
    const int64_t top = (window_height - 1) / 2, left = (window_width - 1) / 2;
    return {1,      height, width,         channels,     ratio_up(height, stride), ratio_up(width, stride),
            window_height, window_width, stride, stride, 1, 1, top, left, window_height - 1 - top, window_width - 1 - left};
  }
  /* Of the weights [outputs, window_height, window_width, channels]. */
  WeightLayout layout() const {
    const int64_t taps = window_height * window_width;
    return {taps, channels, channels, 1, outputs, taps * channels};
  }
  int64_t rows() const { return height * width; }
};

/* With constant weights. */
ConvolutionLayer convolution_of(const Question &q, bool is_fast, const Kernels &kernels) {
  const WeightLayout layout = q.layout();
  const int64_t bytes = layout.taps * layout.depth * layout.columns * 4;
  return {q.windows(), layout, true, bytes, {is_fast, is_fast && kernels.gemm_tile_bfloat16 != nullptr}};
}

/* Each unit and how many, as measured: what makes the image stores what fast math multiplies. None: the layer has no such
 * kernel.
 */
std::string work_of(const Question &q, const std::string &name, const Kernels &kernels) {
  std::ostringstream text;
  ConvolutionLayer layer = convolution_of(q, true, kernels);
  layer.is_image_rounded = true;
  for (const ConvolutionKernel &kernel : convolution_kernels(layer, kernels)) {
    for (size_t i = 0; kernel.name() == name && i < costs::kUnits; ++i) {
      text << costs::kUnitNames[i] << ' ' << kernel.work.counts[i] << ' ';
    }
  }
  return text.str();
}

std::string answer(const std::string &kind, const Question &q, const Setup &setup) {
  const Kernels &kernels = setup.kernels;
  if (kind == "exact" || kind == "fast") return choose_convolution(convolution_of(q, kind == "fast", kernels), kernels).name();
  if (kind == "bytes") return suits_tile_registers(q.rows(), q.layout(), kernels) ? "tile registers" : "vectors";
  if (kind == "product") return gemm_tiling(q.rows(), q.layout(), 1, setup).threads == 1 ? "alone" : "shared";
  const OperationPtr depthwise = depthwise_convolution({0, 1, kNone, 2}, q.windows(), {1, 1, 1});
  depthwise->prepare(setup);
  return setup.threads_for(setup.machine().ns_of(depthwise->work)) == 1 ? "alone" : "shared";
}

/* What no choice looks at, and no source above has. */
template <typename T>
T &unused() {
  alignas(T) static unsigned char memory[sizeof(T)];
  return reinterpret_cast<T &>(memory);
}

}  // namespace

int main(int, char **arguments) {
  const Kernels kernels = kernels_of(arguments);
  const std::vector<Tensor> tensors(3);
  const double least_ns = costs::kForksWorthSplitting * costs::machine(kernels.lanes).ns[costs::fork];
  const Setup setup{tensors, kernels, unused<ProgramWeights>(), unused<Pool>(), kThreads, least_ns, false};
  char kind[16];
  Question q;
  while (std::scanf("%15s %ld %ld %ld %ld %ld %ld %ld", kind, &q.height, &q.width, &q.channels, &q.outputs,
                    &q.window_height, &q.window_width, &q.stride) == 8) {
    if (std::string(kind) == "work") {
      char name[32];
      if (std::scanf(" %31[^\n]", name) != 1) return 2;
      std::puts(work_of(q, name, kernels).c_str());
    } else {
      std::puts(answer(kind, q, setup).c_str());
    }
  }
}
