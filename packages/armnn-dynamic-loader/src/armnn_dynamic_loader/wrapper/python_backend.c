/* SPDX-License-Identifier: MIT */
/* A backend in Python as a file: a static table in front of the class that its note names.
 *
 * No line needs changing, and neither Python's headers nor its library are needed:
 *
 *     gcc -std=c11 -O2 -fPIC -shared -fvisibility=hidden -fno-fast-math -Wl,-z,defs \
 *         $(python -m armnn_backend_api --includes) \
 *         -DBACKEND_ID='"CpuRef"' -DBACKEND_CLASS='"armnn_backend_ref.backend:RefBackend"' \
 *         -o Arm_CpuRef_backend.so $(python -m armnn_dynamic_loader --python-backend)
 *
 * create asks the host for the extension armnn.host.python/1, which imports the class and serves
 * every later call. A host that is not written in Python has none, and gets ARMNN_UNAVAILABLE.
 */
#include <armnn/backend.h>
#include <stdatomic.h>
#include <string.h>

#ifndef BACKEND_VERSION
#define BACKEND_VERSION "1.0"
#endif
#ifndef BACKEND_VENDOR
#define BACKEND_VENDOR ""
#endif
#define TEXT(literal) {literal, sizeof(literal) - 1}
#define NUMBER_(number) #number
#define NUMBER(number) NUMBER_(number)

ARMNN_BACKEND_NOTE("{\"id\": \"" BACKEND_ID "\", \"api\": \"" NUMBER(ARMNN_BACKEND_API_MAJOR)
                   "." NUMBER(ARMNN_BACKEND_TARGET_MINOR) "\", \"version\": \"" BACKEND_VERSION "\", \"python\": \"" BACKEND_CLASS "\"}");

/* The host's functions; the same for every backend of the process. */
static _Atomic(const armnn_backend_api *) served_by;

static armnn_code refuse(armnn_error *error, armnn_string text) {
  error->code = ARMNN_UNAVAILABLE;
  error->message = text;
  return ARMNN_UNAVAILABLE;
}

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **backend, armnn_error *error) {
  const armnn_host_python *python = NULL;
  if (armnn_host_has_get_extension(host))
    python = host->get_extension(host->ctx, "armnn.host.python/1");
  if (!python || !armnn_host_python_has_create(python))
    return refuse(error, (armnn_string)TEXT("backend " BACKEND_ID " is the Python class " BACKEND_CLASS
                                            ", and this host is not written in Python"));
  atomic_store(&served_by, python->api);
  return python->create(python->ctx, (armnn_string)TEXT(BACKEND_CLASS), options, num_options,
                        backend, error);
}

static const armnn_backend_api *api(void) { return atomic_load(&served_by); }

static void destroy(armnn_backend *backend) { api()->destroy(backend); }

static armnn_code capabilities(armnn_backend *backend, const armnn_option **capabilities,
                               uint64_t *num_capabilities, armnn_error *error) {
  *capabilities = NULL;
  *num_capabilities = 0;
  if (!armnn_backend_api_has_capabilities(api())) /* hosts before 1.3 */
    return ARMNN_OK;
  return api()->capabilities(backend, capabilities, num_capabilities, error);
}

static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  return api()->query(backend, device, graph, supports, stride, error);
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **program, armnn_error *error) {
  return api()->compile(backend, device, graph, args, program, error);
}
static void program_destroy(armnn_program *program) { api()->program_destroy(program); }

static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  return api()->context_create(program, context, error);
}
static void context_destroy(armnn_context *context) { api()->context_destroy(context); }

static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  return api()->execute(context, args, error);
}

static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = TEXT(BACKEND_ID),
    .version = TEXT(BACKEND_VERSION),
    .vendor = TEXT(BACKEND_VENDOR),
    .create = create,
    .destroy = destroy,
    .capabilities = capabilities,
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
