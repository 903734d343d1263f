/* SPDX-License-Identifier: MIT */
/* A file whose backend is a Python class: the table is static C and forwards to the host's. */
#include <armnn/backend.h>

#ifndef PYTHON_CLASS
#define PYTHON_CLASS "armnn_backend_ref.backend:RefBackend"
#endif

static const armnn_backend_api *python;

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t count,
                         armnn_backend **backend, armnn_error *error) {
  static const char missing[] = "the host lacks armnn.host.python/1";
  const armnn_host_python *extension = NULL;
  if (armnn_host_has_get_extension(host))
    extension = host->get_extension(host->ctx, "armnn.host.python/1");
  if (!extension) {
    error->code = ARMNN_UNAVAILABLE;
    error->message = (armnn_string){missing, sizeof missing - 1};
    return ARMNN_UNAVAILABLE;
  }
  python = extension->api;
  return extension->create(extension->ctx, (armnn_string){PYTHON_CLASS, sizeof PYTHON_CLASS - 1},
                           options, count, backend, error);
}
static void destroy(armnn_backend *backend) { python->destroy(backend); }
static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  return python->query(backend, device, graph, supports, stride, error);
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **program, armnn_error *error) {
  return python->compile(backend, device, graph, args, program, error);
}
static void program_destroy(armnn_program *program) { python->program_destroy(program); }
static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  return python->context_create(program, context, error);
}
static void context_destroy(armnn_context *context) { python->context_destroy(context); }
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  return python->execute(context, args, error);
}

static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"CpuRef", 6},
    .version = {"1", 1},
    .vendor = {"Arm", 3},
    .create = create,
    .destroy = destroy,
    .query = query,
    .compile = compile,
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
};
const char *GetBackendId(void) { return table.id.data; }
void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = table.api_major;
  *outMinor = table.api_minor;
}
void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
