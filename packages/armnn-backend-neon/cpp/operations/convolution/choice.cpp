/* SPDX-License-Identifier: MIT */
#include "operations/convolution/choice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "costs/costs.h"
#include "operations/convolution/convolution.h"
#include "operations/convolution/indirection.h"
#include "operations/gemm/panels.h"
#include "operations/gemm/work.h"

namespace cpuacc {
namespace {

/* Pieces of a row of outputs as the kernel takes them: tiles of as many outputs as possible, all about alike. */
void add_direct_outputs(costs::Work &work, int64_t outputs, double times, int64_t steps, const PanelWidth &panel,
                        const Kernels &kernels) {
  const auto calls = static_cast<double>(ratio_up(outputs, int64_t{kernels.rows})) * times * panel.count;
  const double whole = std::floor(panel.registers);
  const double half = std::ceil(panel.registers) - whole;
  const double sums = static_cast<double>(outputs) * times * panel.count * (whole + half);
  const double row_steps = static_cast<double>(outputs * steps) * times * panel.count;
  work.add(costs::direct_multiply_add, row_steps * whole * kernels.lanes)
      .add(costs::direct_half_multiply_add, row_steps * half * kernels.lanes / 2)
      .add(costs::direct_step, row_steps)
      .add(costs::direct_wait, static_cast<double>(steps) * std::max(0.0, costs::kInFlight * calls - sums))
      .add(costs::direct_stored, sums)
      .add(costs::direct_call, calls);
}

/* As gemm_rows multiplies one column: a register has numbers of a row. */
bool are_dots(const WeightLayout &layout, const Kernels &kernels) {
  return layout.columns == 1 && layout.depth >= kernels.lanes && layout.taps * layout.depth <= kMostDotNumbers;
}

costs::Work dots_work(int64_t rows, const WeightLayout &layout, const Kernels &kernels) {
  const int64_t numbers = layout.taps * ratio_up(layout.depth, int64_t{kernels.lanes}) * kernels.lanes;
  return costs::Work()
      .add(costs::direct_multiply_add, static_cast<double>(rows * numbers))
      .add(costs::direct_stored, static_cast<double>(rows))
      .add(costs::direct_call, static_cast<double>(ratio_up(rows, int64_t{kernels.lanes})));
}

costs::Work direct_work(const Windows &w, const WeightLayout &layout, const Kernels &kernels) {
  const int64_t rows = w.batch * w.output_height;
  const bool is_narrow = w.output_width <= costs::kNarrowImage;
  const int64_t border = is_narrow ? 0 : std::min(ratio_up(w.pad_left, w.stride_x), w.output_width / 2);
  const int64_t copied = is_narrow ? w.width : 2 * w.pad_left;
  costs::Work work;
  work.add(costs::operation, 1.0)
      .add(costs::direct_line, static_cast<double>(rows))
      .add(costs::direct_copied, static_cast<double>(rows * w.window_height * copied * w.channels));
  const WeightLayout lines = direct_layout(w, layout.columns);
  if (are_dots(lines, kernels)) return work.add(dots_work(rows * w.output_width, lines, kernels));
  const int64_t steps = layout.taps * layout.depth;
  const PanelWidths panels = panel_widths(layout.columns, kernels, false);
  for (const PanelWidth &panel : {panels.full, panels.last}) {
    if (panel.count == 0.0) continue;
    const auto times = static_cast<double>(rows);
    add_direct_outputs(work, w.output_width - 2 * border, times, steps, panel, kernels);
    add_direct_outputs(work, border, 2.0 * times, steps, panel, kernels);
    work.add(costs::cold_narrow_step, panel.registers >= panels.full.registers ? 0.0 : static_cast<double>(steps))
        .add(costs::cold_step, panel.registers >= panels.full.registers ? panel.count * static_cast<double>(steps) : 0.0);
  }
  return work;
}

costs::Work indirect_work(const Windows &w, const WeightLayout &layout, bool is_rounded, const Kernels &kernels) {
  const int64_t rows = w.batch * w.output_height * w.output_width;
  const int64_t pixels = w.batch * w.height * w.width;
  costs::Work work;
  if (is_rounded) {
    work = rounded_gemm_work(rows, layout, are_pixels(w), pixels, kernels);
  } else if (are_pixels(w) && are_dots(layout, kernels)) {
    work = dots_work(rows, layout, kernels).add(costs::operation, 1.0);
  } else {
    work = gemm_work(rows, with_paired_tail(layout, kernels), are_pixels(w), kernels);
  }
  work.add(costs::image_line, static_cast<double>(pixels * layout.depth) / costs::kFloatsPerLine);
  const auto panels = static_cast<double>(ratio_up(layout.columns, kernels.columns));
  if (!are_pixels(w)) work.add(costs::row, static_cast<double>(rows * layout.taps) * panels);
  const int64_t distance = w.stride_x * w.channels;
  const bool copies_crowded = layout.taps == 1 && layout.columns > kernels.columns;
  if (!copies_crowded && distance % costs::kFloatsOfAWay == 0) {
    work.add(costs::crowded_line, static_cast<double>(rows * layout.taps * layout.depth) * panels / costs::kFloatsPerLine);
  }
  if (copies_crowded && distance % costs::kCrowdedFloats == 0) {
    work.add(costs::copied, static_cast<double>(rows * layout.depth));
  }
  return work;
}

/* What blocks of outputs have too many is cut off. */
void add_cut(costs::Work &work, const ConvolutionLayer &layer, const Windows &blocked, int64_t together) {
  if (blocked.output_width * together == layer.windows.output_width) return;
  const int64_t outputs = blocked.batch * blocked.output_height * layer.windows.output_width;
  work.add(costs::element, static_cast<double>(outputs * layer.layout.columns)).add(costs::cut, 1.0);
}

/* Of all groups, from that of one: the operation begins once. */
costs::Work of_all_groups(const costs::Work &work, const ConvolutionLayer &layer) {
  costs::Work all = scaled(work, static_cast<double>(layer.groups()));
  all.counts[costs::operation] = work.counts[costs::operation];
  return all;
}

/* So many outputs as one row. */
costs::Work plain_work(const ConvolutionLayer &layer, int64_t together, const Kernels &kernels) {
  const Windows w = together == 1 ? layer.windows : blocked_windows(layer.windows, together);
  WeightLayout layout = layer.layout;
  layout.taps = w.window_height * w.window_width;
  layout.columns *= together;
  const bool is_direct = layer.is_ungrouped() && suits_direct(w);
  costs::Work work = is_direct ? direct_work(w, layout, kernels) : indirect_work(w, layout, false, kernels);
  add_cut(work, layer, w, together);
  return of_all_groups(work, layer);
}

/* The same in bfloat16; none if that takes longer. */
std::optional<costs::Work> rounded_work(const ConvolutionLayer &layer, int64_t together, const Kernels &kernels) {
  if (!layer.fast_math.has_bfloat16) return std::nullopt;
  const Windows blocked = together == 1 ? layer.windows : blocked_windows(layer.windows, together);
  const bool joins_taps = layer.is_ungrouped() && suits_direct(blocked);
  const bool is_raster = suits_raster(blocked, kernels);
  const Windows w = joins_taps && !is_raster ? padded_windows(blocked) : blocked;
  WeightLayout layout = layer.layout;
  layout.columns *= together;
  layout.taps = joins_taps ? w.window_height : w.window_height * w.window_width;
  if (joins_taps) layout.depth = w.window_width * w.channels;
  const int64_t rows = w.batch * w.output_height * w.output_width;
  if (!gains_by_bfloat16(costs::machine(kernels.lanes), kernels, layout, layer.is_image_rounded, rows)) return std::nullopt;
  costs::Work work = is_raster ? raster_work(w, layout, kernels) : indirect_work(w, layout, true, kernels);
  const int64_t numbers = w.batch * w.height * w.width * w.channels;
  if (joins_taps && !is_raster) {
    work.counts[costs::rounded] = static_cast<double>(numbers);
    work.counts[costs::image_line] = static_cast<double>(numbers) / costs::kFloatsPerLine;
    if (w.height != blocked.height || w.width != blocked.width) work.add(costs::element, static_cast<double>(numbers));
  }
  if (layer.is_image_rounded) work.counts[costs::rounded] = 0.0;
  add_cut(work, layer, blocked, together);
  return of_all_groups(work, layer);
}

}  // namespace

std::string ConvolutionKernel::name() const {
  switch (kind) {
    case winograd_2d: return "winograd_2d " + std::to_string(side);
    case winograd_1d:
      return "winograd_1d " + std::to_string(filter.outputs) + (filter.is_along_y ? " down" : " across");
    default:
      return "plain" + (together == 1 ? "" : " " + std::to_string(together)) + (is_rounded ? " bfloat16" : "");
  }
}

std::vector<ConvolutionKernel> convolution_kernels(const ConvolutionLayer &layer, const Kernels &kernels) {
  const Windows &w = layer.windows;
  std::vector<ConvolutionKernel> candidates;
  const auto add = [&](ConvolutionKernel kernel, const costs::Work &work) {
    kernel.work = work;
    candidates.push_back(kernel);
  };
  const auto add_plain = [&](int64_t together) {
    add({ConvolutionKernel::plain, together, false, 0, {}, {}}, plain_work(layer, together, kernels));
    const std::optional<costs::Work> work = rounded_work(layer, together, kernels);
    if (work) add({ConvolutionKernel::plain, together, true, 0, {}, {}}, *work);
  };
  add_plain(1);
  const bool is_empty = w.batch * w.output_height * w.output_width * layer.layout.columns == 0;
  if (!layer.has_constant_weights || !layer.is_ungrouped() || is_empty) return candidates;
  const int64_t most = most_outputs_per_block(w, layer.layout.columns);
  for (int64_t together = 2; together <= most; ++together) add_plain(together);
  if (suits_winograd_2d(w, layer.layout)) {
    for (int64_t side = 2; side <= (layer.fast_math.is_allowed ? 6 : 4); side += 2) {
      add({ConvolutionKernel::winograd_2d, 1, false, side, {}, {}}, winograd_2d_work(w, layer.layout, side, kernels));
    }
  }
  for (const Winograd1dFilter &filter : winograd_1d_filters(w)) {
    add({ConvolutionKernel::winograd_1d, 1, false, 0, filter, {}}, winograd_1d_work(w, layer.layout, filter, kernels));
  }
  return candidates;
}

/* What a byte of transformed weights has to save beyond those of the window: the time to read it from memory,
 * where the graph's constants do not stay in the caches, less that of a cold row, which its kernel counts. Tiles
 * of 4 x 4 quadruple the weights of a 3 x 3 window, and gain next to nothing over those of 2 x 2 where an image
 * has few tiles.
 */
double added_byte_ns(const ConvolutionLayer &layer, const costs::Machine &machine, const Kernels &kernels) {
  if (layer.constant_bytes <= machine.caches.third / costs::kThirdCacheParts) return 0.0;
  const auto row_bytes = static_cast<double>(kernels.columns) * sizeof(float);
  return std::max(0.0, machine.ns[costs::memory_byte] - machine.ns[costs::cold_step] / row_bytes);
}

/* Of the weights of a kernel, times those of the plain one. */
double growth(const ConvolutionKernel &kernel, const Windows &w) {
  const auto window = static_cast<double>(w.window_height * w.window_width);
  if (kernel.kind == ConvolutionKernel::winograd_2d) {
    return static_cast<double>((kernel.side + 2) * (kernel.side + 2)) / window;
  }
  if (kernel.kind == ConvolutionKernel::winograd_1d) {
    return static_cast<double>(kernel.filter.points()) / static_cast<double>(kernel.filter.window);
  }
  return kernel.is_rounded ? 0.5 : 1.0;
}

const char *wanted_kernel() { return std::getenv("ARMNN_CPUACC_KERNEL"); }

ConvolutionKernel choose_convolution(const ConvolutionLayer &layer, const Kernels &kernels) {
  const std::vector<ConvolutionKernel> candidates = convolution_kernels(layer, kernels);
  const char *wanted = wanted_kernel();
  const WeightLayout &layout = layer.layout;
  const auto bytes = static_cast<double>(layout.taps * layout.depth * layout.columns) * sizeof(float);
  const costs::Machine &machine = costs::machine(kernels.lanes);
  const double byte_ns = added_byte_ns(layer, machine, kernels);
  const double least_ns = std::max(costs::kLeastFilteredNs, costs::kLeastFilteredOperations * machine.ns[costs::operation]);
  const auto worth = [&](const ConvolutionKernel &kernel) {
    const double ns = machine.ns_of(kernel.work);
    const double added = (growth(kernel, layer.windows) - 1.0) * bytes * byte_ns;
    return added + (kernel.kind == ConvolutionKernel::plain ? ns : ns / costs::kWorthFiltering + least_ns);
  };
  const ConvolutionKernel *best = &candidates[0];
  for (const ConvolutionKernel &kernel : candidates) {
    if (wanted != nullptr && kernel.name() == wanted) return kernel;
    if (worth(kernel) < worth(*best)) best = &kernel;
  }
  return *best;
}

}  // namespace cpuacc
