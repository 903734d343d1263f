/* SPDX-License-Identifier: MIT */
/* Convolutions: by which kernel, and the indirect and the direct one. */
#include "operations/convolution/convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "costs/costs.h"
#include "operations/convolution/image_rows.h"
#include "operations/convolution/indirection.h"
#include "operations/gemm/gemm.h"
#include "operations/storage/formats.h"

namespace cpuacc {

int64_t most_outputs_per_block(const Windows &w, int64_t columns) {
  if (w.dilation_x != 1 || w.window_width == 1 || columns == 0 || w.stride_x == 0) return 1;
  return std::min(costs::kMostBlockColumns / columns, w.output_width);
}

Windows blocked_windows(const Windows &windows, int64_t ow_block) {
  Windows w = windows;
  w.window_width += (ow_block - 1) * w.stride_x;
  w.output_width = ratio_up(w.output_width, ow_block);
  w.stride_x *= ow_block;
  const int64_t reach = (w.output_width - 1) * w.stride_x + w.window_width;
  w.pad_right = std::max(w.pad_right, reach - w.pad_left - w.width);
  return w;
}

Windows padded_windows(const Windows &windows) {
  Windows w = windows;
  w.height += w.pad_top + w.pad_bottom;
  w.width += w.pad_left + w.pad_right;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 0;
  return w;
}

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

costs::Work indirect_work(const Windows &w, const WeightLayout &layout, bool use_bfloat16, const Kernels &kernels) {
  const int64_t rows = w.batch * w.output_height * w.output_width;
  costs::Work work;
  if (use_bfloat16) {
    work = bfloat16_gemm_work(rows, layout, are_pixels(w), kernels);
  } else if (are_pixels(w) && are_dots(layout, kernels)) {
    work = dots_work(rows, layout, kernels).add(costs::operation, 1.0);
  } else {
    work = gemm_work(rows, with_paired_tail(layout, kernels), are_pixels(w), kernels);
  }
  if (are_pixels(w)) return work;
  return work.add(costs::pointer, static_cast<double>(rows * layout.taps * ratio_up(layout.columns, kernels.columns)));
}

/* Adds the work of cropping the columns that come of rounding up to whole blocks of outputs. */
void add_cut(costs::Work &work, const ConvolutionLayer &layer, const Windows &blocked, int64_t ow_block) {
  if (blocked.output_width * ow_block == layer.windows.output_width) return;
  const int64_t outputs = blocked.batch * blocked.output_height * layer.windows.output_width;
  work.add(costs::element, static_cast<double>(outputs * layer.layout.columns));
}

/* The work of all groups, from that of one: the operation begins once. */
costs::Work of_all_groups(const costs::Work &work, const ConvolutionLayer &layer) {
  costs::Work all = scaled(work, static_cast<double>(layer.groups()));
  all.counts[costs::operation] = work.counts[costs::operation];
  return all;
}

Windows windows_of(const ConvolutionLayer &layer, int64_t ow_block) {
  return ow_block == 1 ? layer.windows : blocked_windows(layer.windows, ow_block);
}

/* The kernel that computes ow_block outputs as one row. */
ConvolutionKernel plain_kernel(const ConvolutionLayer &layer, int64_t ow_block, const Kernels &kernels) {
  const Windows w = windows_of(layer, ow_block);
  WeightLayout layout = layer.layout;
  layout.taps = w.window_height * w.window_width;
  layout.columns *= ow_block;
  ConvolutionKernel kernel;
  kernel.ow_block = ow_block;
  kernel.kind = layer.is_ungrouped() && suits_direct(w) ? ConvolutionKernel::direct : ConvolutionKernel::indirect;
  kernel.work = kernel.kind == ConvolutionKernel::direct ? direct_work(w, layout, kernels)
                                                         : indirect_work(w, layout, false, kernels);
  add_cut(kernel.work, layer, w, ow_block);
  kernel.work = of_all_groups(kernel.work, layer);
  return kernel;
}

/* The kernel in bfloat16; none if it takes longer. */
std::optional<ConvolutionKernel> bfloat16_kernel(const ConvolutionLayer &layer, int64_t ow_block, const Kernels &kernels) {
  if (!layer.fast_math.has_bfloat16) return std::nullopt;
  const Windows blocked = windows_of(layer, ow_block);
  ConvolutionKernel kernel;
  kernel.ow_block = ow_block;
  kernel.use_bfloat16 = true;
  kernel.joins_taps = layer.is_ungrouped() && suits_direct(blocked);
  kernel.kind = suits_raster(blocked, kernels) ? ConvolutionKernel::raster : ConvolutionKernel::indirect;
  const bool is_padded = kernel.joins_taps && kernel.kind == ConvolutionKernel::indirect;
  const Windows w = is_padded ? padded_windows(blocked) : blocked;
  WeightLayout layout = layer.layout;
  layout.columns *= ow_block;
  layout.taps = kernel.joins_taps ? w.window_height : w.window_height * w.window_width;
  if (kernel.joins_taps) layout.depth = w.window_width * w.channels;
  const int64_t rows = w.batch * w.output_height * w.output_width;
  const bool is_quicker = gains_by_bfloat16(costs::machine(kernels.lanes), kernels, layout, layer.is_image_bfloat16, rows);
  if (!is_quicker && wanted_kernel() == nullptr) return std::nullopt;
  const auto numbers = static_cast<double>(w.batch * w.height * w.width * w.channels);
  if (kernel.kind == ConvolutionKernel::raster) {
    kernel.work = raster_work(w, layout, kernels);
    kernel.numbers_to_round = static_cast<double>(layer.groups()) * raster_numbers(w, layout);
  } else {
    kernel.work = indirect_work(w, layout, true, kernels);
    kernel.numbers_to_round = numbers;
  }
  if (w.height != blocked.height || w.width != blocked.width) kernel.work.add(costs::element, numbers);
  if (layer.is_image_bfloat16) kernel.numbers_to_round = 0.0;
  add_cut(kernel.work, layer, blocked, ow_block);
  kernel.work = of_all_groups(kernel.work, layer);
  return kernel;
}

/* The time that each byte of transformed weights beyond those of the window has to save: the time to read it from memory,
 * where the graph's constants do not stay in the caches, less that of a cold row, which its kernel counts. Tiles
 * of 4 x 4 quadruple the weights of a 3 x 3 window, and gain next to nothing over those of 2 x 2 where an image
 * has few tiles.
 */
double added_byte_ns(const ConvolutionLayer &layer, const costs::Machine &machine, const Kernels &kernels) {
  if (layer.constant_bytes <= machine.caches.third / costs::kThirdCacheParts) return 0.0;
  const auto row_bytes = static_cast<double>(kernels.columns) * sizeof(float);
  return std::max(0.0, machine.ns[costs::memory_byte] - machine.ns[costs::weight_row] / row_bytes);
}

/* The bytes of a kernel's packed weights over those of the plain kernel. */
double growth(const ConvolutionKernel &kernel, const Windows &w) {
  const auto window = static_cast<double>(w.window_height * w.window_width);
  if (kernel.kind == ConvolutionKernel::winograd_2d) {
    return static_cast<double>((kernel.side + 2) * (kernel.side + 2)) / window;
  }
  if (kernel.kind == ConvolutionKernel::winograd_1d) {
    return static_cast<double>(kernel.filter.points()) / static_cast<double>(kernel.filter.window);
  }
  return kernel.use_bfloat16 ? 0.5 : 1.0;
}

}  // namespace

std::string ConvolutionKernel::name() const {
  switch (kind) {
    case winograd_2d: return "winograd_2d " + std::to_string(side);
    case winograd_1d:
      return "winograd_1d " + std::to_string(filter.outputs) + (filter.is_along_y ? " down" : " across");
    default:
      return "plain" + (ow_block == 1 ? "" : " " + std::to_string(ow_block)) + (use_bfloat16 ? " bfloat16" : "");
  }
}

std::vector<ConvolutionKernel> convolution_kernels(const ConvolutionLayer &layer, const Kernels &kernels) {
  const Windows &w = layer.windows;
  std::vector<ConvolutionKernel> candidates;
  const auto add_plain = [&](int64_t ow_block) {
    candidates.push_back(plain_kernel(layer, ow_block, kernels));
    const std::optional<ConvolutionKernel> rounded = bfloat16_kernel(layer, ow_block, kernels);
    if (rounded) candidates.push_back(*rounded);
  };
  add_plain(1);
  const bool is_empty = w.batch * w.output_height * w.output_width * layer.layout.columns == 0;
  if (!layer.has_constant_weights || !layer.is_ungrouped() || is_empty) return candidates;
  const int64_t most = most_outputs_per_block(w, layer.layout.columns);
  for (int64_t ow_block = 2; ow_block <= most; ++ow_block) add_plain(ow_block);
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
    const double ns = machine.ns_of(kernel.work) + kernel.numbers_to_round * machine.ns[costs::element];
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

namespace {

/* [N, H, W, C] * weights -> [N, H', W', groups * O]. */
class IndirectConvolution final : public WithEpilogue {
 public:
  /* Args: layout: of one group; group_stride: from one group's weights to the next one's. */
  IndirectConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                      bool use_bfloat16, int64_t groups, int64_t group_stride)
      : WithEpilogue(tensors),
        windows_(windows),
        layout_(layout),
        use_bfloat16_(use_bfloat16),
        groups_(groups),
        group_stride_(group_stride) {}

  int64_t bias_count() const override { return groups_ * layout_.columns; }

  bool can_read_bfloat16(const Kernels &, size_t input) const override {
    return use_bfloat16_ && (input == 0 || is_residual(input));
  }
  bool can_store_bfloat16(const Kernels &) const override { return use_bfloat16_; }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    is_image_bfloat16_ = setup.is_bfloat16(inputs[0]);
    if (!use_bfloat16_) layout_ = with_paired_tail(layout_, setup.kernels);
    tiling_ = gemm_tiling(windows_.batch * windows_.output_height * windows_.output_width, layout_, groups_, setup);
    copies_rows_ = !use_bfloat16_ && layout_.taps == 1 && layout_.columns > setup.kernels.columns &&
                   windows_.channels * windows_.stride_x % costs::kCrowdedFloats == 0;
    int64_t most_rows = tiling_.rows + setup.kernels.rows;
    if (copies_rows_) {
      const int64_t tiles = costs::kCopiedRowFloats / layout_.depth / setup.kernels.rows;
      most_rows = std::max<int64_t>(1, tiles) * setup.kernels.rows;
      tiling_.rows_per_task = std::min(tiling_.rows_per_task, most_rows);
    }
    const std::string recipe = layout_.recipe() + " " + std::to_string(groups_) + " " + setup.kernels.name;
    panels_ = use_bfloat16_ ? bfloat16_panels(setup, tiling_)
                          : panel_storage(setup, setup[inputs[1]], {layout_, groups_, group_stride_}, recipe, most_rows,
                                          tiling_);
    if (use_bfloat16_ && !is_image_bfloat16_) {
      work.add(costs::element, static_cast<double>(windows_.batch * windows_.height * windows_.width * windows_.channels));
      image_ = Bfloat16Rows(windows_.batch * windows_.height * windows_.width, windows_.channels);
    }
    float32_panel_bytes_ = float32_panel_bytes(panels_, layout_, setup.kernels);
    const size_t packed = packed_.prepare(setup, inputs[1], panels_, layout_, groups_, group_stride_, recipe);
    zeros_ = filled_memory(static_cast<size_t>(layout_.depth) * sizeof(float), 0);
    return thread_bytes() * static_cast<size_t>(setup.threads) + aligned_bytes(image_.bytes()) + packed;
  }

  void run(const Frame &frame) const override {
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), thread_bytes());
    const std::byte *packed = packed_.packed(frame, inputs[1], memory + aligned_bytes(image_.bytes()));
    if (is_image_bfloat16_) return run_all(frame, windows_, frame.in<Bfloat16>(inputs[0]), packed);
    const float *image = frame.in<float>(inputs[0]);
    if (!use_bfloat16_) return run_all(frame, windows_, image, packed);
    auto *to = reinterpret_cast<Bfloat16 *>(memory);
    image_.round(frame, image, to);
    Windows windows = windows_;
    windows.channels = image_.stride;
    run_all(frame, windows, to, packed);
  }

 private:
  template <typename Number>
  void run_all(const Frame &frame, const Windows &windows, const Number *image, const std::byte *packed) const {
    const size_t bytes = thread_bytes();
    const int64_t tasks = tiling_.tasks();
    frame.for_each(groups_ * tasks, tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      auto *table = frame.scratch_of<const Number *>(thread, bytes);
      const std::byte *of_group = packed + static_cast<size_t>(i / tasks) * packed_.bytes();
      run_one(frame, windows, image, of_group, table, i / tasks, i % tasks);
    });
  }

  size_t thread_bytes() const {
    const int64_t copies = copies_rows_ ? tiling_.rows_per_task * (layout_.depth + costs::kRowFiller) : 0;
    return pointer_bytes(tiling_, layout_) + float32_panel_bytes_ + static_cast<size_t>(copies) * sizeof(float);
  }

  template <typename Number>
  void run_one(const Frame &frame, const Windows &windows, const Number *image, const std::byte *packed,
               const Number **table, int64_t group, int64_t task) const {
    const int64_t first = group * layout_.columns;
    std::byte *behind = reinterpret_cast<std::byte *>(table) + pointer_bytes(tiling_, layout_);
    const auto gemm = panel_task<Number>(panels_, layout_, packed, behind, stored(frame) + first,
                                         groups_ * layout_.columns, epilogue(frame, first, first));
    image += group * layout_.depth;
    if (are_pixels(windows) && !copies_rows_) {
      return run_gemm_task(gemm, tiling_, task, frame.kernels, table, EvenRows<Number>{image, windows.channels});
    }
    Indirection<Number> found(windows, image, static_cast<const Number *>(zeros_.get()));
    if constexpr (std::is_same_v<Number, float>) {
      if (copies_rows_) {
        auto *copies = reinterpret_cast<float *>(behind + float32_panel_bytes_);
        return run_gemm_task(gemm, tiling_, task, frame.kernels, table, CopiedRows(found, copies, layout_.depth));
      }
    }
    run_gemm_task(gemm, tiling_, task, frame.kernels, table, found);
  }

  Windows windows_;
  WeightLayout layout_;
  bool use_bfloat16_;
  bool is_image_bfloat16_ = false;
  int64_t groups_;
  int64_t group_stride_;
  Tiling tiling_{};
  PanelStorage panels_ = PanelStorage::float32;
  Bfloat16Rows image_; /* in bfloat16, a line for each pixel */
  bool copies_rows_ = false;
  size_t float32_panel_bytes_ = 0; /* of a thread */
  PackedMatrices packed_;
  std::shared_ptr<const void> zeros_;
};

}  // namespace

OperationPtr indirect_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                  bool use_bfloat16, int64_t groups, int64_t group_stride) {
  return std::make_unique<IndirectConvolution>(tensors, windows, layout, use_bfloat16, groups, group_stride);
}

namespace {

class DirectConvolution final : public WithEpilogue {
 public:
  DirectConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                    const WeightLayout &given)
      : WithEpilogue(tensors), windows_(windows), rows_(windows, 0.0f, true, 0), layout_(layout), given_(given) {}

  int64_t bias_count() const override { return layout_.columns; }

  bool can_read_bfloat16(const Kernels &, size_t input) const override { return is_residual(input); }
  bool can_store_bfloat16(const Kernels &) const override { return true; }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    const std::string recipe = given_.recipe() + " " + setup.kernels.name;
    const size_t bytes = packed_.prepare(setup, inputs[1], PanelStorage::float32, given_, 1, 0, recipe);
    return bytes + rows_.strip_bytes() * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    const float *input = frame.in<float>(inputs[0]);
    const int64_t sums = w.output_width * layout_.columns * layout_.taps * layout_.depth;
    const double row_ns = static_cast<double>(sums) * frame.ns_of(costs::multiply_add);
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), rows_.strip_bytes());
    const auto *packed = reinterpret_cast<const float *>(packed_.packed(frame, inputs[1], memory));
    frame.for_each(w.batch * w.output_height, row_ns, [&](int64_t i, int32_t thread) {
      rows_.row(input, i, frame.scratch_of<float>(thread, rows_.strip_bytes()),
                [&](const SeenOutputs<float> &seen) { run_outputs(frame, packed, i, seen); });
    });
  }

 private:
  void run_outputs(const Frame &frame, const float *packed, int64_t row, const SeenOutputs<float> &seen) const {
    const int64_t columns = layout_.columns;
    const int64_t width = frame.kernels.columns;
    const int64_t place = (row * windows_.output_width + seen.first) * columns;
    GemmRows direct{};
    direct.a = seen.image;
    direct.count = seen.last - seen.first;
    direct.step = windows_.stride_x * windows_.channels;
    direct.taps = seen.taps;
    direct.tap_step = seen.tap_step;
    direct.depth = layout_.depth;
    direct.c_stride = columns;
    direct.residual_stride = columns;
    for (int64_t column = 0; column < columns; column += width) {
      const int64_t numbers = panel_row(layout_, column, frame.kernels, packed);
      direct.b = packed + (column * layout_.taps + seen.first_tap * numbers) * layout_.depth;
      direct.column_count = static_cast<int32_t>(std::min(width, columns - column));
      static_cast<Epilogue &>(direct) = epilogue(frame, column, place + column);
      const FloatOutput to = stored(frame) + (place + column);
      direct.c = to.float32;
      direct.bfloat16_c = to.bfloat16;
      frame.kernels.gemm_rows(direct);
    }
  }

  Windows windows_;
  ImageRows<float> rows_;
  WeightLayout layout_;
  WeightLayout given_; /* packs to the same numbers */
  PackedMatrices packed_;
};

}  // namespace

bool suits_direct(const Windows &w) {
  return w.channels <= costs::kMostDirectChannels && w.dilation_x == 1 && w.window_width > 1 && w.stride_x > 0;
}

WeightLayout direct_layout(const Windows &w, int64_t columns) {
  const int64_t depth = w.window_width * w.channels;
  return {w.window_height, depth, depth, 1, columns, w.window_height * depth};
}

WeightLayout single_channel_layout(const Windows &w, int64_t columns) {
  return {w.window_height, w.window_width * columns, w.window_width, columns, columns, 1};
}

OperationPtr direct_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                const WeightLayout &given) {
  return std::make_unique<DirectConvolution>(tensors, windows, layout, given);
}

}  // namespace cpuacc
