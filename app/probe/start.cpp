// SPDX-License-Identifier: Apache-2.0
//
// Where the kernel enters the program. The compiler's own crt files are left out, since today's ask for GLIBC_2.34;
// this one calls the oldest __libc_start_main with main and no init routines (the probe has no constructors).

#if defined(__x86_64__)
asm(R"(
    .globl _start
    .type _start, @function
_start:
    xorl %ebp, %ebp
    movq %rdx, %r9
    popq %rsi
    movq %rsp, %rdx
    andq $-16, %rsp
    pushq %rax
    pushq %rsp
    xorl %r8d, %r8d
    xorl %ecx, %ecx
    leaq main(%rip), %rdi
    call __libc_start_main@PLT
    hlt
    .size _start, . - _start
)");
#elif defined(__aarch64__)
asm(R"(
    .globl _start
    .type _start, %function
_start:
    mov x29, #0
    mov x30, #0
    mov x5, x0
    ldr x1, [sp]
    add x2, sp, #8
    mov x6, sp
    adrp x0, main
    add x0, x0, :lo12:main
    mov x3, #0
    mov x4, #0
    bl __libc_start_main
    brk #0
    .size _start, . - _start
)");
#else
#error "the probe is built for x86_64 and aarch64"
#endif
