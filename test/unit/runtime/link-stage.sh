#!/bin/sh
# link-stage.sh LLD LINK_DIR STAGE.o BLAS OUT: links a rank executable as p3dc does in process: no compiler, only
# LLD, base.o and the start-up files.
set -e
lld=$1 dir=$2 stage=$3 blas=$4 out=$5
lib=/lib/x86_64-linux-gnu
exec "$lld" -pie --eh-frame-hdr --dynamic-linker /lib64/ld-linux-x86-64.so.2 --gc-sections -o "$out" \
  "$dir/Scrt1.o" "$dir/crti.o" "$dir/crtbeginS.o" "$stage" "$dir/base.o" \
  "$lib/libc.so.6" "$lib/libm.so.6" "$blas" -rpath "$(dirname "$blas")" \
  "$dir/crtendS.o" "$dir/crtn.o"
