# shellcheck shell=bash
# Functions that install the tools for building and testing (Debian 12, 13). To be sourced:
#
#   install_build_tools    Debian packages to build haricotd
#   install_test_build_tools   Debian packages to build haricotd and the tests
#   install_test_tools     Debian packages to run the tests, including the real beanstalkd
#   install_package_tools  Debian packages to build haricot's own package
#   install_image_tools    Debian packages to build its container image
#   install_release_tools  Debian packages to make a release, for amd64 and arm64
#   install_arm64_tools    Debian packages to build for arm64 and to run the result
#   install_long_test_tools    Debian packages to run the tests that take minutes
#   install_npm_clients    the client libraries from npm, in the versions of the lock file
#   install_npm_schemas    npm packages for the long tests of packages
#   install_npm_browser    npm packages for the long tests of the page
#
# Each function does and prints nothing if everything is installed. Otherwise it names the missing packages;
# the output of the package manager is shown only if it fails. The functions need root or sudo, ask no
# questions of their own, and return 1 with the reason on stderr if they fail.

install_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

install_build_packages=(cmake g++ ninja-build)

install_gtest=libgtest-dev  # GoogleTest
install_test_packages=(
  "$install_gtest"
  clang clang-format clang-tidy   # a second compiler, and scripts/lint
  procps strace                   # tests that watch the daemon from outside
  valgrind                        # counts the instructions of a command
  python3                         # tests/clients/run and other tests
  groff-base                      # formats the manual page of the tool
  beanstalkd                      # the server that haricotd has to behave like
  ruby ruby-beaneater             # a client library and its language
  php-cli php-pda-pheanstalk      # another client library and its language
  php-symfony-beanstalkd-messenger php-symfony-event-dispatcher php-psr-container  # a framework that uses pheanstalk
  php-illuminate-queue php-illuminate-bus php-illuminate-events golang-go  # used by docs/clients.md
  python3-yaml python3-ruamel.yaml php-yaml  # YAML readers of monitors and examples
  netcat-openbsd                  # commands that operators send by nc
  stunnel4 openssl                # TLS in front of a server
  man-db                          # manual pages
  zsh fish                        # shells for which the tool has completions
  systemd                         # systemd-analyze, systemd-socket-activate
)

install_package_packages=(dpkg-dev binutils)
install_image_packages=(binutils python3)
install_arm64_packages=(
  g++-aarch64-linux-gnu           # compiler and libraries
  googletest                      # GoogleTest as source
  qemu-user                       # runs the programs
)
install_release_packages=(
  git                             # the tree of the tag
  g++-aarch64-linux-gnu
  rpm                             # makes and reads the .rpm
  "${install_package_packages[@]}" "${install_image_packages[@]}"
)
install_long_test_packages=(
  debootstrap lintian             # installs the package on a machine of its own, and checks it
  systemd-container               # systemd on that machine
  iproute2                        # the network of that machine
  docker-compose                  # checks the example for it
  resource-agents libxml2-utils   # ocf-tester, which checks the resource agent for Pacemaker
  haproxy                         # in front of two servers
  glusterfs-server glusterfs-client   # a replicated folder on three machines
  e2fsprogs mount                 # disks of these machines, which lose power
  pacemaker pacemaker-cli-utils corosync pcs kmod   # a cluster of three machines
  buildah                         # reads the archives of the image
  chromium fonts-dejavu-core      # opens the page of haricot web
  prometheus python3-prometheus-client   # read the metrics of haricot web
  nginx-light                     # in front of haricot web
  "${install_package_packages[@]}" "${install_image_packages[@]}" "${install_release_packages[@]}"
)

install_build_tools() {
  install_packages building "${install_build_packages[@]}"
}

install_test_build_tools() {
  install_packages "building the tests" "${install_build_packages[@]}" "$install_gtest"
}

install_test_tools() {
  local wanted=("${install_test_packages[@]}")
  # Node.js may have another source than Debian, which then includes npm.
  command -v node >/dev/null || wanted+=(nodejs)
  command -v npm >/dev/null || wanted+=(npm ca-certificates)
  install_packages testing "${wanted[@]}"
}

install_package_tools() {
  install_packages packaging "${install_package_packages[@]}"
}

install_image_tools() {
  install_packages "the image" "${install_image_packages[@]}"
}

install_release_tools() {
  install_packages "a release" "${install_release_packages[@]}"
}

install_arm64_tools() {
  install_packages arm64 "${install_arm64_packages[@]}"
}

install_long_test_tools() {
  install_packages "the long tests" "${install_long_test_packages[@]}"
}

install_npm_clients() {
  install_npm "the client libraries" "$install_root/tests/clients/node"
}

install_npm_schemas() {
  install_npm "the schemas of Kubernetes" "$install_root/tests/packaging/node"
}

install_npm_browser() {
  install_npm "the browser driver" "$install_root/tests/web/page/node"
}

# install_npm WHAT FOLDER: installs the packages of the lock file in FOLDER. After success, node_modules has a copy of
# the lock file; after a failure it has none.
install_npm() {
  local what=$1 folder=$2
  local made_from=$folder/node_modules/.made-from-package-lock.json
  local lock log status=0
  # Locked, because two test runs may start at the same time.
  exec {lock}<"$folder/package-lock.json"
  flock "$lock"
  if ! cmp -s "$folder/package-lock.json" "$made_from"; then
    echo "== installing $what from npm"
    log=$(mktemp)
    if install_retrying "$log" npm --prefix "$folder" ci --ignore-scripts; then
      cp "$folder/package-lock.json" "$made_from"
    else
      install_report "npm cannot install $what:" "$log"
      status=1
    fi
    rm -f "$log"
  fi
  exec {lock}<&-
  return "$status"
}

# Debian packages ------------------------------------------------------------------------------

# install_packages PURPOSE PACKAGE...: installs the missing packages.
install_packages() {
  local purpose=$1 missing=() lock status=0
  shift
  install_find_missing "$@"
  ((${#missing[@]})) || return 0
  # Locked, because another script may be installing the same packages.
  exec {lock}<"$install_root/scripts/lib/install.sh"
  flock "$lock"
  install_find_missing "$@"
  ((${#missing[@]} == 0)) || install_missing "$purpose" || status=1
  exec {lock}<&-
  return "$status"
}

# install_find_missing PACKAGE...: sets `missing` to the packages that are not installed.
install_find_missing() {
  local package
  missing=()
  for package in "$@"; do
    install_has "$package" || missing+=("$package")
  done
}

install_missing() {
  if ! command -v apt-get >/dev/null; then
    echo "This is not Debian. Install the counterparts of these packages for $1: ${missing[*]}" >&2
    return 0
  fi
  install_can_be_root || {
    echo "These Debian packages are missing for $1: ${missing[*]}" >&2
    echo "Install them as root: apt-get install ${missing[*]}" >&2
    return 1
  }
  echo "== installing for $1: ${missing[*]}"
  install_by_apt "${missing[@]}"
}

install_has() {
  local state
  # The quoted dollar is dpkg's own notation.
  # shellcheck disable=SC2016
  state=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) && [[ $state == installed ]]
}

# Succeeds as root, or if sudo needs no password or can ask for it on a terminal.
install_can_be_root() {
  ((EUID == 0)) && return 0
  command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }; }
}

install_as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

install_by_apt() {
  local log status=0
  log=$(mktemp)
  # Continues if a package list cannot be fetched, because it may not be needed.
  if install_retrying "$log" install_apt_get update --error-on=any; then
    : >"$log"
  else
    echo "apt-get update failed twice; continuing with the existing package lists" >&2
  fi
  install_without_services install_apt_get install --no-install-recommends "$@" >>"$log" 2>&1 ||
    status=1
  ((status == 0)) || install_report "apt-get cannot install $*:" "$log"
  rm -f "$log"
  return "$status"
}

install_apt_get() {
  # Waits until other apt processes have ended. `env` is behind sudo, which does not pass the environment on.
  install_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -y -q -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

# install_without_services COMMAND...: runs the installation COMMAND, and keeps the services of new packages from
# starting now or at boot: Debian's beanstalkd would take port 11300. A package starts no service while a file
# policy-rc.d exits with 101 (forbidden). An existing policy-rc.d is the administrator's and stays.
install_without_services() (
  policy=/usr/sbin/policy-rc.d
  had_beanstalkd=no
  install_has beanstalkd && had_beanstalkd=yes
  if [[ ! -e $policy ]]; then
    # The function is a subshell, so its trap removes the file even if Ctrl-C ends the installation.
    trap 'install_as_root rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | install_as_root tee "$policy" >/dev/null
    install_as_root chmod 755 "$policy"
  fi
  status=0
  "$@" || status=$?
  if [[ $had_beanstalkd == no ]] && install_has beanstalkd; then
    # The administrator's policy may have allowed the start.
    install_as_root invoke-rc.d beanstalkd stop || true
    install_as_root update-rc.d beanstalkd disable || true
  fi
  exit "$status"
)

# install_retrying LOG COMMAND...: runs the command, and repeats it once if it fails, because the network may have.
install_retrying() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { sleep 3 && "$@" >"$log" 2>&1; }
}

install_report() {
  echo "$1" >&2
  sed 's/^/    /' "$2" >&2
}
