#!/bin/sh
# Replaces nvcc while Candle's kernels are built. The kernels that a course needs are compiled to PTX by the
# real compiler. The kernels for quantised language models, which take minutes to compile, become functions
# that report that they were left out. Taper writes this file and puts the real compiler's path first.
set -eu

case " $* " in
*' --lib '*) # --lib -o LIBRARY OBJECTS…
    shift 2
    rm -f "$1"
    exec ar crs "$@"
    ;;
*' -c '*) # … -c -o OBJECT … SOURCE
    object= source= previous=
    for argument; do
        [ "$previous" != -o ] || object=$argument
        previous=$argument source=$argument
    done
    case $source in
    */moe/* | */mmq_gguf/* | */mmvq_gguf.cu)
        # Every object gets all of them: they are weak, and the linker takes one of each.
        {
            cat <<'C'
#include <stdio.h>
#include <stdlib.h>
#define LEFT_OUT(name) \
    __attribute__((weak)) void name(void) { \
        fputs("Taper is built without Candle's kernels for quantised models: " #name "\n", stderr); \
        abort(); \
    }
C
            sed -n 's/^ *pub fn \([A-Za-z0-9_]*\).*/LEFT_OUT(\1)/p' src/ffi.rs | sort -u
        } >"$object.c"
        exec "${CC:-cc}" -O1 -fPIC -c "$object.c" -o "$object"
        ;;
    esac
    ;;
esac

case " $* " in
*' --ptx '*/quantized.cu' ')
    # A PTX file without functions: loading a function from it returns the error that it does not exist.
    while [ "$1" != --output-directory ]; do shift; done
    printf '.version 7.0\n.target sm_52\n.address_size 64\n' >"$2/quantized.ptx"
    exit
    ;;
esac

# Kernels for `sm_90a` run only on GPUs with compute capability 9.0, kernels for `sm_90` also on later ones.
for argument; do
    shift
    case $argument in
    -gencode=*) argument=$(echo "$argument" | sed 's/\([0-9]\)[af]\([,]\|$\)/\1\2/g') ;;
    esac
    set -- "$@" "$argument"
done
exec "$NVCC_OF_TOOLKIT" -allow-unsupported-compiler "$@"
