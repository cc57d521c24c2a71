// Replaces libLIBRARY when a program is linked, and loads it when a function is called for the first time.
// Written by Taper (crates/host/src/gpu/shims.rs). For ELF on x86-64 only.
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char *const files[] = { FILES 0 };
static const char *const names[] = { NAMES 0 };
__attribute__((visibility("hidden"))) void *taper_LIBRARY_slots[COUNT];

static void *library;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_library(void) {
    for (int i = 0; files[i] && !library; i++) library = dlopen(files[i], RTLD_LAZY | RTLD_LOCAL);
}

static long absent(void) { return ABSENT; }
static long older(void) { return OLDER; }
static const char *absent_text(void) { return "libLIBRARY could not be loaded"; }

static int returns_text(const char *name) {
    const char *const ends[] = { "GetErrorString", "GetStatusString", "GetStatusName" };
    for (int i = 0; i < 3; i++) {
        // The driver's function of this name writes through a pointer, and returns a code.
        const char *at = strstr(name, ends[i]);
        if (at && !at[strlen(ends[i])] && strcmp(name, "cuGetErrorString")) return 1;
    }
    return 0;
}

// Finds the library's function, or a function that returns an error in its place.
__attribute__((visibility("hidden"))) void *taper_LIBRARY_resolve(int index) {
    pthread_once(&opened, open_library);
    void *function = library ? dlsym(library, names[index]) : 0;
    if (!function) {
        function = returns_text(names[index]) ? (void *)absent_text : library ? (void *)older : (void *)absent;
    }
    return taper_LIBRARY_slots[index] = function;
}

// The first call of a function: the registers with the arguments are saved until the function is found.
__asm__(
    ".text\n"
    "taper_LIBRARY_first:\n"
    "    push %rbp\n    mov %rsp, %rbp\n    sub $192, %rsp\n    and $-16, %rsp\n"
    "    mov %rdi, 0(%rsp)\n    mov %rsi, 8(%rsp)\n    mov %rdx, 16(%rsp)\n    mov %rcx, 24(%rsp)\n"
    "    mov %r8, 32(%rsp)\n    mov %r9, 40(%rsp)\n    mov %rax, 48(%rsp)\n"
    "    movups %xmm0, 64(%rsp)\n    movups %xmm1, 80(%rsp)\n    movups %xmm2, 96(%rsp)\n    movups %xmm3, 112(%rsp)\n"
    "    movups %xmm4, 128(%rsp)\n    movups %xmm5, 144(%rsp)\n    movups %xmm6, 160(%rsp)\n    movups %xmm7, 176(%rsp)\n"
    "    mov %r11d, %edi\n    call taper_LIBRARY_resolve\n    mov %rax, %r11\n"
    "    mov 0(%rsp), %rdi\n    mov 8(%rsp), %rsi\n    mov 16(%rsp), %rdx\n    mov 24(%rsp), %rcx\n"
    "    mov 32(%rsp), %r8\n    mov 40(%rsp), %r9\n    mov 48(%rsp), %rax\n"
    "    movups 64(%rsp), %xmm0\n    movups 80(%rsp), %xmm1\n    movups 96(%rsp), %xmm2\n    movups 112(%rsp), %xmm3\n"
    "    movups 128(%rsp), %xmm4\n    movups 144(%rsp), %xmm5\n    movups 160(%rsp), %xmm6\n    movups 176(%rsp), %xmm7\n"
    "    leave\n    jmp *%r11\n");

#define ENTRY(name, index) \
    __asm__( \
        ".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
        "    mov taper_LIBRARY_slots+8*" #index "(%rip), %r11\n" \
        "    test %r11, %r11\n    jz 1f\n    jmp *%r11\n" \
        "1:  mov $" #index ", %r11d\n    jmp taper_LIBRARY_first\n");

