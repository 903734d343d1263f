/* SPDX-License-Identifier: MIT */
/* A backend that adds, subtracts and multiplies float32 tensors of equal shape, and fails in any
 * way that it is told to: macros change the exports and the table, options change the functions.
 */
#include <armnn/layers.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_exports.h"

enum { kNoLayout = 99 };

/* What the tests read through get_extension("mock.counts/1"). */
typedef struct {
  atomic_llong backends, programs, contexts, kept, violations, shutdowns, events;
  atomic_llong queries, nodes_queried, nodes_compiled;
} mock_counts;
static mock_counts counts;
static const armnn_host *host;

struct armnn_backend {
  atomic_llong programs;
  const armnn_allocator *allocator;
  char fail_query[32];
  armnn_device device;
  const armnn_device *devices[1];
};
typedef struct { int op, inputs[2], output; int id; } step;
struct armnn_program {
  armnn_backend *backend;
  atomic_llong contexts;
  uint64_t num_values, num_steps, num_inputs, num_outputs, elements;
  const armnn_tensor **constants;
  void **kept;
  uint64_t num_kept;
  armnn_constant_fn drop;
  int32_t *inputs, *outputs;
  step *steps;
  char behavior[32];
  armnn_code fail_execute;
};
struct armnn_context {
  armnn_program *program;
  float **values;
};

static const char *option(const armnn_option *options, uint64_t count, const char *key) {
  for (uint64_t i = 0; i < count; ++i)
    if (strcmp(options[i].key.data, key) == 0) return options[i].value.data;
  return NULL;
}
static void release(armnn_error *error) { free(error->priv); }
static armnn_code fail(armnn_error *error, armnn_code code, int32_t node, const char *text) {
  char *copy = malloc(strlen(text) + 1);
  strcpy(copy, text);
  error->code = code;
  error->node_id = node;
  error->message = (armnn_string){copy, strlen(text)};
  error->release = release;
  error->priv = copy;
  return code;
}
static armnn_string text(const char *data) { return (armnn_string){data, strlen(data)}; }
static int is(armnn_string string, const char *word) {
  return string.size == strlen(word) && memcmp(string.data, word, string.size) == 0;
}

static armnn_code create(const armnn_host *given, const armnn_option *options, uint64_t count,
                         armnn_backend **made, armnn_error *error) {
  const char *code = option(options, count, "FailCreate");
  host = given;
  if (code && strcmp(code, "null") == 0) return ARMNN_OK;
  if (code) return fail(error, atoi(code), -1, "no such hardware");
  *made = calloc(1, sizeof **made);
  const char *broken = option(options, count, "FailQuery");
  if (broken) snprintf((*made)->fail_query, sizeof (*made)->fail_query, "%s", broken);
  ++counts.backends;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) {
  if (backend->programs) ++counts.violations;
  --counts.backends;
  free(backend);
}
static armnn_code devices(armnn_backend *backend, const armnn_device *const **out, uint64_t *count,
                          armnn_error *error) {
  static const armnn_option info[] = {{{"cores", 5}, {"4", 1}}, {{"fast", 4}, {"true", 4}}};
  (void)error;
  backend->device = (armnn_device){.header = ARMNN_HEADER(ARMNN_DEVICE),
                                   .id = text("0"),
                                   .name = text("Mock One"),
                                   .kind = text("npu"),
                                   .memory_bytes = 1024,
                                   .fingerprint = text("mock-1"),
                                   .info = info,
                                   .num_info = 2};
#ifdef MOCK_DEVICE_ID
  backend->device.header.struct_id = MOCK_DEVICE_ID;
#endif
  backend->devices[0] = &backend->device;
  *out = backend->devices;
#ifdef MOCK_DEVICES
  *count = MOCK_DEVICES;
#else
  *count = 1;
#endif
  return ARMNN_OK;
}
static armnn_code capabilities(armnn_backend *backend, const armnn_option **out, uint64_t *count,
                               armnn_error *error) {
  static const armnn_option rows[] = {{{"AsyncExecution", 14}, {"false", 5}},
                                      {{"Ratio", 5}, {"0.5", 3}},
                                      {{"Word", 4}, {"nan", 3}},
                                      {{"ReleasesConstants", 17}, {"true", 4}}};
  (void)backend, (void)error;
  *out = rows;
#ifdef MOCK_RELEASES
  *count = 4;
#else
  *count = 3;
#endif
  return ARMNN_OK;
}
static armnn_code use_allocator(armnn_backend *backend, const armnn_allocator *allocator,
                                armnn_error *error) {
  (void)error;
  backend->allocator = allocator;
  return ARMNN_OK;
}
static armnn_code network_event(armnn_backend *backend, int32_t event, uint64_t network,
                                armnn_error *error) {
  (void)backend;
  counts.events = (counts.events * 10 + event) % 10000;
  if (event == ARMNN_BEFORE_LOAD && network == 7)
    return fail(error, ARMNN_FAILED_PRECONDITION, -1, "seven is refused");
  return ARMNN_OK;
}

static int operation(const armnn_node *node) {
  return is(node->type, ARMNN_LAYER_ADDITION) ? '+' : is(node->type, ARMNN_LAYER_SUBTRACTION) ? '-'
         : is(node->type, ARMNN_LAYER_MULTIPLICATION) ? '*' : 0;
}
static const armnn_value *value_at(const armnn_graph *graph, int32_t index) {
  return ARMNN_AT(const armnn_value, graph->values, graph->value_stride, index);
}
static uint64_t elements_of(const armnn_value *value) {
  uint64_t product = 1;
  for (int32_t axis = 0; axis < value->ndim; ++axis) product *= (uint64_t)value->shape[axis];
  return product;
}
static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  static _Thread_local char reasons[8][64];
  (void)device;
  ++counts.queries;
  counts.nodes_queried += (long long)graph->num_nodes;
  if (backend->fail_query[0] == 'c')
    return fail(error, atoi(backend->fail_query + 1), 0, "asked too much");
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const armnn_node *node = ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    support->level = operation(node) ? ARMNN_PREFERRED : ARMNN_NOT_SUPPORTED;
    if (!operation(node)) {
      char *reason = reasons[i % 8];
      snprintf(reason, sizeof reasons[0], "Mock has no %s", node->type.data);
      support->reason = text(reason);
      continue;
    }
    for (uint64_t at = 0; at < 2; ++at) {
      const armnn_value *value = value_at(graph, node->inputs[at]);
      if (value->data_type == ARMNN_FLOAT32 &&
          elements_of(value) == elements_of(value_at(graph, node->outputs[0])))
        continue;
      support->level = ARMNN_NOT_SUPPORTED;
      support->input = (int32_t)at + 1;
      support->reason = text("Float32 of the output's shape expected");
      break;
    }
    if (backend->fail_query[0] == 'l') support->level = 7;
    if (backend->fail_query[0] == 'n') support->node_id = 99;
    if (backend->fail_query[0] == 'w') support->layout = ARMNN_DATA_LAYOUT_NHWC;
    if (backend->fail_query[0] == 'W') support->layout = kNoLayout;
    if (backend->fail_query[0] == 'g') {
      support->level = ARMNN_NOT_SUPPORTED;
      support->reason = (armnn_string){NULL, 1000};
    }
    if (backend->fail_query[0] == '2' && graph->num_nodes > 1 && i == 1)
      support->level = ARMNN_NOT_SUPPORTED, support->reason = text("not among others");
  }
  return ARMNN_OK;
}

static void *acquire(armnn_backend *backend, uint64_t size) {
  if (backend->allocator) return backend->allocator->allocate(backend->allocator->ctx, size, 64);
  return host->alloc(host->ctx, size, 64);
}
static void give_back(armnn_backend *backend, void *memory) {
  if (backend->allocator) backend->allocator->free(backend->allocator->ctx, memory);
  else host->free(host->ctx, memory);
}
static void program_destroy(armnn_program *program) {
  if (program->contexts) ++counts.violations;
  for (uint64_t i = 0; i < program->num_kept; ++i) program->drop(program->kept[i]), --counts.kept;
#ifdef MOCK_RELEASES
  for (uint64_t i = 0; i < program->num_values; ++i) free((void *)program->constants[i]);
#endif
  --program->backend->programs;
  --counts.programs;
  free(program->constants), free(program->kept), free(program->inputs), free(program->outputs);
  free(program->steps), free(program);
}
/* A constant with its elements, for the program to keep in the place of the host's. */
static armnn_tensor *packed(const armnn_value *value) {
  uint64_t bytes = elements_of(value) * sizeof(float);
  armnn_tensor *made = malloc(sizeof *made + bytes);
  *made = *value->constant;
  made->data = memcpy(made + 1, (char *)made->data + made->byte_offset, bytes);
  made->byte_offset = 0;
  return made;
}
static int32_t *copy(const int32_t *indices, uint64_t count) {
  int32_t *made = calloc(count + 1, sizeof *made);
  if (count) memcpy(made, indices, count * sizeof *made);
  return made;
}
static armnn_code refuse(const armnn_graph *graph, const char *name, armnn_error *error) {
  for (uint64_t i = 0; name && i < graph->num_nodes; ++i) {
    const armnn_node *node = ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
    if (is(node->name, name)) return fail(error, ARMNN_UNSUPPORTED_NODE, node->id, "too hard");
  }
  if (name && strcmp(name, "*") == 0)
    return fail(error, ARMNN_UNSUPPORTED_NODE, -1, "all too hard");
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **made, armnn_error *error) {
  const char *code = option(args->options, args->num_options, "FailCompile");
  const char *behavior = option(args->options, args->num_options, "Behavior");
  const char *broken = option(args->options, args->num_options, "FailExecute");
  (void)device;
  if (code && strcmp(code, "null") == 0) return ARMNN_OK;
  if (code) return fail(error, atoi(code), 0, "cannot compile");
  if (refuse(graph, option(args->options, args->num_options, "Refuse"), error))
    return ARMNN_UNSUPPORTED_NODE;
  counts.nodes_compiled += (long long)graph->num_nodes;
  armnn_program *program = *made = calloc(1, sizeof *program);
  program->backend = backend;
  program->num_values = graph->num_values;
  program->num_steps = graph->num_nodes;
  program->num_inputs = graph->num_inputs;
  program->num_outputs = graph->num_outputs;
  program->inputs = copy(graph->inputs, graph->num_inputs);
  program->outputs = copy(graph->outputs, graph->num_outputs);
  program->constants = calloc(graph->num_values, sizeof *program->constants);
  program->kept = calloc(graph->num_values, sizeof *program->kept);
  program->steps = calloc(graph->num_nodes, sizeof *program->steps);
  program->drop = graph->drop;
  program->elements = elements_of(value_at(graph, graph->outputs[0]));
  if (behavior) snprintf(program->behavior, sizeof program->behavior, "%s", behavior);
  if (broken) program->fail_execute = atoi(broken);
  for (uint64_t i = 0; i < graph->num_values; ++i) {
    const armnn_value *value = value_at(graph, (int32_t)i);
    if (!value->constant) continue;
    graph->keep(value->constant_ref);
#ifdef MOCK_RELEASES
    program->constants[i] = packed(value);
    graph->drop(value->constant_ref);
    continue;
#endif
    program->constants[i] = value->constant;
    program->kept[program->num_kept++] = value->constant_ref;
    ++counts.kept;
  }
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const armnn_node *node = ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
    program->steps[i] =
        (step){operation(node), {node->inputs[0], node->inputs[1]}, node->outputs[0], node->id};
  }
  if (strcmp(program->behavior, "event") == 0 && host->profiling(host->ctx))
    host->event(host->ctx, args->call_id, ARMNN_PROFILE_COMPILE, text("add"), 1, 2,
                text("{\"arena_bytes\": 64, \"scratch_bytes\": 0, \"weight_bytes\": 8}"));
  ++backend->programs;
  ++counts.programs;
  if (strcmp(program->behavior, "regret") == 0) {
    *made = NULL;
    program_destroy(program);
    return fail(error, ARMNN_UNSUPPORTED_NODE, 0, "too hard after all");
  }
  return ARMNN_OK;
}

/* A blob is "mock" and the arrays; constants cannot be kept, so only programs without have one. */
static armnn_code serialize(armnn_program *program, armnn_write_fn write, void *arg,
                            armnn_error *error) {
  uint64_t sizes[5] = {program->num_values, program->num_steps, program->num_inputs,
                       program->num_outputs, program->elements};
  if (program->num_kept) return fail(error, ARMNN_UNIMPLEMENTED, -1, "it has constants");
  if (write(arg, "mock", 4) || write(arg, sizes, sizeof sizes) ||
      write(arg, program->steps, program->num_steps * sizeof(step)) ||
      write(arg, program->inputs, program->num_inputs * 4) ||
      write(arg, program->outputs, program->num_outputs * 4))
    return ARMNN_RESOURCE_EXHAUSTED;
  return ARMNN_OK;
}
static armnn_code check_blob(armnn_backend *backend, const armnn_device *device,
                             armnn_string envelope, int32_t *verdict, armnn_error *error) {
  const char *wanted = getenv("MOCK_VERDICT");
  (void)backend, (void)device, (void)error;
  *verdict = strstr(envelope.data, "\"backend_version\"") ? ARMNN_BLOB_OPTIMAL : 9;
  if (wanted) *verdict = atoi(wanted);
  return ARMNN_OK;
}
static armnn_code deserialize(armnn_backend *backend, const armnn_device *device, const void *data,
                              uint64_t size, armnn_program **made, armnn_error *error) {
  uint64_t sizes[5];
  const char *bytes = data;
  (void)device;
  if (size < 4 + sizeof sizes || memcmp(bytes, "mock", 4) || getenv("MOCK_UNREADABLE"))
    return fail(error, ARMNN_INCOMPATIBLE_BLOB, -1, "not of this mock");
  memcpy(sizes, bytes + 4, sizeof sizes);
  bytes += 4 + sizeof sizes;
  armnn_program *program = *made = calloc(1, sizeof *program);
  program->backend = backend;
  program->num_values = sizes[0], program->num_steps = sizes[1], program->num_inputs = sizes[2];
  program->num_outputs = sizes[3], program->elements = sizes[4];
  program->constants = calloc(sizes[0], sizeof *program->constants);
  program->kept = calloc(1, sizeof *program->kept);
  program->steps = calloc(sizes[1], sizeof(step));
  memcpy(program->steps, bytes, sizes[1] * sizeof(step));
  bytes += sizes[1] * sizeof(step);
  program->inputs = copy((const int32_t *)(const void *)bytes, sizes[2]);
  program->outputs = copy((const int32_t *)(const void *)(bytes + sizes[2] * 4), sizes[3]);
  ++backend->programs;
  ++counts.programs;
  return ARMNN_OK;
}
static armnn_code io_requirement(armnn_program *program, int32_t is_output, uint64_t index,
                                 armnn_io_requirement *requirement, armnn_error *error) {
  (void)is_output, (void)index, (void)error;
  if (strcmp(program->behavior, "align") == 0) requirement->min_align = 4096;
  if (strcmp(program->behavior, "align3") == 0) requirement->min_align = 3;
  if (strcmp(program->behavior, "pad") == 0) requirement->min_bytes = 4 * program->elements + 64;
  return ARMNN_OK;
}
static armnn_code context_create(armnn_program *program, armnn_context **made, armnn_error *error) {
  if (strcmp(program->behavior, "no context") == 0)
    return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "out of contexts");
  if (strcmp(program->behavior, "null context") == 0) return ARMNN_OK;
  armnn_context *context = calloc(1, sizeof *context);
  context->program = program;
  context->values = calloc(program->num_values, sizeof *context->values);
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    float **value = &context->values[program->steps[i].output];
    *value = acquire(program->backend, program->elements * sizeof(float));
    if (!*value) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "the allocator has none");
  }
  ++program->contexts;
  ++counts.contexts;
  *made = context;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) {
  armnn_program *program = context->program;
  for (uint64_t i = 0; i < program->num_steps; ++i)
    give_back(program->backend, context->values[program->steps[i].output]);
  --program->contexts;
  --counts.contexts;
  free(context->values), free(context);
}

static void mark(void *arg, uint64_t begin, uint64_t end) {
  float *sums = arg;
  for (uint64_t i = begin; i < end; ++i) sums[i] += (float)i;
}
/* What a test wants to see besides the sum. */
static armnn_code behave(armnn_program *program, const armnn_execute_args *args,
                         armnn_error *error) {
  const char *how = program->behavior;
  if (strcmp(how, "wait") == 0) {
    while (!host->cancelled(host->ctx, args->call_id)) {
    }
    return fail(error, ARMNN_CANCELLED, -1, "stopped");
  }
  if (strcmp(how, "log") == 0) {
    host->log(host->ctx, ARMNN_LOG_WARNING, text("kernel"), text("na\xc3\xafve"));
    host->log(host->ctx, host->log_level(host->ctx), text(""), text("at the level"));
  }
  if (strcmp(how, "event") == 0 && host->profiling(host->ctx)) {
    host->event(host->ctx, args->call_id, ARMNN_PROFILE_KERNEL, text("add"), 1000, 3000,
                text("{\"tiles\": 4, \"list\": [1], \"name\": \"x\"}"));
    host->event(host->ctx, args->call_id, 77, text("odd"), 1, 2, text("no JSON"));
    host->event(host->ctx, args->call_id, ARMNN_PROFILE_WAIT, text("plain"), 1, 2, text("[]"));
  }
  if (strcmp(how, "parallel") == 0)
    host->parallel_for(host->ctx, program->elements, 1, mark, args->outputs[0]->data);
  if (strcmp(how, "threads") == 0)
    *(float *)args->outputs[0]->data = (float)host->num_threads(host->ctx);
  if (strcmp(how, "extension") == 0 && host->get_extension(host->ctx, "no.such/1"))
    return fail(error, ARMNN_INTERNAL, -1, "an extension out of thin air");
  if (strcmp(how, "bad free") == 0 && program->backend->allocator)
    program->backend->allocator->free(program->backend->allocator->ctx, error);
  if (strcmp(how, "bad drop") == 0) program->drop(error);
  if (strcmp(how, "bad align") == 0 && host->alloc(host->ctx, 8, 3))
    return fail(error, ARMNN_INTERNAL, -1, "memory aligned to three");
  return ARMNN_OK;
}
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  armnn_program *program = context->program;
  const float *values[64] = {0};
  if (program->fail_execute)
    return fail(error, program->fail_execute, program->steps[0].id, "cannot execute");
  for (uint64_t i = 0; i < program->num_values; ++i)
    values[i] = program->constants[i] ? program->constants[i]->data : context->values[i];
  for (uint64_t i = 0; i < program->num_inputs; ++i)
    values[program->inputs[i]] = args->inputs[i]->data;
  if (strcmp(program->behavior, "align") == 0 && (uintptr_t)args->inputs[0]->data % 4096)
    return fail(error, ARMNN_INVALID_ARGUMENT, -1, "not aligned");
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    const step *at = &program->steps[i];
    const float *a = values[at->inputs[0]], *b = values[at->inputs[1]];
    float *out = context->values[at->output];
    for (uint64_t e = 0; e < program->elements; ++e)
      out[e] = at->op == '+' ? a[e] + b[e] : at->op == '-' ? a[e] - b[e] : a[e] * b[e];
  }
  for (uint64_t i = 0; i < program->num_outputs; ++i)
    memcpy(args->outputs[i]->data, values[program->outputs[i]], program->elements * sizeof(float));
  return behave(program, args, error);
}
#ifdef MOCK_REPLANS
/* Takes up to so many elements. */
static armnn_code replan(armnn_program *program, const armnn_graph *graph,
                         const armnn_compile_args *args, armnn_program **made, armnn_error *error) {
  if (elements_of(value_at(graph, graph->outputs[0])) > MOCK_REPLANS)
    return fail(error, MOCK_REPLAN_CODE, 0, "too many elements");
  return compile(program->backend, NULL, graph, args, made, error);
}
static const armnn_replan replanning = {
    {ARMNN_REPLAN_SIZE, ARMNN_REPLAN_ID, NULL}, replan};
#endif
static const void *get_extension(const char *name) {
#ifdef MOCK_REPLANS
  if (strcmp(name, "armnn.replan/1") == 0) return &replanning;
#endif
  return strcmp(name, "mock.counts/1") == 0 ? &counts : NULL;
}
static void shut_down(void) {
  const char *path = getenv("MOCK_LAST_WORDS");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s backends %lld programs %lld contexts %lld violations %lld\n", MOCK_ID,
          counts.backends, counts.programs, counts.contexts, counts.violations);
  fclose(file);
}

static const armnn_backend_api table = {
    .header = {MOCK_STRUCT_SIZE, MOCK_STRUCT_ID, NULL},
    .api_major = MOCK_MAJOR,
    .api_minor = MOCK_TABLE_MINOR,
    .id = {MOCK_ID, sizeof MOCK_ID - 1},
    .version = {"3.1", 3},
    .vendor = {"Mock Makers", 11},
    .score = 5,
    .create = create,
    .destroy = destroy,
    .query = query,
    .compile = compile,
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
#ifndef MOCK_MINIMAL
    .devices = devices,
    .capabilities = capabilities,
    .use_allocator = use_allocator,
    .network_event = network_event,
    .serialize = serialize,
    .check_blob = check_blob,
    .deserialize = deserialize,
    .io_requirement = io_requirement,
    .get_extension = get_extension,
    .shutdown = shut_down,
#endif
#ifdef MOCK_CHANGE
    MOCK_CHANGE
#endif
};

#ifndef MOCK_NO_ID
const char *GetBackendId(void) { return MOCK_GET_ID; }
#endif
void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = MOCK_MAJOR;
  *outMinor = MOCK_MINOR;
}
void *BackendFactory(void) { return MOCK_FACTORY; }
