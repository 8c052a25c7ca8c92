// SPDX-License-Identifier: Apache-2.0
//
// Communicators for Python: communicators implemented by Python objects (hewn/_ranks.py lists their
// methods), and those of the runtime.
#ifndef HEWN_PYTHON_RANKS_H
#define HEWN_PYTHON_RANKS_H

#include "hewn/communicator.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hewn::python {

namespace nb = nanobind;

/// A communicator whose functions call the methods of a Python object. They are called from a run,
/// without the GIL.
class ObjectRanks {
public:
  explicit ObjectRanks(nb::object given) : object(std::move(given)) {
    table = {sizeof(table),
             nb::cast<int32_t>(object.attr("rank")),
             nb::cast<int32_t>(object.attr("num_ranks")),
             this,
             allocate,
             release,
             allGather,
             allReduce,
             send,
             receive,
             abandon,
             message,
             destroy,
             0,
             0,
             reduceScatter,
             nullptr,
             nullptr,
             0};
  }
  hewn_communicator table;

private:
  /// A memoryview that a Python method gets for one call. It is released after the call, so that a
  /// view that the method has kept cannot access freed memory.
  struct View {
    View(const void *data, size_t bytes, int flags)
        : view(nb::steal(
              PyMemoryView_FromMemory(static_cast<char *>(const_cast<void *>(data)), Py_ssize_t(bytes), flags))) {}
    ~View() {
      nb::error_scope kept; // keeps an exception that the called method raised
      nb::object released = nb::steal(PyObject_CallMethod(view.ptr(), "release", nullptr));
      if (!released.is_valid())
        // Release fails if the method has created views of this view, which is an error of the
        // method.
        PyErr_Clear();
    }
    nb::object view;
  };

  template <typename Call> int32_t guarded(Call call) {
    nb::gil_scoped_acquire lock;
    try {
      call();
      return HEWN_OK;
    } catch (nb::python_error &error) {
      text = error.what();
    } catch (const std::exception &error) {
      text = error.what();
    }
    return HEWN_PEER_FAILED;
  }

  static void *allocate(void *, size_t bytes) {
    void *memory = nullptr;
    return posix_memalign(&memory, 64, bytes ? bytes : 1) == 0 ? memory : nullptr;
  }
  static void release(void *, void *memory) { std::free(memory); }

  static int32_t allGather(void *user, int32_t first, int32_t ranks, const void *mine, void *all, size_t bytes) {
    auto *self = static_cast<ObjectRanks *>(user);
    return self->guarded([&] {
      View from(mine, bytes, PyBUF_READ), to(all, bytes * size_t(ranks), PyBUF_WRITE);
      self->object.attr("all_gather")(first, ranks, from.view, to.view);
      self->table.moved += uint64_t(ranks - 1) * bytes;
    });
  }

  /// Implements all-reduce: gathers the addends of all ranks, in blocks, and adds them in the order
  /// of the ranks.
  static int32_t allReduce(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                           DLDataType type) {
    constexpr int64_t most = 1 << 18;
    std::vector<char> pieces;
    size_t element = type.bits / 8;
    for (int64_t at = 0; at < count; at += most) {
      int64_t part = std::min(most, count - at);
      size_t bytes = size_t(part) * element;
      pieces.resize(bytes * size_t(ranks));
      const char *from = static_cast<const char *>(mine) + size_t(at) * element;
      if (int32_t code = allGather(user, first, ranks, from, pieces.data(), bytes); code != HEWN_OK)
        return code;
      for (int32_t r = 1; r < ranks; ++r)
        if (int32_t code = hewn_communicator_add(pieces.data(), pieces.data() + bytes * size_t(r), part, type);
            code != HEWN_OK)
          return code;
      std::memcpy(static_cast<char *>(sum) + size_t(at) * element, pieces.data(), bytes);
    }
    return HEWN_OK;
  }

  /// Each pair of ranks exchanges the shards for each other. All ranks process the pairs in the
  /// same order, and the lower rank sends first, which avoids deadlocks.
  static int32_t reduceScatter(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                               DLDataType type) {
    auto *self = static_cast<ObjectRanks *>(user);
    size_t bytes = size_t(count) * (type.bits / 8);
    int32_t own = self->table.rank - first;
    const char *given = static_cast<const char *>(mine);
    std::vector<char> pieces(bytes * size_t(ranks));
    std::memcpy(pieces.data() + bytes * size_t(own), given + bytes * size_t(own), bytes);
    for (int32_t r = 0; r < ranks; ++r) {
      char *piece = pieces.data() + bytes * size_t(r);
      for (bool sends : {own<r, own> r}) {
        if (r == own)
          continue;
        int32_t code =
            sends ? send(user, first + r, given + bytes * size_t(r), bytes) : receive(user, first + r, piece, bytes);
        if (code != HEWN_OK)
          return code;
      }
    }
    std::memcpy(sum, pieces.data(), bytes);
    for (int32_t r = 1; r < ranks; ++r)
      if (int32_t code = hewn_communicator_add(sum, pieces.data() + bytes * size_t(r), count, type); code != HEWN_OK)
        return code;
    return HEWN_OK;
  }

  static int32_t send(void *user, int32_t to, const void *data, size_t bytes) {
    auto *self = static_cast<ObjectRanks *>(user);
    return self->guarded([&] {
      View from(data, bytes, PyBUF_READ);
      self->object.attr("send")(to, from.view);
    });
  }
  static int32_t receive(void *user, int32_t from, void *data, size_t bytes) {
    auto *self = static_cast<ObjectRanks *>(user);
    return self->guarded([&] {
      View into(data, bytes, PyBUF_WRITE);
      self->object.attr("receive")(from, into.view);
      self->table.moved += bytes;
    });
  }
  static void abandon(void *, const char *) {}
  static const char *message(void *user) { return static_cast<ObjectRanks *>(user)->text.c_str(); }
  static void destroy(void *) {}

  nb::object object;
  std::string text;
};

/// Communicator between processes of one machine, in the runtime's shared memory.
class LocalRanks {
public:
  LocalRanks(const std::string &name, int32_t rank, int32_t ranks, double seconds) {
    if (!(seconds > 0 && seconds < 1e9))
      throw std::invalid_argument("timeout must be a number of seconds above 0");
    hewn_status status;
    {
      nb::gil_scoped_release unlocked;
      status = hewn_local_communicator_create(name.c_str(), rank, ranks, std::max<int64_t>(1, int64_t(seconds * 1000)),
                                              &table);
    }
    if (status.code != HEWN_OK)
      throw std::runtime_error(status.message);
  }
  LocalRanks(const LocalRanks &) = delete;
  ~LocalRanks() { hewn_communicator_destroy(table); }
  int32_t rank() const { return table->rank; }
  int32_t ranks() const { return table->num_ranks; }
  hewn_communicator *table = nullptr;
};

/// Communicator between devices by NCCL, which uses another communicator to connect the ranks.
class NcclRanks {
public:
  NcclRanks(nb::object over, double seconds) : held(std::move(over)) {
    if (!(seconds > 0 && seconds < 1e9))
      throw std::invalid_argument("timeout must be a number of seconds above 0");
    hewn_communicator *host = nullptr;
    if (nb::isinstance<LocalRanks>(held))
      host = nb::cast<LocalRanks &>(held).table;
    else
      host = &(object = std::make_unique<ObjectRanks>(held))->table;
    hewn_status status = hewn_nccl_communicator_create(host, std::max<int64_t>(1, int64_t(seconds * 1000)), &table);
    if (status.code != HEWN_OK)
      throw std::runtime_error(status.message);
  }
  NcclRanks(const NcclRanks &) = delete;
  ~NcclRanks() { hewn_communicator_destroy(table); }
  int32_t rank() const { return table->rank; }
  int32_t ranks() const { return table->num_ranks; }
  hewn_communicator *table = nullptr;

private:
  nb::object held;
  std::unique_ptr<ObjectRanks> object;
};

} // namespace hewn::python

#endif
