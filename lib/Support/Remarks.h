// SPDX-License-Identifier: Apache-2.0
//
// What passes say of what they did not do, and why: MLIR's remarks (mlir/IR/Remarks.h), collected with the ONNX node of each.
//
// A pass that leaves a fusion, a layout, a write in place or a faster form undone emits `missed`; `hewn explain` tells them by
// reason, `--remarks` writes them all. Where nobody collects, a remark costs the look at one pointer.
#ifndef HEWN_LIB_SUPPORT_REMARKS_H
#define HEWN_LIB_SUPPORT_REMARKS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hewn {

/// One remark. `node` is the ONNX node, `others` what the remark names beside it ("Producer" → "relu1").
struct Remark {
  std::string pass, name, node, variant, reason;
  std::vector<std::pair<std::string, std::string>> others;
  llvm::remarks::Type type = llvm::remarks::Type::Missed;

  bool operator<(const Remark &other) const;
};

/// The remarks of one compile, each once, in the order in which they came.
class Remarks {
public:
  /// Equal ones are kept once. From any thread.
  void add(Remark remark);
  llvm::ArrayRef<Remark> list() const { return all; }

  /// As LLVM's tools read them (opt-viewer, llvm-remarkutil): one YAML document a remark.
  void writeYaml(llvm::raw_ostream &os) const;
  /// An array of objects: pass, name, type, node, reason and what else is named.
  void writeJson(llvm::raw_ostream &os) const;
  /// By pass and reason, the most frequent first, with the first nodes of each.
  std::string summary() const;

  /// Which of several programs of one compile is compiled: "x86-64-v3, where n = 1".
  std::string variant;

private:
  std::mutex lock;
  std::vector<Remark> all;
  std::set<Remark> known;
};

/// While it lives, remarks in `context` go to `remarks`.
class CollectRemarks {
public:
  CollectRemarks(mlir::MLIRContext &context, Remarks &remarks);
  CollectRemarks(const CollectRemarks &) = delete;
  ~CollectRemarks();

private:
  mlir::MLIRContext &context;
};

/// Says that `pass` did not do `name` at `op`, and why. More may be said by `<< remark::metric("Producer", …)`.
mlir::remark::detail::InFlightRemark missed(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef name,
                                            llvm::StringRef reason);

/// Whether somebody collects: for reasons that cost time to find.
bool wantsRemarks(mlir::Operation *op);

/// A yes or no and the reason, a literal, for it.
class Verdict {
public:
  static Verdict yes(llvm::StringRef why = "") { return {true, why}; }
  static Verdict no(llvm::StringRef why) { return {false, why}; }
  explicit operator bool() const { return holds; }
  llvm::StringRef why() const { return reason; }

private:
  Verdict(bool holds, llvm::StringRef reason) : holds(holds), reason(reason) {}
  bool holds;
  llvm::StringRef reason;
};

/// A value, or the reason, a literal, why there is none.
template <typename T> class Found {
public:
  Found(T value) : value(std::move(value)) {}
  Found(Verdict no) : reason(no.why()) { assert(!no && "nothing is found by a yes"); }
  explicit operator bool() const { return value.has_value(); }
  const T &operator*() const { return *value; }
  const T *operator->() const { return &*value; }
  llvm::StringRef why() const { return reason; }

private:
  std::optional<T> value;
  llvm::StringRef reason;
};

} // namespace hewn

#endif
