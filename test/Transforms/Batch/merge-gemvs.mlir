// RUN: hewn-opt %s --split-input-file --hewn-merge-gemvs --canonicalize | FileCheck %s

// The pass merges matmuls with equal weights that read rows of one tensor, through a reshape, in
// any order. No matmul reads the first row. The pass does not merge the row that comes after a gap.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<6x1x16xf32>, %[[W:[a-z0-9]*]]: tensor<16x32xf32>
// CHECK: %[[F:.*]] = graph.reshape %[[X]] {shape = [96]}
// CHECK: %[[S:.*]] = graph.slice %[[F]] {offsets = [16], sizes = [48]
// CHECK: %[[R:.*]] = graph.reshape %[[S]] {shape = [3, 16]}
// CHECK: %[[P:.*]] = graph.matmul %[[R]], %[[W]] : (tensor<3x16xf32>, tensor<16x32xf32>) -> tensor<3x32xf32>
// CHECK: %[[I:.*]] = graph.reshape %[[P]] {shape = [3, 1, 32]}
// CHECK: %[[S2:.*]] = graph.slice %[[I]] {offsets = [1, 0, 0], sizes = [1, 1, 32]
// CHECK: %[[R2:.*]] = graph.reshape %[[S2]] {shape = [1, 32]}
// CHECK: %[[S1:.*]] = graph.slice %[[I]] {offsets = [0, 0, 0], sizes = [1, 1, 32]
// CHECK: %[[R1:.*]] = graph.reshape %[[S1]] {shape = [1, 32]}
// CHECK: %[[S3:.*]] = graph.slice %[[I]] {offsets = [2, 0, 0], sizes = [1, 1, 32]
// CHECK: %[[R3:.*]] = graph.reshape %[[S3]] {shape = [1, 32]}
// CHECK: %[[LAST:.*]] = graph.matmul {{.*}} : (tensor<1x16xf32>, tensor<16x32xf32>) -> tensor<1x32xf32>
// CHECK: return %[[R1]], %[[R2]], %[[R3]], %[[LAST]]
func.func @rows(%x: tensor<6x1x16xf32>, %w: tensor<16x32xf32>) -> (tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>) {
  %0 = graph.slice %x {offsets = [2, 0, 0], sizes = [1, 1, 16], steps = array<i64: 1, 1, 1>} : (tensor<6x1x16xf32>) -> tensor<1x1x16xf32>
  %1 = graph.reshape %0 {shape = [1, 16]} : (tensor<1x1x16xf32>) -> tensor<1x16xf32>
  %2 = graph.matmul %1, %w : (tensor<1x16xf32>, tensor<16x32xf32>) -> tensor<1x32xf32>
  %3 = graph.slice %x {offsets = [1, 0, 0], sizes = [1, 1, 16], steps = array<i64: 1, 1, 1>} : (tensor<6x1x16xf32>) -> tensor<1x1x16xf32>
  %4 = graph.reshape %3 {shape = [1, 16]} : (tensor<1x1x16xf32>) -> tensor<1x16xf32>
  %5 = graph.matmul %4, %w : (tensor<1x16xf32>, tensor<16x32xf32>) -> tensor<1x32xf32>
  %6 = graph.slice %x {offsets = [3, 0, 0], sizes = [1, 1, 16], steps = array<i64: 1, 1, 1>} : (tensor<6x1x16xf32>) -> tensor<1x1x16xf32>
  %7 = graph.reshape %6 {shape = [1, 16]} : (tensor<1x1x16xf32>) -> tensor<1x16xf32>
  %8 = graph.matmul %7, %w : (tensor<1x16xf32>, tensor<16x32xf32>) -> tensor<1x32xf32>
  %9 = graph.slice %x {offsets = [5, 0, 0], sizes = [1, 1, 16], steps = array<i64: 1, 1, 1>} : (tensor<6x1x16xf32>) -> tensor<1x1x16xf32>
  %10 = graph.reshape %9 {shape = [1, 16]} : (tensor<1x1x16xf32>) -> tensor<1x16xf32>
  %11 = graph.matmul %10, %w : (tensor<1x16xf32>, tensor<16x32xf32>) -> tensor<1x32xf32>
  return %5, %2, %8, %11 : tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>
}

// -----

// The pass merges matmuls in the body of a loop that together read all rows of a tensor, two rows
// each.
// CHECK-LABEL: func.func @body(
// CHECK: ^bb0
// CHECK: %[[R:.*]] = graph.reshape %{{.*}} {shape = [4, 16]}
// CHECK: graph.matmul %[[R]], %{{.*}} -> tensor<4x32xf32>
// CHECK-NOT: graph.matmul
func.func @body(%x: tensor<5x4x16xf32>, %w: tensor<16x32xf32>) -> (tensor<5x2x32xf32>, tensor<5x2x32xf32>) {
  %0:2 = graph.scan %x attributes {numStates = 0 : i64, backward = array<i1: false, false, false>} {
  ^bb0(%s: tensor<4x16xf32>):
    %1 = graph.slice %s {offsets = [0, 0], sizes = [2, 16], steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<2x16xf32>
    %2 = graph.slice %s {offsets = [2, 0], sizes = [2, 16], steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<2x16xf32>
    %3 = graph.matmul %1, %w : (tensor<2x16xf32>, tensor<16x32xf32>) -> tensor<2x32xf32>
    %4 = graph.matmul %2, %w : (tensor<2x16xf32>, tensor<16x32xf32>) -> tensor<2x32xf32>
    graph.yield %3, %4 : tensor<2x32xf32>, tensor<2x32xf32>
  } : (tensor<5x4x16xf32>) -> (tensor<5x2x32xf32>, tensor<5x2x32xf32>)
  return %0#0, %0#1 : tensor<5x2x32xf32>, tensor<5x2x32xf32>
}

// -----

// A merged matmul has at most as many rows as its weight matrix, or at most 64.
// CHECK-LABEL: func.func @many(
// CHECK: graph.matmul {{.*}} -> tensor<64x8xf32>
// CHECK: graph.matmul {{.*}} -> tensor<16x8xf32>
// CHECK-NOT: graph.matmul
func.func @many(%x: tensor<80x16xf32>, %w: tensor<16x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %s0 = graph.slice %x {offsets = [0, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p0 = graph.matmul %s0, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s1 = graph.slice %x {offsets = [8, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p1 = graph.matmul %s1, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s2 = graph.slice %x {offsets = [16, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p2 = graph.matmul %s2, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s3 = graph.slice %x {offsets = [24, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p3 = graph.matmul %s3, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s4 = graph.slice %x {offsets = [32, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p4 = graph.matmul %s4, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s5 = graph.slice %x {offsets = [40, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p5 = graph.matmul %s5, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s6 = graph.slice %x {offsets = [48, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p6 = graph.matmul %s6, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s7 = graph.slice %x {offsets = [56, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p7 = graph.matmul %s7, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s8 = graph.slice %x {offsets = [64, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p8 = graph.matmul %s8, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s9 = graph.slice %x {offsets = [72, 0], sizes = [8, 16], steps = array<i64: 1, 1>} : (tensor<80x16xf32>) -> tensor<8x16xf32>
  %p9 = graph.matmul %s9, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7, %p8, %p9 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Not merged: the matmuls write the operands of a concat in place.
// CHECK-LABEL: func.func @together(
// CHECK-COUNT-2: graph.matmul {{.*}} -> tensor<1x8xf32>
func.func @together(%x: tensor<2x16xf32>, %w: tensor<16x8xf32>) -> tensor<2x1x8xf32> {
  %0 = graph.slice %x {offsets = [0, 0], sizes = [1, 16], steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<1x16xf32>
  %1 = graph.slice %x {offsets = [1, 0], sizes = [1, 16], steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<1x16xf32>
  %2 = graph.matmul %0, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %3 = graph.matmul %1, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %4 = graph.reshape %2 {shape = [1, 1, 8]} : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %5 = graph.reshape %3 {shape = [1, 1, 8]} : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %6 = graph.concat %4, %5 {axis = 0 : i64} : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<2x1x8xf32>
  return %6 : tensor<2x1x8xf32>
}

// -----

// Not merged: matmuls whose left operands are columns or strided slices of a tensor, matmuls with
// different weights or with many rows, and matmuls of rows that another matmul reads as its right
// operand.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-10: graph.matmul
// CHECK-NOT: graph.matmul
func.func @others(%x: tensor<2x32xf32>, %y: tensor<64x16xf32>, %v: tensor<16x8xf32>, %w: tensor<16x8xf32>, %m: tensor<2x4x16xf32>, %n: tensor<1x16x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %0 = graph.slice %x {offsets = [0, 0], sizes = [2, 16], steps = array<i64: 1, 1>} : (tensor<2x32xf32>) -> tensor<2x16xf32>
  %1 = graph.slice %x {offsets = [0, 16], sizes = [2, 16], steps = array<i64: 1, 1>} : (tensor<2x32xf32>) -> tensor<2x16xf32>
  %2 = graph.matmul %0, %w : (tensor<2x16xf32>, tensor<16x8xf32>) -> tensor<2x8xf32>
  %3 = graph.matmul %1, %w : (tensor<2x16xf32>, tensor<16x8xf32>) -> tensor<2x8xf32>
  %4 = graph.slice %x {offsets = [0, 0], sizes = [1, 16], steps = array<i64: 1, 2>} : (tensor<2x32xf32>) -> tensor<1x16xf32>
  %5 = graph.slice %x {offsets = [0, 1], sizes = [1, 16], steps = array<i64: 1, 2>} : (tensor<2x32xf32>) -> tensor<1x16xf32>
  %6 = graph.matmul %4, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %7 = graph.matmul %5, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %8 = graph.slice %y {offsets = [0, 0], sizes = [1, 16], steps = array<i64: 1, 1>} : (tensor<64x16xf32>) -> tensor<1x16xf32>
  %9 = graph.slice %y {offsets = [1, 0], sizes = [1, 16], steps = array<i64: 1, 1>} : (tensor<64x16xf32>) -> tensor<1x16xf32>
  %10 = graph.matmul %8, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %11 = graph.matmul %9, %v : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %12 = graph.slice %y {offsets = [0, 0], sizes = [32, 16], steps = array<i64: 1, 1>} : (tensor<64x16xf32>) -> tensor<32x16xf32>
  %13 = graph.slice %y {offsets = [32, 0], sizes = [32, 16], steps = array<i64: 1, 1>} : (tensor<64x16xf32>) -> tensor<32x16xf32>
  %14 = graph.matmul %12, %w : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %15 = graph.matmul %13, %w : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %16 = graph.slice %m {offsets = [0, 0, 0], sizes = [1, 4, 16], steps = array<i64: 1, 1, 1>} : (tensor<2x4x16xf32>) -> tensor<1x4x16xf32>
  %17 = graph.slice %m {offsets = [1, 0, 0], sizes = [1, 4, 16], steps = array<i64: 1, 1, 1>} : (tensor<2x4x16xf32>) -> tensor<1x4x16xf32>
  %18 = graph.matmul %16, %n : (tensor<1x4x16xf32>, tensor<1x16x8xf32>) -> tensor<1x4x8xf32>
  %19 = graph.matmul %17, %n : (tensor<1x4x16xf32>, tensor<1x16x8xf32>) -> tensor<1x4x8xf32>
  return %2, %3, %6, %7, %10, %11, %14, %15, %18, %19 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>
}
