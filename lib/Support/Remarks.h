// SPDX-License-Identifier: Apache-2.0
//
// Optimization remarks: MLIR's remarks (mlir/IR/Remarks.h), collected with the ONNX node of each.
//
// A pass that does not apply a fusion, a layout, an in-place write or a faster kernel form emits a
// `missed` remark with the reason. `hewn explain` summarizes remarks by reason; `--remarks` writes
// all of them. If remarks are not collected, emitting one costs a pointer check.
#ifndef HEWN_LIB_SUPPORT_REMARKS_H
#define HEWN_LIB_SUPPORT_REMARKS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace hewn {

/// One optimization remark. `node` is the name of the ONNX node; `others` are further named values,
/// such as "Producer" with the value "relu1".
struct Remark {
  std::string pass, name, node, variant, reason;
  std::vector<std::pair<std::string, std::string>> others;
  /// Place of the op in its module: the number of the kernel or function that contains it.
  int64_t place = 0;
  llvm::remarks::Type type = llvm::remarks::Type::Missed;

  bool operator<(const Remark &other) const;
};

/// Attribute of a module that is a variant of an artifact: the variant's title for reports, such as
/// "x86-64-v3, where n = 1". Absent if the artifact has one variant.
inline constexpr llvm::StringLiteral kTitleAttr = "plan.title";

/// The optimization remarks of one compile.
class Remarks {
public:
  /// Adds an optimization remark. Thread-safe.
  void add(Remark remark);
  /// Sorts the remarks by variant, in the order of `titles`, and by place, and drops duplicates.
  /// The passes of each kernel run in order, so that the result does not depend on the number of
  /// threads.
  void sort(llvm::ArrayRef<llvm::StringRef> titles);
  llvm::ArrayRef<Remark> list() const { return all; }

  /// Writes one YAML document per remark, in the format of LLVM's tools (opt-viewer,
  /// llvm-remarkutil).
  void writeYaml(llvm::raw_ostream &os) const;
  /// Writes the remarks as a JSON array of objects with the keys pass, name, type, node, reason and
  /// the names in `others`.
  void writeJson(llvm::raw_ostream &os) const;
  /// Returns a text that groups remarks by name and reason, the most frequent group first, with the
  /// first few nodes of each group.
  std::string summary() const;

private:
  std::mutex lock;
  std::vector<Remark> all;
};

/// While an object of this class exists, it adds the remarks that are emitted in `context` to
/// `remarks`.
class CollectRemarks {
public:
  CollectRemarks(mlir::MLIRContext &context, Remarks &remarks);
  CollectRemarks(const CollectRemarks &) = delete;
  ~CollectRemarks();

private:
  mlir::MLIRContext &context;
};

/// Emits a remark that the pass `pass` did not apply the optimization `name` to `op`, with the
/// reason. The caller may append values with `<< remark::metric("Producer", …)`.
mlir::remark::detail::InFlightRemark missed(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef name,
                                            llvm::StringRef reason);

/// Returns true if optimization remarks are collected. Callers check it before they compute
/// expensive reasons.
bool wantsRemarks(mlir::Operation *op);

/// The answer yes or no to whether an optimization applies, with the reason. The reason is a string
/// literal.
class Eligibility {
public:
  static Eligibility yes(llvm::StringRef why = "") { return {true, why}; }
  static Eligibility no(llvm::StringRef why) { return {false, why}; }
  explicit operator bool() const { return holds; }
  llvm::StringRef why() const { return reason; }

private:
  Eligibility(bool holds, llvm::StringRef reason) : holds(holds), reason(reason) {}
  bool holds;
  llvm::StringRef reason;
};

/// A value, or the reason why there is none. The reason is a string literal.
template <typename T> class OrReason {
public:
  OrReason(T value) : value(std::move(value)) {}
  OrReason(Eligibility no) : reason(no.why()) {
    assert(!no && "an OrReason without a value needs a negative Eligibility");
  }
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
