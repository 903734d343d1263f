// SPDX-License-Identifier: MIT
// Rotary embedding: the first 2 * pairs features of a row are pairs, which angles turn; the others
// stay. The features of a pair are `step` apart, 1 or pairs.
// Generated before it: the accessors of x, cosines, sines and y.

__kernel void rotate_pairs(INPUT(X, x), INPUT(COSINES, cosines), INPUT(SINES, sines), OUTPUT(Y, y),
                           const int items, const int features, const int pairs, const int step,
                           const int8 sizes, const int8 strides) {  // of the rows of the angles
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int feature = item % features, row = item / features;
  if (feature >= 2 * pairs) {
    STORE_Y(item, LOAD_X(item));
    return;
  }
  const bool is_second = step == 1 ? feature % 2 : feature >= pairs;
  const int pair = step == 1 ? feature / 2 : feature % pairs;
  const int angle = place(row, sizes, strides) + pair;
  const float own = LOAD_X(item), other = LOAD_X(is_second ? item - step : item + step);
  const float sine = LOAD_SINES(angle) * other;
  STORE_Y(item, own * LOAD_COSINES(angle) + (is_second ? sine : -sine));
}
