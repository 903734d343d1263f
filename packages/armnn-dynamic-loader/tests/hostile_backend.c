/* SPDX-License-Identifier: MIT */
/* A backend with one fault per file name: Mock_SetsFtz_backend.so does what SETS("SetsFtz") says.
 * It is compiled once and copied; the fault is the part of its name between the underscores.
 */
#define _GNU_SOURCE
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define NOWHERE ((char *)16)
#define TEXT(literal) ((armnn_string){literal, sizeof(literal) - 1})
#define IF(name) if (is(name))

static char id[64], much[1 << 20];
static int the_one;
static armnn_backend_api table;

static int is(const char *name) { return strcmp(id, name) == 0; }

static void find_id(void) {
  Dl_info info;
  dladdr(&the_one, &info);
  const char *name = strrchr(info.dli_fname, '/') + 1;
  const char *begin = strchr(name, '_') + 1, *end = strstr(begin, "_backend");
  memcpy(id, begin, (size_t)(end - begin));
}
static void handle(int number) { (void)number; }
static void sleep_for_ever(void) {
  for (;;) pause();
}
static void escape_twice(void) {
  if (fork() == 0) {
    if (fork() == 0) {
      setsid();
      sleep_for_ever();
    }
    _exit(0);
  }
  usleep(20000);
}
static void bomb(int depth) {
  for (int i = 0; i < 3 && depth; ++i)
    if (fork() == 0) {
      setsid();
      bomb(depth - 1);
    }
  sleep_for_ever();
}
static int overflow_the_stack(volatile int depth) {
  volatile char room[4096];
  room[0] = (char)depth;
  return overflow_the_stack(depth + 1) + room[0];
}
static void eat(int is_shared) {
  const size_t piece = 16u << 20;
  for (int i = 0; i < 64; ++i) {
    void *at = mmap(NULL, piece, PROT_READ | PROT_WRITE,
                    MAP_ANONYMOUS | (is_shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    if (at == MAP_FAILED) abort();
    memset(at, 1, piece);
    usleep(10000);
  }
}
static void write_to(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) abort();
}
static void *work_for_ever(void *unused) {
  (void)unused;
  sleep_for_ever();
  return NULL;
}
static armnn_code fail_with(armnn_error *error, armnn_code code, armnn_string text) {
  error->code = code;
  error->message = text;
  return code;
}

static int is_beside(const char *library) {
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  int found = 0;
  while (fgets(line, sizeof line, maps)) found |= strstr(line, library) != NULL;
  fclose(maps);
  return found;
}
static int is_killed(void) {
  const char *how = getenv("KILL");
  return how != NULL && *how;
}
static int is_beside_numpy(void) { return is_beside("numpy"); }

__attribute__((destructor)) static void at_end(void) {
  IF("CrashesInDestructor") abort();
  IF("HangsInDestructor") sleep_for_ever();
}
__attribute__((constructor)) static void at_load(void) {
  find_id();
  IF("AbortsBesideNumpy") if (is_beside_numpy()) abort();
  IF("ExitsBesideNumpy") if (is_beside_numpy()) exit(3);
  IF("HangsBesideNumpy") if (is_beside_numpy()) sleep_for_ever();
  IF("AbortsBesideSqlite") if (is_beside("_sqlite3")) abort();
#ifdef __x86_64__
  IF("SetsFtz") __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
  IF("RoundsUp") fesetround(FE_UPWARD);
  IF("Traps") feenableexcept(FE_DIVBYZERO | FE_INVALID);
  IF("HandlesSegv") signal(SIGSEGV, handle);
  IF("HandlesFpe") signal(SIGFPE, handle);
  IF("HandlesAbrt") signal(SIGABRT, handle);
  IF("HandlesUsr1") signal(SIGUSR1, handle);
  IF("IgnoresChld") signal(SIGCHLD, SIG_IGN);
  IF("SignalStack") {
    static char stack[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  }
  IF("LimitsFiles") setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64});
  IF("LimitsStack") setrlimit(RLIMIT_STACK, &(struct rlimit){1 << 20, 1 << 20});
  IF("SetsVariable") setenv("ACME_NUM_THREADS", "1", 1);
  IF("ClearsVariables") clearenv();
  IF("IsNice") if (nice(1) < 0) abort();
  IF("SchedulesItself") sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
  IF("HidesItself") prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  IF("DropsRights") prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  IF("Personality") personality(READ_IMPLIES_EXEC);
  IF("ProfilingTimer")
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {1000, 0}}, NULL);
  IF("ReapsChildren")
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT}, NULL);
  IF("RestartsCalls")
    sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_RESTART}, NULL);
  IF("AdoptsOrphans") prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  IF("OutlivesParent") prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
  IF("SlacksTimers") prctl(PR_SET_TIMERSLACK, 1000000, 0, 0, 0);
  IF("RefusesHugePages") prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  IF("RenamesProcess") prctl(PR_SET_NAME, "mock", 0, 0, 0);
  IF("LocksMemory") mlock(id, sizeof id);
  IF("WantsToDieFirst") write_to("/proc/self/oom_score_adj", "900");
  IF("ChangesPersons") if (setresgid(65534, 65534, 65534)) abort();
  IF("LeavesNetwork") if (unshare(CLONE_NEWNET)) abort();
  IF("LeavesHost") if (unshare(CLONE_NEWUTS)) abort();
  IF("PinsItself") {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) {
        CPU_CLR(i, &set);
        break;
      }
    sched_setaffinity(0, sizeof set, &set);
  }
  IF("BecomesAnother") execl("/bin/true", "true", NULL);
  IF("StopsItself") raise(SIGSTOP);
  IF("IsTraced") ptrace(PTRACE_TRACEME, 0, 0, 0), raise(SIGUSR2);
  IF("SurvivesGuard") {
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    if (fork() == 0) setsid(), sleep_for_ever();
    kill(getppid(), SIGKILL), sleep_for_ever();
  }
  IF("DividesByZero") {
    volatile int zero = 0, quotient = 1 / zero;
    (void)quotient;
    raise(SIGFPE);  // Arm's processors answer 0
  }
  IF("ExecutesNonsense") __builtin_trap();
  IF("RealTimeSignal") raise(SIGRTMIN + 3);
  IF("LeavesMainThread") pthread_exit(NULL);
  IF("ReservesAddresses")
    if (mmap(NULL, 1ull << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
        MAP_FAILED)
      abort();
  IF("ClosesStderr") close(2);
  IF("SignalsParent") kill(getppid(), SIGTERM), sleep_for_ever();
  IF("KillsParent") kill(getppid(), SIGKILL), sleep_for_ever();
  IF("StopsParent") kill(getppid(), SIGSTOP), sleep_for_ever();
  IF("SignalsGroup") kill(0, SIGTERM);
  IF("HangsAtLoad") sleep_for_ever();
  IF("HangsAtExit") atexit(sleep_for_ever);
}

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **backend, armnn_error *error) {
  (void)host, (void)options, (void)num_options;
  IF("CrashesBesideNumpy") if (is_beside_numpy()) *(volatile int *)NOWHERE = 1;
  IF("KilledInCreate") if (is_beside_numpy() && is_killed()) kill(getpid(), SIGKILL);
  IF("InterruptedInCreate") if (is_beside_numpy() && is_killed()) raise(SIGINT), usleep(1000);
  IF("EscapesTwice") escape_twice();
  IF("EscapesBesideItself") {
    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) sleep_for_ever();
  }
  IF("HasThreads") {
    static pthread_t threads[8];
    for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, work_for_ever, NULL);
  }
  IF("FillsStderr")
    for (int i = 0; i < 1 << 16; ++i)
      if (write(2, much, 1024) < 0) break;
  IF("Bombs") bomb(4);
  IF("EatsMemory") eat(0);
  IF("EatsSharedMemory") eat(1);
  IF("FillsStdout")
    for (int i = 0; i < 6000; ++i)
      if (write(1, table.vendor.data, 4) < 0) break;
  IF("OverflowsStack") the_one = overflow_the_stack(0);
  IF("ClosesAll")
    for (int i = 3; i < 1024; ++i) close(i);
  IF("SleepsInCreate") sleep_for_ever();
  IF("EscapeSequences") return fail_with(error, ARMNN_INTERNAL, TEXT("no \x1b[2J\ndevice"));
  IF("Bidirectional") return fail_with(error, ARMNN_INTERNAL, TEXT("no \xe2\x80\xae" "device"));
  IF("NotUtf8") return fail_with(error, ARMNN_INTERNAL, TEXT("no \xff device"));
  IF("GarbageMessage") return fail_with(error, ARMNN_INTERNAL, (armnn_string){NOWHERE, 20});
  IF("LongMessage") {
    char *text = malloc(1 << 20);
    memset(text, 'x', 1 << 20);
    return fail_with(error, ARMNN_INTERNAL, (armnn_string){text, 1 << 20});
  }
  IF("EndlessMessage") return fail_with(error, ARMNN_INTERNAL, (armnn_string){id, 1ull << 40});
  IF("ExitsInCreate") exit(0);
  *backend = (armnn_backend *)(void *)&the_one;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) {
  (void)backend;
  IF("CrashesInDestroy") abort();
  IF("HangsInDestroy") sleep_for_ever();
}
static void shut_down(void) {
  IF("CrashesInShutdown") abort();
  IF("HangsInShutdown") sleep_for_ever();
  IF("ExitsInShutdown") _exit(0);
}

static armnn_device device = {.header = ARMNN_HEADER(ARMNN_DEVICE)};
static const armnn_device *device_list[] = {&device, NULL};
static armnn_code devices(armnn_backend *backend, const armnn_device *const **found,
                          uint64_t *count, armnn_error *error) {
  (void)backend, (void)error;
  device.id = device.name = TEXT("one");
  *found = device_list;
  *count = 1;
  IF("CrashesInDevices") abort();
  IF("GarbageDevices") *found = (const armnn_device *const *)(void *)NOWHERE;
  IF("ManyDevices") *count = 1ull << 40;
  IF("NullDevice") *count = 2;
  IF("GarbageDeviceName") device.name = (armnn_string){NOWHERE, 3};
  IF("ForeignDevice") device.header.struct_id = ARMNN_HOST_ID;
  IF("SmallDevice") device.header.struct_size = 8;
  IF("GarbageFacts") device.num_info = 2, device.info = (armnn_option *)(void *)NOWHERE;
  return ARMNN_OK;
}
static armnn_option capability;
static armnn_code capabilities(armnn_backend *backend, const armnn_option **found, uint64_t *count,
                               armnn_error *error) {
  (void)backend, (void)error;
  capability.key = TEXT("AsyncExecution");
  capability.value = TEXT("false");
  *found = &capability;
  *count = 1;
  IF("CrashesInCapabilities") abort();
  IF("GarbageCapability") capability.key = (armnn_string){NOWHERE, 3};
  IF("NullCapabilities") *found = NULL;
  IF("ManyCapabilities") *count = 1ull << 40;
  return ARMNN_OK;
}
static armnn_code network_event(armnn_backend *backend, int32_t event, uint64_t network_id,
                                armnn_error *error) {
  (void)backend, (void)event, (void)network_id, (void)error;
  IF("CrashesInEvent") abort();
  IF("RefusesNetworks") return fail_with(error, ARMNN_FAILED_PRECONDITION, TEXT("none today"));
  return ARMNN_OK;
}
static const void *get_extension(const char *name) {
  static armnn_async foreign = {.header = ARMNN_HEADER(ARMNN_HOST)};
  IF("AnyExtension") return &foreign;
  if (strcmp(name, "armnn.async/1") == 0) {
    IF("GarbageExtension") return NOWHERE;
    IF("ForeignExtension") return &foreign;
    IF("CrashesInExtension") abort();
  }
  return NULL;
}

static armnn_code query(armnn_backend *backend, const armnn_device *of, const armnn_graph *graph,
                        armnn_support *supports, uint64_t stride, armnn_error *error) {
  (void)backend, (void)of, (void)error;
  IF("MovesInQuery") if (chdir("/")) abort();
  IF("HangsInQuery") sleep_for_ever();
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    const armnn_node *node = ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
    if (node->type.size == 8 && memcmp(node->type.data, ARMNN_LAYER_ADDITION, 8) == 0)
      support->level = ARMNN_SUPPORTED;
    else if (is("GarbageReason"))
      support->reason = (armnn_string){NOWHERE, 9};
    else
      support->reason = TEXT("only Addition");
  }
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *on, const armnn_graph *graph,
                          const armnn_compile_args *args, armnn_program **program,
                          armnn_error *error) {
  (void)backend, (void)on, (void)graph, (void)args, (void)error;
  IF("LeavesChildInCompile") escape_twice();
  IF("HangsInCompile") sleep_for_ever();
  IF("CrashesInCompile") abort();
  *program = (armnn_program *)(void *)&the_one;
  return ARMNN_OK;
}
static armnn_code serialize(armnn_program *program, armnn_write_fn write_to, void *arg,
                            armnn_error *error) {
  (void)program, (void)error;
  IF("CrashesInSerialize") abort();
  IF("RefusesToSerialize") return fail_with(error, ARMNN_UNIMPLEMENTED, TEXT("not this one"));
  IF("EndlessSerialize")
    while (write_to(arg, much, sizeof much) == ARMNN_OK) {
    }
  return write_to(arg, "data", 4);
}
static armnn_code check_blob(armnn_backend *backend, const armnn_device *on, armnn_string envelope,
                             int32_t *verdict, armnn_error *error) {
  (void)backend, (void)on, (void)envelope, (void)error;
  IF("CrashesInCheckBlob") abort();
  *verdict = is("OddVerdict") ? 77 : ARMNN_BLOB_OPTIMAL;
  return ARMNN_OK;
}
static armnn_code deserialize(armnn_backend *backend, const armnn_device *on, const void *data,
                              uint64_t size, armnn_program **program, armnn_error *error) {
  (void)backend, (void)on, (void)data, (void)size, (void)error;
  IF("CrashesInDeserialize") abort();
  IF("NullDeserialize") return ARMNN_OK;
  *program = (armnn_program *)(void *)&the_one;
  return ARMNN_OK;
}
static void program_destroy(armnn_program *program) {
  (void)program;
  IF("CrashesInProgramDestroy") abort();
}
static armnn_code io_requirement(armnn_program *program, int32_t is_output, uint64_t index,
                                 armnn_io_requirement *requirement, armnn_error *error) {
  (void)program, (void)is_output, (void)index, (void)error;
  IF("OddAlignment") requirement->min_align = 3;
  IF("HugeAlignment") requirement->min_align = 1u << 20;
  IF("CrashesInRequirement") abort();
  IF("HugeBuffers") requirement->min_bytes = 1ull << 40;
  IF("DeclaresAlignment") requirement->min_align = 64;
  return ARMNN_OK;
}
static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  (void)error;
  *context = (armnn_context *)(void *)program;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) {
  (void)context;
  IF("CrashesInContextDestroy") abort();
}

static uint64_t count_of(const armnn_tensor *tensor) {
  uint64_t count = 1;
  for (int32_t i = 0; i < tensor->ndim; ++i) count *= (uint64_t)tensor->shape[i];
  return count;
}
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  static atomic_int calls, inside;
  (void)context, (void)error;
  float *a = args->inputs[0]->data, *b = args->inputs[args->num_inputs - 1]->data;
  float *sum = args->outputs[0]->data;
  const uint64_t count = count_of(args->outputs[0]);
  const int call = ++calls, company = ++inside;
  IF("RoundsInExecute") fesetround(FE_UPWARD);
  IF("LocaleInExecute") setlocale(LC_ALL, "C.UTF-8");
  IF("HangsInExecute") sleep_for_ever();
  IF("DeadlocksInThreads") {
    usleep(3000);
    if (company > 1) sleep_for_ever();
  }
  IF("StartsBefore") sum[-1] = 0;
  IF("ReadsBefore") the_one = (int)*(volatile float *)(a - 2048);
  IF("FailsSecondRun") if (call == 2) return fail_with(error, ARMNN_INTERNAL, TEXT("again?"));
  IF("NeedsAlignment") if ((uintptr_t)sum % 64) abort();
  IF("DeclaresAlignment") if ((uintptr_t)sum % 64) abort();
  IF("EscapesInExecute") if (call == 1) escape_twice();
  const uint64_t done = is("LeavesTail") ? count / 4 * 4 : count;
  for (uint64_t i = 0; i < done; ++i) sum[i] = a[i] + b[i];
  if (is("LeavesTail") && !done) sum[0] = 0;
  IF("OverrunsBy4") if (count % 4) memset(sum + count, 0, 4 * sizeof(float));
  IF("OverrunsBy32") if (count % 4) memset(sum + count, 0, 32 * sizeof(float));
  IF("ReadsTooMuch") the_one = (int)a[(count + 7) / 8 * 8 + 7];
  IF("WritesInputsBack") {
    const float old = a[0];
    *(volatile float *)a = 0;
    a[0] = old;
  }
  IF("ForgetsResult") if (call == 2) memset(sum, 0, count * sizeof(float)), sum[0] = 7;
  IF("NeedsOneThread") {
    usleep(3000);
    if (company > 1) sum[0] = 99;
  }
  --inside;
  return ARMNN_OK;
}

static armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .version = {"1.0", 3},
    .vendor = {"Mock", 4},
    .create = create,
    .destroy = destroy,
    .devices = devices,
    .capabilities = capabilities,
    .network_event = network_event,
    .query = query,
    .compile = compile,
    .serialize = serialize,
    .check_blob = check_blob,
    .deserialize = deserialize,
    .program_destroy = program_destroy,
    .io_requirement = io_requirement,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
    .get_extension = get_extension,
    .shutdown = shut_down,
};

const char *GetBackendId(void) {
  IF("ExitsInId") exit(0);
  IF("GarbageId") return NOWHERE;
  return id;
}
void GetVersion(uint32_t *major, uint32_t *minor) {
  IF("CrashesInVersion") abort();
  *major = table.api_major;
  *minor = table.api_minor;
}
void *BackendFactory(void) {
  table.id = (armnn_string){id, strlen(id)};
  IF("GarbageTable") return NOWHERE;
  IF("FarTable") return (void *)(uintptr_t)0x7000000000000000;
  IF("GarbageVendor") table.vendor.data = NOWHERE;
  IF("HugeVendor") table.vendor.size = 1ull << 40;
  IF("NullVendor") table.vendor.data = NULL;
  IF("ControlInVersion") table.version = TEXT("1\x1b[2J");
  return &table;
}
