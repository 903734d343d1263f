/* SPDX-License-Identifier: MIT */
/* Transposed convolutions: a gemm for each phase of the outputs, scattered into the image. */
#include "operations/convolution/convolution.h"

#include <algorithm>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {
namespace {

/* Walks through the outputs of a phase of rows and a phase of columns, row by row. */
struct PhaseCursor {
  int64_t columns, rows;
  int64_t image, y, x;

  PhaseCursor(const Phase &down, const Phase &across, int64_t first)
      : columns(across.count),
        rows(down.count),
        image(first / (columns * rows)),
        y(first / columns % rows),
        x(first % columns) {}

  /* Moves on by count outputs, into the next row at most. */
  void step(int64_t count = 1) {
    x += count;
    if (x < columns) return;
    x -= columns;
    if (++y < rows) return;
    y = 0;
    ++image;
  }
};

/* Runs of numbers, from one distance to another. kRun: of a run's numbers; 0: as run says. */
template <int64_t kRun>
void spread(const float *from, int64_t from_step, float *to, int64_t to_step, int64_t count, int64_t run) {
  const int64_t numbers = kRun > 0 ? kRun : run;
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    for (int64_t j = 0; j < numbers; ++j) to[j] = from[j];
  }
}

/* A product whose rows are the outputs of two phases, and whose columns are a block of outputs. */
struct PhaseProduct {
  Phase y, x;
  int64_t block_height, block_width;
  WeightLayout layout;
  Tiling tiling;
  std::shared_ptr<const void> packed; /* nullptr: in each run */

  int64_t weights() const { return layout.taps * layout.depth * layout.columns; }
};

/* [N, H, W, C] -> [N, H', W', O]. */
class TransposedConvolution final : public WithEpilogue {
 public:
  TransposedConvolution(const WeightedTensors &tensors, const Windows &w, const Window &window)
      : WithEpilogue(tensors), windows_(w), window_(window), blocks_tile_(blocks_tile(w)) {
    if (blocks_tile_) {
      const int64_t taps = w.window_height * w.window_width;
      add_part({0, w.height, 0, 0, 1}, {0, w.width, 0, 0, 1}, w.window_height, w.window_width, taps);
      return;
    }
    for (int64_t i = 0; i < w.stride_y; ++i) {
      const Phase y = row_phase(w, i);
      for (int64_t j = 0; j < w.stride_x; ++j) {
        const Phase x = column_phase(w, j);
        if (y.count > 0 && x.count > 0) add_part(y, x, 1, 1, 1);
      }
    }
  }

  size_t prepare(const Setup &setup) override {
    const Tensor &weights = setup[inputs[1]];
    const bool is_ahead = weights.constant != nullptr;
    size_t pointers = 0;
    size_t block = 0;
    ordered_bytes_ = 0;
    size_t packed = 0;
    for (PhaseProduct &part : parts_) {
      part.layout = with_paired_tail(part.layout, setup.kernels);
      if (is_ahead) {
        pack_ahead(setup, weights, part);
      } else {
        packed = std::max(packed, packed_bytes(part.layout, setup.kernels));
        ordered_bytes_ = std::max(ordered_bytes_, aligned_bytes(static_cast<size_t>(part.weights()) * sizeof(float)));
      }
      const int64_t rows = windows_.batch * part.y.count * part.x.count;
      part.tiling = gemm_tiling(rows, part.layout, 1, setup);
      part.tiling.columns_per_task = ratio_up(part.layout.columns, setup.kernels.columns) * setup.kernels.columns;
      pointers = std::max(pointers, pointer_bytes(part.tiling, part.layout));
      const int64_t sums = part.tiling.rows_per_task * part.layout.columns;
      block = std::max(block, static_cast<size_t>(sums) * sizeof(float));
    }
    if (is_ahead) inputs[1] = kNone;
    pointer_bytes_ = pointers;
    thread_bytes_ = pointers + aligned_bytes(block);
    zeros_ = filled_memory(static_cast<size_t>(window_.depth) * sizeof(float), 0);
    return thread_bytes_ * static_cast<size_t>(setup.threads) + ordered_bytes_ + packed;
  }

  void run(const Frame &frame) const override {
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), thread_bytes_);
    for (const PhaseProduct &part : parts_) {
      const auto *packed = static_cast<const float *>(part.packed.get());
      if (inputs[1] != kNone) packed = pack(frame, part, memory);
      frame.for_each(part.tiling.tasks(), part.tiling.task_ns(),
                     [&](int64_t task, int32_t thread) { run_one(frame, part, packed, task, thread); });
    }
  }

 private:
  void add_part(Phase y, Phase x, int64_t block_height, int64_t block_width, int64_t block) {
    const int64_t taps = y.taps * x.taps;
    const int64_t depth = window_.depth;
    const WeightLayout layout{taps, depth, depth, 1, block * window_.columns, taps * depth};
    parts_.push_back({y, x, block_height, block_width, layout, {}, {}});
  }

  void pack_ahead(const Setup &setup, const Tensor &weights, PhaseProduct &part) const {
    const auto fill = [&](void *memory) {
      std::vector<float> ordered(static_cast<size_t>(part.weights()));
      order_weights(part, weights.read<float>(), ordered.data());
      pack_weights(ordered.data(), part.layout, setup.kernels, static_cast<float *>(memory));
    };
    const std::string recipe = "transposed " + std::to_string(part.y.offset) + " " + std::to_string(part.x.offset) +
                               " " + part.layout.recipe() + " " + setup.kernels.name;
    part.packed = setup.packed.get(weights.source(), weights.recipe(recipe), packed_bytes(part.layout, setup.kernels),
                                   fill);
  }

  /* Args: memory: for a part's weights in their order, and packed. */
  const float *pack(const Frame &frame, const PhaseProduct &part, std::byte *memory) const {
    auto *ordered = reinterpret_cast<float *>(memory);
    auto *packed = reinterpret_cast<float *>(memory + ordered_bytes_);
    order_weights(part, frame.in<float>(inputs[1]), ordered);
    pack_weights(ordered, part.layout, frame.kernels, packed);
    return packed;
  }

  /* [block, O, taps, I]. */
  void order_weights(const PhaseProduct &part, const float *weights, float *to) const {
    const Windows &w = windows_;
    for (int64_t i = 0; i < part.block_height * part.block_width; ++i) {
      const int64_t y = part.y.offset + i / part.block_width;
      const int64_t x = part.x.offset + i % part.block_width;
      for (int64_t o = 0; o < window_.columns; ++o) {
        for (int64_t t = 0; t < part.layout.taps; ++t) {
          const int64_t tap_y = y + t / part.x.taps * w.stride_y;
          const int64_t tap_x = x + t % part.x.taps * w.stride_x;
          for (int64_t c = 0; c < window_.depth; ++c) *to++ = weights[window_.place(o, tap_y, tap_x, c)];
        }
      }
    }
  }

  void run_one(const Frame &frame, const PhaseProduct &part, const float *packed, int64_t task, int32_t thread) const {
    auto *scratch = frame.scratch_of<std::byte>(thread, thread_bytes_);
    auto *block = reinterpret_cast<float *>(scratch + pointer_bytes_);
    const int64_t first = task * part.tiling.rows_per_task;
    const Tiling tiling{std::min(part.tiling.rows_per_task, part.tiling.rows - first), part.tiling.columns,
                        part.tiling.rows_per_task, part.tiling.columns_per_task};
    /* Where columns leave lanes idle, the function waits until they are contiguous. */
    const bool is_late = part.layout.columns < costs::kWidestLanes && !function_.is_scaled();
    const Elementwise early = is_late ? Elementwise{Function::identity, 0.0f, 0.0f} : function_;
    const GemmTask<float> gemm{part.layout,
                               packed,
                               {block},
                               part.layout.columns,
                               {frame.in<float>(inputs[2]), nullptr, early}};
    const float *input = frame.in<float>(inputs[0]);
    auto **pointers_of_rows = reinterpret_cast<const float **>(scratch);
    if (blocks_tile_) {
      EvenRows<float> pixels{input + first * windows_.channels, windows_.channels};
      run_gemm_task(gemm, tiling, 0, frame.kernels, pointers_of_rows, pixels);
    } else {
      PhaseCursor from(part.y, part.x, first);
      run_gemm_task(gemm, tiling, 0, frame.kernels, pointers_of_rows,
                    [&](int64_t, const float **pointers, int64_t stride) {
                      point(part, input, from, pointers, stride);
                      from.step();
                    });
    }
    if (is_late && function_.function != Function::identity) {
      frame.kernels.elementwise(function_, block, block, tiling.rows * part.layout.columns);
    }
    float *out = frame.out<float>(outputs[0]);
    PhaseCursor to(part.y, part.x, first);
    for (int64_t row = 0, count = 0; row < tiling.rows; row += count) {
      count = std::min(tiling.rows - row, to.columns - to.x);
      scatter(part, block + row * part.layout.columns, count, to, out);
      to.step(count);
    }
  }

  void point(const PhaseProduct &part, const float *input, const PhaseCursor &at, const float **pointers,
             int64_t stride) const {
    const Windows &w = windows_;
    const int64_t x = part.x.lead + at.x;
    const int64_t y = part.y.lead + at.y;
    for (int64_t i = 0; i < part.y.taps; ++i) {
      for (int64_t j = 0; j < part.x.taps; ++j) {
        const bool is_inside = y - i >= 0 && y - i < w.height && x - j >= 0 && x - j < w.width;
        const int64_t pixel = ((at.image * w.height + y - i) * w.width + x - j) * w.channels;
        pointers[(i * part.x.taps + j) * stride] =
            is_inside ? input + pixel : static_cast<const float *>(zeros_.get());
      }
    }
  }

  /* Copies rows of the product, of outputs side by side, into the image. */
  void scatter(const PhaseProduct &part, const float *from, int64_t count, const PhaseCursor &at, float *out) const {
    const Windows &w = windows_;
    const int64_t x = part.x.first + at.x * w.stride_x;
    const int64_t y = part.y.first + at.y * w.stride_y;
    const int64_t run = part.block_width * window_.columns;
    const int64_t row_stride = w.output_width * window_.columns;
    float *to = out + (at.image * w.output_height + y) * row_stride + x * window_.columns;
    const auto carry = run == 1 ? spread<1> : run == 2 ? spread<2> : run == 4 ? spread<4> : spread<0>;
    for (int64_t i = 0; i < part.block_height; ++i) {
      carry(from + i * run, part.layout.columns, to + i * row_stride, w.stride_x * window_.columns, count, run);
    }
  }

  Windows windows_;
  Window window_;
  bool blocks_tile_; /* one part, whose rows are the pixels */
  std::vector<PhaseProduct> parts_;
  size_t pointer_bytes_ = 0;
  size_t thread_bytes_ = 0;
  size_t ordered_bytes_ = 0; /* of a part's weights in their order */
  std::shared_ptr<const void> zeros_;
};

Phase phase_of(int64_t offset, int64_t stride, int64_t window, int64_t pad, int64_t outputs) {
  const int64_t first = ((offset - pad) % stride + stride) % stride;
  const int64_t count = first < outputs ? ratio_up(outputs - first, stride) : 0;
  const int64_t taps = offset < window ? ratio_up(window - offset, stride) : 0;
  return {first, count, (first + pad - offset) / stride, offset, taps};
}

}  // namespace

Phase row_phase(const Windows &w, int64_t offset) {
  return phase_of(offset, w.stride_y, w.window_height, w.pad_top, w.output_height);
}

Phase column_phase(const Windows &w, int64_t offset) {
  return phase_of(offset, w.stride_x, w.window_width, w.pad_left, w.output_width);
}

bool blocks_tile(const Windows &w) {
  return w.window_height == w.stride_y && w.window_width == w.stride_x && w.pad_top == 0 && w.pad_left == 0 &&
         w.output_height == w.height * w.stride_y && w.output_width == w.width * w.stride_x;
}

OperationPtr transposed_convolution(const WeightedTensors &tensors, const Windows &windows, const Window &window) {
  return std::make_unique<TransposedConvolution>(tensors, windows, window);
}

}  // namespace cpuacc
