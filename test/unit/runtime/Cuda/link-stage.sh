#!/bin/sh
# link-stage.sh LLD LINK_DIR STAGE.o OUT: links a rank executable for CUDA as p3dc does in process; it needs neither a CUDA
# library nor the BLAS.
set -e
lld=$1 dir=$2 stage=$3 out=$4
lib=/lib/x86_64-linux-gnu
exec "$lld" -pie --eh-frame-hdr --dynamic-linker /lib64/ld-linux-x86-64.so.2 --gc-sections -o "$out" \
  "$dir/Scrt1.o" "$dir/crti.o" "$dir/crtbeginS.o" "$stage" "$dir/base-cuda.o" \
  "$lib/libc.so.6" "$lib/libm.so.6" "$dir/crtendS.o" "$dir/crtn.o"
