// SPDX-License-Identifier: MIT
// What the work items of a group have in `shared`, combined into `total` in a tree of fixed shape.

#define TREE(combine)                                      \
  barrier(CLK_LOCAL_MEM_FENCE);                            \
  for (int half_ = GROUP / 2; half_ > 0; half_ /= 2) {     \
    if (lane < half_)                                      \
      shared[lane] = combine(shared[lane], shared[lane + half_]); \
    barrier(CLK_LOCAL_MEM_FENCE);                          \
  }                                                        \
  total = shared[0];                                       \
  barrier(CLK_LOCAL_MEM_FENCE);

#define SUM(x, y) ((x) + (y))
#define GREATER(x, y) ((x) > (y) || isnan(x) ? (x) : (y))

