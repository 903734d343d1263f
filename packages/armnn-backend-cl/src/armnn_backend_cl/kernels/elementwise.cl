// SPDX-License-Identifier: MIT
// Chains of functions of the elements of tensors, which broadcast.
// Generated before it: OPERANDS, RESULT and CHAIN(v, i).

__kernel void elementwise(OPERANDS OUTPUT(RESULT, r), const int count) {
  const int i = get_global_id(0);
  if (i < count)
    AT(r)[i] = CHAIN(0, i);
}
