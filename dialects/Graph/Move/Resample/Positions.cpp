// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Move/Resample/Positions.h"

using namespace mlir;

namespace hewn::graph {

Value cubicWeight(Positions &p, Value x, double a) {
  Value inner = p.add(p.mul(p.mul(p.sub(p.mul(p.constant(a + 2), x), p.constant(a + 3)), x), x), p.constant(1));
  Value outer = p.sub(p.mul(p.add(p.mul(p.sub(p.mul(p.constant(a), x), p.constant(5 * a)), x), p.constant(8 * a)), x),
                      p.constant(4 * a));
  Value far = p.select(p.compare(arith::CmpFPredicate::OLT, x, p.constant(2)), outer, p.constant(0));
  return p.select(p.compare(arith::CmpFPredicate::OLE, x, p.constant(1)), inner, far);
}

} // namespace hewn::graph
