/* SPDX-License-Identifier: MIT */
#include "costs/costs.h"
#include "operations/pointwise/functions.h"

namespace cpuacc {
namespace {

/* scale * x + shift, a number of each per channel; the channels are last. The result may then be multiplied by a
 * row, and a row added to it, with the same bits as by separate layers.
 */
class ScaleShift final : public Pointwise {
 public:
  ScaleShift(Io io, TensorId scale, TensorId shift, int64_t channels)
      : Pointwise({io.from, scale, shift}, {io.to}), channels_(channels) {}

  bool can_read_bfloat16(const Kernels &, size_t input) const override { return input == 0; }
  bool can_store_bfloat16(const Kernels &) const override { return true; }

  size_t prepare(const Setup &setup) override {
    rows_ = channels_ == 0 ? 0 : setup[outputs[0]].count() / channels_;
    is_input_bfloat16_ = setup.is_bfloat16(inputs[0]);
    is_output_bfloat16_ = setup.is_bfloat16(outputs[0]);
    return 0;
  }

  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    slots.function = &function_;
    slots.columns = channels_;
    const bool may_follow = function_.function == Function::identity && !has_addend_;
    if (may_follow && !has_factor_) slots.multiplies_row = &has_factor_;
    if (may_follow) slots.adds_row = &has_addend_;
    return slots;
  }

  void run(const Frame &frame) const override {
    if (is_input_bfloat16_) return run_by(frame, frame.kernels.scale_rows_of_bfloat16);
    run_by(frame, frame.kernels.scale_rows);
  }
  bool may_overwrite(size_t input) const override { return input == 0; }
  std::optional<AccessPattern> access_pattern(const Graph &graph, size_t input) const override {
    if (channels_ == 1) return std::nullopt; /* its kernel does not repeat a number */
    return AccessPattern{1, input == 0 ? graph[outputs[0]].count() : channels_};
  }
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    const auto operand = [&](size_t input) { return static_cast<const float *>(operands[input]); };
    kernels.scale_rows(rows_of(operand(0), {static_cast<float *>(to)}, 1, n, operand));
  }

 private:
  template <typename In>
  void run_by(const Frame &frame, void (*kernel)(const ScaledRowsOf<In> &)) const {
    const In *x = frame.in<In>(inputs[0]);
    const FloatOutput to = is_output_bfloat16_ ? FloatOutput{nullptr, frame.out<Bfloat16>(outputs[0])}
                                         : FloatOutput{frame.out<float>(outputs[0])};
    const auto operand = [&](size_t input) { return frame.in<float>(inputs[input]); };
    frame.pool.run(rows_, static_cast<double>(channels_) * frame.element_ns(), [&](int64_t begin, int64_t end, int32_t) {
      const int64_t place = begin * channels_;
      kernel(rows_of(x + place, to + place, end - begin, channels_, operand));
    });
  }

  /* Args: operand: returns where an input after the first one begins. */
  template <typename In, typename Operand>
  ScaledRowsOf<In> rows_of(const In *x, FloatOutput to, int64_t count, int64_t columns, const Operand &operand) const {
    const float *factor = has_factor_ ? operand(3) : nullptr;
    const float *addend = has_addend_ ? operand(inputs.size() - 1) : nullptr;
    return {x, count, columns, operand(1), operand(2), factor, addend, function_, to};
  }

  Elementwise function_{Function::identity, 0.0f, 0.0f};
  bool has_factor_ = false; /* the input after the shift */
  bool has_addend_ = false; /* the last input */
  bool is_input_bfloat16_ = false;
  bool is_output_bfloat16_ = false;
  int64_t channels_;
  int64_t rows_ = 0;
};

}  // namespace

OperationPtr scale_shift(Io io, TensorId scale, TensorId shift, int64_t channels) {
  return std::make_unique<ScaleShift>(io, scale, shift, channels);
}

}  // namespace cpuacc
