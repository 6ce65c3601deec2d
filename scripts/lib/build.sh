# shellcheck shell=bash
# Functions that build the release programs. Source it after install.sh:
#
#   project_version            prints the project's version in the CMakeLists.txt on stdin
#   build_release TARGET...    builds in build/release, the folder of scripts/test too, so that each file is compiled
#                              once for all scripts. Reports on stderr. Waits if another build is running.
#   release_is_built TARGET    succeeds if the target is up to date. Requires: build_release was called.
#   build_locked PRESET COMMAND WORD...   runs the command while it holds the lock of the preset's build folder

project_version() {
  sed -n 's/^project(haricot VERSION \([0-9.]*\) .*/\1/p'
}

build_release() {
  local words=(-DHARICOT_LTO=ON -DHARICOT_COVERAGE=OFF -DHARICOT_SANITIZE=)
  local log status=0
  # Without GoogleTest, a new build folder has no tests. An existing folder keeps its setting, because other flags
  # would compile everything again.
  if ! install_has libgtest-dev && [[ ! -e build/release/CMakeCache.txt ]]; then
    words+=(-DHARICOT_TESTS=OFF)
  fi
  echo "== building $*" >&2
  log=$(mktemp)
  build_locked release cmake --preset release "${words[@]}" >"$log" 2>&1 || {
    install_report "cmake failed:" "$log"
    status=1
  }
  rm -f "$log"
  ((status == 0)) || return "$status"
  build_locked release cmake --build --preset release --target "$@" >&2
}

release_is_built() {
  [[ $(cmake --build --preset release --target "$1" -- -n) == *"no work to do"* ]]
}

build_locked() {
  mkdir -p build
  flock "build/$1.lock" "${@:2}"
}
