/* See stubs.h. A stub puts its number into a register that no call passes anything in, then all go the same way. */
#include "shim/hook/stubs.h"

#if defined(__x86_64__)
    .text
    .balign AG_STUB_BYTES
    .globl ag_stubs
    .hidden ag_stubs
    .type ag_stubs, @function
ag_stubs:
    .cfi_startproc
    .set index, 0
    .rept AG_STUB_COUNT
    .balign AG_STUB_BYTES
    endbr64
    movl $index, %r11d
    jmp .Lcommon
    .set index, index + 1
    .endr
    .balign 16
.Lcommon:
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %rax /* a function without a fixed number of arguments is told how many are floating */
    pushq %r10
    subq $128, %rsp
    movaps %xmm0, (%rsp)
    movaps %xmm1, 16(%rsp)
    movaps %xmm2, 32(%rsp)
    movaps %xmm3, 48(%rsp)
    movaps %xmm4, 64(%rsp)
    movaps %xmm5, 80(%rsp)
    movaps %xmm6, 96(%rsp)
    movaps %xmm7, 112(%rsp)
    movl %r11d, %edi
    call ag_unknown_before
    movq %rax, %r11
    movaps (%rsp), %xmm0
    movaps 16(%rsp), %xmm1
    movaps 32(%rsp), %xmm2
    movaps 48(%rsp), %xmm3
    movaps 64(%rsp), %xmm4
    movaps 80(%rsp), %xmm5
    movaps 96(%rsp), %xmm6
    movaps 112(%rsp), %xmm7
    addq $128, %rsp
    popq %r10
    popq %rax
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11
    .cfi_endproc
    .size ag_stubs, .-ag_stubs
#elif defined(__aarch64__)
    .text
    .balign AG_STUB_BYTES
    .globl ag_stubs
    .hidden ag_stubs
    .type ag_stubs, %function
ag_stubs:
    .cfi_startproc
    .set index, 0
    .rept AG_STUB_COUNT
    .balign AG_STUB_BYTES
    hint #34 /* bti c */
    mov w16, #index
    b .Lcommon
    .set index, index + 1
    .endr
    .balign 16
.Lcommon:
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80] /* where a large result goes */
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w16
    bl ag_unknown_before
    mov x16, x0
    ldp q6, q7, [sp, #192]
    ldp q4, q5, [sp, #160]
    ldp q2, q3, [sp, #128]
    ldp q0, q1, [sp, #96]
    ldr x8, [sp, #80]
    ldp x6, x7, [sp, #64]
    ldp x4, x5, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #224
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc
    .size ag_stubs, .-ag_stubs
#else
#error "autograph knows x86-64 and aarch64"
#endif
    .section .note.GNU-stack, "", %progbits
