// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-grid | FileCheck %s --check-prefix=CALL
// Positions, barriers, matrices of a warp, copies on their way: their form, what they are refused for, and what is called for them.

// CALL-DAG: llvm.func @hewn.grid.thread() -> i32 attributes {{.*}}memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none
// CALL-DAG: llvm.func @hewn.grid.barrier(i32) attributes {convergent, no_unwind, will_return}
// CALL-DAG: llvm.func @hewn.grid.shuffle(i32, i32, i32, i32) -> i32 attributes {convergent, {{.*}}inaccessibleMem = readwrite

// CHECK-LABEL: func.func @threads
// CALL-LABEL: func.func @threads
func.func @threads(%counter: i64, %x: i32, %f: f32) -> (i32, f32) {
  // CHECK: grid.thread_id
  // CALL: llvm.call @hewn.grid.thread() : () -> i32
  %0 = grid.thread_id
  // CHECK: grid.block_id
  // CALL: llvm.call @hewn.grid.block()
  %1 = grid.block_id
  // CHECK: grid.num_blocks
  // CALL: llvm.call @hewn.grid.blocks()
  %2 = grid.num_blocks
  // CHECK: grid.barrier{{$}}
  // CALL: llvm.call @hewn.grid.barrier(%{{.*}}) : (i32) -> ()
  grid.barrier
  // CHECK: grid.barrier of 128
  // CALL: llvm.call @hewn.grid.barrier.some(%{{.*}}, %{{.*}}) : (i32, i32) -> ()
  grid.barrier of 128
  // CHECK: grid.warp_barrier
  // CALL: llvm.call @hewn.grid.warp.barrier
  grid.warp_barrier
  // CHECK: grid.shuffle_xor %{{.*}}, 16 of 32
  // CALL: llvm.call @hewn.grid.shuffle(%c-1{{.*}}, %{{.*}}, %c16{{.*}}, %c31
  %3 = grid.shuffle_xor %x, 16 of 32
  // CHECK: grid.counter_add %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.grid.counter.add
  %4 = grid.counter_add %counter, %3
  // CHECK: grid.counter_read %{{.*}}
  // CALL: llvm.call @hewn.grid.counter.read
  %5 = grid.counter_read %counter
  // CHECK: grid.counter_read %{{.*}} {relaxed}
  // CALL: llvm.call @hewn.grid.counter.peek
  %6 = grid.counter_read %counter {relaxed}
  // CHECK: grid.exp2 %{{.*}}
  // CALL: llvm.call @hewn.grid.exp2(%{{.*}}) : (f32) -> f32
  %7 = grid.exp2 %f
  return %5, %7 : i32, f32
}

// -----

// CALL: llvm.func @hewn.grid.ldmatrix(i64) -> !llvm.struct<(i32, i32, i32, i32)> attributes {convergent, {{.*}}other = read
// CHECK-LABEL: func.func @warp
// CALL-LABEL: func.func @warp
func.func @warp(%line: i64, %r: i32, %s: f32, %i: i32) -> (f32, i32) {
  // CHECK: grid.ldmatrix %{{.*}}
  // CALL: %[[LINES:.*]] = llvm.call @hewn.grid.ldmatrix(
  // CALL: llvm.extractvalue %[[LINES]][0]
  %a:4 = grid.ldmatrix %line
  // CHECK: grid.ldmatrix transposed %{{.*}} + 2304
  // CALL: %[[FURTHER:.*]] = arith.addi %{{.*}}, %c2304
  // CALL: llvm.call @hewn.grid.ldmatrix.transposed(%[[FURTHER]])
  %b:4 = grid.ldmatrix transposed %line + 2304
  // CHECK: grid.mma(%{{.*}}) * (%{{.*}}) + (%{{.*}}) of f32, f32
  // CALL: llvm.call @hewn.grid.product(
  %0:4 = grid.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%s, %s, %s, %s) of f32, f32 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CALL: llvm.call @hewn.grid.product.bf16(
  %1:4 = grid.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%s, %s, %s, %s) of bf16, bf16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CALL: llvm.call @hewn.grid.product.u8.s8(
  %2:4 = grid.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%i, %i, %i, %i) of ui8, i8 : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
  return %1#0, %2#0 : f32, i32
}

// -----

// CALL: llvm.func @hewn.grid.copy16(i64, i64, i32) attributes {no_unwind, will_return}
// CHECK-LABEL: func.func @copies
// CALL-LABEL: func.func @copies
func.func @copies(%to: i64, %from: i64, %at: i32, %mbarrier: i64) {
  // CHECK: grid.async_copy 16 from %{{.*}} to %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.grid.copy16(%arg0, %arg1, %arg2)
  grid.async_copy 16 from %from to %to, %at
  // CALL: llvm.call @hewn.grid.copy4(
  grid.async_copy 4 from %from to %to, %at
  // CHECK: grid.async_commit
  // CALL: llvm.call @hewn.grid.copies.close()
  grid.async_commit
  // CHECK: grid.async_wait 2
  // CALL: llvm.call @hewn.grid.copies.wait(%c2
  grid.async_wait 2
  // CHECK: grid.prefetch %{{.*}}
  // CALL: llvm.call @hewn.grid.prefetch(%arg1)
  grid.prefetch %from
  // CHECK: grid.mbarrier_init %{{.*}}, 8
  // CALL: llvm.call @hewn.grid.mbarrier.init(%arg3, %c8
  grid.mbarrier_init %mbarrier, 8
  // CHECK: grid.mbarrier_init_fence
  // CALL: llvm.call @hewn.grid.mbarriers.ready()
  grid.mbarrier_init_fence
  // CHECK: grid.mbarrier_arrive_expect %{{.*}}, 1024
  // CALL: llvm.call @hewn.grid.mbarrier.expect(%arg3, %c1024
  grid.mbarrier_arrive_expect %mbarrier, 1024
  // CHECK: grid.mbarrier_arrive %{{.*}}
  // CALL: llvm.call @hewn.grid.mbarrier.arrive(%arg3)
  grid.mbarrier_arrive %mbarrier
  // CHECK: grid.mbarrier_wait %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.grid.mbarrier.wait(%arg3, %arg2)
  grid.mbarrier_wait %mbarrier, %at
  return
}

// -----

func.func @shuffle(%x: i32) -> i32 {
  // expected-error @+1 {{a lane of 24 is no other one's number with 4 changed}}
  %0 = grid.shuffle_xor %x, 4 of 24
  return %0 : i32
}

// -----

func.func @words(%x: i32, %s: f32) {
  // expected-error @+1 {{a lane has four words of the left matrix, two of the right one, four sums}}
  %0:4 = grid.mma(%x, %x) * (%x, %x) + (%s, %s, %s, %s) of f16, f16 : (i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @types(%x: i32, %s: f32) {
  // expected-error @+1 {{factors are two of f32, f16 or bf16, or each of them i8 or ui8, not 'f16' and 'bf16'}}
  %0:4 = grid.mma(%x, %x, %x, %x) * (%x, %x) + (%s, %s, %s, %s) of f16, bf16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @sums(%x: i32, %s: f32) {
  // expected-error @+1 {{sums of 'i8' are i32}}
  %0:4 = grid.mma(%x, %x, %x, %x) * (%x, %x) + (%s, %s, %s, %s) of i8, i8 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @results(%x: i32, %s: f32) {
  // expected-error @+1 {{results are sums}}
  %0:3 = grid.mma(%x, %x, %x, %x) * (%x, %x) + (%s, %s, %s, %s) of f16, f16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32)
  return
}

// -----

func.func @bytes(%to: i64, %n: i32) {
  // expected-error @+1 {{copies of 4, 8 or 16 bytes go on their way, not of 12}}
  grid.async_copy 12 from %to to %to, %n
  return
}
