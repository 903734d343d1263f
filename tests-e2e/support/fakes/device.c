/* SPDX-License-Identifier: MIT */
/* A backend that adds float32 tensors in the memory of a device: its bytes are stored inverted and
 * its addresses are handles, so that a host that reads or writes them by itself is found out.
 * With PLACED it has armnn.device/2, whose tensors are at offsets; with QUEUE_MS each execution ends so
 * many milliseconds after the one before it, and copies wait for that.
 * It deletes activations that change nothing, leaves nodes called "alone" untouched, and counts runs.
 */
#ifndef ARMNN_BACKEND_TARGET_MINOR
#ifdef PLACED
#define ARMNN_BACKEND_TARGET_MINOR 3
#else
#define ARMNN_BACKEND_TARGET_MINOR 2
#endif
#endif
#define _POSIX_C_SOURCE 200809L
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if ARMNN_BACKEND_TARGET_MINOR < 2 /* What the header hides, to see that the host does not ask. */
enum { ARMNN_NODE_COMPILED, ARMNN_NODE_UNTOUCHED, ARMNN_NODE_DELETED, ARMNN_AFTER_ENQUEUE = 5 };
#endif
#ifndef TAKES_HOST_MEMORY
#define TAKES_HOST_MEMORY 0
#endif
#ifndef DEVICE_TYPE
#define DEVICE_TYPE 12 /* kDLExtDev */
#endif
#ifndef ALIGNMENT
#define ALIGNMENT 128
#endif
#ifndef COPY_IN
#define COPY_IN copy_in
#endif
#ifndef BEHIND_EXECUTE /* A statement that sees the arguments. */
#define BEHIND_EXECUTE (void)0
#endif
#ifndef WORST_DISPOSITION
#define WORST_DISPOSITION ARMNN_NODE_DELETED
#endif

/* What the tests read through get_extension("test.device/1"). */
static struct {
  atomic_llong buffers, copied_in, copied_out, imported, programs, runs, on_host, on_device,
    allocated;
} counts;

struct armnn_backend { const armnn_host *host; };
struct armnn_program {
  const armnn_host *host;
  uint64_t num_nodes, num_values, num_inputs, num_outputs;
  uint64_t *elements; /* Of each value. */
  int32_t *nodes; /* Of each: two operands and the sum, by their numbers. */
  int32_t *inputs, *outputs;
  float **constants; /* Of each value, NULL if it is computed or fed. */
};
struct armnn_context { const armnn_program *program; };
struct armnn_device_buffer {
  unsigned char *bytes;
  int is_imported;
  uint64_t size;
  const armnn_host *host;
};

static armnn_code fail(armnn_error *error, armnn_code code, const char *text) {
  error->code = code;
  error->message = (armnn_string){text, strlen(text)};
  return code;
}
static int is(armnn_string text, const char *word) { return strcmp(text.data, word) == 0; }
static const armnn_node *node_at(const armnn_graph *graph, uint64_t i) {
  return ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
}
static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t count,
                         armnn_backend **backend, armnn_error *error) {
  (void)options;
  if (count) return fail(error, ARMNN_INVALID_ARGUMENT, "there are no options");
  *backend = malloc(sizeof **backend);
  (*backend)->host = host;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { free(backend); }
static const armnn_value *value_at(const armnn_graph *graph, int32_t i) {
  return ARMNN_AT(const armnn_value, graph->values, graph->value_stride, (uint64_t)i);
}
static uint64_t elements_of(const armnn_value *value) {
  uint64_t elements = 1;
  for (int32_t i = 0; i < value->ndim; ++i) elements *= (uint64_t)value->shape[i];
  return elements;
}
static int same_shape(const armnn_value *one, const armnn_value *other) {
  if (one->ndim != other->ndim) return 0;
  for (int32_t i = 0; i < one->ndim; ++i)
    if (one->shape[i] < 0 || one->shape[i] != other->shape[i]) return 0;
  return 1;
}
static const char *refusal(const armnn_graph *graph, const armnn_node *node) {
  if (is(node->type, ARMNN_LAYER_ACTIVATION)) return NULL;
  if (!is(node->type, ARMNN_LAYER_ADDITION)) return "only Addition";
  if (node->num_inputs != 2 || node->num_attributes) return "an unknown form of Addition";
  const armnn_value *sum = value_at(graph, node->outputs[0]);
  if (sum->ndim < 0) return "a shape that is unknown";
  for (int i = 0; i < 3; ++i) {
    const armnn_value *value = i == 2 ? sum : value_at(graph, node->inputs[i]);
    if (value->data_type != ARMNN_FLOAT32) return "only Float32";
    if (!same_shape(value, sum)) return "only tensors of one shape";
  }
  return NULL;
}
static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *out, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const char *reason = refusal(graph, node_at(graph, i));
    armnn_support *support = ARMNN_AT(armnn_support, out, stride, i);
    support->level = reason ? ARMNN_NOT_SUPPORTED : ARMNN_SUPPORTED;
    if (reason) support->reason = (armnn_string){reason, strlen(reason)};
  }
  return ARMNN_OK;
}
static armnn_code optimize(armnn_backend *backend, const armnn_device *device,
                           const armnn_graph *graph, int32_t *dispositions, armnn_error *error) {
  (void)backend, (void)device;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const armnn_node *node = node_at(graph, i);
    if (dispositions[i] != ARMNN_NODE_COMPILED)
      return fail(error, ARMNN_INTERNAL, "the dispositions are not ARMNN_NODE_COMPILED");
    if (is(node->name, "refused")) return fail(error, ARMNN_INTERNAL, "no plan for it");
    if (is(node->type, ARMNN_LAYER_ACTIVATION)) dispositions[i] = WORST_DISPOSITION;
#ifdef ALL_ALONE
    dispositions[i] = ARMNN_NODE_UNTOUCHED;
#endif
    if (is(node->name, "alone")) dispositions[i] = ARMNN_NODE_UNTOUCHED;
  }
  return ARMNN_OK;
}
static int32_t *copied(const int32_t *numbers, uint64_t count) {
  return count ? memcpy(malloc(count * sizeof *numbers), numbers, count * sizeof *numbers) : NULL;
}
static void program_destroy(armnn_program *program) {
  for (uint64_t i = 0; i < program->num_values; ++i) free(program->constants[i]);
  free(program->elements), free(program->constants), free(program->nodes), free(program->inputs), free(program->outputs);
  free(program);
  --counts.programs;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **made, armnn_error *error) {
  (void)device;
  if (args->num_options) return fail(error, ARMNN_INVALID_ARGUMENT, "there are no options");
  for (uint64_t i = 0; i < graph->num_nodes; ++i)
    if (refusal(graph, node_at(graph, i)) || !is(node_at(graph, i)->type, ARMNN_LAYER_ADDITION)) {
      error->node_id = node_at(graph, i)->id;
      return fail(error, ARMNN_UNSUPPORTED_NODE, "compile takes Additions");
    }
  armnn_program *program = calloc(1, sizeof *program);
  ++counts.programs;
  program->host = backend->host;
  program->num_nodes = graph->num_nodes, program->num_values = graph->num_values;
  program->num_inputs = graph->num_inputs, program->num_outputs = graph->num_outputs;
  program->inputs = copied(graph->inputs, graph->num_inputs);
  program->outputs = copied(graph->outputs, graph->num_outputs);
  program->nodes = malloc((graph->num_nodes + 1) * 3 * sizeof *program->nodes);
  program->elements = malloc((graph->num_values + 1) * sizeof *program->elements);
  program->constants = calloc(graph->num_values + 1, sizeof *program->constants);
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const armnn_node *node = node_at(graph, i);
    program->nodes[3 * i] = node->inputs[0], program->nodes[3 * i + 1] = node->inputs[1];
    program->nodes[3 * i + 2] = node->outputs[0];
  }
  for (uint64_t i = 0; i < graph->num_values; ++i) {
    const armnn_value *value = value_at(graph, (int32_t)i);
    program->elements[i] = elements_of(value);
    if (!value->constant) continue;
    uint64_t size = program->elements[i] * sizeof(float);
    const char *from = (const char *)value->constant->data + value->constant->byte_offset;
    program->constants[i] = memcpy(malloc(size + 1), from, size);
  }
  *made = program;
  return ARMNN_OK;
}
static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  (void)error;
  *context = malloc(sizeof **context);
  (*context)->program = program;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) { free(context); }

static void move(armnn_device_buffer *buffer, unsigned char *host, uint64_t size, int to_host) {
  for (uint64_t i = 0; i < size; ++i) {
    unsigned char flip = buffer->is_imported ? 0 : 0xff;
    if (to_host) host[i] = buffer->bytes[i] ^ flip;
    else buffer->bytes[i] = host[i] ^ flip;
  }
}
/* All elements of a tensor, where it is. */
static void move_all(const armnn_tensor *tensor, float *values, uint64_t elements, int to_host) {
  uint64_t size = elements * sizeof *values;
  if (tensor->device_type == ARMNN_DEVICE_CPU) {
    char *host = (char *)tensor->data + tensor->byte_offset;
    if (to_host) memcpy(values, host, size);
    else memcpy(host, values, size);
    return;
  }
  armnn_device_buffer part = *(armnn_device_buffer *)tensor->data;
  part.bytes += tensor->byte_offset;
  move(&part, (unsigned char *)values, size, to_host);
}
static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}
static atomic_llong busy_until_ms;

static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  const armnn_program *program = context->program;
  for (uint64_t i = 0; i < args->num_inputs + args->num_outputs; ++i) {
    const armnn_tensor *tensor =
      i < args->num_inputs ? args->inputs[i] : args->outputs[i - args->num_inputs];
    int on_host = tensor->device_type == ARMNN_DEVICE_CPU;
    ++*(on_host ? &counts.on_host : &counts.on_device);
    if (on_host && !TAKES_HOST_MEMORY) return fail(error, ARMNN_INTERNAL, "host memory");
  }
  float **values = calloc(program->num_values + 1, sizeof *values);
  for (uint64_t n = 0; n < program->num_values; ++n) {
    uint64_t size = program->elements[n] * sizeof(float);
    values[n] = malloc(size + 1);
    if (program->constants[n]) memcpy(values[n], program->constants[n], size);
  }
  for (uint64_t n = 0; n < program->num_inputs; ++n)
    move_all(args->inputs[n], values[program->inputs[n]], program->elements[program->inputs[n]], 1);
  const armnn_host *host = program->host;
  int stops = 0;
  for (const int32_t *at = program->nodes; at < program->nodes + 3 * program->num_nodes; at += 3) {
    stops = stops || (armnn_host_has_cancelled(host) && host->cancelled(host->ctx, args->call_id));
    for (uint64_t i = 0; i < program->elements[at[2]]; ++i)
      values[at[2]][i] = values[at[0]][i] + values[at[1]][i];
  }
  for (uint64_t n = 0; n < program->num_outputs; ++n)
    move_all(args->outputs[n], values[program->outputs[n]], program->elements[program->outputs[n]], 0);
  for (uint64_t n = 0; n < program->num_values; ++n) free(values[n]);
  free(values);
  BEHIND_EXECUTE;
#ifdef QUEUE_MS
  long long begin = now_ms();
  busy_until_ms = (busy_until_ms > begin ? busy_until_ms : begin) + QUEUE_MS;
#endif
  if (stops) return fail(error, ARMNN_CANCELLED, "the host said so");
  return ARMNN_OK;
}
static armnn_code network_event(armnn_backend *backend, int32_t event, uint64_t network_id,
                                armnn_error *error) {
  (void)backend, (void)network_id, (void)error;
  counts.runs += event == ARMNN_AFTER_ENQUEUE;
  return ARMNN_OK;
}

static armnn_code make(armnn_backend *backend, unsigned char *bytes, int is_imported, uint64_t size,
                       armnn_device_buffer **buffer) {
  *buffer = malloc(sizeof **buffer);
  **buffer = (armnn_device_buffer){bytes, is_imported, size, backend->host};
  ++counts.buffers;
  return ARMNN_OK;
}
static armnn_code allocate(armnn_backend *backend, uint64_t size, armnn_device_buffer **buffer,
                           armnn_error *error) {
  counts.allocated += (long long)size;
  if (size > 1 << 20) return fail(error, ARMNN_RESOURCE_EXHAUSTED, "the device has 1 MiB");
  return make(backend, malloc(size), 0, size, buffer);
}
static void *data(armnn_device_buffer *buffer) {
#ifdef NO_DATA
  return (void)buffer, NULL;
#endif
  return buffer;
}
/* Waits for what is in the queue; asks the host whether that has become pointless. */
static armnn_code finish(const armnn_host *host, uint64_t call_id, armnn_error *error) {
  while (now_ms() < busy_until_ms) {
    if (armnn_host_has_cancelled(host) && host->cancelled(host->ctx, call_id))
      return fail(error, ARMNN_CANCELLED, "the host said so while a copy waited");
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  return ARMNN_OK;
}
static armnn_code copy(armnn_device_buffer *buffer, uint64_t offset, unsigned char *host,
                       uint64_t size, uint64_t call_id, int to_host, armnn_error *error) {
  if (offset % ALIGNMENT || offset + size > buffer->size)
    return fail(error, ARMNN_INVALID_ARGUMENT, "too many bytes");
  armnn_code code = finish(buffer->host, call_id, error);
  if (code) return code;
  ++*(to_host ? &counts.copied_out : &counts.copied_in);
  armnn_device_buffer part = *buffer;
  part.bytes += offset;
  move(&part, host, size, to_host);
  return ARMNN_OK;
}
static armnn_code copy_in(armnn_device_buffer *buffer, const void *from, uint64_t size,
                          armnn_error *error) {
  return copy(buffer, 0, (unsigned char *)from, size, 0, 0, error);
}
static armnn_code copy_out(armnn_device_buffer *buffer, void *to, uint64_t size,
                           armnn_error *error) {
  return copy(buffer, 0, to, size, 0, 1, error);
}
#ifdef IMPORTS
static armnn_code import_memory(armnn_backend *backend, void *memory, uint64_t size,
                              armnn_device_buffer **buffer, armnn_error *error) {
  if (size == 12) return fail(error, ARMNN_UNIMPLEMENTED, "not three floats");
  ++counts.imported;
  return make(backend, memory, 1, size, buffer);
}
#define IMPORT import_memory
#else
#define IMPORT NULL
#endif
static void buffer_destroy(armnn_device_buffer *buffer) {
  if (!buffer->is_imported) free(buffer->bytes);
  --counts.buffers;
  free(buffer);
}
static const armnn_device_memory memory = {
  .header = ARMNN_HEADER(ARMNN_DEVICE_MEMORY), .device_type = DEVICE_TYPE,
  .takes_host_memory = TAKES_HOST_MEMORY, .allocate = allocate, .data = data,
  .copy_in = COPY_IN, .copy_out = copy_out, .import_host = IMPORT,
  .buffer_destroy = buffer_destroy,
};
#ifdef PLACED
static armnn_code copy_in_at(armnn_device_buffer *buffer, uint64_t offset, const void *from,
                             uint64_t size, uint64_t call_id, armnn_error *error) {
  return copy(buffer, offset, (unsigned char *)from, size, call_id, 0, error);
}
static armnn_code copy_out_at(armnn_device_buffer *buffer, uint64_t offset, void *to,
                              uint64_t size, uint64_t call_id, armnn_error *error) {
  return copy(buffer, offset, to, size, call_id, 1, error);
}
static const armnn_device_memory_2 placed_memory = {
  .header = ARMNN_HEADER(ARMNN_DEVICE_MEMORY_2), .device_type = DEVICE_TYPE,
  .takes_host_memory = TAKES_HOST_MEMORY, .alignment = ALIGNMENT, .allocate = allocate,
  .data = data, .copy_in = copy_in_at, .copy_out = copy_out_at, .import_host = IMPORT,
  .buffer_destroy = buffer_destroy,
};
#endif
static const void *get_extension(const char *name) {
#ifdef PLACED
  if (strcmp(name, "armnn.device/2") == 0) return &placed_memory;
#endif
  if (strcmp(name, "armnn.device/1") == 0) return &memory;
  return strcmp(name, "test.device/1") == 0 ? &counts : NULL;
}
static const armnn_backend_api table = {
  .header = ARMNN_HEADER(ARMNN_BACKEND_API), .api_major = ARMNN_BACKEND_API_MAJOR,
  .api_minor = ARMNN_BACKEND_TARGET_MINOR, .id = {"AcmeDevice", 10}, .version = {"1.0", 3},
  .vendor = {"Acme", 4}, .create = create, .destroy = destroy, .query = query,
  .compile = compile, .program_destroy = program_destroy, .context_create = context_create,
  .context_destroy = context_destroy, .execute = execute, .network_event = network_event,
  .get_extension = get_extension, .optimize = optimize,
};
ARMNN_EXPORT const char *GetBackendId(void) { return "AcmeDevice"; }
ARMNN_EXPORT void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = ARMNN_BACKEND_API_MAJOR;
  *outMinor = ARMNN_BACKEND_TARGET_MINOR;
}
ARMNN_EXPORT void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
