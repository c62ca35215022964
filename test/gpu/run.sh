#!/usr/bin/env bash
# What only a machine with GPUs can show: bash test/gpu/run.sh [--no-build] [SECTION...]; without sections, all of them.
# Exit code 0 if all passed, 1 if one failed, 77 if there is no GPU. P3D_GPU_EMULATED=1: small, on the emulated driver.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

declare -A about=(
  [kernels]="the tests of all kernels on the device"
  [bench]="the speed of every kernel beside a copy or cuBLASLt"
  [golden]="each tiny model on one rank against its golden numbers"
  [mesh]="all ranks of 2x2x2 against the golden numbers, by NCCL with 8 devices, else by its stand-in"
  [gpt2]="tokens/s and MFU of GPT-2 124M on one device")
all=(kernels bench golden mesh gpt2)
# Writes a model to the path put behind it, for the section gpt2; empty: GPT-2 124M in f32, batch 8.
model_command=${P3D_GPU_MODEL_COMMAND:-}
build=$(realpath -m "${P3D_BUILD:-build}")
targets=(p3dc p3d-run check-golden p3d_base p3d_base_cuda p3d_gpu_kernels_test p3d_gpu_bench p3d_gpu_nccl)

builds=1
sections=()
for argument in "$@"; do
  if [ "$argument" = --no-build ]; then
    builds=0
  elif [ -n "${about[$argument]:-}" ]; then
    sections+=("$argument")
  else
    echo "run.sh: there is no section $argument; expected --no-build or some of: ${all[*]}" >&2
    exit 1
  fi
done
[ ${#sections[@]} -gt 0 ] || sections=("${all[@]}")

emulated=${P3D_GPU_EMULATED:-}
if [ -n "$emulated" ]; then
  device="Emulated GPU 0" arch=sm_80 count=8
elif gpus=$(nvidia-smi ${CUDA_VISIBLE_DEVICES:+-i "$CUDA_VISIBLE_DEVICES"} --query-gpu=name,compute_cap --format=csv,noheader 2>/dev/null) &&
     [ -n "$gpus" ]; then
  count=$(wc -l <<<"$gpus")
  device=$(head -1 <<<"$gpus" | sed 's/, [^,]*$//')
  arch=sm_$(head -1 <<<"$gpus" | sed 's/.*, //; s/\.//')
else
  echo "run.sh: there is no GPU here: nvidia-smi is missing or shows none. On a machine with one this would run"
  for section in "${sections[@]}"; do printf '  %-8s %s\n' "$section" "${about[$section]}"; done
  echo "With P3D_GPU_EMULATED=1 it runs a small part of that on the emulated driver."
  exit 77
fi
echo "== $count x $device ($arch)"

# Libraries of CUDA that the loader may not know of by itself.
libraries=/usr/local/cuda/lib64
if [ -z "$emulated" ] && [ -d $libraries ]; then
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libraries"
fi

# Some rows at a time: a rank takes a processor while it starts and compiles.
jobs_of() { local jobs=$(($(nproc) / $1)); echo $((jobs < 1 ? 1 : jobs > 4 ? 4 : jobs)); }
table() { python3 test/numerics/table.py --build="$build" --target=cuda --gpu-arch="$arch" "$@"; }
on_device() { if [ -n "$emulated" ]; then LD_LIBRARY_PATH="$build/lib/emulator" "$@"; else "$@"; fi; }

run_build() {
  build_targets && return
  echo "run.sh: the build failed; if a target is unknown: test/gpu needs nvcc, cuda.h, cublasLt.h, nccl.h, clang-19 and Google Benchmark" >&2
  return 1
}

build_targets() {
  if [ -f "$build/build.ninja" ]; then
    ninja -C "$build" "${targets[@]}"
  elif [ "$build" = "$PWD/build" ]; then
    bash test/setup.sh "${targets[@]}"
  else
    echo "run.sh: P3D_BUILD=$build has no build.ninja; configure it with cmake, or leave P3D_BUILD away to have build/ made" >&2
    return 1
  fi
}

# With two multiprocessors blocks walk over several rows also where tensors are small.
run_kernels() {
  if [ -n "$emulated" ]; then
    on_device "$build/bin/p3d_gpu_kernels_test" --multiprocessors=2 --gtest_brief=1 --gtest_filter='*Norm.*:*Softmax.*:Launch.*'
  else
    "$build/bin/p3d_gpu_kernels_test" --gtest_brief=1 && "$build/bin/p3d_gpu_kernels_test" --multiprocessors=2 --gtest_brief=1
  fi
}

run_bench() {
  on_device "$build/bin/p3d_gpu_bench" ${emulated:+--sizes=tiny} --benchmark_out="$build/gpu/bench.json" --benchmark_out_format=json
}

run_golden() {
  if [ -n "$emulated" ]; then
    table --meshes=1x1x1 --models=gpt2_tiny --one --steps=1
  else
    table --driver=machine --meshes=1x1x1 -j "$(jobs_of 4)"
  fi
}

run_mesh() {
  if [ -n "$emulated" ]; then
    table --meshes=2x2x2 --models=gpt2_tiny --one --steps=1 --share-devices
  elif [ "$count" -ge 8 ]; then
    table --driver=machine --meshes=2x2x2 -j 1
  else
    table --driver=machine --meshes=2x2x2 --models=gpt2_tiny,llama_tiny,llama_tiny_bf16,mixtral_tiny --share-devices -j "$(jobs_of 8)"
  fi
}

run_gpt2() {
  local flags=(--build="$build" --gpu-arch="$arch" --device="$device")
  if [ -n "$emulated" ]; then
    on_device python3 test/gpu/gpt2.py "${flags[@]}" --vocabulary=64 --steps=5 test/Inputs/gpt2_tiny.mlir
  else
    python3 test/gpu/gpt2.py "${flags[@]}" ${model_command:+--model-command="$model_command"}
  fi
}

failed=0
table_of_results=""
section() {
  local start=$SECONDS result=passed
  echo "== $1: $2"
  if ! "run_$1" 2>&1 | tee "$build/gpu/$1.log"; then
    result=FAILED failed=1
  fi
  table_of_results+=$(printf '%-8s %-7s %4d s  %s/gpu/%s.log' "$1" "$result" $((SECONDS - start)) "$build" "$1")$'\n'
  [ $result = passed ]
}

mkdir -p "$build/gpu"
if [ $builds = 0 ] || section build "what the sections need"; then
  for each in "${sections[@]}"; do section "$each" "${about[$each]}"; done
fi
printf '== results\n%s' "$table_of_results"
exit $failed
