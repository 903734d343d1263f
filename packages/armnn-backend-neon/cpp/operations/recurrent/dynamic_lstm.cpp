/* SPDX-License-Identifier: MIT */
/* DynamicQuantizeLstm: weights are bytes, rows are rounded to bytes, and their products are exact integers. */
#include <algorithm>
#include <utility>
#include <vector>

#include "costs/costs.h"
#include "operations/quantized/quantized.h"
#include "operations/recurrent/recurrence.h"

namespace cpuacc {
namespace {

/* Packed weights, and the share of each column's sums that comes from the zero points. */
class PackedByteWeights {
 public:
  explicit PackedByteWeights(ByteWeights weights) : has_(std::move(weights)) {}

  void prepare(const Setup &setup, TensorId &weights) {
    const Int8Kernels &kernels = setup.kernels.int8;
    const WeightLayout &layout = has_.layout;
    Int8Params all = params(0);
    all.left_zero_point = 1 - kernels.read_offset[0]; /* folded: the sums of one step of the zero point */
    all.multipliers = has_.scales;
    packed_.prepare(setup, weights, layout, has_.ways, layout.depth * layout.columns, all, "", true);
    for (int64_t way = 0; way < has_.ways; ++way) {
      all.right_zero_point = params(way).right_zero_point;
      fold_int8(all, 0, layout, kernels, packed_.seeks_small, packed_.matrix(way),
                packed_.folded.data() + way * packed_.columns);
    }
    no_bias_.resize(static_cast<size_t>(packed_.columns));
  }

  /* The parameters of a way, without the members that have a number for each column. */
  Int8Params params(int64_t way) const {
    Int8Params params;
    params.left_is_signed = false;
    params.right_is_signed = has_.are_signed;
    params.right_zero_point = has_.zero_points[static_cast<size_t>(way)];
    return params;
  }

  /* How the sums of rows become real numbers. */
  DequantizedAccumulators real(const Int8Kernels &kernels, const ByteSteps &rows, int64_t way) const {
    const int64_t first = way * packed_.columns;
    const float *scales = packed_.scales.data() + first;
    DequantizedAccumulators real{packed_.folded.data() + first, rows.scale, nullptr};
    real.whole_factor = rows.zero_point + kernels.read_offset[0];
    if (has_.scales_differ) {
      real.column_scales = scales;
    } else {
      real.scale *= scales[0];
    }
    return real;
  }

  Int8GemmTask task(const Int8Params &params, int64_t way, std::byte *out, const DequantizedAccumulators &real) const {
    return {has_.layout,           params, packed_.matrix(way), no_bias_.data(), nullptr,
            packed_.seeks_small, out,    has_.layout.columns, {},              &real};
  }

  /* The product of rows and all columns; the caller adds the rows. */
  Int8Gemv gemv(const Int8Kernels &kernels, int64_t way) const {
    const Int8Params of_way = params(way);
    Int8Gemv product = int8_gemv(packed_.matrix(way), has_.layout, kernels, packed_.seeks_small);
    product.b_zero_point = of_way.right_zero_point - (of_way.right_is_signed ? 0 : 128);
    product.last = has_.layout.columns;
    return product;
  }

  const WeightLayout &layout() const { return has_.layout; }
  int64_t ways() const { return has_.ways; }
  size_t way_bytes() const { return packed_.matrix_bytes; }
  const std::shared_ptr<const void> &memory() const { return packed_.packed; }

 private:
  ByteWeights has_;
  Int8Weights packed_;
  std::vector<int32_t> no_bias_;
};

class ProductOfBytes final : public Operation {
 public:
  ProductOfBytes(std::vector<TensorId> operands, TensorId out, int64_t rows, ByteWeights weights,
                 std::vector<float> bias)
      : Operation(std::move(operands), {out}), rows_(rows), weights_(std::move(weights)), bias_(std::move(bias)) {}

  size_t prepare(const Setup &setup) override {
    const WeightLayout &layout = weights_.layout();
    weights_.prepare(setup, inputs[kWeights]);
    tiling_ = int8_gemm_tiling(rows_, layout, weights_.ways(), setup);
    in_tile_registers_ = suits_tile_registers(rows_, layout, setup.kernels);
    kernel = int8_gemm_kernel(in_tile_registers_);
    work = scaled(int8_gemm_work(rows_, layout, setup.kernels, in_tile_registers_), static_cast<double>(weights_.ways()));
    task_bytes_ = int8_task_bytes(tiling_, layout, setup.kernels);
    return task_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Int8Kernels &kernels = int8_gemm_kernels(frame.kernels, in_tile_registers_);
    const WeightLayout &layout = weights_.layout();
    const auto *rows = frame.in<uint8_t>(inputs[kRows]);
    const ByteSteps steps{*frame.in<float>(inputs[kScale]), *frame.in<uint8_t>(inputs[kZeroPoint])};
    const int64_t tasks = tiling_.tasks();
    frame.for_each(weights_.ways() * tasks, tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      const int64_t way = i / tasks;
      const Int8Params params = weights_.params(way);
      DequantizedAccumulators real = weights_.real(kernels, steps, way);
      if (!bias_.empty()) real.shift = bias_.data() + way * layout.columns;
      auto *out = reinterpret_cast<std::byte *>(frame.out<float>(outputs[0]) + way * rows_ * layout.columns);
      run_int8_gemm_task(weights_.task(params, way, out, real), tiling_, i % tasks, kernels,
                         frame.scratch_of<const uint8_t *>(thread, task_bytes_),
                         [&](int64_t row, const uint8_t **to, int64_t) { *to = rows + row * layout.depth; });
    });
  }

 private:
  enum Input : size_t { kRows, kWeights, kScale, kZeroPoint };

  int64_t rows_;
  PackedByteWeights weights_;
  std::vector<float> bias_;
  Tiling tiling_{};
  bool in_tile_registers_ = false;
  size_t task_bytes_ = 0;
};

class DynamicLstm final : public LstmSequence<float> {
 public:
  DynamicLstm(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading,
              const Options &options, std::vector<Elementwise> functions, ByteWeights weights)
      : LstmSequence(std::move(inputs), std::move(outputs), reading, options, std::move(functions)),
        weights_(std::move(weights)) {}

 private:
  int64_t bytes_numbers() const { return padded(ratio_up(reading_.outputs, 4)); }
  int64_t widened_numbers() const { return padded(ratio_up(reading_.outputs, 4) * 2); }
  int64_t further_numbers() const override { return bytes_numbers() + widened_numbers(); }

  /* As steps: for estimates of time only, as bytes are read as quickly. */
  std::vector<GemvMatrix<float>> matrices() const override {
    return {{weights_.layout().columns, weights_.layout().depth, GemvStorage::steps}};
  }

  void pack_ahead(const Setup &setup) override {
    weights_.prepare(setup, inputs[kWeights]);
    packed_ = weights_.memory();
    way_bytes_ = weights_.way_bytes();
  }

  /* Rounds a row to bytes. Args: added: is added to the product; y: where the result goes. */
  Int8GemvRow rounded(const Step &at, const Item &item, const float *row, const float *added, float *y,
                      int32_t zero_point) const {
    const Int8Kernels &kernels = at.frame.kernels.int8;
    const int64_t n = reading_.outputs;
    auto *bytes = reinterpret_cast<uint8_t *>(item.further);
    const Extremes found = finite_extremes(at.frame.kernels, row, n);
    const ByteSteps steps = steps_of_bytes(found.least, found.largest);
    at.frame.kernels.quantize_to_even(row, bytes, n, steps.scale, steps.zero_point);
    Int8GemvRow result{bytes, bytes, 0, weights_.real(kernels, steps, at.way), y};
    result.real.shift = added;
    if (kernels.widen != nullptr) {
      auto *numbers = reinterpret_cast<int16_t *>(item.further + bytes_numbers());
      kernels.widen(bytes, numbers, n, false);
      std::fill(numbers + n, numbers + ratio_up(n, 4) * 4, int16_t{0});
      result.read = reinterpret_cast<const uint8_t *>(numbers);
    }
    if (zero_point != 0) {
      Int8GemmTile tile{};
      tile.rows = &result.read;
      tile.rows_stride = tile.taps = tile.row_count = 1;
      tile.depth = n;
      kernels.sum_rows(tile, &result.sum);
    }
    return result;
  }

  void multiply(const Step &at, const GemvMatrix<float> &, const std::byte *, ItemField row, ItemField x,
                const float *bias, ItemField y) const override {
    const Int8Kernels &kernels = at.frame.kernels.int8;
    const int64_t columns = weights_.layout().columns;
    Int8Gemv product = weights_.gemv(kernels, at.way);
    Int8GemvRow rows[kItemsTogether];
    for (const Item &item : at.items) {
      float *added = item.*x.member + x.first;
      if (inputs[kBias] != kNone) at.frame.kernels.arithmetic(Arithmetic::add, added, 1, bias, 1, added, columns);
      rows[product.count++] =
          rounded(at, item, item.*row.member + row.first, added, item.*y.member + y.first, product.b_zero_point);
    }
    product.rows = rows;
    if (!at.is_shared) return kernels.gemv(product);
    const int64_t panels = ratio_up(columns, kernels.columns);
    const double panel_ns = matrices_[0].ns(at.frame, product.count) / static_cast<double>(panels);
    at.frame.pool.run(panels, panel_ns, [&](int64_t begin, int64_t end, int32_t) {
      Int8Gemv part = product;
      part.first = begin * kernels.columns;
      part.last = std::min(end * kernels.columns, columns);
      kernels.gemv(part);
    });
  }

  PackedByteWeights weights_;
};

}  // namespace

OperationPtr product_of_bytes(std::vector<TensorId> operands, TensorId out, int64_t rows, ByteWeights weights,
                              std::vector<float> bias) {
  return std::make_unique<ProductOfBytes>(std::move(operands), out, rows, std::move(weights), std::move(bias));
}

OperationPtr dynamic_lstm(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading,
                          const LstmSequence<float>::Options &options, std::vector<Elementwise> functions,
                          ByteWeights weights) {
  return std::make_unique<DynamicLstm>(std::move(inputs), std::move(outputs), reading, options, std::move(functions),
                                       std::move(weights));
}

}  // namespace cpuacc
