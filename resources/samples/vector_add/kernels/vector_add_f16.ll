; SPDX-License-Identifier: Apache-2.0
; out[i] = a[i] + b[i] in half precision (native from sm_53 on), one thread an element.

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

define ptx_kernel void @vector_add_f16(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %out, i32 %n) {
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
  %pa = getelementptr half, ptr addrspace(1) %a, i64 %index
  %pb = getelementptr half, ptr addrspace(1) %b, i64 %index
  %po = getelementptr half, ptr addrspace(1) %out, i64 %index
  %va = load half, ptr addrspace(1) %pa, align 2
  %vb = load half, ptr addrspace(1) %pb, align 2
  %sum = fadd half %va, %vb
  store half %sum, ptr addrspace(1) %po, align 2
  br label %done

done:
  ret void
}
