/* SPDX-License-Identifier: MIT */
/* AcmeOpenCl: a backend whose tensors stay in the memory of an OpenCL device. It runs Addition,
 * Activation and Convolution2d in float32 on any device of libOpenCL.so.1, which it opens itself.
 *
 *   gcc -std=c11 -O2 -shared -fPIC -fvisibility=hidden -fno-fast-math -Wl,-z,defs \
 *       $(python -m armnn_backend_api --includes) -o Acme_AcmeOpenCl_backend.so acme_opencl.c \
 *       -ldl -lpthread
 *
 * It shows armnn.device/2 (a tensor is a cl_mem and an offset) and armnn.stream/1 (a stream is an
 * in-order command queue), Backend API 1.3. A device that sees host memory, such as a CPU, imports it.
 */
#define ARMNN_BACKEND_TARGET_MINOR 3
#define _POSIX_C_SOURCE 200809L
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

ARMNN_BACKEND_NOTE("{\"id\": \"AcmeOpenCl\", \"api\": \"1.3\"}");

/* ---- The part of OpenCL 1.2 that it calls. ------------------------------------------------- */

typedef struct _cl_object *cl_object; /* of every kind: the library tells them apart */
enum {
  CL_DEVICE_NOT_AVAILABLE = -2, CL_MEM_ALLOCATION_FAILURE = -4, CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6, CL_INVALID_BUFFER_SIZE = -61,
  CL_DEVICE_TYPE = 0x1000, CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F, CL_DEVICE_NAME = 0x102B, CL_DRIVER_VERSION = 0x102D,
  CL_PLATFORM_NAME = 0x0902, CL_MEM_SIZE = 0x1102, CL_MEM_CONTEXT = 0x1106,
  CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3, CL_COMPLETE = 0,
};
#define CL_MEM_READ_WRITE UINT64_C(1)
#define CL_MEM_USE_HOST_PTR UINT64_C(8)
#define CL_MAP_READ UINT64_C(1)
#define CL_MAP_WRITE UINT64_C(2)
#define CL_MAP_WRITE_INVALIDATE_REGION UINT64_C(4)
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

/* X(result, name, parameters) */
#define OPENCL(X)                                                                                  \
  X(int32_t, clGetPlatformIDs, (uint32_t, cl_object *, uint32_t *))                                \
  X(int32_t, clGetPlatformInfo, (cl_object, uint32_t, size_t, void *, size_t *))                   \
  X(int32_t, clGetDeviceIDs, (cl_object, uint64_t, uint32_t, cl_object *, uint32_t *))             \
  X(int32_t, clGetDeviceInfo, (cl_object, uint32_t, size_t, void *, size_t *))                     \
  X(cl_object, clCreateContext,                                                                    \
    (const intptr_t *, uint32_t, const cl_object *, void *, void *, int32_t *))                    \
  X(int32_t, clReleaseContext, (cl_object))                                                        \
  X(cl_object, clCreateCommandQueue, (cl_object, cl_object, uint64_t, int32_t *))                  \
  X(int32_t, clReleaseCommandQueue, (cl_object))                                                   \
  X(cl_object, clCreateBuffer, (cl_object, uint64_t, size_t, void *, int32_t *))                   \
  X(int32_t, clRetainMemObject, (cl_object))                                                       \
  X(int32_t, clReleaseMemObject, (cl_object))                                                      \
  X(int32_t, clGetMemObjectInfo, (cl_object, uint32_t, size_t, void *, size_t *))                  \
  X(cl_object, clCreateProgramWithSource,                                                          \
    (cl_object, uint32_t, const char **, const size_t *, int32_t *))                               \
  X(int32_t, clBuildProgram,                                                                       \
    (cl_object, uint32_t, const cl_object *, const char *, void *, void *))                        \
  X(int32_t, clReleaseProgram, (cl_object))                                                        \
  X(cl_object, clCreateKernel, (cl_object, const char *, int32_t *))                               \
  X(int32_t, clReleaseKernel, (cl_object))                                                         \
  X(int32_t, clSetKernelArg, (cl_object, uint32_t, size_t, const void *))                          \
  X(int32_t, clEnqueueNDRangeKernel,                                                               \
    (cl_object, cl_object, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,     \
     const cl_object *, cl_object *))                                                              \
  X(int32_t, clEnqueueReadBuffer,                                                                  \
    (cl_object, cl_object, uint32_t, size_t, size_t, void *, uint32_t, const cl_object *,          \
     cl_object *))                                                                                 \
  X(int32_t, clEnqueueWriteBuffer,                                                                 \
    (cl_object, cl_object, uint32_t, size_t, size_t, const void *, uint32_t, const cl_object *,    \
     cl_object *))                                                                                 \
  X(int32_t, clEnqueueCopyBuffer,                                                                  \
    (cl_object, cl_object, cl_object, size_t, size_t, size_t, uint32_t, const cl_object *,         \
     cl_object *))                                                                                 \
  X(void *, clEnqueueMapBuffer,                                                                    \
    (cl_object, cl_object, uint32_t, uint64_t, size_t, size_t, uint32_t, const cl_object *,        \
     cl_object *, int32_t *))                                                                      \
  X(int32_t, clEnqueueUnmapMemObject,                                                              \
    (cl_object, cl_object, void *, uint32_t, const cl_object *, cl_object *))                      \
  X(int32_t, clEnqueueMarkerWithWaitList, (cl_object, uint32_t, const cl_object *, cl_object *))   \
  X(int32_t, clEnqueueBarrierWithWaitList, (cl_object, uint32_t, const cl_object *, cl_object *))  \
  X(int32_t, clGetEventInfo, (cl_object, uint32_t, size_t, void *, size_t *))                      \
  X(int32_t, clWaitForEvents, (uint32_t, const cl_object *))                                       \
  X(int32_t, clReleaseEvent, (cl_object))                                                          \
  X(int32_t, clFlush, (cl_object))                                                                 \
  X(int32_t, clFinish, (cl_object))
#define DECLARE(result, name, parameters) static result(*name) parameters;
OPENCL(DECLARE)

/* ---- Kernels. A tensor is a buffer and its first element: offsets need no sub-buffers. ------ */

/* Sizes whatever the layout, and elements from one index to the next; the kernel has the same. */
typedef struct { int32_t n, c, h, w, step_n, step_c, step_h, step_w; } image;
typedef struct {
  image from, weights, to;
  int32_t stride_x, stride_y, dilation_x, dilation_y, pad_left, pad_top, has_bias;
} convolution;

static const char kernels[] =
    "typedef struct { int n, c, h, w, step_n, step_c, step_h, step_w; } image;\n"
    "typedef struct { image from, weights, to; int stride_x, stride_y, dilation_x, dilation_y,\n"
    "                 pad_left, pad_top, has_bias; } convolution;\n"
    "kernel void add(global const float *a, ulong a0, global const float *b, ulong b0,\n"
    "                global float *y, ulong y0, ulong count) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (i < count) y[y0 + i] = a[a0 + i] + b[b0 + i];\n"
    "}\n"
    /* Comparisons are such that NaN stays. */
    "kernel void activate(global const float *x, ulong x0, global float *y, ulong y0,\n"
    "                     ulong count, int function, float a, float b) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (i >= count) return;\n"
    "  float v = x[x0 + i];\n"
    "  switch (function) {\n"
    "  case 0: v = 1.0f / (1.0f + exp(-v)); break;\n"
    "  case 1: v = a * tanh(b * v); break;\n"
    "  case 2: v = a * v + b; break;\n"
    "  case 3: v = v < 0.0f ? 0.0f : v; break;\n"
    "  case 4: v = v < b ? b : v; v = v > a ? a : v; break;\n"
    "  case 6: v = v > 0.0f ? v : a * v; break;\n"
    "  case 7: v = fabs(v); break;\n"
    "  case 8: v = sqrt(v); break;\n"
    "  case 9: v = v * v; break;\n"
    "  }\n"
    "  y[y0 + i] = v;\n"
    "}\n"
    "kernel void convolve(global const float *x, ulong x0, global const float *weights, ulong w0,\n"
    "                     global const float *bias, ulong bias0, global float *y, ulong y0,\n"
    "                     ulong count, convolution s) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (i >= count) return;\n"
    "  int ox = i % s.to.w, oy = i / s.to.w % s.to.h, o = i / s.to.w / s.to.h % s.to.c;\n"
    "  int n = i / s.to.w / s.to.h / s.to.c;\n"
    "  int group = o / (s.to.c / (s.from.c / s.weights.c));\n"
    "  float sum = 0.0f;\n"
    "  for (int ky = 0; ky < s.weights.h; ++ky)\n"
    "    for (int kx = 0; kx < s.weights.w; ++kx) {\n"
    "      int iy = oy * s.stride_y + ky * s.dilation_y - s.pad_top;\n"
    "      int ix = ox * s.stride_x + kx * s.dilation_x - s.pad_left;\n"
    "      if (iy < 0 || iy >= s.from.h || ix < 0 || ix >= s.from.w) continue;\n"
    "      global const float *pixel = x + x0 + n * s.from.step_n + iy * s.from.step_h +\n"
    "                                  ix * s.from.step_w + group * s.weights.c * s.from.step_c;\n"
    "      global const float *row = weights + w0 + o * s.weights.step_n +\n"
    "                                ky * s.weights.step_h + kx * s.weights.step_w;\n"
    "      for (int c = 0; c < s.weights.c; ++c)\n"
    "        sum += pixel[c * s.from.step_c] * row[c * s.weights.step_c];\n"
    "    }\n"
    "  if (s.has_bias) sum += bias[bias0 + o];\n"
    "  y[y0 + n * s.to.step_n + o * s.to.step_c + oy * s.to.step_h + ox * s.to.step_w] = sum;\n"
    "}\n";
enum { WORK_GROUP = 64 }; /* always the same: drivers may compile a kernel anew for each size */

/* ---- What the host holds. ------------------------------------------------------------------ */

enum { ADD, ACTIVATE, CONVOLVE, LARGEST_COUNT = INT32_MAX, MOST_DEVICES = 16, MOST_INPUTS = 3 };
static const char *const kernel_names[] = {"add", "activate", "convolve"};

typedef struct { /* one per process, opened by its first use: programs are built once */
  armnn_device info;
  char id[8], name[256], fingerprint[512];
  cl_object id_of_cl, context, program, queue; /* queue: of copies without a stream */
  uint64_t alignment, max_bytes, total_bytes;
  int sees_host_memory;
  armnn_stream *streams; /* those that there are */
} device;
typedef struct { /* what a node became */
  int32_t id, kind, inputs[MOST_INPUTS], output, function;
  uint64_t count;
  float a, b;
  convolution convolution;
} step;

struct armnn_backend { const armnn_host *host; };
struct armnn_program {
  armnn_backend *backend;
  device *device;
  uint64_t num_values, num_steps, num_inputs, num_outputs;
  cl_object *constants; /* per value; NULL unless constant */
  int32_t *inputs, *outputs;
  step *steps;
};
typedef struct { cl_object memory; uint64_t first; } place; /* of a value, in elements */
struct armnn_context {
  const armnn_program *program;
  cl_object queue;    /* of execute, which waits for it */
  cl_object *kernels; /* per step, as their arguments are this context's */
  cl_object *scratch; /* per value; NULL unless a node computes it and it is no output */
  place *places;
};
struct armnn_device_buffer {
  device *device;
  cl_object memory;
  uint64_t size;
  const armnn_host *host;
  int is_host_memory; /* imported, with a host's pages */
  void *pages;        /* of a descriptor, to be unmapped; or NULL */
};
struct armnn_stream {
  device *device;
  armnn_stream *next;
  cl_object queue;
  cl_object last; /* the event of its last kernel, which alone tells that one failed; or NULL */
};
struct armnn_event { cl_object event; };

/* ---- Errors. ------------------------------------------------------------------------------- */

static armnn_string text(const char *data) { return (armnn_string){data, strlen(data)}; }
static armnn_code fail(armnn_error *error, armnn_code code, int32_t node, const char *message) {
  error->code = code, error->node_id = node;
  error->message = text(message); /* static, so there is nothing to release */
  return code;
}
static void release_error(armnn_error *error) { free(error->priv); }
static armnn_code fail_with(armnn_error *error, armnn_code code, const char *format,
                            const char *word, int32_t status) {
  char *message = malloc(1024);
  if (!message) return fail(error, code, -1, format);
  snprintf(message, 1024, format, word, status);
  error->code = code, error->node_id = -1;
  error->message = text(message), error->priv = message, error->release = release_error;
  return code;
}
/* ARMNN_OK, or the failure of a function of OpenCL. */
static armnn_code checked(armnn_error *error, int32_t status, const char *function) {
  if (status >= 0) return ARMNN_OK;
  armnn_code code = ARMNN_INTERNAL;
  if (status == CL_DEVICE_NOT_AVAILABLE) code = ARMNN_DEVICE_LOST;
  if (status == CL_MEM_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
      status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE)
    code = ARMNN_RESOURCE_EXHAUSTED;
  return fail_with(error, code, "%s failed with the OpenCL error %d", function, status);
}
static armnn_code no_memory(armnn_error *error) {
  return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "AcmeOpenCl has no host memory left");
}
static int stops(const armnn_host *host, uint64_t call_id) {
  return armnn_host_has_cancelled(host) && host->cancelled(host->ctx, call_id);
}

/* ---- The backend and its devices. ---------------------------------------------------------- */

static pthread_once_t found = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of opening devices */
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER; /* of the streams of devices */
static const char *missing; /* why OpenCL cannot be used; NULL if it can */
static uint32_t num_devices;
static device all_devices[MOST_DEVICES];
static const armnn_device *listed[MOST_DEVICES];

static void note_device(cl_object platform, cl_object id) {
  char of[120] = "", name[120] = "", version[120] = "";
  uint32_t bits = 0;
  uint64_t type = 0;
  device *row = &all_devices[num_devices];
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof of - 1, of, NULL);
  clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  clGetDeviceInfo(id, CL_DRIVER_VERSION, sizeof version - 1, version, NULL);
  clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8, &row->max_bytes, NULL);
  clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, 8, &row->total_bytes, NULL);
  snprintf(row->name, sizeof row->name, "%s: %s", of, name);
  snprintf(row->fingerprint, sizeof row->fingerprint, "%s: %s, %s", of, name, version);
  for (uint32_t i = 0; i < num_devices; ++i) /* two loaders may know one driver */
    if (!strcmp(all_devices[i].fingerprint, row->fingerprint)) return;
  snprintf(row->id, sizeof row->id, "%u", num_devices);
  row->id_of_cl = id;
  for (row->alignment = sizeof(float); row->alignment < bits / 8;) row->alignment *= 2;
  row->info = (armnn_device){
      .header = ARMNN_HEADER(ARMNN_DEVICE), .id = text(row->id), .name = text(row->name),
      .kind = text(type & 2 ? "cpu" : type & 4 ? "gpu" : "npu"), .device_type = 4,
      .device_id = (int32_t)num_devices, .memory_bytes = row->total_bytes,
      .fingerprint = text(row->fingerprint)};
  listed[num_devices++] = &row->info;
}
static void find_devices(void) {
  cl_object platforms[MOST_DEVICES], ids[MOST_DEVICES];
  uint32_t num_platforms = 0, num_ids;
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) missing = "there is no libOpenCL.so.1: install the OpenCL driver of your device";
#define FIND(result, name, parameters)                                                             \
  if (!missing) {                                                                                  \
    *(void **)&name = dlsym(library, #name);                                                       \
    if (!name) missing = "libOpenCL.so.1 has no " #name ", which is in OpenCL 1.2";                \
  }
  OPENCL(FIND)
  if (missing) return;
  if (clGetPlatformIDs(MOST_DEVICES, platforms, &num_platforms)) num_platforms = 0;
  for (uint32_t p = 0; p < num_platforms && p < MOST_DEVICES; ++p) {
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids, &num_ids)) continue;
    for (uint32_t i = 0; i < num_ids && num_devices < MOST_DEVICES; ++i)
      note_device(platforms[p], ids[i]);
  }
  if (!num_devices) missing = "libOpenCL.so.1 knows no driver with a device";
}
static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **result, armnn_error *error) {
  (void)options;
  if (num_options) return fail(error, ARMNN_INVALID_ARGUMENT, -1, "AcmeOpenCl has no options");
  pthread_once(&found, find_devices);
  if (missing) return fail(error, ARMNN_UNAVAILABLE, -1, missing);
  armnn_backend *backend = malloc(sizeof *backend);
  if (!backend) return no_memory(error);
  backend->host = host;
  *result = backend;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { free(backend); }
static armnn_code devices(armnn_backend *backend, const armnn_device *const **list, uint64_t *count,
                          armnn_error *error) {
  (void)backend, (void)error;
  *list = listed, *count = num_devices;
  return ARMNN_OK;
}
static device *selected(const armnn_device *wanted) {
  return &all_devices[wanted ? wanted->device_id : 0];
}
/* Whether kernels and the host see what the other one writes in host memory without a map. OpenCL
 * promises that of no device; those that are CPUs do, if the memory is aligned as buffers are.
 */
static int sees_host_memory(const device *row) {
  _Alignas(4096) static unsigned char shared[4096];
  unsigned char one = 1, found = 0;
  int32_t status = 0;
  cl_object memory = clCreateBuffer(row->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                    sizeof shared - row->alignment, shared + row->alignment,
                                    &status);
  if (status) return 0;
  shared[row->alignment] = 0;
  status = clEnqueueWriteBuffer(row->queue, memory, 0, 0, 1, &one, 0, NULL, NULL);
  if (!status) status = clFinish(row->queue);
  const int is_written = shared[row->alignment] == one;
  shared[row->alignment] = 2;
  if (!status) status = clEnqueueReadBuffer(row->queue, memory, 0, 0, 1, &found, 0, NULL, NULL);
  if (!status) status = clFinish(row->queue);
  clReleaseMemObject(memory);
  return !status && is_written && found == 2;
}
static armnn_code open_device(device *row, armnn_error *error) {
  const char *source = kernels, *what = "clCreateContext";
  int32_t status = 0;
  pthread_mutex_lock(&lock);
  if (!row->context) row->context = clCreateContext(NULL, 1, &row->id_of_cl, NULL, NULL, &status);
  if (row->context && !row->queue) {
    what = "clCreateCommandQueue";
    row->queue = clCreateCommandQueue(row->context, row->id_of_cl, 0, &status);
    if (row->queue && row->alignment < 4096) row->sees_host_memory = sees_host_memory(row);
  }
  if (row->queue && !row->program) {
    what = "clBuildProgram";
    cl_object made = clCreateProgramWithSource(row->context, 1, &source, NULL, &status);
    if (made) status = clBuildProgram(made, 1, &row->id_of_cl, "-cl-std=CL1.2", NULL, NULL);
    if (made && status) clReleaseProgram(made);
    else row->program = made;
  }
  pthread_mutex_unlock(&lock);
  return checked(error, status, what);
}
static void shut_down(void) {
  for (uint32_t i = 0; i < num_devices; ++i) {
    device *row = &all_devices[i];
    if (row->queue) clReleaseCommandQueue(row->queue);
    if (row->program) clReleaseProgram(row->program);
    if (row->context) clReleaseContext(row->context);
  }
}

/* ---- Layers. ------------------------------------------------------------------------------- */

static int is(armnn_string string, const char *word) {
  return string.size == strlen(word) && !memcmp(string.data, word, string.size);
}
static const armnn_value *value_at(const armnn_graph *graph, int32_t index) {
  return ARMNN_AT(const armnn_value, graph->values, graph->value_stride, index);
}
static const armnn_node *node_at(const armnn_graph *graph, uint64_t index) {
  return ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, index);
}
/* The elements of a value; more than LARGEST_COUNT if they are too many. */
static uint64_t count_of(const armnn_value *value) {
  uint64_t product = 1;
  for (int32_t axis = 0; axis < value->ndim; ++axis)
    if (!value->shape[axis]) return 0;
  for (int32_t axis = 0; axis < value->ndim && product <= LARGEST_COUNT; ++axis)
    product *= (uint64_t)value->shape[axis] <= LARGEST_COUNT ? (uint64_t)value->shape[axis]
                                                             : (uint64_t)LARGEST_COUNT + 1;
  return product;
}
static const armnn_attribute *attribute(const armnn_graph *graph, const armnn_node *node,
                                        const char *name, int32_t type) {
  for (uint64_t i = 0; i < node->num_attributes; ++i) {
    const armnn_attribute *row =
        ARMNN_AT(const armnn_attribute, node->attributes, graph->attribute_stride, i);
    if (is(row->name, name) && row->type == type && row->count == 1) return row;
  }
  return NULL;
}
static int32_t integer(const armnn_graph *graph, const armnn_node *node, const char *name,
                       int32_t otherwise) {
  const armnn_attribute *row = attribute(graph, node, name, ARMNN_ATTRIBUTE_INT64);
  return row ? (int32_t) * (const int64_t *)row->data : otherwise;
}
static float number(const armnn_graph *graph, const armnn_node *node, const char *name,
                    double otherwise) {
  const armnn_attribute *row = attribute(graph, node, name, ARMNN_ATTRIBUTE_FLOAT64);
  return (float)(row ? *(const double *)row->data : otherwise);
}
/* A parameter, with the name and the default of armnn/layers.h. */
#define INTEGER(name) integer(graph, node, ARMNN_PARAMETER(ARMNN_##name))
#define NUMBER(name) number(graph, node, ARMNN_PARAMETER(ARMNN_##name))
static image image_of(const armnn_value *value, int is_nhwc) {
  const int s[] = {(int)value->shape[0], (int)value->shape[1], (int)value->shape[2],
                   (int)value->shape[3]};
  if (is_nhwc) return (image){s[0], s[3], s[1], s[2], s[1] * s[2] * s[3], 1, s[2] * s[3], s[3]};
  return (image){s[0], s[1], s[2], s[3], s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
}
static int same_shape(const armnn_value *a, const armnn_value *b) {
  return a->ndim == b->ndim && (!a->ndim || !memcmp(a->shape, b->shape, (size_t)a->ndim * 8));
}
static int kind_of(const armnn_node *node) {
  if (is(node->type, ARMNN_LAYER_ADDITION)) return ADD;
  if (is(node->type, ARMNN_LAYER_ACTIVATION)) return ACTIVATE;
  return is(node->type, ARMNN_LAYER_CONVOLUTION2D) ? CONVOLVE : -1;
}
/* Why not, as a static text, or NULL; *input is one more than the index of the guilty input. */
static const char *refusal(const armnn_graph *graph, const armnn_node *node, int32_t *input) {
  static const char known[] = {1, 1, 1, 1, 1, 0, 1, 1, 1, 1}; /* functions of the kernel */
  const int kind = kind_of(node);
  *input = 0;
  if (kind < 0 || node->num_inputs > MOST_INPUTS)
    return "AcmeOpenCl runs Addition, Activation and Convolution2d";
  for (uint64_t i = 0; i < node->num_inputs; ++i) {
    if (node->inputs[i] < 0) continue;
    const armnn_value *value = value_at(graph, node->inputs[i]);
    *input = (int32_t)i + 1;
    if (value->data_type != ARMNN_FLOAT32) return "AcmeOpenCl computes in Float32";
    if (value->ndim < 0 || (kind == CONVOLVE && i < 2 && value->ndim != 4))
      return "AcmeOpenCl takes known ranks, and images of rank 4";
    if (count_of(value) > LARGEST_COUNT) return "AcmeOpenCl takes tensors of 2^31 - 1 elements";
    if (kind == ADD && !same_shape(value, value_at(graph, node->outputs[0])))
      return "AcmeOpenCl adds tensors of equal shape";
  }
  *input = 0;
  if (count_of(value_at(graph, node->outputs[0])) > LARGEST_COUNT)
    return "AcmeOpenCl makes tensors of 2^31 - 1 elements";
  for (uint64_t i = 0; i < node->num_attributes; ++i) /* one that is younger than this file */
    if (ARMNN_AT(const armnn_attribute, node->attributes, graph->attribute_stride, i)->since_minor >
        ARMNN_BACKEND_TARGET_MINOR)
      return "AcmeOpenCl does not know a parameter";
  if (kind == ACTIVATE) {
    const int32_t function = INTEGER(ACTIVATION_FUNCTION);
    const int is_known = function >= 0 && function < (int32_t)sizeof known && known[function];
    return is_known ? NULL : "AcmeOpenCl does not compute this function";
  }
  const int32_t layout = kind == CONVOLVE ? INTEGER(CONVOLUTION2D_DATA_LAYOUT)
                                          : ARMNN_DATA_LAYOUT_NCHW;
  const int is_known = layout == ARMNN_DATA_LAYOUT_NCHW || layout == ARMNN_DATA_LAYOUT_NHWC;
  return is_known ? NULL : "AcmeOpenCl knows NCHW and NHWC";
}
static armnn_code query(armnn_backend *backend, const armnn_device *wanted,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)wanted, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    const char *why = refusal(graph, node_at(graph, i), &support->input);
    support->level = why ? ARMNN_NOT_SUPPORTED : ARMNN_SUPPORTED;
    if (why) support->reason = text(why);
  }
  return ARMNN_OK;
}
static step step_of(const armnn_graph *graph, const armnn_node *node) {
  step made = {.id = node->id, .kind = kind_of(node), .inputs = {-1, -1, -1},
               .output = node->outputs[0], .count = count_of(value_at(graph, node->outputs[0]))};
  for (uint64_t i = 0; i < node->num_inputs; ++i) made.inputs[i] = node->inputs[i];
  if (made.kind == ACTIVATE)
    made.function = INTEGER(ACTIVATION_FUNCTION), made.a = NUMBER(ACTIVATION_A),
    made.b = NUMBER(ACTIVATION_B);
  if (made.kind != CONVOLVE) return made;
  const int is_nhwc = INTEGER(CONVOLUTION2D_DATA_LAYOUT) == ARMNN_DATA_LAYOUT_NHWC;
  made.convolution = (convolution){
      .from = image_of(value_at(graph, node->inputs[0]), is_nhwc),
      .weights = image_of(value_at(graph, node->inputs[1]), is_nhwc),
      .to = image_of(value_at(graph, node->outputs[0]), is_nhwc),
      .stride_x = INTEGER(CONVOLUTION2D_STRIDE_X), .stride_y = INTEGER(CONVOLUTION2D_STRIDE_Y),
      .dilation_x = INTEGER(CONVOLUTION2D_DILATION_X),
      .dilation_y = INTEGER(CONVOLUTION2D_DILATION_Y), .pad_left = INTEGER(CONVOLUTION2D_PAD_LEFT),
      .pad_top = INTEGER(CONVOLUTION2D_PAD_TOP), .has_bias = made.inputs[2] >= 0};
  return made;
}

/* ---- Programs and contexts. ---------------------------------------------------------------- */

static void program_destroy(armnn_program *program) {
  for (uint64_t i = 0; program->constants && i < program->num_values; ++i)
    if (program->constants[i]) clReleaseMemObject(program->constants[i]);
  free(program->constants), free(program->inputs), free(program->outputs);
  free(program->steps), free(program);
}
static int32_t *copied(const int32_t *indices, uint64_t count) {
  int32_t *made = malloc((count + 1) * sizeof *made);
  if (made && count) memcpy(made, indices, count * sizeof *made);
  return made;
}
static armnn_code upload(armnn_program *program, const armnn_graph *graph, armnn_error *error) {
  device *on = program->device;
  for (uint64_t i = 0; i < graph->num_values; ++i) {
    const armnn_value *value = value_at(graph, (int32_t)i);
    const uint64_t size = count_of(value) * sizeof(float);
    int32_t status = 0;
    if (!value->constant) continue;
    const char *from = (const char *)value->constant->data + value->constant->byte_offset;
    cl_object made = clCreateBuffer(on->context, CL_MEM_READ_WRITE, size + 1, NULL, &status);
    program->constants[i] = made;
    if (!status && size)
      status = clEnqueueWriteBuffer(on->queue, made, 1, 0, size, from, 0, NULL, NULL);
    if (status) return checked(error, status, "the upload of a constant");
  }
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *wanted,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **result, armnn_error *error) {
  device *on = selected(wanted);
  if (args->num_options)
    return fail(error, ARMNN_INVALID_ARGUMENT, -1, "AcmeOpenCl has no options");
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    int32_t input;
    const char *why = refusal(graph, node_at(graph, i), &input);
    if (why) return fail(error, ARMNN_UNSUPPORTED_NODE, node_at(graph, i)->id, why);
  }
  armnn_code code = open_device(on, error);
  if (code) return code;
  armnn_program *program = calloc(1, sizeof *program);
  if (!program) return no_memory(error);
  program->backend = backend, program->device = on;
  program->num_values = graph->num_values, program->num_steps = graph->num_nodes;
  program->num_inputs = graph->num_inputs, program->num_outputs = graph->num_outputs;
  program->constants = calloc(graph->num_values + 1, sizeof *program->constants);
  program->steps = calloc(graph->num_nodes + 1, sizeof *program->steps);
  program->inputs = copied(graph->inputs, graph->num_inputs);
  program->outputs = copied(graph->outputs, graph->num_outputs);
  code = program->constants && program->steps && program->inputs && program->outputs
             ? upload(program, graph, error)
             : no_memory(error);
  if (code) {
    program_destroy(program);
    return code;
  }
  for (uint64_t i = 0; i < graph->num_nodes; ++i)
    program->steps[i] = step_of(graph, node_at(graph, i));
  *result = program;
  return ARMNN_OK;
}
/* What is released while work on it is enqueued lives on in OpenCL until that has ended. */
static void context_destroy(armnn_context *context) {
  for (uint64_t i = 0; context->kernels && i < context->program->num_steps; ++i)
    if (context->kernels[i]) clReleaseKernel(context->kernels[i]);
  for (uint64_t i = 0; context->scratch && i < context->program->num_values; ++i)
    if (context->scratch[i]) clReleaseMemObject(context->scratch[i]);
  if (context->queue) clReleaseCommandQueue(context->queue);
  free(context->kernels), free(context->scratch), free(context->places), free(context);
}
static int is_output(const armnn_program *program, int32_t value) {
  for (uint64_t i = 0; i < program->num_outputs; ++i)
    if (program->outputs[i] == value) return 1;
  return 0;
}
static armnn_code context_create(armnn_program *program, armnn_context **result,
                                 armnn_error *error) {
  device *on = program->device;
  int32_t status = 0;
  armnn_context *context = calloc(1, sizeof *context);
  if (!context) return no_memory(error);
  context->program = program;
  context->kernels = calloc(program->num_steps + 1, sizeof *context->kernels);
  context->scratch = calloc(program->num_values + 1, sizeof *context->scratch);
  context->places = calloc(program->num_values + 1, sizeof *context->places);
  if (!context->kernels || !context->scratch || !context->places) {
    context_destroy(context);
    return no_memory(error);
  }
  context->queue = clCreateCommandQueue(on->context, on->id_of_cl, 0, &status);
  for (uint64_t i = 0; !status && i < program->num_steps; ++i) {
    const step *s = &program->steps[i];
    const size_t size = s->count * sizeof(float) + 1;
    context->kernels[i] = clCreateKernel(on->program, kernel_names[s->kind], &status);
    if (!status && !is_output(program, s->output))
      context->scratch[s->output] =
          clCreateBuffer(on->context, CL_MEM_READ_WRITE, size, NULL, &status);
  }
  if (status) {
    context_destroy(context);
    return checked(error, status, "the making of a context");
  }
  *result = context;
  return ARMNN_OK;
}

/* ---- Execution. ---------------------------------------------------------------------------- */

static place place_of(const armnn_tensor *tensor) {
  return (place){tensor->data, tensor->byte_offset / sizeof(float)};
}
static int32_t set_place(cl_object kernel, uint32_t *number, place at) {
  int32_t status = clSetKernelArg(kernel, (*number)++, sizeof at.memory, &at.memory);
  return status ? status : clSetKernelArg(kernel, (*number)++, sizeof at.first, &at.first);
}
static int32_t enqueue_step(armnn_stream *stream, armnn_context *context, uint64_t index) {
  const step *s = &context->program->steps[index];
  cl_object kernel = context->kernels[index];
  const int num_inputs = s->kind == ADD ? 2 : s->kind == ACTIVATE ? 1 : 3;
  const size_t local = WORK_GROUP, global = (s->count + local - 1) / local * local;
  uint32_t argument = 0;
  int32_t status = 0;
  if (!s->count) return 0;
  for (int i = 0; i < num_inputs && !status; ++i) /* an absent bias is not read */
    status = set_place(kernel, &argument, context->places[s->inputs[s->inputs[i] < 0 ? 0 : i]]);
  if (!status) status = set_place(kernel, &argument, context->places[s->output]);
  if (!status) status = clSetKernelArg(kernel, argument++, sizeof s->count, &s->count);
  if (!status && s->kind == ACTIVATE) {
    status = clSetKernelArg(kernel, argument++, sizeof s->function, &s->function);
    if (!status) status = clSetKernelArg(kernel, argument++, sizeof s->a, &s->a);
    if (!status) status = clSetKernelArg(kernel, argument++, sizeof s->b, &s->b);
  }
  if (!status && s->kind == CONVOLVE)
    status = clSetKernelArg(kernel, argument++, sizeof s->convolution, &s->convolution);
  const cl_object before = stream->last;
  const uint32_t count = before != NULL;
  if (status) return status;
  status = clEnqueueNDRangeKernel(stream->queue, kernel, 1, NULL, &global, &local, count,
                                  count ? &before : NULL, &stream->last);
  if (status) stream->last = before;
  else if (before) clReleaseEvent(before);
  return status;
}
/* Enqueues all steps; stops between two of them if the host says so. */
static armnn_code enqueue(armnn_stream *stream, armnn_context *context,
                          const armnn_execute_args *args, armnn_error *error) {
  const armnn_program *program = context->program;
  for (uint64_t i = 0; i < program->num_values; ++i)
    context->places[i] =
        (place){program->constants[i] ? program->constants[i] : context->scratch[i], 0};
  for (uint64_t i = 0; i < args->num_inputs; ++i)
    context->places[program->inputs[i]] = place_of(args->inputs[i]);
  for (uint64_t i = 0; i < args->num_outputs; ++i)
    context->places[program->outputs[i]] = place_of(args->outputs[i]);
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    if (stops(program->backend->host, args->call_id))
      return fail(error, ARMNN_CANCELLED, program->steps[i].id, "the host asked to stop");
    const armnn_code code = checked(error, enqueue_step(stream, context, i), "a kernel");
    if (code) return error->node_id = program->steps[i].id, code;
  }
  return ARMNN_OK;
}
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  armnn_stream once = {.device = context->program->device, .queue = context->queue};
  const armnn_code code = enqueue(&once, context, args, error);
  int32_t status = clFinish(context->queue), state = 0; /* also behind a failure: memory is lent */
  if (once.last) {
    if (!status)
      status = clGetEventInfo(once.last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                              NULL);
    clReleaseEvent(once.last);
  }
  return code ? code : checked(error, status ? status : state, "a kernel");
}
static armnn_code execute_on(armnn_stream *stream, armnn_context *context,
                             const armnn_execute_args *args, armnn_error *error) {
  const armnn_code code = enqueue(stream, context, args, error);
  return code ? code : checked(error, clFlush(stream->queue), "clFlush");
}

/* ---- Streams: in-order command queues. ----------------------------------------------------- */

static armnn_code stream_create(armnn_backend *backend, const armnn_device *wanted,
                                armnn_stream **result, armnn_error *error) {
  (void)backend;
  device *on = selected(wanted);
  int32_t status = 0;
  const armnn_code code = open_device(on, error);
  if (code) return code;
  armnn_stream *stream = malloc(sizeof *stream);
  if (!stream) return no_memory(error);
  *stream = (armnn_stream){.device = on};
  stream->queue = clCreateCommandQueue(on->context, on->id_of_cl, 0, &status);
  if (status) {
    free(stream);
    return checked(error, status, "clCreateCommandQueue");
  }
  pthread_mutex_lock(&streams_lock);
  stream->next = on->streams, on->streams = stream;
  pthread_mutex_unlock(&streams_lock);
  *result = stream;
  return ARMNN_OK;
}
static void stream_destroy(armnn_stream *stream) {
  clFinish(stream->queue);
  pthread_mutex_lock(&streams_lock);
  armnn_stream **at = &stream->device->streams;
  while (*at != stream) at = &(*at)->next;
  *at = stream->next;
  pthread_mutex_unlock(&streams_lock);
  if (stream->last) clReleaseEvent(stream->last);
  clReleaseCommandQueue(stream->queue);
  free(stream);
}
static armnn_code record(armnn_stream *stream, armnn_event **result, armnn_error *error) {
  armnn_event *event = malloc(sizeof *event);
  if (!event) return no_memory(error);
  const cl_object *last = stream->last ? &stream->last : NULL;
  int32_t status =
      clEnqueueMarkerWithWaitList(stream->queue, last != NULL, last, &event->event);
  if (!status && (status = clFlush(stream->queue))) clReleaseEvent(event->event);
  if (status) {
    free(event);
    return checked(error, status, "clEnqueueMarkerWithWaitList");
  }
  *result = event;
  return ARMNN_OK;
}
static armnn_code wait_event(armnn_stream *stream, armnn_event *event, armnn_error *error) {
  const int32_t status = clEnqueueBarrierWithWaitList(stream->queue, 1, &event->event, NULL);
  return checked(error, status, "clEnqueueBarrierWithWaitList");
}
static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static armnn_code event_wait(armnn_event *event, uint64_t until_ns, int32_t *has_ended,
                             armnn_error *error) {
  int32_t state = 0, status = until_ns ? 0 : clWaitForEvents(1, &event->event);
  *has_ended = 0;
  for (long pause_ns = 10000; !status; pause_ns += pause_ns < 500000 ? pause_ns / 4 : 0) {
    status = clGetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                            NULL);
    if (status || state <= CL_COMPLETE) break;
    if (now_ns() >= until_ns) return ARMNN_OK;
    nanosleep(&(struct timespec){0, pause_ns}, NULL);
  }
  *has_ended = 1;
  return checked(error, status ? status : state, "work of the device");
}
static void event_destroy(armnn_event *event) {
  clReleaseEvent(event->event);
  free(event);
}

/* ---- Memory: a buffer is a cl_mem, which armnn_tensor.data holds. -------------------------- */

static armnn_code limits(armnn_backend *backend, const armnn_device *wanted,
                         armnn_device_limits *out, armnn_error *error) {
  const device *on = selected(wanted);
  (void)backend, (void)error;
  out->device_id = on->info.device_id, out->alignment = (uint32_t)on->alignment;
  out->max_bytes = on->max_bytes, out->total_bytes = on->total_bytes;
  return ARMNN_OK;
}
static armnn_code wrap(armnn_backend *backend, device *on, cl_object memory, uint64_t size,
                       armnn_device_buffer **result, armnn_error *error) {
  armnn_device_buffer *buffer = malloc(sizeof *buffer);
  if (!buffer) {
    clReleaseMemObject(memory);
    return no_memory(error);
  }
  *buffer = (armnn_device_buffer){
      .device = on, .memory = memory, .size = size, .host = backend->host};
  *result = buffer;
  return ARMNN_OK;
}
static armnn_code allocate(armnn_backend *backend, const armnn_device *wanted, uint64_t size,
                           armnn_device_buffer **result, armnn_error *error) {
  device *on = selected(wanted);
  int32_t status = 0;
  const armnn_code code = open_device(on, error);
  if (code) return code;
  if (size > on->max_bytes)
    return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "the device allows no buffer of this size");
  cl_object memory = clCreateBuffer(on->context, CL_MEM_READ_WRITE, size, NULL, &status);
  return status ? checked(error, status, "clCreateBuffer")
                : wrap(backend, on, memory, size, result, error);
}
static armnn_code import_data(armnn_backend *backend, const armnn_device *wanted, void *data,
                              uint64_t size, armnn_device_buffer **result, armnn_error *error) {
  device *on = selected(wanted);
  cl_object context = NULL;
  size_t there = 0;
  const armnn_code code = open_device(on, error);
  if (code) return code;
  int32_t status = clGetMemObjectInfo(data, CL_MEM_CONTEXT, sizeof context, &context, NULL);
  if (!status) status = clGetMemObjectInfo(data, CL_MEM_SIZE, sizeof there, &there, NULL);
  if (status) return checked(error, status, "clGetMemObjectInfo");
  if (context != on->context)
    return fail(error, ARMNN_UNIMPLEMENTED, -1, "the cl_mem is of another OpenCL context");
  if (there < size) return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the cl_mem is too small");
  clRetainMemObject(data);
  return wrap(backend, on, data, size, result, error);
}
static armnn_code import_host(armnn_backend *backend, const armnn_device *wanted, void *host,
                              uint64_t size, armnn_device_buffer **result, armnn_error *error) {
  device *on = selected(wanted);
  int32_t status = 0;
  armnn_code code = open_device(on, error);
  if (code) return code;
  if (!on->sees_host_memory)
    return fail(error, ARMNN_UNIMPLEMENTED, -1, "the device does not see host memory");
  if ((uintptr_t)host % on->alignment)
    return fail(error, ARMNN_UNIMPLEMENTED, -1, "the memory is not aligned as buffers are");
  cl_object memory = clCreateBuffer(on->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size,
                                    host, &status);
  if (status) return checked(error, status, "clCreateBuffer");
  code = wrap(backend, on, memory, size, result, error);
  if (!code) (*result)->is_host_memory = 1;
  return code;
}
static armnn_code import_fd(armnn_backend *backend, const armnn_device *wanted, int32_t fd,
                            uint64_t offset, uint64_t size, armnn_device_buffer **result,
                            armnn_error *error) {
  armnn_code code = open_device(selected(wanted), error);
  if (code) return code;
  if (!selected(wanted)->sees_host_memory)
    return fail(error, ARMNN_UNIMPLEMENTED, -1,
                "the device does not see host memory, and AcmeOpenCl does not use "
                "cl_khr_external_memory_dma_buf");
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
  if (pages == MAP_FAILED)
    return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the descriptor cannot be mapped");
  code = import_host(backend, wanted, pages, size, result, error);
  if (code) munmap(pages, size);
  else (*result)->pages = pages;
  return code;
}
static void *data(armnn_device_buffer *buffer) { return buffer->memory; }
/* OpenCL keeps its own memory while work on it is enqueued; that of others is waited for here. */
static void buffer_destroy(armnn_device_buffer *buffer) {
  if (buffer->is_host_memory) {
    clFinish(buffer->device->queue);
    pthread_mutex_lock(&streams_lock);
    for (armnn_stream *each = buffer->device->streams; each; each = each->next)
      clFinish(each->queue);
    pthread_mutex_unlock(&streams_lock);
  }
  clReleaseMemObject(buffer->memory);
  if (buffer->pages) munmap(buffer->pages, buffer->size);
  free(buffer);
}
/* Waits for a queue and asks the host meanwhile whether that has become pointless. */
static armnn_code finish(const armnn_device_buffer *buffer, cl_object queue, uint64_t call_id,
                         armnn_error *error) {
  armnn_event event;
  int32_t has_ended = 0;
  armnn_code code =
      checked(error, clEnqueueMarkerWithWaitList(queue, 0, NULL, &event.event), "a marker");
  if (code) return code;
  clFlush(queue);
  while (!code && !has_ended) {
    code = event_wait(&event, now_ns() + 2000000, &has_ended, error);
    if (!code && !has_ended && stops(buffer->host, call_id))
      code = fail(error, ARMNN_CANCELLED, -1, "the host asked to stop");
  }
  clReleaseEvent(event.event);
  return code;
}
static int is_within(const armnn_device_buffer *buffer, uint64_t offset, uint64_t size) {
  return offset <= buffer->size && size <= buffer->size - offset;
}
static armnn_code copy(armnn_device_buffer *buffer, uint64_t offset, void *to, const void *from,
                       uint64_t size, armnn_stream *stream, uint64_t call_id, armnn_error *error) {
  cl_object queue = stream ? stream->queue : buffer->device->queue;
  if (!is_within(buffer, offset, size))
    return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the range is not in the buffer");
  const armnn_code code = finish(buffer, queue, call_id, error);
  if (code || !size) return code;
  /* Not a blocking copy: Intel's CPU runtime ends those early where threads share a queue. */
  cl_object event;
  int32_t status =
      to ? clEnqueueReadBuffer(queue, buffer->memory, 0, offset, size, to, 0, NULL, &event)
         : clEnqueueWriteBuffer(queue, buffer->memory, 0, offset, size, from, 0, NULL, &event);
  if (!status) {
    status = clWaitForEvents(1, &event);
    clReleaseEvent(event);
  }
  return checked(error, status, to ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer");
}
static armnn_code copy_in(armnn_device_buffer *buffer, uint64_t offset, const void *from,
                          uint64_t size, armnn_stream *stream, uint64_t call_id,
                          armnn_error *error) {
  return copy(buffer, offset, NULL, from, size, stream, call_id, error);
}
static armnn_code copy_out(armnn_device_buffer *buffer, uint64_t offset, void *to, uint64_t size,
                           armnn_stream *stream, uint64_t call_id, armnn_error *error) {
  return copy(buffer, offset, to, NULL, size, stream, call_id, error);
}
static armnn_code copy_between(armnn_device_buffer *from, uint64_t from_offset,
                               armnn_device_buffer *to, uint64_t to_offset, uint64_t size,
                               armnn_stream *stream, uint64_t call_id, armnn_error *error) {
  cl_object queue = stream ? stream->queue : to->device->queue;
  if (!is_within(from, from_offset, size) || !is_within(to, to_offset, size))
    return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the range is not in the buffer");
  if (from->device != to->device)
    return fail(error, ARMNN_UNIMPLEMENTED, -1, "the buffers are of two devices");
  if (from->memory == to->memory && from_offset < to_offset + size &&
      to_offset < from_offset + size)
    return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the ranges overlap");
  if (!size) return ARMNN_OK;
  const int32_t status = clEnqueueCopyBuffer(queue, from->memory, to->memory, from_offset,
                                             to_offset, size, 0, NULL, NULL);
  if (status) return checked(error, status, "clEnqueueCopyBuffer");
  return stream ? checked(error, clFlush(queue), "clFlush") : finish(to, queue, call_id, error);
}

static armnn_code map(armnn_device_buffer *buffer, uint64_t offset, uint64_t size, int32_t access,
                      armnn_stream *stream, uint64_t call_id, void **address, armnn_error *error) {
  cl_object queue = stream ? stream->queue : buffer->device->queue, event;
  const uint64_t flags = access == ARMNN_MAP_READ      ? CL_MAP_READ
                         : access == ARMNN_MAP_DISCARD ? CL_MAP_WRITE_INVALIDATE_REGION
                                                       : CL_MAP_READ | CL_MAP_WRITE;
  if (!is_within(buffer, offset, size))
    return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the range is not in the buffer");
  const armnn_code code = finish(buffer, queue, call_id, error);
  if (code) return code;
  int32_t status = 0;
  *address = clEnqueueMapBuffer(queue, buffer->memory, 0, flags, offset, size, 0, NULL, &event,
                                &status);
  if (!status) {
    status = clWaitForEvents(1, &event);
    clReleaseEvent(event);
  }
  return checked(error, status, "clEnqueueMapBuffer");
}
static armnn_code unmap(armnn_device_buffer *buffer, void *address, armnn_stream *stream,
                        armnn_error *error) {
  cl_object queue = stream ? stream->queue : buffer->device->queue, event;
  int32_t status = clEnqueueUnmapMemObject(queue, buffer->memory, address, 0, NULL, &event);
  if (!status) {
    status = clWaitForEvents(1, &event); /* other queues may use the buffer next */
    clReleaseEvent(event);
  }
  return checked(error, status, "clEnqueueUnmapMemObject");
}

/* ---- Tables. ------------------------------------------------------------------------------- */

static const armnn_device_memory_2 memory = {
    .header = ARMNN_HEADER(ARMNN_DEVICE_MEMORY_2), .device_type = 4 /* kDLOpenCL */,
    .limits = limits, .allocate = allocate, .data = data, .copy_in = copy_in,
    .copy_out = copy_out, .copy_between = copy_between, .import_host = import_host,
    .import_data = import_data, .import_fd = import_fd, .map = map, .unmap = unmap,
    .buffer_destroy = buffer_destroy,
};
static const armnn_streams streams = {
    .header = ARMNN_HEADER(ARMNN_STREAMS), .create = stream_create, .destroy = stream_destroy,
    .execute_on = execute_on, .record = record, .wait_event = wait_event,
    .event_wait = event_wait, .event_destroy = event_destroy,
};
static const void *get_extension(const char *name) {
  if (!strcmp(name, "armnn.device/2")) return &memory;
  return strcmp(name, "armnn.stream/1") ? NULL : &streams;
}
static armnn_code capabilities(armnn_backend *backend, const armnn_option **list, uint64_t *count,
                               armnn_error *error) {
  static const armnn_option rows[] = { /* what drivers leave in a process */
      {{"Disturbs", 8}, {"signals, environment, threads, descriptors", 42}},
  };
  (void)backend, (void)error;
  *list = rows, *count = sizeof rows / sizeof *rows;
  return ARMNN_OK;
}
static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"AcmeOpenCl", 10},
    .version = {"1.0.0", 5},
    .vendor = {"Acme", 4},
    .flags = ARMNN_BACKEND_DETERMINISTIC, /* and not fork-safe, as no driver is */
    .create = create,
    .destroy = destroy,
    .devices = devices,
    .capabilities = capabilities,
    .query = query,
    .compile = compile,
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
    .get_extension = get_extension,
    .shutdown = shut_down,
};

const char *GetBackendId(void) { return table.id.data; }
void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = table.api_major, *outMinor = table.api_minor;
}
void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
