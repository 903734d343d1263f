/* SPDX-License-Identifier: MIT */
/* A host without Python: it loads a backend, compiles convolution + addition and runs them, for
 * work with gdb, sanitizers and valgrind.
 *
 *   gcc -std=c11 -g $(python -m armnn_backend_api --includes) -o host host.c -ldl
 *   ./host ./Acme_AcmeNpu_backend.so
 */
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const armnn_backend_api *api;

/* ---- what the host does for the backend ------------------------------------------------------ */

static void write_log(void *ctx, int32_t level, armnn_string component, armnn_string text) {
  (void)ctx;
  fprintf(stderr, "[%d] %.*s: %.*s\n", (int)level, (int)component.size, component.data,
          (int)text.size, text.data);
}
static int32_t log_level(void *ctx) { return (void)ctx, ARMNN_LOG_DEBUG; }
static void *allocate(void *ctx, uint64_t size, uint64_t align) {
  (void)ctx;
  return aligned_alloc(align, (size + align - 1) / align * align);
}
static void release(void *ctx, void *memory) { (void)ctx, free(memory); }
static void parallel_for(void *ctx, uint64_t count, uint64_t grain, armnn_range_fn body,
                         void *arg) {
  (void)ctx, (void)grain;
  if (count) body(arg, 0, count);
}
static int32_t one(void *ctx) { return (void)ctx, 1; }
static int32_t cancelled(void *ctx, uint64_t call_id) { return (void)ctx, (void)call_id, 0; }

static const armnn_host host = {
    .header = ARMNN_HEADER(ARMNN_HOST),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_API_MINOR,
    .log = write_log,
    .log_level = log_level,
    .alloc = allocate,
    .free = release,
    .parallel_for = parallel_for,
    .num_threads = one,
    .cancelled = cancelled,
};

/* ---- calling the backend --------------------------------------------------------------------- */

static armnn_error error;

static armnn_error *fresh(void) {
  error = (armnn_error){.header = ARMNN_HEADER(ARMNN_ERROR), .node_id = -1};
  return &error;
}
static void check(armnn_code code, const char *what) {
  if (code == ARMNN_OK) return;
  fprintf(stderr, "%s failed with code %d at node %d: %.*s\n", what, (int)code,
          (int)error.node_id, (int)error.message.size,
          error.message.data ? error.message.data : "");
  if (error.release) error.release(&error);
  exit(1);
}

/* Opens a file and returns its table, after the checks that every host makes. */
static const armnn_backend_api *load(const char *path) {
  const char *(*get_id)(void);
  void (*get_version)(uint32_t *, uint32_t *);
  void *(*factory)(void);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror()), exit(1);
  /* ISO C has no cast from an object pointer to a function pointer. */
  *(void **)(void *)&get_id = dlsym(library, "GetBackendId");
  *(void **)(void *)&get_version = dlsym(library, "GetVersion");
  *(void **)(void *)&factory = dlsym(library, "BackendFactory");
  if (!get_id || !get_version || !factory) fprintf(stderr, "an export is missing\n"), exit(1);
  uint32_t major = 0, minor = 0;
  get_version(&major, &minor);
  printf("%s needs Backend API %u.%u\n", get_id(), (unsigned)major, (unsigned)minor);
  if (major != ARMNN_BACKEND_API_MAJOR || minor > ARMNN_BACKEND_API_MINOR)
    fprintf(stderr, "this host provides %d.%d\n", ARMNN_BACKEND_API_MAJOR,
            ARMNN_BACKEND_API_MINOR), exit(1);
  const armnn_backend_api *table = factory();
  if (!table || table->header.struct_id != ARMNN_BACKEND_API_ID ||
      !armnn_backend_api_has_create(table) || !armnn_backend_api_has_execute(table))
    fprintf(stderr, "the table is not one\n"), exit(1);
  return table;
}

/* ---- the graph: y = convolution(x, weights) + x ---------------------------------------------- */

enum { X, WEIGHTS, SUM, Y, VALUES };
static int64_t image[4] = {1, 4, 4, 1}, kernel[4] = {1, 3, 3, 1};
static float x[16], y[16];
static float weights[9] = {0, 1, 0, 1, -4, 1, 0, 1, 0}; /* the Laplace operator */
static int keeps;

static void keep(void *constant) { (void)constant, ++keeps; }
static void drop(void *constant) { (void)constant, --keeps; }
static armnn_string text(const char *data) { return (armnn_string){data, strlen(data)}; }

static armnn_tensor tensor(float *data, int64_t *shape) {
  return (armnn_tensor){.data = data,
                        .device_type = ARMNN_DEVICE_CPU,
                        .ndim = 4,
                        .dtype_code = 2, /* kDLFloat */
                        .dtype_bits = 32,
                        .dtype_lanes = 1,
                        .shape = shape};
}
static armnn_value value(const char *name, int64_t *shape) {
  return (armnn_value){.header = ARMNN_HEADER(ARMNN_VALUE),
                       .name = text(name),
                       .data_type = ARMNN_FLOAT32,
                       .ndim = 4,
                       .shape = shape};
}
static armnn_attribute attribute(const char *name, const int64_t *data) {
  return (armnn_attribute){.header = ARMNN_HEADER(ARMNN_ATTRIBUTE),
                           .name = text(name),
                           .type = ARMNN_ATTRIBUTE_INT64,
                           .count = 1,
                           .data = data};
}

static armnn_graph graph_of(armnn_value *values, armnn_node *nodes, armnn_attribute *attributes,
                            armnn_tensor *constant) {
  static const int64_t one = 1, nhwc = ARMNN_DATA_LAYOUT_NHWC;
  static const int32_t in_conv[] = {X, WEIGHTS}, out_conv[] = {SUM}, in_add[] = {SUM, X};
  static const int32_t out_add[] = {Y}, inputs[] = {X};
  static const struct { const char *name; const int64_t *data; } fields[] = {
      {ARMNN_CONVOLUTION2D_PAD_LEFT, &one},   {ARMNN_CONVOLUTION2D_PAD_RIGHT, &one},
      {ARMNN_CONVOLUTION2D_PAD_TOP, &one},    {ARMNN_CONVOLUTION2D_PAD_BOTTOM, &one},
      {ARMNN_CONVOLUTION2D_STRIDE_X, &one},   {ARMNN_CONVOLUTION2D_STRIDE_Y, &one},
      {ARMNN_CONVOLUTION2D_DILATION_X, &one}, {ARMNN_CONVOLUTION2D_DILATION_Y, &one},
      {ARMNN_CONVOLUTION2D_DATA_LAYOUT, &nhwc}};
  values[X] = value("x", image);
  values[WEIGHTS] = value("weights", kernel);
  values[SUM] = value("sum", image);
  values[Y] = value("y", image);
  *constant = tensor(weights, kernel);
  values[WEIGHTS].constant = constant;
  values[WEIGHTS].constant_ref = weights;
  for (int i = 0; i < 9; ++i) attributes[i] = attribute(fields[i].name, fields[i].data);
  nodes[0] = (armnn_node){.header = ARMNN_HEADER(ARMNN_NODE), .id = 0,
                          .type = text(ARMNN_LAYER_CONVOLUTION2D), .name = text("laplace"),
                          .inputs = in_conv, .num_inputs = 2, .outputs = out_conv,
                          .num_outputs = 1, .attributes = attributes, .num_attributes = 9};
  nodes[1] = (armnn_node){.header = ARMNN_HEADER(ARMNN_NODE), .id = 1,
                          .type = text(ARMNN_LAYER_ADDITION), .name = text("sharpen"),
                          .inputs = in_add, .num_inputs = 2, .outputs = out_add,
                          .num_outputs = 1};
  return (armnn_graph){.header = ARMNN_HEADER(ARMNN_GRAPH),
                       .value_stride = sizeof *values, .node_stride = sizeof *nodes,
                       .attribute_stride = sizeof *attributes,
                       .values = values, .num_values = VALUES, .nodes = nodes, .num_nodes = 2,
                       .inputs = inputs, .num_inputs = 1, .outputs = out_add, .num_outputs = 1,
                       .keep = keep, .drop = drop};
}

int main(int argc, char **argv) {
  armnn_value values[VALUES];
  armnn_node nodes[2];
  armnn_attribute attributes[9];
  armnn_tensor constant, from = tensor(x, image), to = tensor(y, image);
  armnn_backend *backend = NULL;
  armnn_program *program = NULL;
  armnn_context *context = NULL;
  if (argc != 2) return fprintf(stderr, "usage: %s FILE.so\n", argv[0]), 2;
  api = load(argv[1]);
  check(api->create(&host, NULL, 0, &backend, fresh()), "create");

  armnn_graph graph = graph_of(values, nodes, attributes, &constant);
  armnn_support supports[2];
  for (int i = 0; i < 2; ++i)
    supports[i] = (armnn_support){.header = ARMNN_HEADER(ARMNN_SUPPORT), .node_id = i};
  check(api->query(backend, NULL, &graph, supports, sizeof *supports, fresh()), "query");
  for (int i = 0; i < 2; ++i) {
    printf("%s: %s%.*s\n", nodes[i].name.data, supports[i].level ? "yes" : "no, ",
           (int)supports[i].reason.size, supports[i].reason.data ? supports[i].reason.data : "");
    if (!supports[i].level) return 1;
  }

  const armnn_compile_args how = {.header = ARMNN_HEADER(ARMNN_COMPILE_ARGS)};
  check(api->compile(backend, NULL, &graph, &how, &program, fresh()), "compile");
  check(api->context_create(program, &context, fresh()), "context_create");
  x[5] = 1;
  const armnn_tensor *const inputs[] = {&from};
  armnn_tensor *const outputs[] = {&to};
  const armnn_execute_args args = {.header = ARMNN_HEADER(ARMNN_EXECUTE_ARGS),
                                   .inputs = inputs, .num_inputs = 1,
                                   .outputs = outputs, .num_outputs = 1};
  check(api->execute(context, &args, fresh()), "execute");
  for (int i = 0; i < 16; ++i) printf("%g%c", (double)y[i], i % 4 == 3 ? '\n' : ' ');

  api->context_destroy(context);
  api->program_destroy(program);
  api->destroy(backend);
  if (armnn_backend_api_has_shutdown(api)) api->shutdown();
  if (keeps) fprintf(stderr, "%d constants are still kept\n", keeps);
  return keeps != 0;
}
