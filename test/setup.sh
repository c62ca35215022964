#!/usr/bin/env bash
# Installs the Debian packages that are missing, configures, and builds the given targets (everything without arguments).
set -euo pipefail
cd "$(dirname "$0")/.."

# The last line is what LLVM's own CMake files look for.
packages=(g++ cmake ninja-build ccache python3
          llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools lld-19 liblld-19-dev
          libfmt-dev nlohmann-json3-dev libopenblas-pthread-dev libhwy-dev libgtest-dev libgmock-dev libbenchmark-dev libboost-context-dev libxxhash-dev gnuplot-nox
          zlib1g-dev libzstd-dev libcurl4-openssl-dev libedit-dev libxml2-dev libffi-dev)
# The tests run CUDA kernels on an emulated driver, from bitcode, and ranks as on several hosts.
[[ $# -gt 0 && "$*" != *p3d_gpu* ]] || packages+=(clang-19 openmpi-bin iproute2)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup: as root, run: apt-get install ${missing[*]}" >&2; exit 1; }
    sudo=(sudo)
  fi
  echo "== installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# What was just installed may add targets to a build that is there.
if [ ! -f build/build.ninja ] || [ ${#missing[@]} -gt 0 ]; then
  echo "== configuring"
  mkdir -p build
  cmake --preset default >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
fi
if [ -f build/.ninja_log ]; then
  echo "== building what has changed"
else
  echo "== building (about 20 minutes on 2 cores the first time)"
fi
ninja -C build "$@"
