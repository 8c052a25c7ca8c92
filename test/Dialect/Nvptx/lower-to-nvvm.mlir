// RUN: hewn-opt %s --hewn-lower-to-nvvm | FileCheck %s --implicit-check-not="{{ = simt\.| = nvptx\.|^ *simt\.|^ *nvptx\.}}"
// Each op of the GPU dialects is lowered to an NVVM intrinsic, or to inline PTX if there is none.

// CHECK-LABEL: func.func @threads
func.func @threads(%counter: i64, %x: i32, %f: f32) -> (i32, i32, i32, i32, i32, f32) {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  %0 = simt.thread_id
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"() : () -> i32
  %1 = simt.block_id
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.x"() : () -> i32
  %2 = simt.num_blocks
  // CHECK: %[[ALL:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"(%[[ALL]]) : (i32) -> ()
  simt.barrier
  // CHECK: %[[SOME:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: %[[COUNT:.*]] = llvm.mlir.constant(128 : i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%[[SOME]], %[[COUNT]])
  simt.barrier of 128
  // CHECK: %[[LANES:.*]] = llvm.mlir.constant(-1 : i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.bar.warp.sync"(%[[LANES]])
  simt.warp_barrier
  // CHECK: %[[MASK:.*]] = llvm.mlir.constant(16 : i32)
  // CHECK: %[[LAST:.*]] = llvm.mlir.constant(31 : i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"(%{{.*}}, %arg1, %[[MASK]], %[[LAST]]) : (i32, i32, i32, i32) -> i32
  %3 = simt.shuffle_xor %x, 16 of 32
  // CHECK: llvm.inline_asm has_side_effects "atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}" %arg0, %{{.*}} : (i64, i32) -> i32
  %4 = simt.counter_add %counter, %3
  // CHECK: llvm.inline_asm has_side_effects "ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}" %arg0 : (i64) -> i32
  %5 = simt.counter_read %counter
  // The counter addition becomes a reduction instruction (red) if no op reads the value that the
  // counter had before.
  // CHECK: llvm.inline_asm has_side_effects "red.release.gpu.global.add.u32 [$0], $1;", "l,r,~{memory}" %arg0, %{{.*}} : (i64, i32)
  %6 = simt.counter_add %counter, %3
  // CHECK: llvm.inline_asm has_side_effects "ld.relaxed.gpu.global.u32 $0, [$1];", "=r,l,~{memory}" %arg0 : (i64) -> i32
  %7 = simt.counter_read %counter {relaxed}
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%arg2) : (f32) -> f32
  %8 = simt.exp2 %f
  return %0, %1, %2, %4, %5, %8 : i32, i32, i32, i32, i32, f32
}

// CHECK-LABEL: func.func @warp
func.func @warp(%line: i64, %s: f32, %i: i32) -> (f32, f32, f32, i32, i32) {
  // CHECK: %[[LINE:.*]] = llvm.inttoptr %arg0 : i64 to !llvm.ptr<3>
  // CHECK: %[[WORDS:.*]] = llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16"(%[[LINE]]) : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  // CHECK: llvm.extractvalue %[[WORDS]][3]
  %a:4 = simt.ldmatrix %line
  // CHECK: %[[FURTHER:.*]] = llvm.getelementptr %{{.*}}[2304] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"(%[[FURTHER]])
  %b:4 = simt.ldmatrix transposed %line + 2304
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
  %0:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%s, %s, %s, %s) of f32, f32 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK-COUNT-6: llvm.bitcast %{{.*}} : i32 to vector<2xf16>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
  %1:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%s, %s, %s, %s) of f16, f16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
  %2:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%s, %s, %s, %s) of bf16, bf16 : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.u8.s8"
  %3:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%i, %i, %i, %i) of ui8, i8 : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.s8"
  %4:4 = simt.mma(%a#0, %a#1, %a#2, %a#3) * (%b#0, %b#1) + (%i, %i, %i, %i) of i8, i8 : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
  return %0#0, %1#0, %2#0, %3#0, %4#0 : f32, f32, f32, i32, i32
}

// CHECK-LABEL: func.func @copies
func.func @copies(%to: i64, %from: i64, %n: i32, %mbarrier: i64, %tensor: !llvm.ptr) {
  // CHECK: %[[TO:.*]] = llvm.inttoptr %arg0 : i64 to !llvm.ptr<3>
  // CHECK: %[[FROM:.*]] = llvm.inttoptr %arg1 : i64 to !llvm.ptr<1>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.cg.shared.global.16.s"(%[[TO]], %[[FROM]], %arg2)
  simt.async_copy 16 from %from to %to, %n
  // CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.ca.shared.global.8.s"
  simt.async_copy 8 from %from to %to, %n
  // CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.ca.shared.global.4.s"
  simt.async_copy 4 from %from to %to, %n
  // CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.commit.group"() : () -> ()
  simt.async_commit
  // CHECK: %[[OPEN:.*]] = llvm.mlir.constant(2 : i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%[[OPEN]])
  simt.async_wait 2
  // CHECK: llvm.inline_asm has_side_effects "prefetch.global.L2 [$0];", "l,~{memory}" %arg1 : (i64) -> ()
  simt.prefetch %from
  // CHECK: %[[MBARRIER:.*]] = llvm.trunc %arg3 : i64 to i32
  // CHECK: llvm.inline_asm has_side_effects "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %[[MBARRIER]], %{{.*}} : (i32, i32) -> ()
  simt.mbarrier_init %mbarrier, 8
  // CHECK: llvm.inline_asm has_side_effects "fence.mbarrier_init.release.cluster;", "~{memory}"
  simt.mbarrier_init_fence
  // CHECK: llvm.inline_asm has_side_effects "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}"
  simt.mbarrier_arrive_expect %mbarrier, 1024
  // CHECK: llvm.inline_asm has_side_effects "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];", "r,l,r,r,r,~{memory}" %{{.*}}, %arg4, %arg2, %arg2, %{{.*}} : (i32, !llvm.ptr, i32, i32, i32) -> ()
  nvptx.tma_load %tensor[%n, %n] to %to, %mbarrier : !llvm.ptr
  // CHECK: llvm.inline_asm has_side_effects "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3, $4}], [$5];", "r,l,r,r,r,r,~{memory}"
  nvptx.tma_load %tensor[%n, %n, %n] to %to, %mbarrier : !llvm.ptr
  // CHECK: llvm.inline_asm has_side_effects "mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];", "r,~{memory}"
  simt.mbarrier_arrive %mbarrier
  // CHECK: llvm.inline_asm has_side_effects "{ .reg .pred ended; AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 ended, [$0], $1; @!ended bra AGAIN; }", "r,r,~{memory}" %{{.*}}, %arg2
  simt.mbarrier_wait %mbarrier, %n
  return
}

// A matrix descriptor combines 18 bits of the address with the bits that describe the matrix.
// CHECK-LABEL: func.func @warpgroup
func.func @warpgroup(%left: i64, %right: i64, %form: i64, %w: i32, %s: f32, %i: i32) -> (f32, i32) {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32"
  nvptx.setmaxnreg 40
  // CHECK: llvm.call_intrinsic "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"
  nvptx.setmaxnreg 232 grows
  // CHECK: llvm.inline_asm has_side_effects "fence.proxy.async.shared::cta;", "~{memory}"
  nvptx.fence_proxy_async
  // CHECK: llvm.call_intrinsic "llvm.nvvm.wgmma.fence.sync.aligned"() : () -> ()
  nvptx.wgmma_fence
  // CHECK: %[[BITS:.*]] = llvm.mlir.constant(262143 : i64)
  // CHECK: %[[KNOWN:.*]] = llvm.and %arg0, %[[BITS]]
  // CHECK: %[[FOUR:.*]] = llvm.mlir.constant(4 : i64)
  // CHECK: %[[PLACE:.*]] = llvm.lshr %[[KNOWN]], %[[FOUR]]
  // CHECK: %[[LEFT:.*]] = llvm.or %[[PLACE]], %arg2
  // CHECK: %[[RIGHT:.*]] = llvm.or
  // CHECK: llvm.inline_asm has_side_effects "{ .reg .pred adds; setp.ne.b32 adds, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $8, $9, adds, 1, 1, 0, 1; }", "=f,=f,=f,=f,0,1,2,3,l,l,~{memory}" %arg4, %arg4, %arg4, %arg4, %[[LEFT]], %[[RIGHT]]
  %0:4 = nvptx.wgmma along_sum(%left as %form) * across_sum(%right as %form) + (%s, %s, %s, %s) of f16, f16 : (i64, i64, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: "{ .reg .pred adds; setp.ne.b32 adds, 1, 0; wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, adds, 1, 1; }", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l,~{memory}"
  %1:4 = nvptx.wgmma registers(%w, %w, %w, %w) * along_sum(%right as %form) + (%0#0, %0#1, %0#2, %0#3) of f32, f32 : (i32, i32, i32, i32, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, adds, 1, 1, 1; }"
  %2:4 = nvptx.wgmma registers(%w, %w, %w, %w) * across_sum(%right as %form) + (%1#0, %1#1, %1#2, %1#3) of bf16, bf16 : (i32, i32, i32, i32, i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {$0, $1, $2, $3}, $8, $9, adds; }", "=r,=r,=r,=r,0,1,2,3,l,l,~{memory}"
  %3:4 = nvptx.wgmma along_sum(%left as %form) * along_sum(%right as %form) + (%i, %i, %i, %i) of ui8, i8 : (i64, i64, i64, i64, i32, i32, i32, i32) -> (i32, i32, i32, i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.wgmma.commit_group.sync.aligned"() : () -> ()
  nvptx.wgmma_commit_group
  // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned $8;", "=f,=f,=f,=f,0,1,2,3,n,~{memory}"
  %4:4 = nvptx.wgmma_wait_group 0, %2#0, %2#1, %2#2, %2#3 : (f32, f32, f32, f32) -> (f32, f32, f32, f32)
  return %4#0, %3#0 : f32, i32
}
