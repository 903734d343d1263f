// SPDX-License-Identifier: MIT
// Rows of a tensor, each normalized by what all of it says: softmax and the normalizations. A group
// of work items makes one row.
// Before it: tree.cl; generated are the accessors of x, gamma, beta and y, GROUP, one of SOFTMAX,
// LOG_SOFTMAX, STANDARDIZE, RMS and L2, and SCALED if there is a gamma, SHIFTED if there is a beta.

// Where element i of a row is, from its beginning.
#ifdef STRAIGHT
#define INNER(i, strides) ((i) * strides.s0)
#else
#define INNER(i, strides) place(i, sizes, strides)
#endif

// outer: where a row begins; inner: where its elements are; the strides of gamma and beta lie
// along the same axes. factor and offset hold for all elements.
__kernel void normalize_rows(INPUT(X, x), INPUT(GAMMA, gamma), INPUT(BETA, beta),
                             OUTPUT(Y, y), const int length, const int8 outer_sizes,
                             const int8 outer, const int8 sizes, const int8 inner,
                             const int8 gamma_outer, const int8 gamma_inner,
                             const float parameter, const float factor, const float offset) {
  __local float shared[GROUP];
  const int lane = get_local_id(0), row = get_group_id(0);
  const int start = place(row, outer_sizes, outer);
  float total;

#if defined(SOFTMAX) || defined(LOG_SOFTMAX)
  // parameter: beta. The largest product is taken off, of a negative beta that of the least.
  float top = -INFINITY;
  const float sign_of_beta = parameter < 0 ? -1 : 1;
  for (int i = lane; i < length; i += GROUP) {
    const float v = sign_of_beta * LOAD_X(start + INNER(i, inner));
    top = GREATER(v, top);
  }
  shared[lane] = top;
  TREE(GREATER)
  const float most = sign_of_beta * total;
  float sum = 0;
  for (int i = lane; i < length; i += GROUP)
    sum += exp((LOAD_X(start + INNER(i, inner)) - most) * parameter);
  shared[lane] = sum;
  TREE(SUM)
  for (int i = lane; i < length; i += GROUP) {
    const int at = start + INNER(i, inner);
    const float v = (LOAD_X(at) - most) * parameter;
#ifdef SOFTMAX
    STORE_Y(at, exp(v) / total);
#else
    STORE_Y(at, v - log(total));
#endif
  }
#else
  float mean = 0, sum = 0;
#ifdef STANDARDIZE
  for (int i = lane; i < length; i += GROUP)
    sum += LOAD_X(start + INNER(i, inner));
  shared[lane] = sum;
  TREE(SUM)
  mean = total / length;
  sum = 0;
#endif
  for (int i = lane; i < length; i += GROUP) {
    const float v = LOAD_X(start + INNER(i, inner)) - mean;
    sum = fma(v, v, sum);
  }
  shared[lane] = sum;
  TREE(SUM)
#ifdef L2
  const float root = sqrt(total < parameter ? parameter : total);  // NaN stays
#else
  const float root = sqrt(total / length + parameter);
#endif
  const int behind = place(row, outer_sizes, gamma_outer);
  for (int i = lane; i < length; i += GROUP) {
    const int at = start + INNER(i, inner);
    float v = (LOAD_X(at) - mean) / root;
#ifdef SCALED
    v *= LOAD_GAMMA(behind + INNER(i, gamma_inner));
#endif
#ifdef SHIFTED
    v += LOAD_BETA(behind + INNER(i, gamma_inner));
#endif
    STORE_Y(at, v * factor + offset);
  }
#endif
}
