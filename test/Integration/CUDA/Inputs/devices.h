/* What a driver of CUDA without a device says of one, and the contexts of one thread. */

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
int cuDeviceGetAttribute(int *value, int attribute) {
  enum { capability_major = 75, capability_minor = 76 };
  *value = attribute == capability_major ? 8 : attribute == capability_minor ? 6 : 1024;
  return 0;
}
int cuCtxGetDevice(int *device) { return *device = 0, 0; }
int cuCtxPushCurrent_v2(handle context) { return contexts[depth++] = context, 0; }
int cuCtxPopCurrent_v2(handle *context) { return *context = contexts[--depth], 0; }
int cuCtxGetCurrent(handle *context) { return *context = depth ? contexts[depth - 1] : 0, 0; }

int cuCtxCreate_v2(handle *context) {
  ++created;
  return cuCtxPushCurrent_v2(*context = &created);
}
