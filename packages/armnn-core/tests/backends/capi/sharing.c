/* SPDX-License-Identifier: MIT */
/* A backend that adds float32 tensors, with the extensions armnn.async/1 and armnn.memory/1. A task
 * waits until the tests open the gate, so that no test depends on how fast a machine is.
 */
#define _GNU_SOURCE
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What the tests reach through get_extension("test.gate/1"). */
static struct { atomic_llong is_open, tasks, buffers; } gate;
static const armnn_host *host;

struct armnn_backend { int unused; };
struct armnn_program { uint64_t elements; };
struct armnn_context { const armnn_program *program; };
struct armnn_task {
  pthread_t thread;
  atomic_int stop, has_ended;
  int is_joined;
  const armnn_context *context;
  const armnn_execute_args *args;
  armnn_code code;
};
struct armnn_buffer { int fd; uint64_t offset, size; void *address; };

static armnn_code fail(armnn_error *error, armnn_code code, const char *text) {
  error->code = code;
  error->message = (armnn_string){text, strlen(text)};
  return code;
}
static uint64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}
static void nap(void) { nanosleep(&(struct timespec){0, 200000}, NULL); }

static armnn_code create(const armnn_host *given, const armnn_option *options, uint64_t count,
                         armnn_backend **backend, armnn_error *error) {
  (void)options, (void)count, (void)error;
  host = given;
  *backend = malloc(sizeof **backend);
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { free(backend); }
static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *out, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const armnn_node *node = ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
    armnn_support *support = ARMNN_AT(armnn_support, out, stride, i);
    support->level = strcmp(node->type.data, ARMNN_LAYER_ADDITION) == 0;
    if (!support->level) support->reason = (armnn_string){"only Addition", 13};
  }
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **program, armnn_error *error) {
  (void)backend, (void)device, (void)args;
  if (graph->num_nodes != 1) {
    static const int32_t second = 1;
    error->nodes = &second;
    error->num_nodes = 1;
    return fail(error, ARMNN_UNSUPPORTED_NODE, "one layer at a time");
  }
  const armnn_value *value = ARMNN_AT(const armnn_value, graph->values, graph->value_stride, 0);
  *program = malloc(sizeof **program);
  (*program)->elements = 1;
  for (int32_t i = 0; i < value->ndim; ++i) (*program)->elements *= (uint64_t)value->shape[i];
  return ARMNN_OK;
}
static void program_destroy(armnn_program *program) { free(program); }
static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  (void)error;
  *context = malloc(sizeof **context);
  (*context)->program = program;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) { free(context); }
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  (void)error;
  /* A value that is read twice is passed once. */
  const float *a = args->inputs[0]->data, *b = args->inputs[args->num_inputs - 1]->data;
  float *sum = args->outputs[0]->data;
  for (uint64_t i = 0; i < context->program->elements; ++i) sum[i] = a[i] + b[i];
  return ARMNN_OK;
}

/* -- armnn.async/1 ------------------------------------------------------------------------------ */

static void *work(void *given) {
  armnn_task *task = given;
  const armnn_execute_args *args = task->args;
  task->code = ARMNN_OK;
  while (!gate.is_open && task->code == ARMNN_OK) {
    if (task->stop || (args->call_id && host->cancelled(host->ctx, args->call_id)))
      task->code = ARMNN_CANCELLED;
    if (args->deadline_ns && now() > args->deadline_ns) task->code = ARMNN_DEADLINE_EXCEEDED;
    nap();
  }
  if (task->code == ARMNN_OK) execute((armnn_context *)(uintptr_t)task->context, args, NULL);
  task->has_ended = 1;
  return NULL;
}
static armnn_code submit(armnn_context *context, const armnn_execute_args *args, armnn_task **task,
                         armnn_error *error) {
  armnn_task *made = calloc(1, sizeof *made);
  made->context = context;
  made->args = args;
  if (pthread_create(&made->thread, NULL, work, made)) {
    free(made);
    return fail(error, ARMNN_RESOURCE_EXHAUSTED, "no thread left");
  }
  ++gate.tasks;
  *task = made;
  return ARMNN_OK;
}
static armnn_code wait_for(armnn_task *task, uint64_t until_ns, int32_t *has_ended,
                           armnn_error *error) {
  while (!task->has_ended && (!until_ns || now() < until_ns)) nap();
  *has_ended = task->has_ended;
  if (!*has_ended || task->code == ARMNN_OK) return ARMNN_OK;
  return fail(error, task->code, "the gate stayed shut");
}
static void release(armnn_task *task) {
  task->stop = 1;
  pthread_join(task->thread, NULL);
  --gate.tasks;
  free(task);
}
#ifndef ASYNC_SIZE
#define ASYNC_SIZE ARMNN_ASYNC_SIZE
#endif
#ifndef ASYNC_WAIT
#define ASYNC_WAIT wait_for
#endif
static const armnn_async async = {{ASYNC_SIZE, ARMNN_ASYNC_ID, NULL}, submit, ASYNC_WAIT, release};

/* -- armnn.memory/1 ----------------------------------------------------------------------------- */

static armnn_code map(int fd, uint64_t offset, uint64_t size, armnn_buffer **buffer,
                      armnn_error *error) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
  if (at == MAP_FAILED) {
    close(fd);
    return fail(error, ARMNN_INVALID_ARGUMENT, strerror(errno));
  }
  *buffer = malloc(sizeof **buffer);
  **buffer = (armnn_buffer){fd, offset, size, at};
  ++gate.buffers;
  return ARMNN_OK;
}
static armnn_code allocate(armnn_backend *backend, uint64_t size, armnn_buffer **buffer,
                           armnn_error *error) {
  (void)backend;
  int fd = memfd_create("armnn", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)size)) return fail(error, ARMNN_RESOURCE_EXHAUSTED, "no memory");
  return map(fd, 0, size, buffer, error);
}
static armnn_code import_fd(armnn_backend *backend, int32_t fd, uint64_t offset, uint64_t size,
                            armnn_buffer **buffer, armnn_error *error) {
  (void)backend;
  struct stat status;
  if (fstat(fd, &status)) return fail(error, ARMNN_INVALID_ARGUMENT, strerror(errno));
  if ((uint64_t)status.st_size < offset + size)
    return fail(error, ARMNN_INVALID_ARGUMENT, "the file is too short");
  return map(dup(fd), offset, size, buffer, error);
}
static armnn_code export_fd(armnn_buffer *buffer, int32_t *fd, uint64_t *offset,
                            armnn_error *error) {
  *fd = dup(buffer->fd);
  *offset = buffer->offset;
  return *fd < 0 ? fail(error, ARMNN_RESOURCE_EXHAUSTED, strerror(errno)) : ARMNN_OK;
}
static void *address(armnn_buffer *buffer) { return buffer->address; }
static void buffer_destroy(armnn_buffer *buffer) {
  munmap(buffer->address, buffer->size);
  close(buffer->fd);
  free(buffer);
  --gate.buffers;
}
static const armnn_memory memory = {
    ARMNN_HEADER(ARMNN_MEMORY), allocate, import_fd, export_fd, address, buffer_destroy};

static const void *get_extension(const char *name) {
  if (strcmp(name, "armnn.async/1") == 0) return &async;
  if (strcmp(name, "armnn.memory/1") == 0) return &memory;
  return strcmp(name, "test.gate/1") == 0 ? &gate : NULL;
}
static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"Sharing", 7},
    .version = {"1", 1},
    .vendor = {"Test", 4},
    .score = 1,
    .create = create,
    .destroy = destroy,
    .query = query,
    .compile = compile,
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
    .get_extension = get_extension,
};
ARMNN_EXPORT const char *GetBackendId(void) { return "Sharing"; }
ARMNN_EXPORT void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = ARMNN_BACKEND_API_MAJOR;
  *outMinor = ARMNN_BACKEND_TARGET_MINOR;
}
ARMNN_EXPORT void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
