# shellcheck shell=bash
# Builds the programs as they are released. To be sourced, after install.sh:
#
#   project_version            the version that the CMakeLists.txt on stdin gives the project
#   build_release TARGET...    in build/release, which scripts/test builds too: what one script has compiled,
#                              the others need not. What is done stands on stderr.

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
  cmake --preset release "${words[@]}" >"$log" 2>&1 || {
    install_complain "cmake fails:" "$log"
    status=1
  }
  rm -f "$log"
  ((status == 0)) || return "$status"
  cmake --build --preset release --target "$@" >&2
}
