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
  const double sums = static_cast<double>(outputs) * times * panel.count * panel.registers;
  const double row_steps = static_cast<double>(outputs * steps) * times * panel.count;
  const double waits = static_cast<double>(steps) * std::max(0.0, costs::kInFlight * calls - sums);
  const double registers = row_steps * (panel.registers + costs::kRowStep) + costs::kMissingSum * waits;
  work.add(costs::multiply_add, registers * kernels.lanes).add(costs::tile, calls);
}

/* As gemm_rows multiplies one column: a register has numbers of a row. */
bool are_dots(const WeightLayout &layout, const Kernels &kernels) {
  return layout.columns == 1 && layout.depth >= kernels.lanes && layout.taps * layout.depth <= kMostDotNumbers;
}

costs::Work dots_work(int64_t rows, const WeightLayout &layout, const Kernels &kernels) {
  const int64_t numbers = layout.taps * ratio_up(layout.depth, int64_t{kernels.lanes}) * kernels.lanes;
  return costs::Work()
      .add(costs::multiply_add, static_cast<double>(rows * numbers))
      .add(costs::tile, static_cast<double>(ratio_up(rows, int64_t{kernels.lanes})));
}

costs::Work direct_work(const Windows &w, const WeightLayout &layout, const Kernels &kernels) {
  const int64_t rows = w.batch * w.output_height;
  const bool is_narrow = w.output_width <= costs::kNarrowImage;
  const int64_t border = is_narrow ? 0 : std::min(ratio_up(w.pad_left, w.stride_x), w.output_width / 2);
  costs::Work work;
  work.add(costs::operation, 1.0).add(costs::tile, costs::kDirectLineTiles * static_cast<double>(rows));
  const WeightLayout lines = direct_layout(w, layout.columns);
  if (are_dots(lines, kernels)) return work.add(dots_work(rows * w.output_width, lines, kernels));
  const int64_t steps = layout.taps * layout.depth;
  const PanelWidths panels = panel_widths(layout.columns, kernels, false);
  for (const PanelWidth &panel : {panels.full, panels.last}) {
    if (panel.count == 0.0) continue;
    const auto times = static_cast<double>(rows);
    add_direct_outputs(work, w.output_width - 2 * border, times, steps, panel, kernels);
    add_direct_outputs(work, border, 2.0 * times, steps, panel, kernels);
    work.add(costs::weight_row, panel.count * static_cast<double>(steps));
  }
  return work;
}

costs::Work indirect_work(const Windows &w, const WeightLayout &layout, bool is_rounded, const Kernels &kernels) {
  const int64_t rows = w.batch * w.output_height * w.output_width;
  costs::Work work;
  if (is_rounded) {
    work = rounded_gemm_work(rows, layout, are_pixels(w), kernels);
  } else if (are_pixels(w) && are_dots(layout, kernels)) {
    work = dots_work(rows, layout, kernels).add(costs::operation, 1.0);
  } else {
    work = gemm_work(rows, with_paired_tail(layout, kernels), are_pixels(w), kernels);
  }
  if (are_pixels(w)) return work;
  return work.add(costs::pointer, static_cast<double>(rows * layout.taps * ratio_up(layout.columns, kernels.columns)));
}

/* What blocks of outputs have too many is cut off. */
void add_cut(costs::Work &work, const ConvolutionLayer &layer, const Windows &blocked, int64_t together) {
  if (blocked.output_width * together == layer.windows.output_width) return;
  const int64_t outputs = blocked.batch * blocked.output_height * layer.windows.output_width;
  work.add(costs::element, static_cast<double>(outputs * layer.layout.columns));
}

/* Of all groups, from that of one: the operation begins once. */
costs::Work of_all_groups(const costs::Work &work, const ConvolutionLayer &layer) {
  costs::Work all = scaled(work, static_cast<double>(layer.groups()));
  all.counts[costs::operation] = work.counts[costs::operation];
  return all;
}

Windows windows_of(const ConvolutionLayer &layer, int64_t together) {
  return together == 1 ? layer.windows : blocked_windows(layer.windows, together);
}

/* So many outputs as one row. */
ConvolutionKernel plain_kernel(const ConvolutionLayer &layer, int64_t together, const Kernels &kernels) {
  const Windows w = windows_of(layer, together);
  WeightLayout layout = layer.layout;
  layout.taps = w.window_height * w.window_width;
  layout.columns *= together;
  ConvolutionKernel kernel;
  kernel.together = together;
  kernel.kind = layer.is_ungrouped() && suits_direct(w) ? ConvolutionKernel::direct : ConvolutionKernel::indirect;
  kernel.work = kernel.kind == ConvolutionKernel::direct ? direct_work(w, layout, kernels)
                                                         : indirect_work(w, layout, false, kernels);
  add_cut(kernel.work, layer, w, together);
  kernel.work = of_all_groups(kernel.work, layer);
  return kernel;
}

/* The same in bfloat16; none if that takes longer. */
std::optional<ConvolutionKernel> rounded_kernel(const ConvolutionLayer &layer, int64_t together, const Kernels &kernels) {
  if (!layer.fast_math.has_bfloat16) return std::nullopt;
  const Windows blocked = windows_of(layer, together);
  ConvolutionKernel kernel;
  kernel.together = together;
  kernel.is_rounded = true;
  kernel.joins_taps = layer.is_ungrouped() && suits_direct(blocked);
  kernel.kind = suits_raster(blocked, kernels) ? ConvolutionKernel::raster : ConvolutionKernel::indirect;
  const bool is_padded = kernel.joins_taps && kernel.kind == ConvolutionKernel::indirect;
  const Windows w = is_padded ? padded_windows(blocked) : blocked;
  WeightLayout layout = layer.layout;
  layout.columns *= together;
  layout.taps = kernel.joins_taps ? w.window_height : w.window_height * w.window_width;
  if (kernel.joins_taps) layout.depth = w.window_width * w.channels;
  const int64_t rows = w.batch * w.output_height * w.output_width;
  const bool is_quicker = gains_by_bfloat16(costs::machine(kernels.lanes), kernels, layout, layer.is_image_rounded, rows);
  if (!is_quicker && wanted_kernel() == nullptr) return std::nullopt;
  const auto numbers = static_cast<double>(w.batch * w.height * w.width * w.channels);
  if (kernel.kind == ConvolutionKernel::raster) {
    kernel.work = raster_work(w, layout, kernels);
    kernel.rounded_numbers = static_cast<double>(layer.groups()) * raster_numbers(w, layout);
  } else {
    kernel.work = indirect_work(w, layout, true, kernels);
    kernel.rounded_numbers = numbers;
  }
  if (w.height != blocked.height || w.width != blocked.width) kernel.work.add(costs::element, numbers);
  if (layer.is_image_rounded) kernel.rounded_numbers = 0.0;
  add_cut(kernel.work, layer, blocked, together);
  kernel.work = of_all_groups(kernel.work, layer);
  return kernel;
}

/* What a byte of transformed weights has to save beyond those of the window: the time to read it from memory,
 * where the graph's constants do not stay in the caches, less that of a cold row, which its kernel counts. Tiles
 * of 4 x 4 quadruple the weights of a 3 x 3 window, and gain next to nothing over those of 2 x 2 where an image
 * has few tiles.
 */
double added_byte_ns(const ConvolutionLayer &layer, const costs::Machine &machine, const Kernels &kernels) {
  if (layer.constant_bytes <= machine.caches.third / costs::kThirdCacheParts) return 0.0;
  const auto row_bytes = static_cast<double>(kernels.columns) * sizeof(float);
  return std::max(0.0, machine.ns[costs::memory_byte] - machine.ns[costs::weight_row] / row_bytes);
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
  const auto add_plain = [&](int64_t together) {
    candidates.push_back(plain_kernel(layer, together, kernels));
    const std::optional<ConvolutionKernel> rounded = rounded_kernel(layer, together, kernels);
    if (rounded) candidates.push_back(*rounded);
  };
  add_plain(1);
  const bool is_empty = w.batch * w.output_height * w.output_width * layer.layout.columns == 0;
  if (!layer.has_constant_weights || !layer.is_ungrouped() || is_empty) return candidates;
  const int64_t most = most_outputs_per_block(w, layer.layout.columns);
  for (int64_t together = 2; together <= most; ++together) add_plain(together);
  if (suits_winograd_2d(w, layer.layout)) {
    for (int64_t side = 2; side <= (layer.fast_math.is_allowed ? 6 : 4); side += 2) {
      ConvolutionKernel &kernel = candidates.emplace_back();
      kernel.kind = ConvolutionKernel::winograd_2d;
      kernel.side = side;
      kernel.work = winograd_2d_work(w, layer.layout, side, kernels);
    }
  }
  for (const Winograd1dFilter &filter : winograd_1d_filters(w)) {
    ConvolutionKernel &kernel = candidates.emplace_back();
    kernel.kind = ConvolutionKernel::winograd_1d;
    kernel.filter = filter;
    kernel.work = winograd_1d_work(w, layer.layout, filter, kernels);
  }
  return candidates;
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
    const double ns = machine.ns_of(kernel.work) + kernel.rounded_numbers * machine.ns[costs::element];
    const double added = (growth(kernel, layer.windows) - 1.0) * bytes * byte_ns;
    return added + (kernel.is_filtered() ? ns / costs::kWorthFiltering + least_ns : ns);
  };
  const ConvolutionKernel *best = &candidates[0];
  for (const ConvolutionKernel &kernel : candidates) {
    if (wanted != nullptr && kernel.name() == wanted) return kernel;
    if (worth(kernel) < worth(*best)) best = &kernel;
  }
  return *best;
}

}  // namespace cpuacc
