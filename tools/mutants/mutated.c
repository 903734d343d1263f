/* SPDX-License-Identifier: MIT */
/* MutatedNpu: eight layer types in float32, in one arena per context, with programs that can be
 * stored. check.py plants one fault at a time in it; it ships nowhere.
 */
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

ARMNN_BACKEND_NOTE("{\"id\": \"MutatedNpu\", \"api\": \"1.0\"}");

/* The lowering: what a node becomes. */
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

/* The kernels, on plain memory. */
static void run_softmax(const step *s, const float *x, float *y) {
  for (int64_t o = 0; o < s->outer; ++o)
    for (int64_t i = 0; i < s->inner; ++i) {
      const int64_t start = o * s->axis * s->inner + i;
      double most = -INFINITY, total = 0;
      for (int64_t a = 0; a < s->axis; ++a) {
        const double v = s->beta * x[start + a * s->inner];
        if (v > most || isnan(v)) most = v;
      }
      for (int64_t a = 0; a < s->axis; ++a) total += exp(s->beta * x[start + a * s->inner] - most);
      for (int64_t a = 0; a < s->axis; ++a) {
        const int64_t at = start + a * s->inner;
        y[at] = (float)(exp(s->beta * x[at] - most) / total);
      }
    }
}
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static float window(const step *s, const float *x, int64_t row, int64_t column) {
  const int64_t top = row * s->stride_h - s->top, left = column * s->stride_w - s->left;
  double total = 0, most = -INFINITY;
  int64_t inside = 0;
  for (int64_t h = top; h < top + s->pool_h; ++h)
    for (int64_t w = left; w < left + s->pool_w; ++w) {
      if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
      const float v = x[h * s->step_h + w * s->step_w];
      total += v, ++inside;
      if (v > most || isnan(v)) most = v;
    }
  if (!inside) return 0;
  if (s->is_max) return (float)most;
  const int64_t height = least(top + s->pool_h, s->h + s->bottom) - top;
  const int64_t width = least(left + s->pool_w, s->w + s->right) - left;
  return (float)(total / (double)(s->counts_padding ? height * width : inside));
}
static void run_pool(const step *s, const float *x, float *y) {
  for (int64_t n = 0; n < s->n; ++n)
    for (int64_t c = 0; c < s->c; ++c)
      for (int64_t h = 0; h < s->to_h; ++h)
        for (int64_t w = 0; w < s->to_w; ++w)
          y[n * s->out_n + c * s->out_c + h * s->out_h + w * s->out_w] =
              window(s, x + n * s->step_n + c * s->step_c, h, w);
}
static void run_dense(const step *s, const float *x, const float *weights, const float *bias,
                      float *y) {
  for (int64_t r = 0; r < s->rows; ++r)
    for (int64_t c = 0; c < s->columns; ++c) {
      double sum = bias ? bias[c] : 0;
      for (int64_t d = 0; d < s->depth; ++d)
        sum += (double)x[r * s->depth + d] *
               weights[s->is_transposed ? c * s->depth + d : d * s->columns + c];
      y[r * s->columns + c] = (float)sum;
    }
}
static void run_concat(const step *s, const float **values, float *y) {
  int64_t before = 0;
  for (int32_t i = 0; i < s->num_inputs; ++i) {
    const float *x = values[s->inputs[i]];
    const int64_t run = s->lengths[i] * s->inner;
    for (int64_t o = 0; o < s->outer; ++o)
      memcpy(y + (o * s->axis + before) * s->inner, x + o * run, (size_t)run * sizeof *y);
    before += s->lengths[i];
  }
}
static void run(const step *s, const float **values, uint64_t elements, float *y) {
  const float *x = values[s->inputs[0]], *z = s->num_inputs > 1 ? values[s->inputs[1]] : NULL;
  switch (s->kind) {
    case ADD:
      for (uint64_t e = 0; e < elements; ++e) y[e] = x[e] + z[e];
      break;
    case MULTIPLY:
      for (uint64_t e = 0; e < elements; ++e) y[e] = x[e] * z[e];
      break;
    case RELU:
      for (uint64_t e = 0; e < elements; ++e) {
        const float raised = x[e] < (float)s->lower ? (float)s->lower : x[e];
        y[e] = raised > (float)s->upper ? (float)s->upper : raised;
      }
      break;
    case SOFTMAX: run_softmax(s, x, y); break;
    case POOL: run_pool(s, x, y); break;
    case CONCAT: run_concat(s, values, y); break;
    case COPY: memcpy(y, x, elements * sizeof *y); break;
    case DENSE:
      run_dense(s, x, z, s->num_inputs > 2 && s->inputs[2] >= 0 ? values[s->inputs[2]] : NULL, y);
      break;
  }
}

enum { MAGIC = 0x4d555431 };

typedef struct {
  uint64_t elements, offset; /* in the arena, of elements; what nodes compute */
  int32_t is_constant, unused;
} place;

struct armnn_backend { const armnn_host *host; };
struct armnn_program {
  const armnn_host *host;
  armnn_constant_fn drop;
  uint64_t num_values, num_steps, num_inputs, num_outputs, arena_elements;
  place *places;
  const float **constants;
  void **kept, **owned;
  step *steps;
  int32_t *inputs, *outputs;
};
struct armnn_context {
  const armnn_program *program;
  float *arena;
  const float **values;
};

static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    step ignored;
    const char *why = lower(graph, node_at(graph, i), &ignored, &support->input);
    support->level = why ? ARMNN_NOT_SUPPORTED : ARMNN_PREFERRED;
    if (why) support->reason = text(why);
  }
  return ARMNN_OK;
}

static void program_destroy(armnn_program *program) {
  for (uint64_t i = 0; program->kept && i < program->num_values; ++i)
    if (program->kept[i]) program->drop(program->kept[i]);
  for (uint64_t i = 0; program->owned && i < program->num_values; ++i) free(program->owned[i]);
  free(program->places), free(program->constants), free(program->kept), free(program->owned);
  free(program->steps), free(program->inputs), free(program->outputs), free(program);
}
static armnn_program *program_new(const armnn_host *host, const uint64_t counts[4]) {
  armnn_program *program = calloc(1, sizeof *program);
  if (!program) return NULL;
  program->host = host;
  program->num_values = counts[0], program->num_steps = counts[1];
  program->num_inputs = counts[2], program->num_outputs = counts[3];
  program->places = calloc(counts[0] + 1, sizeof *program->places);
  program->constants = calloc(counts[0] + 1, sizeof *program->constants);
  program->kept = calloc(counts[0] + 1, sizeof *program->kept);
  program->owned = calloc(counts[0] + 1, sizeof *program->owned);
  program->steps = calloc(counts[1] + 1, sizeof *program->steps);
  program->inputs = calloc(counts[2] + 1, sizeof *program->inputs);
  program->outputs = calloc(counts[3] + 1, sizeof *program->outputs);
  if (program->places && program->constants && program->kept && program->owned &&
      program->steps && program->inputs && program->outputs)
    return program;
  program_destroy(program);
  return NULL;
}
static void plan(armnn_program *program) {
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    place *at = &program->places[program->steps[i].output];
    at->offset = program->arena_elements;
    program->arena_elements += at->elements;
  }
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **result, armnn_error *error) {
  (void)device;
  for (uint64_t i = 0; i < args->num_options; ++i)
    if (!is(args->options[i].key, "FastMathEnabled"))
      return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the only option is FastMathEnabled");
  const uint64_t counts[] = {graph->num_values, graph->num_nodes, graph->num_inputs,
                             graph->num_outputs};
  armnn_program *program = program_new(backend->host, counts);
  if (!program) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  program->drop = graph->drop;
  for (uint64_t i = 0; i < graph->num_values; ++i) {
    const armnn_value *value = value_at(graph, (int32_t)i);
    program->places[i].elements = elements_of(value);
    if (!value->constant) continue;
    graph->keep(value->constant_ref);
    program->kept[i] = value->constant_ref;
    program->places[i].is_constant = 1;
    program->constants[i] = data_of(value->constant);
  }
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    int32_t input;
    const char *why = lower(graph, node_at(graph, i), &program->steps[i], &input);
    if (why) {
      program_destroy(program);
      return fail(error, ARMNN_UNSUPPORTED_NODE, node_at(graph, i)->id, why);
    }
  }
  memcpy(program->inputs, graph->inputs, graph->num_inputs * sizeof *program->inputs);
  memcpy(program->outputs, graph->outputs, graph->num_outputs * sizeof *program->outputs);
  plan(program);
  *result = program;
  return ARMNN_OK;
}

/* The bytes of a program: counts, places, steps, inputs, outputs, constants. */
static armnn_code serialize(armnn_program *program, armnn_write_fn write, void *arg,
                            armnn_error *error) {
  const uint64_t head[] = {MAGIC, program->num_values, program->num_steps, program->num_inputs,
                           program->num_outputs};
  const struct { const void *data; uint64_t size; } parts[] = {
      {head, sizeof head},
      {program->places, program->num_values * sizeof *program->places},
      {program->steps, program->num_steps * sizeof *program->steps},
      {program->inputs, program->num_inputs * sizeof *program->inputs},
      {program->outputs, program->num_outputs * sizeof *program->outputs}};
  armnn_code code = ARMNN_OK;
  for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; ++i)
    if (parts[i].size) code = write(arg, parts[i].data, parts[i].size);
  for (uint64_t i = 0; !code && i < program->num_values; ++i)
    if (program->places[i].is_constant && program->places[i].elements)
      code = write(arg, program->constants[i], program->places[i].elements * sizeof(float));
  return code ? fail(error, code, -1, "the host takes no more bytes") : ARMNN_OK;
}
static int take(const char **at, const char *end, void *to, uint64_t size) {
  if ((uint64_t)(end - *at) < size) return 0;
  if (size) memcpy(to, *at, size);
  *at += size;
  return 1;
}
static armnn_code deserialize(armnn_backend *backend, const armnn_device *device, const void *data,
                              uint64_t size, armnn_program **result, armnn_error *error) {
  (void)device;
  const char *at = data, *end = at + size;
  uint64_t head[5];
  if (!take(&at, end, head, sizeof head) || head[0] != MAGIC || head[1] > size || head[2] > size ||
      head[3] > size || head[4] > size)
    return fail(error, ARMNN_INCOMPATIBLE_BLOB, -1, "not of MutatedNpu");
  armnn_program *program = program_new(backend->host, head + 1);
  if (!program) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  int fits = take(&at, end, program->places, head[1] * sizeof *program->places) &&
             take(&at, end, program->steps, head[2] * sizeof *program->steps) &&
             take(&at, end, program->inputs, head[3] * sizeof *program->inputs) &&
             take(&at, end, program->outputs, head[4] * sizeof *program->outputs);
  for (uint64_t i = 0; fits && i < head[1]; ++i) {
    if (!program->places[i].is_constant) continue;
    const uint64_t bytes = program->places[i].elements * sizeof(float);
    program->owned[i] = bytes <= size ? malloc(bytes + 1) : NULL;
    program->constants[i] = program->owned[i];
    fits = program->owned[i] && take(&at, end, program->owned[i], bytes);
  }
  if (!fits) {
    program_destroy(program);
    return fail(error, ARMNN_INCOMPATIBLE_BLOB, -1, "it is cut short");
  }
  plan(program);
  *result = program;
  return ARMNN_OK;
}

static void context_destroy(armnn_context *context) {
  free(context->arena), free(context->values), free(context);
}
static armnn_code context_create(armnn_program *program, armnn_context **result,
                                 armnn_error *error) {
  armnn_context *context = calloc(1, sizeof *context);
  if (!context) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  context->program = program;
  context->arena = malloc((program->arena_elements + 1) * sizeof *context->arena);
  context->values = calloc(program->num_values + 1, sizeof *context->values);
  if (!context->arena || !context->values) {
    context_destroy(context);
    return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  }
  *result = context;
  return ARMNN_OK;
}

static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  const armnn_program *program = context->program;
  const armnn_host *host = program->host;
  const float **values = context->values;
  for (uint64_t i = 0; i < program->num_values; ++i)
    values[i] = program->places[i].is_constant ? program->constants[i]
                                               : context->arena + program->places[i].offset;
  for (uint64_t i = 0; i < program->num_inputs; ++i)
    values[program->inputs[i]] = data_of(args->inputs[i]);
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    const step *s = &program->steps[i];
    if (armnn_host_has_cancelled(host) && host->cancelled(host->ctx, args->call_id))
      return fail(error, ARMNN_CANCELLED, s->id, "the host asked to stop");
    const place *at = &program->places[s->output];
    run(s, values, at->elements, context->arena + at->offset);
  }
  for (uint64_t i = 0; i < program->num_outputs; ++i) {
    const int32_t index = program->outputs[i];
    memcpy(data_of(args->outputs[i]), values[index],
           program->places[index].elements * sizeof(float));
  }
  return ARMNN_OK;
}

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **result, armnn_error *error) {
  (void)options;
  if (num_options) return fail(error, ARMNN_INVALID_ARGUMENT, -1, "there are no options");
  armnn_backend *backend = calloc(1, sizeof *backend);
  if (!backend) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  backend->host = host;
  *result = backend;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { free(backend); }
static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"MutatedNpu", 10},
    .version = {"1.0.0", 5},
    .vendor = {"Acme", 4},
    .create = create,
    .destroy = destroy,
    .query = query,
    .compile = compile,
    .serialize = serialize,
    .deserialize = deserialize,
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
};

const char *GetBackendId(void) { return table.id.data; }
void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = table.api_major, *outMinor = table.api_minor;
}
void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
