; SPDX-License-Identifier: Apache-2.0
; y[i] = alpha * x[i] + y[i], single precision, with one rounding (fused multiply-add).

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare float @llvm.fma.f32(float, float, float)

define ptx_kernel void @saxpy(float %alpha, ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %block, %width
  %i = add i32 %base, %tid
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %body, label %done

body:
  %index = zext i32 %i to i64
  %px = getelementptr float, ptr addrspace(1) %x, i64 %index
  %py = getelementptr float, ptr addrspace(1) %y, i64 %index
  %vx = load float, ptr addrspace(1) %px, align 4
  %vy = load float, ptr addrspace(1) %py, align 4
  %r = call float @llvm.fma.f32(float %alpha, float %vx, float %vy)
  store float %r, ptr addrspace(1) %py, align 4
  br label %done

done:
  ret void
}
