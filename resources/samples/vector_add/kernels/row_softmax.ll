; SPDX-License-Identifier: Apache-2.0
; out[r][c] = exp(in[r][c] - max_r) / sum_c exp(in[r][c] - max_r), single precision.
; One block of 256 threads a row; each thread strides over the columns, then the block reduces in shared memory.
; exp(x) is ex2(x * log2 e) by the GPU's own approximation, so no libdevice is needed.

target triple = "nvptx64-nvidia-cuda"

@scratch = internal addrspace(3) global [256 x float] undef, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.nvvm.ex2.approx.f(float)
declare float @llvm.maxnum.f32(float, float)

; exp(value - max) for the column that the pointer names
define internal float @exp_shifted(ptr addrspace(1) %p, float %max) alwaysinline {
  %value = load float, ptr addrspace(1) %p, align 4
  %shifted = fsub float %value, %max
  %scaled = fmul float %shifted, 0x3FF7154760000000
  %e = call float @llvm.nvvm.ex2.approx.f(float %scaled)
  ret float %e
}

define ptx_kernel void @row_softmax(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %cols) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %row64 = zext i32 %row to i64
  %cols64 = zext i32 %cols to i64
  %tid64 = zext i32 %tid to i64
  %start = mul i64 %row64, %cols64
  %src = getelementptr float, ptr addrspace(1) %in, i64 %start
  %dst = getelementptr float, ptr addrspace(1) %out, i64 %start
  %mine = getelementptr [256 x float], ptr addrspace(3) @scratch, i64 0, i64 %tid64
  br label %max.head

; the largest value among this thread's columns
max.head:
  %mi = phi i64 [ %tid64, %entry ], [ %mi.next, %max.body ]
  %m = phi float [ 0xFFF0000000000000, %entry ], [ %m.next, %max.body ]
  %m.more = icmp ult i64 %mi, %cols64
  br i1 %m.more, label %max.body, label %max.store

max.body:
  %mp = getelementptr float, ptr addrspace(1) %src, i64 %mi
  %mv = load float, ptr addrspace(1) %mp, align 4
  %m.next = call float @llvm.maxnum.f32(float %m, float %mv)
  %mi.next = add i64 %mi, 256
  br label %max.head

max.store:
  store float %m, ptr addrspace(3) %mine, align 4
  call void @llvm.nvvm.barrier0()
  br label %maxred.head

; tree reduction to scratch[0]
maxred.head:
  %ms = phi i64 [ 128, %max.store ], [ %ms.next, %maxred.sync ]
  %ms.done = icmp eq i64 %ms, 0
  br i1 %ms.done, label %max.done, label %maxred.test

maxred.test:
  %ms.active = icmp ult i64 %tid64, %ms
  br i1 %ms.active, label %maxred.body, label %maxred.sync

maxred.body:
  %ms.other = add i64 %tid64, %ms
  %ms.p = getelementptr [256 x float], ptr addrspace(3) @scratch, i64 0, i64 %ms.other
  %ms.a = load float, ptr addrspace(3) %mine, align 4
  %ms.b = load float, ptr addrspace(3) %ms.p, align 4
  %ms.r = call float @llvm.maxnum.f32(float %ms.a, float %ms.b)
  store float %ms.r, ptr addrspace(3) %mine, align 4
  br label %maxred.sync

maxred.sync:
  call void @llvm.nvvm.barrier0()
  %ms.next = lshr i64 %ms, 1
  br label %maxred.head

max.done:
  %max = load float, ptr addrspace(3) @scratch, align 4
  call void @llvm.nvvm.barrier0()
  br label %sum.head

; the sum of this thread's exponentials
sum.head:
  %si = phi i64 [ %tid64, %max.done ], [ %si.next, %sum.body ]
  %s = phi float [ 0.0, %max.done ], [ %s.next, %sum.body ]
  %s.more = icmp ult i64 %si, %cols64
  br i1 %s.more, label %sum.body, label %sum.store

sum.body:
  %sp = getelementptr float, ptr addrspace(1) %src, i64 %si
  %se = call float @exp_shifted(ptr addrspace(1) %sp, float %max)
  %s.next = fadd float %s, %se
  %si.next = add i64 %si, 256
  br label %sum.head

sum.store:
  store float %s, ptr addrspace(3) %mine, align 4
  call void @llvm.nvvm.barrier0()
  br label %sumred.head

sumred.head:
  %ss = phi i64 [ 128, %sum.store ], [ %ss.next, %sumred.sync ]
  %ss.done = icmp eq i64 %ss, 0
  br i1 %ss.done, label %sum.done, label %sumred.test

sumred.test:
  %ss.active = icmp ult i64 %tid64, %ss
  br i1 %ss.active, label %sumred.body, label %sumred.sync

sumred.body:
  %ss.other = add i64 %tid64, %ss
  %ss.p = getelementptr [256 x float], ptr addrspace(3) @scratch, i64 0, i64 %ss.other
  %ss.a = load float, ptr addrspace(3) %mine, align 4
  %ss.b = load float, ptr addrspace(3) %ss.p, align 4
  %ss.r = fadd float %ss.a, %ss.b
  store float %ss.r, ptr addrspace(3) %mine, align 4
  br label %sumred.sync

sumred.sync:
  call void @llvm.nvvm.barrier0()
  %ss.next = lshr i64 %ss, 1
  br label %sumred.head

sum.done:
  %sum = load float, ptr addrspace(3) @scratch, align 4
  %inverse = fdiv float 1.0, %sum
  br label %out.head

out.head:
  %oi = phi i64 [ %tid64, %sum.done ], [ %oi.next, %out.body ]
  %o.more = icmp ult i64 %oi, %cols64
  br i1 %o.more, label %out.body, label %done

out.body:
  %ip = getelementptr float, ptr addrspace(1) %src, i64 %oi
  %op = getelementptr float, ptr addrspace(1) %dst, i64 %oi
  %oe = call float @exp_shifted(ptr addrspace(1) %ip, float %max)
  %or = fmul float %oe, %inverse
  store float %or, ptr addrspace(1) %op, align 4
  %oi.next = add i64 %oi, 256
  br label %out.head

done:
  ret void
}
