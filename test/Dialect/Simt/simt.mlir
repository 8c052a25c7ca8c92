// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-simt | FileCheck %s --check-prefix=CALL
// Thread positions, barriers, warp matrices and asynchronous copies: their syntax, their errors,
// and the functions that they call.

// CALL-DAG: llvm.func @hewn.simt.thread() -> i32 attributes {{.*}}memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none
// CALL-DAG: llvm.func @hewn.simt.barrier(i32) attributes {convergent, no_unwind, will_return}
// CALL-DAG: llvm.func @hewn.simt.shuffle(i32, i32, i32, i32) -> i32 attributes {convergent, {{.*}}inaccessibleMem = readwrite

// CHECK-LABEL: func.func @threads
// CALL-LABEL: func.func @threads
func.func @threads(%counter: i64, %x: i32, %f: f32) -> (i32, f32) {
  // CHECK: simt.thread_id
  // CALL: llvm.call @hewn.simt.thread() : () -> i32
  %0 = simt.thread_id
  // CHECK: simt.block_id
  // CALL: llvm.call @hewn.simt.block()
  %1 = simt.block_id
  // CHECK: simt.num_blocks
  // CALL: llvm.call @hewn.simt.blocks()
  %2 = simt.num_blocks
  // CHECK: simt.barrier{{$}}
  // CALL: llvm.call @hewn.simt.barrier(%{{.*}}) : (i32) -> ()
  simt.barrier
  // CHECK: simt.barrier of 128
  // CALL: llvm.call @hewn.simt.barrier.some(%{{.*}}, %{{.*}}) : (i32, i32) -> ()
  simt.barrier of 128
  // CHECK: simt.warp_barrier
  // CALL: llvm.call @hewn.simt.warp.barrier
  simt.warp_barrier
  // CHECK: simt.shuffle_xor %{{.*}}, 16 of 32
  // CALL: llvm.call @hewn.simt.shuffle(%c-1{{.*}}, %{{.*}}, %c16{{.*}}, %c31
  %3 = simt.shuffle_xor %x, 16 of 32
  // CHECK: simt.counter_add %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.simt.counter.add
  %4 = simt.counter_add %counter, %3
  // CHECK: simt.counter_read %{{.*}}
  // CALL: llvm.call @hewn.simt.counter.read
  %5 = simt.counter_read %counter
  // CHECK: simt.counter_read %{{.*}} {relaxed}
  // CALL: llvm.call @hewn.simt.counter.peek
  %6 = simt.counter_read %counter {relaxed}
  // CHECK: simt.exp2 %{{.*}}
  // CALL: llvm.call @hewn.simt.exp2(%{{.*}}) : (f32) -> f32
  %7 = simt.exp2 %f
  return %5, %7 : i32, f32
}

// -----

// CALL: llvm.func @hewn.simt.ldmatrix(i64) -> !llvm.struct<(i32, i32, i32, i32)> attributes {convergent, {{.*}}other = read
// CHECK-LABEL: func.func @warp
// CALL-LABEL: func.func @warp
func.func @warp(%line: i64, %r: i32, %s: f32, %i: i32) -> (f32, i32) {
  // CHECK: simt.ldmatrix %{{.*}}
  // CALL: %[[LINES:.*]] = llvm.call @hewn.simt.ldmatrix(
  // CALL: llvm.extractvalue %[[LINES]][0]
  %a:4 = simt.ldmatrix %line
  // CHECK: simt.ldmatrix transposed %{{.*}} + 2304
  // CALL: %[[FURTHER:.*]] = arith.addi %{{.*}}, %c2304
  // CALL: llvm.call @hewn.simt.ldmatrix.transposed(%[[FURTHER]])
  %b:4 = simt.ldmatrix transposed %line + 2304
  // CHECK: simt.mma(%{{.*}}) * (%{{.*}}) + (%{{.*}}) of f32, f32
  // CALL: llvm.call @hewn.simt.product(
  %0:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%s, %s, %s, %s) of f32, f32 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CALL: llvm.call @hewn.simt.product.bf16(
  %1:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%s, %s, %s, %s) of bf16, bf16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CALL: llvm.call @hewn.simt.product.u8.s8(
  %2:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%i, %i, %i, %i) of ui8, i8 : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
  return %1#0, %2#0 : f32, i32
}

// -----

// CALL: llvm.func @hewn.simt.copy16(i64, i64, i32) attributes {no_unwind, will_return}
// CHECK-LABEL: func.func @copies
// CALL-LABEL: func.func @copies
func.func @copies(%to: i64, %from: i64, %at: i32, %mbarrier: i64) {
  // CHECK: simt.async_copy 16 from %{{.*}} to %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.simt.copy16(%arg0, %arg1, %arg2)
  simt.async_copy 16 from %from to %to, %at
  // CALL: llvm.call @hewn.simt.copy4(
  simt.async_copy 4 from %from to %to, %at
  // CHECK: simt.async_commit
  // CALL: llvm.call @hewn.simt.copies.close()
  simt.async_commit
  // CHECK: simt.async_wait 2
  // CALL: llvm.call @hewn.simt.copies.wait(%c2
  simt.async_wait 2
  // CHECK: simt.prefetch %{{.*}}
  // CALL: llvm.call @hewn.simt.prefetch(%arg1)
  simt.prefetch %from
  // CHECK: simt.mbarrier_init %{{.*}}, 8
  // CALL: llvm.call @hewn.simt.mbarrier.init(%arg3, %c8
  simt.mbarrier_init %mbarrier, 8
  // CHECK: simt.mbarrier_init_fence
  // CALL: llvm.call @hewn.simt.mbarriers.ready()
  simt.mbarrier_init_fence
  // CHECK: simt.mbarrier_arrive_expect %{{.*}}, 1024
  // CALL: llvm.call @hewn.simt.mbarrier.expect(%arg3, %c1024
  simt.mbarrier_arrive_expect %mbarrier, 1024
  // CHECK: simt.mbarrier_arrive %{{.*}}
  // CALL: llvm.call @hewn.simt.mbarrier.arrive(%arg3)
  simt.mbarrier_arrive %mbarrier
  // CHECK: simt.mbarrier_wait %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.simt.mbarrier.wait(%arg3, %arg2)
  simt.mbarrier_wait %mbarrier, %at
  return
}

// -----

func.func @shuffle(%x: i32) -> i32 {
  // expected-error @+1 {{a shuffle in a warp of 24 lanes cannot use the mask 4}}
  %0 = simt.shuffle_xor %x, 4 of 24
  return %0 : i32
}

// -----

func.func @words(%x: i32, %s: f32) {
  // expected-error @+1 {{an MMA takes four left registers, two right registers and four accumulators}}
  %0:4 = simt.mma(%x, %x) * (%x, %x) + (%s, %s, %s, %s) of f16, f16 : (i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @types(%x: i32, %s: f32) {
  // expected-error @+1 {{operands of an MMA have the same type f32, f16 or bf16, or each of them is i8 or ui8, not 'f16' and 'bf16'}}
  %0:4 = simt.mma(%x, %x, %x, %x) * (%x, %x) + (%s, %s, %s, %s) of f16, bf16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @sums(%x: i32, %s: f32) {
  // expected-error @+1 {{accumulators for operands of type 'i8' are i32}}
  %0:4 = simt.mma(%x, %x, %x, %x) * (%x, %x) + (%s, %s, %s, %s) of i8, i8 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @results(%x: i32, %s: f32) {
  // expected-error @+1 {{result types differ from the accumulator types}}
  %0:3 = simt.mma(%x, %x, %x, %x) * (%x, %x) + (%s, %s, %s, %s) of f16, f16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32)
  return
}

// -----

func.func @bytes(%to: i64, %n: i32) {
  // expected-error @+1 {{asynchronous copies have 4, 8 or 16 bytes, not 12}}
  simt.async_copy 12 from %to to %to, %n
  return
}
