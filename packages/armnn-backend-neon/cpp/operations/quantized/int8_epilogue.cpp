/* SPDX-License-Identifier: MIT */
/* Steps on bytes after an operation: a table, a sum, a table of the sum. */
#include "operations/quantized/int8_epilogue.h"

namespace cpuacc {

bool is_signed_int8(armnn_data_type type) { return type != ARMNN_QASYMM_U8; }

Bounds bounds_of(armnn_data_type type) { return is_signed_int8(type) ? Bounds{-128, 127} : Bounds{0, 255}; }

void Int8Epilogue::operator()(const Int8Kernels &kernels, uint8_t *bytes, int64_t count) const {
  if (table != nullptr) kernels.look_up(table->data(), bytes, bytes, count);
  if (addition != nullptr) kernels.add(*addition, bytes, 1, other + (bytes - output), 1, bytes, count);
  if (addition_table != nullptr) kernels.look_up(addition_table->data(), bytes, bytes, count);
}

EpilogueSlots WithInt8Epilogue::epilogue_slots() {
  EpilogueSlots slots;
  slots.table = addition_ ? &addition_table_ : &table_;
  if (!addition_) slots.addition = &addition_;
  if (*slots.table) return slots;
  slots.lowest = addition_ ? &addition_->requantization.lowest : &params_.bounds.lowest;
  slots.highest = addition_ ? &addition_->requantization.highest : &params_.bounds.highest;
  return slots;
}

Int8Epilogue WithInt8Epilogue::epilogue_of(const Frame &frame) const {
  Int8Epilogue epilogue{};
  if (table_) epilogue.table = &table_->table;
  if (!addition_) return epilogue;
  epilogue.addition = &*addition_;
  epilogue.other = frame.in<uint8_t>(inputs.back());
  epilogue.output = frame.out<uint8_t>(outputs[0]);
  if (addition_table_) epilogue.addition_table = &addition_table_->table;
  return epilogue;
}

std::vector<float> WithInt8Epilogue::filled_multipliers(int64_t columns, int64_t multiple) const {
  std::vector<float> result = params_.multipliers;
  result.resize(static_cast<size_t>(ratio_up(columns, multiple) * multiple), 0.0f);
  return result;
}

}  // namespace cpuacc
