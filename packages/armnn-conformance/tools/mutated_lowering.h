/* SPDX-License-Identifier: MIT */
/* The lowering of MutatedNpu: what a node becomes. mutated.c includes it. */
enum { MOST_INPUTS = 8 };
typedef enum { ADD, MULTIPLY, RELU, SOFTMAX, POOL, CONCAT, COPY, DENSE } kind;

typedef struct {
  kind kind;
  int32_t id, num_inputs, inputs[MOST_INPUTS], output;
  double beta, upper, lower;
  int64_t outer, axis, inner;           /* around an axis */
  int64_t lengths[MOST_INPUTS];         /* of a Concat, along the axis */
  int64_t n, c, h, w, to_h, to_w;       /* of a Pooling2d, whatever the layout */
  int64_t step_n, step_c, step_h, step_w, out_n, out_c, out_h, out_w;
  int64_t pool_h, pool_w, stride_h, stride_w, top, left, bottom, right;
  int32_t is_max, counts_padding;
  int64_t rows, columns, depth, is_transposed;
} step;

static armnn_string text(const char *data) { return (armnn_string){data, strlen(data)}; }
static int is(armnn_string string, const char *word) {
  return string.size == strlen(word) && !memcmp(string.data, word, string.size);
}
static armnn_code fail(armnn_error *error, armnn_code code, int32_t node, const char *message) {
  error->code = code, error->node_id = node, error->message = text(message);
  return code;
}
static const armnn_value *value_at(const armnn_graph *graph, int32_t index) {
  return ARMNN_AT(const armnn_value, graph->values, graph->value_stride, index);
}
static const armnn_node *node_at(const armnn_graph *graph, uint64_t index) {
  return ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, index);
}
static uint64_t elements_of(const armnn_value *value) {
  uint64_t product = 1;
  for (int32_t axis = 0; axis < value->ndim; ++axis) product *= (uint64_t)value->shape[axis];
  return product;
}
static float *data_of(const armnn_tensor *tensor) {
  return (float *)(void *)((char *)tensor->data + tensor->byte_offset);
}
static const armnn_attribute *find(const armnn_graph *graph, const armnn_node *node,
                                   const char *name, int32_t type) {
  for (uint64_t i = 0; i < node->num_attributes; ++i) {
    const armnn_attribute *row =
        ARMNN_AT(const armnn_attribute, node->attributes, graph->attribute_stride, i);
    if (is(row->name, name)) return row->type == type && row->count == 1 ? row : NULL;
  }
  return NULL;
}
static int integer(const armnn_graph *graph, const armnn_node *node, const char *name, int64_t *to) {
  const armnn_attribute *row = find(graph, node, name, ARMNN_ATTRIBUTE_INT64);
  if (row) *to = *(const int64_t *)row->data;
  return row != NULL;
}
static int real(const armnn_graph *graph, const armnn_node *node, const char *name, double *to) {
  const armnn_attribute *row = find(graph, node, name, ARMNN_ATTRIBUTE_FLOAT64);
  if (row) *to = *(const double *)row->data;
  return row != NULL;
}
static int same_shape(const armnn_value *a, const armnn_value *b) {
  return a->ndim == b->ndim && (!a->ndim || !memcmp(a->shape, b->shape, (size_t)a->ndim * 8));
}
static void split(step *s, const armnn_value *value, int64_t axis) {
  s->outer = s->inner = 1, s->axis = value->shape[axis];
  for (int32_t i = 0; i < value->ndim; ++i)
    if (i < axis) s->outer *= value->shape[i];
    else if (i > axis) s->inner *= value->shape[i];
}

static const char *pool(const armnn_graph *graph, const armnn_node *node, const armnn_value *from,
                        const armnn_value *to, step *s) {
  int64_t type, method, rounding, layout, across, down;
  if (!integer(graph, node, ARMNN_POOLING2D_POOL_TYPE, &type) ||
      !integer(graph, node, ARMNN_POOLING2D_PADDING_METHOD, &method) ||
      !integer(graph, node, ARMNN_POOLING2D_OUTPUT_SHAPE_ROUNDING, &rounding) ||
      !integer(graph, node, ARMNN_POOLING2D_DATA_LAYOUT, &layout) ||
      !integer(graph, node, ARMNN_POOLING2D_DILATION_X, &across) ||
      !integer(graph, node, ARMNN_POOLING2D_DILATION_Y, &down) ||
      !integer(graph, node, ARMNN_POOLING2D_POOL_HEIGHT, &s->pool_h) ||
      !integer(graph, node, ARMNN_POOLING2D_POOL_WIDTH, &s->pool_w) ||
      !integer(graph, node, ARMNN_POOLING2D_STRIDE_Y, &s->stride_h) ||
      !integer(graph, node, ARMNN_POOLING2D_STRIDE_X, &s->stride_w) ||
      !integer(graph, node, ARMNN_POOLING2D_PAD_TOP, &s->top) ||
      !integer(graph, node, ARMNN_POOLING2D_PAD_LEFT, &s->left) ||
      !integer(graph, node, ARMNN_POOLING2D_PAD_BOTTOM, &s->bottom) ||
      !integer(graph, node, ARMNN_POOLING2D_PAD_RIGHT, &s->right))
    return "a parameter of Pooling2d is missing";
  if (type != ARMNN_POOLING_ALGORITHM_MAX && type != ARMNN_POOLING_ALGORITHM_AVERAGE)
    return "MutatedNpu pools maxima and averages";
  if (across != 1 || down != 1 || !s->pool_h || !s->pool_w || !s->stride_h || !s->stride_w)
    return "MutatedNpu pools windows without dilation";
  if (rounding != ARMNN_OUTPUT_SHAPE_ROUNDING_FLOOR && rounding != ARMNN_OUTPUT_SHAPE_ROUNDING_CEILING)
    return "MutatedNpu knows Floor and Ceiling";
  if (method != ARMNN_PADDING_METHOD_IGNORE_VALUE && method != ARMNN_PADDING_METHOD_EXCLUDE)
    return "MutatedNpu knows IgnoreValue and Exclude";
  if (layout != ARMNN_DATA_LAYOUT_NCHW && layout != ARMNN_DATA_LAYOUT_NHWC)
    return "MutatedNpu knows NCHW and NHWC";
  const int nhwc = layout == ARMNN_DATA_LAYOUT_NHWC;
  const int64_t *x = from->shape, *y = to->shape;
  s->is_max = type == ARMNN_POOLING_ALGORITHM_MAX;
  s->counts_padding = method == ARMNN_PADDING_METHOD_IGNORE_VALUE;
  s->n = x[0], s->c = x[nhwc ? 3 : 1], s->h = x[nhwc ? 1 : 2], s->w = x[nhwc ? 2 : 3];
  s->to_h = y[nhwc ? 1 : 2], s->to_w = y[nhwc ? 2 : 3];
  s->step_n = s->c * s->h * s->w, s->out_n = s->c * s->to_h * s->to_w;
  s->step_c = nhwc ? 1 : s->h * s->w, s->out_c = nhwc ? 1 : s->to_h * s->to_w;
  s->step_h = nhwc ? s->w * s->c : s->w, s->out_h = nhwc ? s->to_w * s->c : s->to_w;
  s->step_w = nhwc ? s->c : 1, s->out_w = nhwc ? s->c : 1;
  return NULL;
}
static const char *dense(const armnn_graph *graph, const armnn_node *node, const armnn_value *from,
                         step *s) {
  const armnn_value *weights = value_at(graph, node->inputs[1]);
  if (!integer(graph, node, ARMNN_FULLY_CONNECTED_TRANSPOSE_WEIGHT_MATRIX, &s->is_transposed))
    return "a parameter of FullyConnected is missing";
  if (from->ndim != 2 || weights->ndim != 2) return "MutatedNpu multiplies matrices";
  s->rows = from->shape[0], s->depth = from->shape[1];
  s->columns = weights->shape[s->is_transposed ? 0 : 1];
  return NULL;
}
/* What a node becomes; why not, or NULL. *input is one more than the index of the guilty input. */
static const char *lower(const armnn_graph *graph, const armnn_node *node, step *s,
                         int32_t *input) {
  int64_t function, axis;
  memset(s, 0, sizeof *s);
  if (!node->num_inputs || node->num_inputs > MOST_INPUTS || node->num_outputs != 1)
    return "MutatedNpu takes up to eight inputs and one output";
  for (uint64_t i = 0; i < node->num_inputs; ++i) {
    s->inputs[i] = node->inputs[i];
    if (node->inputs[i] < 0) continue;
    const armnn_value *value = value_at(graph, node->inputs[i]);
    *input = (int32_t)i + 1;
    if (value->data_type != ARMNN_FLOAT32) return "MutatedNpu computes in Float32";
    if (value->ndim < 0) return "MutatedNpu takes known ranks";
  }
  *input = 0;
  for (uint64_t i = 0; i < node->num_attributes; ++i)
    if (ARMNN_AT(const armnn_attribute, node->attributes, graph->attribute_stride, i)->since_minor >
        ARMNN_BACKEND_TARGET_MINOR)
      return "MutatedNpu does not know a parameter";
  s->id = node->id, s->num_inputs = (int32_t)node->num_inputs, s->output = node->outputs[0];
  const armnn_value *from = value_at(graph, node->inputs[0]), *to = value_at(graph, s->output);
  if (to->ndim < 0 || to->data_type != ARMNN_FLOAT32) return "MutatedNpu computes Float32";
  if (is(node->type, ARMNN_LAYER_ADDITION) || is(node->type, ARMNN_LAYER_MULTIPLICATION)) {
    s->kind = is(node->type, ARMNN_LAYER_ADDITION) ? ADD : MULTIPLY;
    const int fits = same_shape(from, to) && same_shape(value_at(graph, node->inputs[1]), to);
    return fits ? NULL : "MutatedNpu takes equal shapes";
  }
  if (is(node->type, ARMNN_LAYER_ACTIVATION)) {
    s->kind = RELU;
    if (!integer(graph, node, ARMNN_ACTIVATION_FUNCTION, &function) ||
        !real(graph, node, ARMNN_ACTIVATION_A, &s->upper) ||
        !real(graph, node, ARMNN_ACTIVATION_B, &s->lower))
      return "a parameter of Activation is missing";
    if (function == ARMNN_ACTIVATION_FUNCTION_RELU) s->upper = INFINITY, s->lower = 0;
    else if (function != ARMNN_ACTIVATION_FUNCTION_BOUNDED_RELU) return "MutatedNpu has ReLu";
    return NULL;
  }
  if (is(node->type, ARMNN_LAYER_SOFTMAX)) {
    s->kind = SOFTMAX;
    if (!real(graph, node, ARMNN_SOFTMAX_BETA, &s->beta) ||
        !integer(graph, node, ARMNN_SOFTMAX_AXIS, &axis))
      return "a parameter of Softmax is missing";
    axis = axis < 0 ? axis + from->ndim : axis;
    if (axis < 0 || axis >= from->ndim) return "MutatedNpu finds no such axis";
    split(s, from, axis);
    return NULL;
  }
  if (is(node->type, ARMNN_LAYER_CONCAT)) {
    s->kind = CONCAT;
    if (!integer(graph, node, ARMNN_CONCAT_AXIS, &axis)) return "a parameter of Concat is missing";
    axis = axis < 0 ? axis + to->ndim : axis;
    if (axis < 0 || axis >= to->ndim) return "MutatedNpu finds no such axis";
    split(s, to, axis);
    for (int32_t i = 0; i < s->num_inputs; ++i)
      s->lengths[i] = value_at(graph, s->inputs[i])->shape[axis];
    return NULL;
  }
  if (is(node->type, ARMNN_LAYER_RESHAPE) && s->num_inputs == 1) {
    s->kind = COPY;
    return NULL;
  }
  if (is(node->type, ARMNN_LAYER_POOLING2D)) {
    s->kind = POOL;
    return from->ndim == 4 ? pool(graph, node, from, to, s) : "MutatedNpu pools images";
  }
  if (is(node->type, ARMNN_LAYER_FULLY_CONNECTED)) {
    s->kind = DENSE;
    return dense(graph, node, from, s);
  }
  return "MutatedNpu has eight layer types";
}
