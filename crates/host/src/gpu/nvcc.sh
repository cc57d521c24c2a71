#!/bin/sh
# Stands in for nvcc while Candle's kernels are built. What a course needs is compiled to PTX by the
# real compiler; the kernels for quantised language models, which take minutes, become functions that
# say that they were left out. Taper writes this file and puts the real compiler's path first.
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
    # A PTX file without functions: whoever asks for one hears that there is no such function.
    while [ "$1" != --output-directory ]; do shift; done
    printf '.version 7.0\n.target sm_52\n.address_size 64\n' >"$2/quantized.ptx"
    exit
    ;;
esac

# The kernels of `sm_90a` run on cards of 9.0 alone, those of `sm_90` on all that came later too.
for argument; do
    shift
    case $argument in
    -gencode=*) argument=$(echo "$argument" | sed 's/\([0-9]\)[af]\([,]\|$\)/\1\2/g') ;;
    esac
    set -- "$@" "$argument"
done
exec "$NVCC_OF_TOOLKIT" -allow-unsupported-compiler "$@"
