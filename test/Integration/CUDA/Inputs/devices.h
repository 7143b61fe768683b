/* What a driver of CUDA without a device says of one, and the contexts of one thread. */

#include <stdlib.h>

typedef void *handle;

#define NOTHING(name)                                                                              \
  int name() { return 0; }
NOTHING(cuInit)
NOTHING(cuCtxDestroy_v2)
NOTHING(cuCtxSynchronize)
NOTHING(cuCtxGetApiVersion)
NOTHING(cuDeviceGetName)
NOTHING(cuDeviceTotalMem_v2)
NOTHING(cuProfilerStop)
NOTHING(cuStreamSynchronize)
NOTHING(cuPointerGetAttribute)

static handle contexts[8];
static int depth, created;

int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int which) { return *device = which, 0; }

/* A number of the environment, where it is set. */
static int setting(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static int capability(void) { return setting("GPU_CAPABILITY", 90); }

/* The most shared memory that a block may ask for. */
static int most_shared_bytes(void) {
  return setting("GPU_SHARED_BYTES", capability() == 90 ? 232448 : 101376);
}

int cuDeviceGetAttribute(int *value, int attribute) {
  enum { capability_major = 75, capability_minor = 76, shared_bytes = 97 };
  *value = attribute == capability_major   ? capability() / 10
           : attribute == capability_minor ? capability() % 10
           : attribute == shared_bytes     ? most_shared_bytes()
                                           : 1024;
  return 0;
}

/* 1000 major + 10 minor; 13.0 knows all PTX here. */
int cuDriverGetVersion(int *version) { return *version = setting("CUDA_VERSION", 13000), 0; }
int cuCtxGetDevice(int *device) { return *device = 0, 0; }
int cuCtxPushCurrent_v2(handle context) { return contexts[depth++] = context, 0; }
int cuCtxPopCurrent_v2(handle *context) { return *context = contexts[--depth], 0; }
int cuCtxGetCurrent(handle *context) { return *context = depth ? contexts[depth - 1] : 0, 0; }

int cuCtxCreate_v2(handle *context) {
  ++created;
  return cuCtxPushCurrent_v2(*context = &created);
}
