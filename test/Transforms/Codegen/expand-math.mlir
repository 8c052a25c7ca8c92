// RUN: hewn-opt %s --hewn-expand-math --cse | FileCheck %s

// The pass declares each math function that has no expansion once, and calls it. float64 functions
// have one only on targets with FMA instructions (expand-math-f64.mlir).
// CHECK-DAG: func.func private @cbrtf(f32) -> f32
// CHECK-DAG: func.func private @exp(f64) -> f64
// CHECK-DAG: func.func private @sinf(f32) -> f32

// Exponentials are reduced with a two-part ln 2 and scaled in one step, with n clamped to 127. The
// exponent of the power of two is shifted out of the low bits of the sum with a biased rounding
// constant. A select flushes results that would be denormal. No conversion, no call.
// CHECK-LABEL: func.func @exp_vector
// CHECK-SAME: (%[[X:.*]]: vector<16xf32>)
// CHECK: %[[SUM:.*]] = math.fma %[[X]]
// CHECK: %[[LARGE:.*]] = arith.cmpf ogt, %[[SUM]], %{{.*}} : vector<16xf32>
// CHECK: %[[N:.*]] = arith.select %[[LARGE]]
// CHECK-NOT: fptosi
// CHECK-NOT: call
// CHECK-NOT: arith.addf
// CHECK-COUNT-9: math.fma
// CHECK-NOT: math.fma
// CHECK: %[[BITS:.*]] = arith.bitcast %[[N]] : vector<16xf32> to vector<16xi32>
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[BITS]], %{{.*}} : vector<16xi32>
// CHECK: %[[POWER:.*]] = arith.bitcast %[[SHIFTED]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[POWER]] : vector<16xf32>
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %[[X]]
// CHECK: %[[RESULT:.*]] = arith.select %[[SMALL]], %{{.*}}, %[[SCALED]]
// CHECK: return %[[RESULT]]
func.func @exp_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// An operand that is known to be at most 0 needs no clamp and one coefficient less. One that is
// known to be above the flushed range needs no select.
// CHECK-LABEL: func.func @exp_of_known_range
// CHECK-NOT: arith.select
// CHECK-COUNT-9: math.fma
// CHECK-NOT: math.fma
// CHECK: arith.select
// CHECK: arith.minimumf
// CHECK: arith.negf
// CHECK-NOT: arith.select
// CHECK: return
func.func @exp_of_known_range(%x: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
  %limit = arith.constant dense<80.0> : vector<16xf32>
  %a = math.absf %x : vector<16xf32>
  %b = arith.negf %a : vector<16xf32>
  %0 = math.exp %b : vector<16xf32>
  %c = arith.minimumf %a, %limit : vector<16xf32>
  %d = arith.negf %c : vector<16xf32>
  %1 = math.exp %d : vector<16xf32>
  return %0, %1 : vector<16xf32>, vector<16xf32>
}

// CHECK-LABEL: func.func @scalar_too
// CHECK-NOT: math.tanh
// CHECK: math.copysign %{{.*}} : f32
func.func @scalar_too(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @huge_angles_branch
// CHECK: %[[ANY:.*]] = vector.reduction <or>
// CHECK: scf.if %[[ANY]] -> (vector<8xf32>) {
// CHECK: scf.for
// CHECK: call @sinf
// CHECK: } else {
// CHECK-NOT: call
// CHECK: scf.yield
func.func @huge_angles_branch(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sin %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func.func @other_shapes_and_types
// CHECK: vector.shape_cast %{{.*}} : vector<2x4xf32> to vector<8xf32>
// CHECK: vector.shape_cast %{{.*}} : vector<8xf32> to vector<2x4xf32>
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @other_shapes_and_types(%x: vector<2x4xf32>, %h: f16) -> (vector<2x4xf32>, f16) {
  %0 = math.log %x : vector<2x4xf32>
  %1 = math.erf %h : f16
  return %0, %1 : vector<2x4xf32>, f16
}

// CHECK-LABEL: func.func @no_formula
// CHECK: call @cbrtf
// CHECK: scf.for
// CHECK: call @exp(%{{.*}}) : (f64) -> f64
func.func @no_formula(%x: f32, %y: vector<4xf64>) -> (f32, vector<4xf64>) {
  %0 = math.cbrt %x : f32
  %1 = math.exp %y : vector<4xf64>
  return %0, %1 : f32, vector<4xf64>
}

// CHECK-LABEL: func.func @instructions_stay
// CHECK: math.sqrt
// CHECK: math.fma
// CHECK: math.roundeven
// CHECK: math.floor
func.func @instructions_stay(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.sqrt %x : vector<4xf32>
  %1 = math.fma %0, %x, %x : vector<4xf32>
  %2 = math.roundeven %1 : vector<4xf32>
  %3 = math.floor %2 : vector<4xf32>
  return %3 : vector<4xf32>
}

// The pass expands divisions of 32-bit integers to float64 divisions. It keeps divisions by a
// constant.
// CHECK-LABEL: func.func @quotients
// CHECK: %[[Q:.*]] = arith.divf %{{.*}} : vector<16xf64>
// CHECK: arith.fptosi %[[Q]] : vector<16xf64> to vector<16xi32>
// CHECK: arith.divsi %{{.*}}, %cst
func.func @quotients(%x: vector<16xi32>, %y: vector<16xi32>) -> (vector<16xi32>, vector<16xi32>) {
  %seven = arith.constant dense<7> : vector<16xi32>
  %0 = arith.divsi %x, %y : vector<16xi32>
  %1 = arith.divsi %x, %seven : vector<16xi32>
  return %0, %1 : vector<16xi32>, vector<16xi32>
}

// The expansion of a float remainder (fmod): if the quotient is small, subtracting its integral
// part times the divisor gives an exact remainder.
// CHECK-LABEL: func.func @remainder
// CHECK: scf.if
// CHECK: math.trunc
// CHECK: math.fma
// CHECK: else
// CHECK: arith.remf
func.func @remainder(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = arith.remf %x, %y : vector<16xf32>
  return %0 : vector<16xf32>
}

// The expansion computes quotients of 64-bit integers in float64 if both operands have at most 53
// bits.
// CHECK-LABEL: func.func @long_quotients
// CHECK: arith.cmpi ult
// CHECK: arith.cmpi ult
// CHECK: %[[SHORT:.*]] = vector.reduction <and>
// CHECK: scf.if %[[SHORT]] -> (vector<8xi64>) {
// CHECK: arith.divf %{{.*}} : vector<8xf64>
// CHECK: } else {
// CHECK: arith.divsi %{{.*}} : vector<8xi64>
func.func @long_quotients(%x: vector<8xi64>, %y: vector<8xi64>) -> vector<8xi64> {
  %0 = arith.divsi %x, %y : vector<8xi64>
  return %0 : vector<8xi64>
}

// The pass does not change divisions of index values and divisions by constants.
// CHECK-LABEL: func.func @positions
// CHECK-NOT: divf
// CHECK: return
func.func @positions(%x: vector<8xindex>, %y: vector<8xindex>, %z: vector<8xi64>) -> (vector<8xindex>, vector<8xi64>) {
  %three = arith.constant dense<3> : vector<8xi64>
  %0 = arith.divui %x, %y : vector<8xindex>
  %1 = arith.divsi %z, %three : vector<8xi64>
  return %0, %1 : vector<8xindex>, vector<8xi64>
}

// The maximum of several values becomes comparisons that drop NaN, and one NaN check for each two
// operands.
// CHECK-LABEL: func.func @largest_of_five
// CHECK-COUNT-3: arith.cmpf ord
// CHECK-COUNT-4: arith.cmpf ogt
// CHECK: %[[NAN:.*]] = arith.constant dense<0x7FC00000>
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[NAN]]
// CHECK-NOT: maximumf
func.func @largest_of_five(%a: vector<8xf32>, %b: vector<8xf32>, %c: vector<8xf32>, %d: vector<8xf32>,
                           %e: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.maximumf %a, %b fastmath<nsz> : vector<8xf32>
  %1 = arith.maximumf %c, %d fastmath<nsz> : vector<8xf32>
  %2 = arith.maximumf %0, %1 fastmath<nsz> : vector<8xf32>
  %3 = arith.maximumf %2, %e fastmath<nsz> : vector<8xf32>
  return %3 : vector<8xf32>
}

// The pass keeps a maximum of two values, and intermediate maxima that have other uses.
// CHECK-LABEL: func.func @few_or_read
// CHECK-COUNT-3: arith.minimumf
func.func @few_or_read(%a: vector<8xf32>, %b: vector<8xf32>, %c: vector<8xf32>, %d: vector<8xf32>)
    -> (vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %0 = arith.minimumf %a, %b fastmath<nsz> : vector<8xf32>
  %1 = arith.minimumf %0, %c fastmath<nsz> : vector<8xf32>
  %2 = arith.minimumf %1, %d fastmath<nsz> : vector<8xf32>
  return %0, %1, %2 : vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// For the maximum of a row, the pass reduces lanes without NaN handling and checks once for NaN,
// including the lanes under a mask. The initial value of the maximum is -inf.
// CHECK-LABEL: func.func @largest_of_row
// CHECK-SAME: %[[A:.*]]: vector<4xf32>, %[[B:.*]]: vector<4xf32>, %[[M:.*]]: vector<4xi1>)
// CHECK: %[[IN:.*]] = arith.select %[[M]], %[[B]], %{{.*}} :
// CHECK: %[[N:.*]] = arith.cmpf ord, %[[A]], %[[IN]]
// CHECK: %[[G:.*]] = arith.cmpf ogt, %[[A]], %[[B]]
// CHECK: %[[MOST:.*]] = arith.select %[[G]], %[[A]], %[[B]]
// CHECK: arith.select %[[M]], %[[MOST]], %[[A]]
// CHECK: arith.cmpf ogt, %{{.*}} : vector<2xf32>
// CHECK: %[[L:.*]] = arith.select %{{.*}} : vector<1xi1>, vector<1xf32>
// CHECK: %[[ALL:.*]] = vector.reduction <and>, %[[N]]
// CHECK: %[[Y:.*]] = arith.select %[[ALL]], %[[L]], %{{.*}} : vector<1xf32>
// CHECK-NOT: maximumf
// CHECK: return %[[Y]]
func.func @largest_of_row(%a: vector<4xf32>, %b: vector<4xf32>, %mask: vector<4xi1>) -> vector<1xf32> {
  %least = arith.constant dense<0xFF800000> : vector<4xf32>
  %0 = arith.maximumf %least, %a fastmath<nsz> : vector<4xf32>
  %1 = arith.maximumf %0, %b fastmath<nsz> : vector<4xf32>
  %2 = arith.select %mask, %1, %0 : vector<4xi1>, vector<4xf32>
  %3 = vector.shuffle %2, %2 [0, 1] : vector<4xf32>, vector<4xf32>
  %4 = vector.shuffle %2, %2 [2, 3] : vector<4xf32>, vector<4xf32>
  %5 = arith.maximumf %3, %4 fastmath<nsz> : vector<2xf32>
  %6 = vector.shuffle %5, %5 [0] : vector<2xf32>, vector<2xf32>
  %7 = vector.shuffle %5, %5 [1] : vector<2xf32>, vector<2xf32>
  %8 = arith.maximumf %6, %7 fastmath<nsz> : vector<1xf32>
  return %8 : vector<1xf32>
}

// The pass does not change maxima that ignore NaN, which are one instruction already, and lane
// reductions by shuffles that do not halve the vector.
// CHECK-LABEL: func.func @lost_or_other
// CHECK-COUNT-4: arith.maximumf
func.func @lost_or_other(%a: vector<4xf32>) -> (vector<1xf32>, vector<1xf32>) {
  %0 = vector.shuffle %a, %a [0, 1] : vector<4xf32>, vector<4xf32>
  %1 = vector.shuffle %a, %a [2, 3] : vector<4xf32>, vector<4xf32>
  %2 = arith.maximumf %0, %1 fastmath<nnan,nsz> : vector<2xf32>
  %3 = vector.shuffle %2, %2 [0] : vector<2xf32>, vector<2xf32>
  %4 = vector.shuffle %2, %2 [1] : vector<2xf32>, vector<2xf32>
  %5 = arith.maximumf %3, %4 fastmath<nnan,nsz> : vector<1xf32>
  %6 = vector.shuffle %a, %a [0, 2] : vector<4xf32>, vector<4xf32>
  %7 = vector.shuffle %a, %a [1, 3] : vector<4xf32>, vector<4xf32>
  %8 = arith.maximumf %6, %7 fastmath<nsz> : vector<2xf32>
  %9 = vector.shuffle %8, %8 [1] : vector<2xf32>, vector<2xf32>
  %10 = vector.shuffle %8, %8 [0] : vector<2xf32>, vector<2xf32>
  %11 = arith.maximumf %9, %10 fastmath<nsz> : vector<1xf32>
  return %5, %11 : vector<1xf32>, vector<1xf32>
}

// For an argument known to be in [0, 1], the logarithm needs no exponent extraction, and the
// exponential before it no upper bound.
// CHECK-LABEL: func.func @fraction
// CHECK: arith.cmpf olt
// CHECK-NOT: arith.cmpf
// CHECK-NOT: arith.shrsi
// CHECK: return
func.func @fraction(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.absf %x : vector<8xf32>
  %1 = arith.negf %0 : vector<8xf32>
  %2 = math.exp %1 : vector<8xf32>
  %3 = math.log1p %2 : vector<8xf32>
  return %3 : vector<8xf32>
}
