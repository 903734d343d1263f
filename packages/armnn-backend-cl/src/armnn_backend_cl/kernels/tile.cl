// SPDX-License-Identifier: MIT
// Tiles of products of matrices: a work item makes WIDTH columns of ROWS rows, so that a vector of
// the right matrix is read once for all these rows, and four elements of the left one once for WIDTH
// columns. It keeps to registers, as what GPUs of phones call local memory is no faster than their
// cache. The items of a group make a nearly square part of the result, so that they find each
// other's rows and columns in the cache.
// Each sum runs over the depth in its order, whatever ROWS, WIDTH, GROUP and the sizes are.
// Generated before it: ROWS, WIDTH, GROUP, OPERANDS and CHAIN(v, i), what is done to each result, and the accessors of
// the tensors, also of vectors of WIDTH elements or four.

// The first row, the panel of columns and the matrix of a work item. A group of items has `side`
// panels beside each other.
inline int3 tile(const int rows, const int panels, const int side) {
  const int high = GROUP / side, down = (rows + ROWS * high - 1) / (ROWS * high);
  const int across = (panels + side - 1) / side;
  const int group = get_group_id(0), item = get_local_id(0);
  return (int3)((group % down * high + item % high) * ROWS,
                group / down % across * side + item / high, group / down / across);
}

// Add four elements `v` of a row times four vectors.
#define MULTIPLY(sum, v, w)              \
  sum = fma((FLOATS)(v.s0), w[0], sum); \
  sum = fma((FLOATS)(v.s1), w[1], sum); \
  sum = fma((FLOATS)(v.s2), w[2], sum); \
  sum = fma((FLOATS)(v.s3), w[3], sum)

// Store results `from` to `to` of a vector whose first one is element `at`.
#define FINISH(sum, from, to, at)                     \
  do {                                                \
    float result[WIDTH];                              \
    STORE(sum, 0, result);                            \
    if (from == 0 && to == WIDTH) {                   \
      for (int o = 0; o < WIDTH; ++o)                 \
        result[o] = CHAIN(result[o], at + o);         \
      STORE_ALL(LOAD(0, result), at);                 \
    } else {                                          \
      for (int o = from; o < to; ++o)                 \
        STORE_OUT(at + o, CHAIN(result[o], at + o));  \
    }                                                 \
  } while (0)
