#!/usr/bin/env bash
# Installs the Debian packages that are missing, configures, and builds the given targets (all without arguments).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build ccache llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools lld-19 liblld-19-dev
          libfmt-dev nlohmann-json3-dev libopenblas-serial-dev libhwy-dev libgtest-dev libbenchmark-dev
          zlib1g-dev libzstd-dev libcurl4-openssl-dev libedit-dev python3)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "== installing ${missing[*]}"
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ ! -f build/build.ninja ]; then
  echo "== configuring"
  cmake --preset default >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
  mv build-configure.log build/configure.log
fi
echo "== building (about 20 minutes on 2 cores the first time)"
ninja -C build "$@"
