// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-simt | FileCheck %s --check-prefix=CALL
// TMA tiles and warpgroup matrices: their syntax, their errors, and the functions that tests call
// for them.

// CHECK-LABEL: func.func @box
// CALL-LABEL: func.func @box
func.func @box(%to: i64, %tensor: !llvm.ptr, %at: i32, %mbarrier: i64) {
  // CHECK: nvptx.tma_load %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}, %{{.*}} : !llvm.ptr
  // CALL: llvm.call @hewn.simt.fetch.2(%arg0, %arg1, %arg2, %arg2, %arg3)
  nvptx.tma_load %tensor[%at, %at] to %to, %mbarrier : !llvm.ptr
  return
}

// -----

// CHECK-LABEL: func.func @group
// CALL-LABEL: func.func @group
func.func @group(%left: i64, %right: i64, %form: i64, %w: i32, %s: f32) -> f32 {
  // CHECK: nvptx.setmaxnreg 40{{$}}
  // CALL: llvm.call @hewn.simt.registers.keep(%c40
  nvptx.setmaxnreg 40
  // CHECK: nvptx.setmaxnreg 232 grows
  // CALL: llvm.call @hewn.simt.registers.take(%c232
  nvptx.setmaxnreg 232 grows
  // CHECK: nvptx.fence_proxy_async
  // CALL: llvm.call @hewn.simt.group.publish()
  nvptx.fence_proxy_async
  // CHECK: nvptx.wgmma_fence
  // CALL: llvm.call @hewn.simt.group.begin()
  nvptx.wgmma_fence
  // CHECK: nvptx.wgmma along_sum(%{{.*}} as %{{.*}}) * across_sum(%{{.*}} as %{{.*}}) + (%{{.*}}) of f16, f16
  // CALL: llvm.call @hewn.simt.group.product.f16.k.m.8(%arg0, %arg1, %arg2, %arg2, %arg4, %arg4, %arg4, %arg4)
  %0:4 = nvptx.wgmma along_sum(%left as %form) * across_sum(%right as %form) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: nvptx.wgmma registers(%{{.*}}) * along_sum(%{{.*}} as %{{.*}}) + (%{{.*}}) of f32, f32
  // CALL: llvm.call @hewn.simt.group.product.f32.r.k.8(%arg3, %arg3, %arg3, %arg3, %arg1, %arg2,
  %1:4 = nvptx.wgmma registers(%w, %w, %w, %w) * along_sum(%right as %form) + (%0#0, %0#1, %0#2, %0#3) of f32, f32 : (i32, i32, i32, i32, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: nvptx.wgmma_commit_group
  // CALL: llvm.call @hewn.simt.group.close()
  nvptx.wgmma_commit_group
  // CHECK: nvptx.wgmma_wait_group 0, %{{.*}}
  // CALL: llvm.call @hewn.simt.group.wait.8(%c0
  %2:4 = nvptx.wgmma_wait_group 0, %1#0, %1#1, %1#2, %1#3 : (f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return %2#0 : f32
}

// -----

func.func @rank(%t: !llvm.ptr, %at: i32, %to: i64) {
  // expected-error @+1 {{the tensor must have rank 2 or 3, not 1}}
  nvptx.tma_load %t[%at] to %to, %to : !llvm.ptr
  return
}

// -----

func.func @registers() {
  // expected-error @+1 {{100 registers: must be a multiple of 8 from 24 to 256}}
  nvptx.setmaxnreg 100
  return
}

// -----

func.func @left_words(%a: i64, %s: f32) {
  // expected-error @+1 {{a left operand in registers must be four i32 values without a form}}
  %0:4 = nvptx.wgmma registers(%a) * along_sum(%a as %a) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @left_address(%a: i64, %s: f32) {
  // expected-error @+1 {{a left operand in shared memory must be an i64 address with a form}}
  %0:4 = nvptx.wgmma along_sum(%a) * along_sum(%a as %a) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @right(%a: i64, %s: f32) {
  // expected-error @+1 {{the right operand must be in shared memory}}
  %0:4 = nvptx.wgmma along_sum(%a as %a) * registers(%a as %a) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @across(%a: i64, %s: f32) {
  // expected-error @+1 {{operands of type 'f32' must be contiguous along K}}
  %0:4 = nvptx.wgmma along_sum(%a as %a) * across_sum(%a as %a) + (%s, %s, %s, %s) of f32, f32 : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @columns(%a: i64, %s: f32) {
  // expected-error @+1 {{6 columns: must be a multiple of 8 from 8 to 256}}
  %0:3 = nvptx.wgmma along_sum(%a as %a) * along_sum(%a as %a) + (%s, %s, %s) of f16, f16 : (i64, i64, i64, i64, f32, f32, f32) -> (f32, f32, f32)
  return
}

// -----

func.func @waited(%s: f32) {
  // expected-error @+1 {{results are sums}}
  %0:2 = nvptx.wgmma_wait_group 0, %s, %s, %s, %s : (f32, f32, f32, f32) -> (f32, f32)
  return
}

// -----

func.func @waited_for_nothing() {
  // expected-error @+1 {{0 columns: must be a multiple of 8 from 8 to 256}}
  "nvptx.wgmma_wait_group"() <{open = 0 : i32}> : () -> ()
  return
}

// -----

func.func @waited_for_both(%s: f32, %i: i32) {
  // expected-error @+1 {{all accumulators of a group must have the same type}}
  %0:4 = nvptx.wgmma_wait_group 0, %s, %i, %i, %i : (f32, i32, i32, i32) -> (f32, i32, i32, i32)
  return
}

// -----

func.func @no_numbers(%a: i64, %s: f32) {
  // expected-error @+1 {{operands of an MMA have the same type f32, f16 or bf16, or each of them is i8 or ui8, not 'tensor<4xf16>' and 'tensor<4xf16>'}}
  %0:4 = nvptx.wgmma across_sum(%a as %a) * along_sum(%a as %a) + (%s, %s, %s, %s) of tensor<4xf16>, tensor<4xf16> : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @no_pointer(%t: memref<4xf32>, %at: i32, %to: i64) {
  // expected-error @+1 {{the tensor must be a pointer argument of the kernel, not 'memref<4xf32>'}}
  nvptx.tma_load %t[%at, %at] to %to, %to : memref<4xf32>
  return
}
