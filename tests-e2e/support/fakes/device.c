/* SPDX-License-Identifier: MIT */
/* A backend that adds float32 tensors in the memory of a device: its bytes are stored inverted and
 * its addresses are handles, so that a host that reads or writes them by itself is found out.
 * With PLACED it has armnn.device/2, whose tensors are at offsets; with QUEUE_MS each execution ends so
 * many milliseconds after the one before it, and copies wait for that. With STREAMS it has
 * armnn.stream/1: each stream has a thread, which works QUEUE_MS after its turn has come.
 * DEVICES is how many devices it has; HOST_INPUTS are inputs that it takes in host memory only, counted
 * from the last one; with BLOBS, compile keeps a blob with the host; LOSES loses the device with the so-manieth execution.
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
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
#ifndef QUEUE_MS
#define QUEUE_MS 0
#endif
#ifndef MAX_CONTEXTS
#define MAX_CONTEXTS 0
#endif
#ifndef HOST_INPUTS
#define HOST_INPUTS 0
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
    allocated, streams, events, copied_between, backends, blobs, trims;
} counts;

struct armnn_backend { const armnn_host *host; };
struct armnn_program {
  const armnn_host *host;
  int32_t device_id;
  uint64_t num_nodes, num_values, num_inputs, num_outputs;
  uint64_t *elements; /* Of each value. */
  int32_t *nodes; /* Of each: two operands and the sum, by their numbers. */
  int32_t *inputs, *outputs;
  float **constants; /* Of each value, NULL if it is computed or fed. */
  char name[64]; /* Of its first node. */
};
struct armnn_context {
  const armnn_program *program;
  atomic_int commands; /* of a stream, that use it */
};
enum { OWN, IMPORTED, BORROWED, MAPPED }; /* Inverted; as it is; of another buffer; of a file. */
struct armnn_device_buffer {
  unsigned char *bytes;
  int kind;
  uint64_t size;
  const armnn_host *host;
  int32_t device_id;
  unsigned char *reached; /* By map, with its offset, size and access. */
  uint64_t reached_at, reached_size;
  int32_t access;
  atomic_int commands; /* of a stream, that use it */
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
  ++counts.backends;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) {
  --counts.backends;
  free(backend);
}
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
static int32_t device_id_of(const armnn_device *device) { return device ? device->device_id : 0; }
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
#ifdef BLOBS
static armnn_code count_blob(void *arg, const void *data, uint64_t size) {
  (void)arg;
  counts.blobs += size == 4 && memcmp(data, "code", 4) == 0;
  return ARMNN_OK;
}
/* Takes the code of kernels from the host, or keeps it there. */
static void use_blob(const armnn_host *host) {
  const armnn_host_blobs *kept = host->get_extension(host->ctx, "armnn.host.blobs/1");
  const armnn_string key = {"AcmeDevice 1", 12};
  if (!kept || kept->header.struct_size < ARMNN_HOST_BLOBS_SIZE) return;
  if (!kept->get(kept->ctx, key, count_blob, NULL)) kept->put(kept->ctx, key, "code", 4);
}
#endif
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **made, armnn_error *error) {
  if (args->num_options) return fail(error, ARMNN_INVALID_ARGUMENT, "there are no options");
  for (uint64_t i = 0; i < graph->num_nodes; ++i)
    if (refusal(graph, node_at(graph, i)) || !is(node_at(graph, i)->type, ARMNN_LAYER_ADDITION)) {
      error->node_id = node_at(graph, i)->id;
      return fail(error, ARMNN_UNSUPPORTED_NODE, "compile takes Additions");
    }
  armnn_program *program = calloc(1, sizeof *program);
  ++counts.programs;
  program->host = backend->host;
#ifdef BLOBS
  use_blob(backend->host);
#endif
  if (graph->num_nodes)
    strncpy(program->name, node_at(graph, 0)->name.data, sizeof program->name - 1);
  program->device_id = device_id_of(device);
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
  *context = calloc(1, sizeof **context);
  (*context)->program = program;
  return ARMNN_OK;
}
/* Waits until the commands of streams that use a thing have ended. */
static void wait_for(const atomic_int *commands) {
  while (*commands) nanosleep(&(struct timespec){0, 200000}, NULL);
}
static void context_destroy(armnn_context *context) {
  wait_for(&context->commands);
  free(context);
}

static void move(armnn_device_buffer *buffer, unsigned char *host, uint64_t size, int to_host) {
  for (uint64_t i = 0; i < size; ++i) {
    unsigned char flip = buffer->kind == IMPORTED || buffer->kind == MAPPED ? 0 : 0xff;
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
static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static long long now_ms(void) { return (long long)(now_ns() / 1000000); }
static atomic_llong busy_until_ms;

/* Counts the tensors; fails if one is not where the program needs it. */
static armnn_code check(const armnn_program *program, const armnn_execute_args *args,
                        armnn_error *error) {
  for (uint64_t i = 0; i < args->num_inputs + args->num_outputs; ++i) {
    const armnn_tensor *tensor =
      i < args->num_inputs ? args->inputs[i] : args->outputs[i - args->num_inputs];
    int on_host = tensor->device_type == ARMNN_DEVICE_CPU;
    int is_for_host = i < args->num_inputs && i + HOST_INPUTS >= args->num_inputs;
    ++*(on_host ? &counts.on_host : &counts.on_device);
    if (is_for_host && !on_host) return fail(error, ARMNN_INTERNAL, "no host memory");
    if (on_host && !TAKES_HOST_MEMORY && !is_for_host)
      return fail(error, ARMNN_INTERNAL, "host memory");
    if (!on_host && tensor->device_id != program->device_id)
      return fail(error, ARMNN_INTERNAL, "memory of another device");
  }
  return ARMNN_OK;
}
static armnn_code compute(const armnn_program *program, const armnn_execute_args *args,
                          armnn_error *error) {
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
  if (stops) return fail(error, ARMNN_CANCELLED, "the host said so");
  return ARMNN_OK;
}
#ifdef LOSES
static atomic_int executions;
#endif
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
#ifdef LOSES
  if (++executions >= LOSES) return fail(error, ARMNN_DEVICE_LOST, "it fell off the bus");
#endif
  armnn_code code = check(context->program, args, error);
  if (!code) code = compute(context->program, args, error);
  long long begin = now_ms();
  if (QUEUE_MS) busy_until_ms = (busy_until_ms > begin ? busy_until_ms : begin) + QUEUE_MS;
  return code;
}
#ifdef STREAMS
/* Kernels of profiled runs, until the thread that enqueued them asks for them. */
typedef struct { pthread_t by; uint64_t begin_ns, end_ns; char name[64]; } kernel_time;
static pthread_mutex_t times_lock = PTHREAD_MUTEX_INITIALIZER;
static kernel_time times[1024];
static int num_times;
static void tell_times(const armnn_host *host) {
  kernel_time own[sizeof times / sizeof *times];
  int num_own = 0, kept = 0;
  pthread_mutex_lock(&times_lock);
  for (int i = 0; i < num_times; ++i)
    *(pthread_equal(times[i].by, pthread_self()) ? &own[num_own++] : &times[kept++]) = times[i];
  num_times = kept;
  pthread_mutex_unlock(&times_lock);
  for (const kernel_time *row = own; row < own + num_own; ++row)
    host->event(host->ctx, 0, ARMNN_PROFILE_DEVICE, (armnn_string){row->name, strlen(row->name)},
                row->begin_ns, row->end_ns, (armnn_string){"{\"kernel\": \"add\"}", 17});
}
#endif
static armnn_code network_event(armnn_backend *backend, int32_t event, uint64_t network_id,
                                armnn_error *error) {
  (void)backend, (void)network_id, (void)error;
#if ARMNN_BACKEND_TARGET_MINOR >= 3
  counts.trims += event == ARMNN_TRIM && network_id == 0;
#endif
#ifdef STREAMS
  if (event == ARMNN_AFTER_PROFILED_RUN) tell_times(backend->host);
#endif
  counts.runs += event == ARMNN_AFTER_ENQUEUE;
  return ARMNN_OK;
}

static armnn_code make(armnn_backend *backend, unsigned char *bytes, int kind, uint64_t size,
                       armnn_device_buffer **buffer) {
  *buffer = malloc(sizeof **buffer);
  **buffer = (armnn_device_buffer){.bytes = bytes, .kind = kind, .size = size, .host = backend->host};
  ++counts.buffers;
  return ARMNN_OK;
}
static armnn_code allocate(armnn_backend *backend, uint64_t size, armnn_device_buffer **buffer,
                           armnn_error *error) {
  counts.allocated += (long long)size;
  if (size > 1 << 20) return fail(error, ARMNN_RESOURCE_EXHAUSTED, "the device has 1 MiB");
  return make(backend, malloc(size), OWN, size, buffer);
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
  if (offset > buffer->size || size > buffer->size - offset)
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
  return make(backend, memory, IMPORTED, size, buffer);
}
#define IMPORT import_memory
#else
#define IMPORT NULL
#endif
static void buffer_destroy(armnn_device_buffer *buffer) {
  wait_for(&buffer->commands);
  if (buffer->kind == OWN) free(buffer->bytes);
  if (buffer->kind == MAPPED) munmap(buffer->bytes, buffer->size);
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
#ifdef STREAMS
/* A command that a stream's thread runs: an execution or a copy, or nothing where it is an event. */
typedef struct command {
  struct command *next;
  armnn_stream *stream;
  armnn_context *context; /* NULL: no execution */
  int is_profiled;
  pthread_t by;
  armnn_execute_args args;
  armnn_device_buffer *from, *to; /* of a copy */
  uint64_t from_offset, to_offset;
  uint64_t size;
  armnn_event *before, *after;
} command;
struct armnn_stream {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  command *first, **last;
  int ends;
};
struct armnn_event { /* held by who made it and by commands */
  pthread_mutex_t lock;
  pthread_cond_t wake;
  int is_done, holders;
};
static void let_go(armnn_event *event) {
  pthread_mutex_lock(&event->lock);
  int left = --event->holders;
  pthread_mutex_unlock(&event->lock);
  if (!left) free(event);
}
static int wait_until(armnn_event *event, uint64_t until_ns) {
  struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
  int late = 0;
  pthread_mutex_lock(&event->lock);
  while (!event->is_done && !late)
    late = until_ns ? pthread_cond_timedwait(&event->wake, &event->lock, &until)
                    : pthread_cond_wait(&event->wake, &event->lock);
  int is_done = event->is_done;
  pthread_mutex_unlock(&event->lock);
  return is_done;
}
/* Counts a command, or that it has ended, in all that it uses. */
static void use(const command *work, int count) {
  if (work->size) {
    work->from->commands += count;
    work->to->commands += count;
  }
  if (!work->context) return;
  work->context->commands += count;
  for (uint64_t i = 0; i < work->args.num_inputs + work->args.num_outputs; ++i) {
    const armnn_tensor *tensor = i < work->args.num_inputs
      ? work->args.inputs[i] : work->args.outputs[i - work->args.num_inputs];
    if (tensor->device_type != ARMNN_DEVICE_CPU)
      ((armnn_device_buffer *)tensor->data)->commands += count;
  }
}
static void run_command(command *work) {
  armnn_error error = {.header = ARMNN_HEADER(ARMNN_ERROR)};
  if (work->before) wait_until(work->before, 0), let_go(work->before);
  if (work->context || work->size) nanosleep(&(struct timespec){0, QUEUE_MS * 1000000l}, NULL);
  uint64_t begin_ns = now_ns();
  if (work->context) compute(work->context->program, &work->args, &error);
  if (work->is_profiled) {
    kernel_time row = {.by = work->by, .begin_ns = begin_ns, .end_ns = now_ns()};
    strcpy(row.name, work->context->program->name);
    pthread_mutex_lock(&times_lock);
    if (num_times < 1024) times[num_times++] = row;
    pthread_mutex_unlock(&times_lock);
  }
  for (uint64_t i = 0; i < work->size; ++i)
    work->to->bytes[work->to_offset + i] = work->from->bytes[work->from_offset + i];
  use(work, -1);
  if (work->after) {
    pthread_mutex_lock(&work->after->lock);
    work->after->is_done = 1;
    pthread_cond_broadcast(&work->after->wake);
    pthread_mutex_unlock(&work->after->lock);
    let_go(work->after);
  }
  for (uint64_t i = 0; i < work->args.num_inputs; ++i) free((void *)(uintptr_t)work->args.inputs[i]);
  for (uint64_t i = 0; i < work->args.num_outputs; ++i) free((void *)(uintptr_t)work->args.outputs[i]);
  free((void *)(uintptr_t)work->args.inputs), free((void *)(uintptr_t)work->args.outputs);
  free(work);
}
static void *work_on(void *arg) {
  armnn_stream *stream = arg;
  for (;;) {
    pthread_mutex_lock(&stream->lock);
    while (!stream->first && !stream->ends) pthread_cond_wait(&stream->wake, &stream->lock);
    command *work = stream->first;
    if (work && !(stream->first = work->next)) stream->last = &stream->first;
    pthread_mutex_unlock(&stream->lock);
    if (!work) return NULL;
    run_command(work);
  }
}
static void enqueue(armnn_stream *stream, command work) {
  command *made = malloc(sizeof *made);
  *made = work;
  use(made, 1);
  pthread_mutex_lock(&stream->lock);
  *stream->last = made, stream->last = &made->next;
  pthread_cond_signal(&stream->wake);
  pthread_mutex_unlock(&stream->lock);
}
static armnn_code stream_create(armnn_backend *backend, const armnn_device *device,
                                armnn_stream **made, armnn_error *error) {
  (void)backend, (void)device, (void)error;
  armnn_stream *stream = *made = calloc(1, sizeof *stream);
  pthread_mutex_init(&stream->lock, NULL), pthread_cond_init(&stream->wake, NULL);
  stream->last = &stream->first;
  ++counts.streams;
  pthread_create(&stream->thread, NULL, work_on, stream);
  return ARMNN_OK;
}
static void stream_destroy(armnn_stream *stream) {
  pthread_mutex_lock(&stream->lock);
  stream->ends = 1;
  pthread_cond_signal(&stream->wake);
  pthread_mutex_unlock(&stream->lock);
  pthread_join(stream->thread, NULL);
  free(stream);
  --counts.streams;
}
static armnn_tensor **kept(const armnn_tensor *const *tensors, uint64_t count) {
  armnn_tensor **made = malloc((count + 1) * sizeof *made);
  for (uint64_t i = 0; i < count; ++i) *(made[i] = malloc(sizeof *made[i])) = *tensors[i];
  return made;
}
static armnn_code execute_on(armnn_stream *stream, armnn_context *context,
                             const armnn_execute_args *args, armnn_error *error) {
#ifdef LOSES
  if (++executions >= LOSES) return fail(error, ARMNN_DEVICE_LOST, "it fell off the bus");
#endif
  armnn_code code = check(context->program, args, error);
  if (code) return code;
  const armnn_host *host = context->program->host;
  command work = {.context = context, .args = *args, .by = pthread_self()};
  work.is_profiled = armnn_host_has_profiling(host) && host->profiling(host->ctx);
  work.args.call_id = 0;
  work.args.inputs = (const armnn_tensor *const *)kept(args->inputs, args->num_inputs);
  work.args.outputs = kept((const armnn_tensor *const *)args->outputs, args->num_outputs);
  enqueue(stream, work);
  return ARMNN_OK;
}
static armnn_code record(armnn_stream *stream, armnn_event **made, armnn_error *error) {
  (void)error;
  armnn_event *event = *made = calloc(1, sizeof *event);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic), pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&event->lock, NULL), pthread_cond_init(&event->wake, &monotonic);
  event->holders = 2;
  ++counts.events;
  enqueue(stream, (command){.after = event});
  return ARMNN_OK;
}
static armnn_code wait_event(armnn_stream *stream, armnn_event *event, armnn_error *error) {
  (void)error;
  pthread_mutex_lock(&event->lock);
  ++event->holders;
  pthread_mutex_unlock(&event->lock);
  enqueue(stream, (command){.before = event});
  return ARMNN_OK;
}
static armnn_code event_wait(armnn_event *event, uint64_t until_ns, int32_t *has_ended,
                             armnn_error *error) {
  (void)error;
  *has_ended = wait_until(event, until_ns);
  return ARMNN_OK;
}
static void event_destroy(armnn_event *event) {
  let_go(event);
  --counts.events;
}
static const armnn_streams streams = {
  .header = ARMNN_HEADER(ARMNN_STREAMS), .create = stream_create, .destroy = stream_destroy,
  .execute_on = execute_on, .record = record, .wait_event = wait_event,
  .event_wait = event_wait, .event_destroy = event_destroy,
};
/* Copies stay behind the work of their stream, as in a queue of a driver. */
static void drain(armnn_stream *stream) {
  armnn_event *event;
  if (!stream) return;
  record(stream, &event, NULL);
  wait_until(event, 0);
  event_destroy(event);
}
#else
static void drain(armnn_stream *stream) { (void)stream; }
#endif
static armnn_code limits(armnn_backend *backend, const armnn_device *device,
                         armnn_device_limits *out, armnn_error *error) {
  (void)backend, (void)error;
  out->device_id = device_id_of(device);
  out->alignment = ALIGNMENT;
  out->max_bytes = 4 << 20;
  out->max_contexts = MAX_CONTEXTS;
  return ARMNN_OK;
}
static armnn_code allocate_on(armnn_backend *backend, const armnn_device *device, uint64_t size,
                              armnn_device_buffer **buffer, armnn_error *error) {
  armnn_code code = allocate(backend, size, buffer, error);
  if (!code) (*buffer)->device_id = device_id_of(device);
  return code;
}
static armnn_code copy_in_at(armnn_device_buffer *buffer, uint64_t offset, const void *from,
                             uint64_t size, armnn_stream *stream, uint64_t call_id,
                             armnn_error *error) {
  drain(stream);
  return copy(buffer, offset, (unsigned char *)from, size, call_id, 0, error);
}
static armnn_code copy_out_at(armnn_device_buffer *buffer, uint64_t offset, void *to,
                              uint64_t size, armnn_stream *stream, uint64_t call_id,
                              armnn_error *error) {
  drain(stream);
  return copy(buffer, offset, to, size, call_id, 1, error);
}
static armnn_code copy_between(armnn_device_buffer *from, uint64_t from_offset,
                               armnn_device_buffer *to, uint64_t to_offset, uint64_t size,
                               armnn_stream *stream, uint64_t call_id, armnn_error *error) {
  if (from_offset > from->size || size > from->size - from_offset || to_offset > to->size ||
      size > to->size - to_offset)
    return fail(error, ARMNN_INVALID_ARGUMENT, "too many bytes");
  if (from->device_id != to->device_id)
    return fail(error, ARMNN_UNIMPLEMENTED, "the buffers are of two devices");
  if (from == to && from_offset < to_offset + size && to_offset < from_offset + size)
    return fail(error, ARMNN_INVALID_ARGUMENT, "the ranges overlap");
  armnn_code code = finish(from->host, call_id, error);
  if (code) return code;
  ++counts.copied_between;
#ifdef STREAMS
  command work = {.from = from, .to = to, .size = size};
  work.from_offset = from_offset;
  work.to_offset = to_offset;
  if (stream) return enqueue(stream, work), ARMNN_OK;
#endif
  (void)stream;
  memcpy(to->bytes + to_offset, from->bytes + from_offset, size);
  return ARMNN_OK;
}
#ifdef IMPORTS
static armnn_code import_host_on(armnn_backend *backend, const armnn_device *device, void *host,
                                 uint64_t size, armnn_device_buffer **buffer, armnn_error *error) {
  (void)device;
  return import_memory(backend, host, size, buffer, error);
}
/* The handle of this device's memory is its buffer, whichever library made it. */
static armnn_code import_data(armnn_backend *backend, const armnn_device *device, void *given,
                              uint64_t size, armnn_device_buffer **buffer, armnn_error *error) {
  armnn_device_buffer *other = given;
  if (size > other->size) return fail(error, ARMNN_UNIMPLEMENTED, "memory of another context");
  ++counts.imported;
  armnn_code code = make(backend, other->bytes, BORROWED, size, buffer);
  (*buffer)->device_id = device_id_of(device);
  return code;
}
static armnn_code import_fd(armnn_backend *backend, const armnn_device *device, int32_t fd,
                            uint64_t offset, uint64_t size, armnn_device_buffer **buffer,
                            armnn_error *error) {
#ifdef NO_DMA_BUF
  (void)backend, (void)device, (void)fd, (void)offset, (void)size, (void)buffer;
  return fail(error, ARMNN_UNIMPLEMENTED, "the driver lacks cl_khr_external_memory_dma_buf");
#endif
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
  if (pages == MAP_FAILED) return fail(error, ARMNN_INVALID_ARGUMENT, "no such bytes");
  ++counts.imported;
  armnn_code code = make(backend, pages, MAPPED, size, buffer);
  (*buffer)->device_id = device_id_of(device);
  return code;
}
#endif
#ifdef MAPS
static armnn_code map(armnn_device_buffer *buffer, uint64_t offset, uint64_t size, int32_t access,
                      armnn_stream *stream, uint64_t call_id, void **address, armnn_error *error) {
  *address = buffer->reached = malloc(size);
  buffer->reached_at = offset, buffer->reached_size = size, buffer->access = access;
  if (access == ARMNN_MAP_DISCARD) return ARMNN_OK;
  return copy_out_at(buffer, offset, *address, size, stream, call_id, error);
}
static armnn_code unmap(armnn_device_buffer *buffer, void *address, armnn_stream *stream,
                        armnn_error *error) {
  if (address != buffer->reached) return fail(error, ARMNN_INVALID_ARGUMENT, "not mapped");
  armnn_code code = ARMNN_OK;
  if (buffer->access != ARMNN_MAP_READ)
    code = copy_in_at(buffer, buffer->reached_at, address, buffer->reached_size, stream, 0, error);
  free(address);
  buffer->reached = NULL;
  return code;
}
#endif
#ifndef COPY_BETWEEN
#define COPY_BETWEEN copy_between
#endif
static const armnn_device_memory_2 placed_memory = {
  .header = ARMNN_HEADER(ARMNN_DEVICE_MEMORY_2), .device_type = DEVICE_TYPE,
  .takes_host_memory = TAKES_HOST_MEMORY, .limits = limits, .allocate = allocate_on,
  .data = data, .copy_in = copy_in_at, .copy_out = copy_out_at, .copy_between = COPY_BETWEEN,
#ifdef IMPORTS
  .import_host = import_host_on, .import_data = import_data, .import_fd = import_fd,
#endif
#ifdef MAPS
  .map = map, .unmap = unmap,
#endif
  .buffer_destroy = buffer_destroy,
};
static armnn_code io_requirement(armnn_program *program, int32_t is_output, uint64_t index,
                                 armnn_io_requirement *out, armnn_error *error) {
  (void)error;
  if (!is_output && index + HOST_INPUTS >= program->num_inputs) out->memory_kind = ARMNN_MEMORY_HOST;
  return ARMNN_OK;
}
#endif
#ifdef DEVICES
static armnn_code devices(armnn_backend *backend, const armnn_device *const **out, uint64_t *count,
                          armnn_error *error) {
  static const armnn_device rows[] = {
    {.header = ARMNN_HEADER(ARMNN_DEVICE), .id = {"0", 1}, .name = {"Acme One", 8},
     .kind = {"npu", 3}, .device_type = DEVICE_TYPE, .device_id = 0},
    {.header = ARMNN_HEADER(ARMNN_DEVICE), .id = {"1", 1}, .name = {"Acme Two", 8},
     .kind = {"npu", 3}, .device_type = DEVICE_TYPE, .device_id = 1},
  };
  static const armnn_device *const all[] = {&rows[0], &rows[1]};
  (void)backend, (void)error;
  *out = all, *count = DEVICES;
  return ARMNN_OK;
}
#endif
static const void *get_extension(const char *name) {
#ifdef PLACED
  if (strcmp(name, "armnn.device/2") == 0) return &placed_memory;
#ifdef STREAMS
  if (strcmp(name, "armnn.stream/1") == 0) return &streams;
#endif
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
#ifdef DEVICES
  .devices = devices,
#endif
#ifdef PLACED
  .io_requirement = io_requirement,
#endif
};
ARMNN_EXPORT const char *GetBackendId(void) { return "AcmeDevice"; }
ARMNN_EXPORT void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = ARMNN_BACKEND_API_MAJOR;
  *outMinor = ARMNN_BACKEND_TARGET_MINOR;
}
ARMNN_EXPORT void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
