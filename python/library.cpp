//===- library.cpp - calls emitted libraries from Python
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a shared library made by attnc, and passes it the memory of Python's arrays by way of
// DLPack. __init__.py handles names and shapes.
//
//===----------------------------------------------------------------------===//

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <dlfcn.h>

#include <string>
#include <vector>

namespace nb = nanobind;
using Tensor = nb::dlpack::dltensor; // the layout of DLPack's DLTensor

namespace {

/// The statuses and the options of every emitted header.
enum Status { done = 0, invalid = -1, noMemory = -2 };

struct Options {
  size_t size;
  void *workspace;
  size_t workspaceBytes;
  int threads;
  void (*parallel)(void *, void (*)(void *, int), void *, int);
  void *pool;
  void *(*allocate)(void *, size_t);
  void (*deallocate)(void *, void *);
  void *allocator;
};

/// An open library, never unloaded: its threads may still run.
class Library {
public:
  Library(const std::string &path, const std::string &name) {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throwOSError(dlerror());
    call = find<decltype(call)>(handle, name + "_call");
    lastError = find<decltype(lastError)>(handle, name + "_last_error");
    description = find<const char *(*)()>(handle, name + "_describe")();
    load = reinterpret_cast<decltype(load)>(dlsym(handle, (name + "_load").c_str()));
  }

  /// For a library with its constants in a file.
  void loadWeights(const std::string &path) const {
    if (load(path.c_str()) != done)
      throwOSError(lastError());
  }

  void run(nb::tuple inputs, nb::tuple outputs, int threads) const;

  std::string description;

private:
  [[noreturn]] static void throwOSError(const char *text) {
    PyErr_SetString(PyExc_OSError, text);
    throw nb::python_error();
  }

  template <typename Function>
  static Function find(void *handle, const std::string &symbol) {
    void *address = dlsym(handle, symbol.c_str());
    if (!address)
      throwOSError(dlerror());
    return reinterpret_cast<Function>(address);
  }

  int (*call)(const Options *, const Tensor *const *);
  const char *(*lastError)();
  int (*load)(const char *); // null if all constants are inside
};

/// A type's table of DLPack's C functions, as far as used here. PyTorch has one, and is a hundred
/// times slower through Python.
struct ExchangeApi {
  uint32_t major, minor;
  const ExchangeApi *older;
  void *allocate, *fromObject, *toObject;
  /// The tensor is valid as long as the object. Returns 0, or -1 with an exception.
  int (*borrow)(void *object, Tensor *tensor);
};

const ExchangeApi *findExchangeApi(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
  void *found = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : nullptr;
  PyErr_Clear();
  Py_XDECREF(capsule);
  auto *api = static_cast<const ExchangeApi *>(found);
  while (api && api->major != 1)
    api = api->older;
  return api && api->borrow ? api : nullptr;
}

/// A cached findExchangeApi. The GIL guards it; types are kept alive.
const ExchangeApi *getExchangeApi(PyTypeObject *type) {
  static std::vector<std::pair<PyTypeObject *, const ExchangeApi *>> known;
  for (auto [each, api] : known)
    if (each == type)
      return api;
  Py_INCREF((PyObject *)type);
  return known.emplace_back(type, findExchangeApi(type)).second;
}

/// Releases `found`, and returns whether it is True; clears the exception if it is null.
bool isTrue(PyObject *found) {
  PyErr_Clear();
  Py_XDECREF(found);
  return found == Py_True;
}

/// Whether what is computed now has a derivative: not under PyTorch's no_grad or inference_mode.
bool recordsGradients() {
  PyObject *torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch"); // borrowed
  PyObject *enabled = torch ? PyObject_CallMethod(torch, "is_grad_enabled", nullptr) : nullptr;
  bool isDisabled = enabled == Py_False;
  PyErr_Clear();
  Py_XDECREF(enabled);
  return !isDisabled;
}

/// Whether `tensor` is a dual number of PyTorch's forward mode, whose tangent kernels would lose.
bool hasTangent(PyObject *tensor) {
  static PyObject *name = PyUnicode_InternFromString("torch.autograd.forward_ad");
  static PyObject *current = PyUnicode_InternFromString("_current_level");
  PyObject *mode = PyDict_GetItem(PyImport_GetModuleDict(), name); // borrowed
  PyObject *level = mode ? PyObject_GetAttr(mode, current) : nullptr;
  bool isActive = level && PyLong_AsLong(level) >= 0;
  Py_XDECREF(level);
  PyObject *dual = isActive ? PyObject_CallMethod(mode, "unpack_dual", "O", tensor) : nullptr;
  PyObject *tangent = dual ? PyObject_GetAttrString(dual, "tangent") : nullptr;
  bool found = tangent && tangent != Py_None;
  PyErr_Clear();
  Py_XDECREF(tangent);
  Py_XDECREF(dual);
  return found;
}

/// Checks that PyTorch's C functions omit: a derivative would be lost, and a lazily negated tensor
/// would be read without the negation.
void checkPlain(nb::handle object) {
  static PyObject *requiresGrad = PyUnicode_InternFromString("requires_grad");
  static PyObject *isNeg = PyUnicode_InternFromString("is_neg");
  if (isTrue(PyObject_GetAttr(object.ptr(), requiresGrad)) && recordsGradients())
    throw nb::value_error(
        "expected tensors without requires_grad, as kernels have no gradient yet: "
        "call under torch.no_grad(), or with tensor.detach()");
  if (hasTangent(object.ptr()))
    throw nb::value_error(
        "expected tensors without a tangent, as kernels have no gradient of forward mode yet: "
        "call with torch.autograd.forward_ad.unpack_dual(tensor).primal");
  if (isTrue(PyObject_CallMethodObjArgs(object.ptr(), isNeg, nullptr)))
    throw nb::value_error("expected materialized tensors, found one with a lazy negation: "
                          "call with .resolve_neg()");
}

/// Tensors that borrow the memory of Python's arrays.
class Borrowed {
public:
  explicit Borrowed(size_t count) {
    arrays.reserve(count);
    writable.reserve(count);
    tensors.reserve(count);
    pointers.reserve(count);
  }

  void addInput(nb::handle object) {
    if (!borrow(object))
      add<nb::ndarray<nb::ro>>(object, arrays, "an array");
  }
  void addOutput(nb::handle object) {
    if (!borrow(object))
      add<nb::ndarray<>>(object, writable, "a writable array");
  }

  const Tensor *const *data() const { return pointers.data(); }

private:
  /// The fast path, for types with an exchange table.
  bool borrow(nb::handle object) {
    const ExchangeApi *api = getExchangeApi(Py_TYPE(object.ptr()));
    if (!api)
      return false;
    checkPlain(object);
    Tensor tensor;
    if (api->borrow(object.ptr(), &tensor) != 0) {
      PyErr_Clear(); // the slow path reports it
      return false;
    }
    pointers.push_back(&tensors.emplace_back(tensor));
    return true;
  }

  template <typename Array>
  void add(nb::handle object, std::vector<Array> &owners, const char *expected) {
    Array array;
    if (!nb::try_cast(object, array)) {
      std::string text = std::string("expected ") + expected + " that speaks DLPack, found " +
                         nb::type_name(object.type()).c_str();
      throw nb::type_error(text.c_str());
    }
    Tensor &tensor = tensors.emplace_back();
    tensor.data = const_cast<void *>(static_cast<const void *>(array.data()));
    tensor.device = {array.device_type(), array.device_id()};
    tensor.ndim = static_cast<int32_t>(array.ndim());
    tensor.dtype = array.dtype();
    tensor.shape = const_cast<int64_t *>(array.shape_ptr());
    tensor.strides = const_cast<int64_t *>(array.stride_ptr());
    pointers.push_back(&tensor);
    owners.push_back(std::move(array));
  }

  std::vector<nb::ndarray<nb::ro>> arrays;
  std::vector<nb::ndarray<>> writable;
  std::vector<Tensor> tensors;
  std::vector<const Tensor *> pointers;
};

} // namespace

/// Calls the kernel without the GIL. The error text is thread-local, so it is read on the same
/// thread.
void Library::run(nb::tuple inputs, nb::tuple outputs, int threads) const {
  Borrowed tensors(inputs.size() + outputs.size());
  for (nb::handle input : inputs)
    tensors.addInput(input);
  for (nb::handle output : outputs)
    tensors.addOutput(output);
  Options options{};
  options.size = sizeof options;
  options.threads = threads;
  int status;
  {
    nb::gil_scoped_release unlocked;
    status = call(&options, tensors.data());
  }
  if (status == done)
    return;
  if (status == invalid)
    throw nb::value_error(lastError());
  PyErr_SetString(status == noMemory ? PyExc_MemoryError : PyExc_RuntimeError, lastError());
  throw nb::python_error();
}

NB_MODULE(library, module) {
  // Kernels held by a PyTorch op live until the process ends; nanobind would warn.
  nb::set_leak_warnings(false);
  nb::class_<Library>(module, "Library")
      .def(nb::init<const std::string &, const std::string &>())
      .def("load_weights", &Library::loadWeights, nb::arg("path"))
      .def("run", &Library::run, nb::arg("inputs"), nb::arg("outputs"), nb::arg("threads"))
      .def_ro("description", &Library::description);
}
