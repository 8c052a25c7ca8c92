// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-grid | FileCheck %s --check-prefix=CALL
// Positions, barriers, matrices of a warp and of four, copies on their way: their form, what they are refused for, and what is called for them.

// CALL-DAG: llvm.func @hewn.grid.thread() -> i32 attributes {{.*}}memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none
// CALL-DAG: llvm.func @hewn.grid.barrier(i32) attributes {convergent, no_unwind, will_return}
// CALL-DAG: llvm.func @hewn.grid.shuffle(i32, i32, i32, i32) -> i32 attributes {convergent, {{.*}}inaccessibleMem = readwrite

// CHECK-LABEL: func.func @threads
// CALL-LABEL: func.func @threads
func.func @threads(%counter: i64, %x: i32) -> i32 {
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
  // CALL: llvm.call @hewn.grid.warp.meet
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
  return %5 : i32
}

// -----

// CALL: llvm.func @hewn.grid.lines(i64) -> !llvm.struct<(i32, i32, i32, i32)> attributes {convergent, {{.*}}other = read
// CHECK-LABEL: func.func @warp
// CALL-LABEL: func.func @warp
func.func @warp(%line: i64, %r: i32, %s: f32, %i: i32) -> (f32, i32) {
  // CHECK: grid.ldmatrix %{{.*}}
  // CALL: %[[LINES:.*]] = llvm.call @hewn.grid.lines(
  // CALL: llvm.extractvalue %[[LINES]][0]
  %a:4 = grid.ldmatrix %line
  // CHECK: grid.ldmatrix transposed %{{.*}}
  // CALL: llvm.call @hewn.grid.lines.turned(
  %b:4 = grid.ldmatrix transposed %line
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
func.func @copies(%to: i64, %from: i64, %tensor: !llvm.ptr, %at: i32, %gate: i64) {
  // CHECK: grid.async_copy 16 from %{{.*}} to %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.grid.copy16(%arg0, %arg1, %arg3)
  grid.async_copy 16 from %from to %to, %at
  // CALL: llvm.call @hewn.grid.copy4(
  grid.async_copy 4 from %from to %to, %at
  // CHECK: grid.async_commit
  // CALL: llvm.call @hewn.grid.copies.close()
  grid.async_commit
  // CHECK: grid.async_wait 2
  // CALL: llvm.call @hewn.grid.copies.wait(%c2
  grid.async_wait 2
  // CHECK: grid.mbarrier_init %{{.*}}, 8
  // CALL: llvm.call @hewn.grid.gate.init(%arg4, %c8
  grid.mbarrier_init %gate, 8
  // CHECK: grid.mbarrier_init_fence
  // CALL: llvm.call @hewn.grid.gates.ready()
  grid.mbarrier_init_fence
  // CHECK: grid.mbarrier_arrive_expect %{{.*}}, 1024
  // CALL: llvm.call @hewn.grid.gate.expect(%arg4, %c1024
  grid.mbarrier_arrive_expect %gate, 1024
  // CHECK: grid.tensor_copy %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}, %{{.*}} : !llvm.ptr
  // CALL: llvm.call @hewn.grid.fetch.2(%arg0, %arg2, %arg3, %arg3, %arg4)
  grid.tensor_copy %tensor[%at, %at] to %to, %gate : !llvm.ptr
  // CHECK: grid.mbarrier_arrive %{{.*}}
  // CALL: llvm.call @hewn.grid.gate.arrive(%arg4)
  grid.mbarrier_arrive %gate
  // CHECK: grid.mbarrier_wait %{{.*}}, %{{.*}}
  // CALL: llvm.call @hewn.grid.gate.wait(%arg4, %arg3)
  grid.mbarrier_wait %gate, %at
  return
}

// -----

// CHECK-LABEL: func.func @group
// CALL-LABEL: func.func @group
func.func @group(%left: i64, %right: i64, %form: i64, %w: i32, %s: f32) -> f32 {
  // CHECK: grid.set_registers 40{{$}}
  // CALL: llvm.call @hewn.grid.registers.keep(%c40
  grid.set_registers 40
  // CHECK: grid.set_registers 232 grows
  // CALL: llvm.call @hewn.grid.registers.take(%c232
  grid.set_registers 232 grows
  // CHECK: grid.group_publish
  // CALL: llvm.call @hewn.grid.group.publish()
  grid.group_publish
  // CHECK: grid.group_fence
  // CALL: llvm.call @hewn.grid.group.begin()
  grid.group_fence
  // CHECK: grid.group_mma along_sum(%{{.*}} as %{{.*}}) * across_sum(%{{.*}} as %{{.*}}) + (%{{.*}}) of f16, f16
  // CALL: llvm.call @hewn.grid.group.product.f16.k.m.8(%arg0, %arg1, %arg2, %arg2, %arg4, %arg4, %arg4, %arg4)
  %0:4 = grid.group_mma along_sum(%left as %form) * across_sum(%right as %form) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: grid.group_mma registers(%{{.*}}) * along_sum(%{{.*}} as %{{.*}}) + (%{{.*}}) of f32, f32
  // CALL: llvm.call @hewn.grid.group.product.f32.r.k.8(%arg3, %arg3, %arg3, %arg3, %arg1, %arg2,
  %1:4 = grid.group_mma registers(%w, %w, %w, %w) * along_sum(%right as %form) + (%0#0, %0#1, %0#2, %0#3) of f32, f32 : (i32, i32, i32, i32, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: grid.group_commit
  // CALL: llvm.call @hewn.grid.group.close()
  grid.group_commit
  // CHECK: grid.group_wait 0, %{{.*}}
  // CALL: llvm.call @hewn.grid.group.wait.8(%c0
  %2:4 = grid.group_wait 0, %1#0, %1#1, %1#2, %1#3 : (f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return %2#0 : f32
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

// -----

func.func @rank(%t: !llvm.ptr, %at: i32, %to: i64) {
  // expected-error @+1 {{tensors are of rank 2 or 3, not 1}}
  grid.tensor_copy %t[%at] to %to, %to : !llvm.ptr
  return
}

// -----

func.func @registers() {
  // expected-error @+1 {{100 registers: there are 24 to 256, a multiple of 8}}
  grid.set_registers 100
  return
}

// -----

func.func @left_words(%a: i64, %s: f32) {
  // expected-error @+1 {{a left matrix in registers is four words of i32, which have no form}}
  %0:4 = grid.group_mma registers(%a) * along_sum(%a as %a) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @left_address(%a: i64, %s: f32) {
  // expected-error @+1 {{a left matrix in shared memory is an address of i64 and a form}}
  %0:4 = grid.group_mma along_sum(%a) * along_sum(%a as %a) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @right(%a: i64, %s: f32) {
  // expected-error @+1 {{the right matrix is in shared memory}}
  %0:4 = grid.group_mma along_sum(%a as %a) * registers(%a as %a) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @across(%a: i64, %s: f32) {
  // expected-error @+1 {{factors of 'f32' lie along the sum}}
  %0:4 = grid.group_mma along_sum(%a as %a) * across_sum(%a as %a) + (%s, %s, %s, %s) of f32, f32 : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @columns(%a: i64, %s: f32) {
  // expected-error @+1 {{6 columns: there are 8 to 256, a multiple of 8}}
  %0:3 = grid.group_mma along_sum(%a as %a) * along_sum(%a as %a) + (%s, %s, %s) of f16, f16 : (i64, i64, i64, i64, f32, f32, f32) -> (f32, f32, f32)
  return
}

// -----

func.func @waited(%s: f32) {
  // expected-error @+1 {{results are sums}}
  %0:2 = grid.group_wait 0, %s, %s, %s, %s : (f32, f32, f32, f32) -> (f32, f32)
  return
}

// -----

func.func @waited_for_nothing() {
  // expected-error @+1 {{0 columns: there are 8 to 256, a multiple of 8}}
  "grid.group_wait"() <{open = 0 : i32}> : () -> ()
  return
}

// -----

func.func @waited_for_both(%s: f32, %i: i32) {
  // expected-error @+1 {{all sums of a set are of one type}}
  %0:4 = grid.group_wait 0, %s, %i, %i, %i : (f32, i32, i32, i32) -> (f32, i32, i32, i32)
  return
}

// -----

func.func @no_numbers(%a: i64, %s: f32) {
  // expected-error @+1 {{factors are two of f32, f16 or bf16, or each of them i8 or ui8, not 'tensor<4xf16>' and 'tensor<4xf16>'}}
  %0:4 = grid.group_mma across_sum(%a as %a) * along_sum(%a as %a) + (%s, %s, %s, %s) of tensor<4xf16>, tensor<4xf16> : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @no_pointer(%t: memref<4xf32>, %at: i32, %to: i64) {
  // expected-error @+1 {{the tensor is an argument of the kernel, a pointer, not 'memref<4xf32>'}}
  grid.tensor_copy %t[%at, %at] to %to, %to : memref<4xf32>
  return
}
