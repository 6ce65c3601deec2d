# shellcheck shell=bash
# Builds the programs as they are released. To be sourced, after install.sh:
#
#   project_version            the version that the CMakeLists.txt on stdin gives the project
#   build_release TARGET...    in build/release, which scripts/test builds too: what one script has compiled,
#                              the others need not. What is done stands on stderr. One build at a time: a second
#                              one waits for the first.
#   release_is_built TARGET    whether there is nothing to compile for it. Requires: build_release was called.
#   build_alone PRESET COMMAND WORD...   runs the command while no other of these builds in the folder of the preset

project_version() {
  sed -n 's/^project(haricot VERSION \([0-9.]*\) .*/\1/p'
}

build_release() {
  local words=(-DHARICOT_LTO=ON -DHARICOT_COVERAGE=OFF -DHARICOT_SANITIZE=)
  local log status=0
  # Without GoogleTest there can be no tests. Where they are on already, they stay: to switch them off would
  # throw away what was compiled for them.
  if ! install_is_there libgtest-dev && [[ ! -e build/release/CMakeCache.txt ]]; then
    words+=(-DHARICOT_TESTS=OFF)
  fi
  echo "== building $*" >&2
  log=$(mktemp)
  build_alone release cmake --preset release "${words[@]}" >"$log" 2>&1 || {
    install_complain "cmake fails:" "$log"
    status=1
  }
  rm -f "$log"
  ((status == 0)) || return "$status"
  build_alone release cmake --build --preset release --target "$@" >&2
}

release_is_built() {
  [[ $(cmake --build --preset release --target "$1" -- -n) == *"no work to do"* ]]
}

build_alone() {
  mkdir -p build
  flock "build/$1.lock" "${@:2}"
}
