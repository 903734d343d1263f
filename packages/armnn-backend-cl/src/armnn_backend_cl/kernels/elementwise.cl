// SPDX-License-Identifier: MIT
// Chains of functions of the elements of tensors, which broadcast.
// Generated before it: OPERANDS, CHAIN(v, i) and the accessors of r.

__kernel void elementwise(OPERANDS OUTPUT(R, r), const int count) {
  const int i = get_global_id(0);
  if (i < count)
    STORE_R(i, CHAIN(0, i));
}
