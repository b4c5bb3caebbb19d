/* dlopen and dlmopen: only the file name is looked at, then the call goes on as a jump, so that the caller's RUNPATH and
 * namespace still apply. */
#if defined(__x86_64__)
    .text
    .globl dlopen
    .type dlopen, @function
dlopen:
    endbr64
    pushq %rdi
    pushq %rsi
    subq $8, %rsp
    leaq 16(%rsp), %rdi
    leaq 8(%rsp), %rsi
    movq 24(%rsp), %rdx
    call ag_preload_dlopen
    addq $8, %rsp
    popq %rsi
    popq %rdi
    jmp *%rax
    .size dlopen, .-dlopen

    .globl dlmopen
    .type dlmopen, @function
dlmopen:
    endbr64
    pushq %rdi
    pushq %rsi
    pushq %rdx
    call ag_preload_dlmopen
    popq %rdx
    popq %rsi
    popq %rdi
    jmp *%rax
    .size dlmopen, .-dlmopen
#elif defined(__aarch64__)
    .text
    .globl dlopen
    .type dlopen, %function
dlopen:
    stp x29, x30, [sp, #-32]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    add x0, sp, #16
    add x1, sp, #24
    mov x2, x30
    bl ag_preload_dlopen
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    br x16
    .size dlopen, .-dlopen

    .globl dlmopen
    .type dlmopen, %function
dlmopen:
    stp x29, x30, [sp, #-48]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    bl ag_preload_dlmopen
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    br x16
    .size dlmopen, .-dlmopen
#else
#error "autograph knows x86-64 and aarch64"
#endif
    .section .note.GNU-stack, "", %progbits
