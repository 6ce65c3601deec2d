# shellcheck shell=bash
# Installs what building (Debian 12, 13) and testing (Debian 12) need. To be sourced:
#
#   install_build_tools    Debian packages to build haricotd
#   install_test_build_tools   the same, and what the tests are compiled with
#   install_test_tools     Debian packages to run the tests, the real beanstalkd among them
#   install_package_tools  Debian packages to build haricot's own package
#   install_image_tools    Debian packages to build its container image
#   install_release_tools  Debian packages to make a release, for amd64 and arm64
#   install_arm64_tools    Debian packages to build for arm64 and to run that
#   install_long_test_tools    Debian packages to run the tests that take minutes
#   install_npm_clients    the client libraries from npm, in the versions of the lock file
#   install_npm_schemas    what the long tests of packages need from npm
#   install_npm_browser    what the long tests of the page need from npm
#
# Each of them does nothing, and says nothing, where all is there already. Otherwise it says what it
# installs; what the package manager has to say is shown only when it fails. They work as root or by
# sudo, never ask a question themselves, and return 1 with the reason on stderr when something
# cannot be had.

install_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

install_build_packages=(cmake g++ ninja-build)

install_gtest=libgtest-dev  # GoogleTest
install_test_packages=(
  "$install_gtest"
  clang clang-format clang-tidy   # a second compiler, and scripts/lint
  procps strace                   # tests that look at the daemon from outside
  valgrind                        # counts the instructions of a command
  python3                         # tests/clients/run
  groff-base                      # reads the manual page of the tool
  beanstalkd                      # the server that haricotd must behave like
  ruby ruby-beaneater             # a client library, and what it runs on
  php-cli php-pda-pheanstalk      # another one
  php-symfony-beanstalkd-messenger php-symfony-event-dispatcher  # and one on top of it
  php-illuminate-queue golang-go  # languages and libraries of docs/clients.md
  python3-yaml python3-ruamel.yaml php-yaml  # what monitors read statistics with; examples
  netcat-openbsd                  # what operators ask a server with
  stunnel4 openssl                # TLS in front of a server
  man-db                          # manual pages
  zsh fish                        # shells that complete the words of the tool
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
  debootstrap lintian             # the package, installed on a machine of its own
  systemd-container               # systemd on that machine
  iproute2                        # the network of that machine
  docker-compose                  # checks its example
  resource-agents libxml2-utils   # ocf-tester, which checks the resource agent for Pacemaker
  haproxy                         # in front of two servers
  glusterfs-server glusterfs-client   # a folder on three machines
  e2fsprogs mount                 # their disks, which lose their power
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
  # Node.js may come from elsewhere than Debian, and then brings its npm along.
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
  install_npm "what drives a browser" "$install_root/tests/web/page/node"
}

# install_npm WHAT FOLDER: what the lock file there says. node_modules keeps a copy of the lock file it
# was made from; a half-finished one has none.
install_npm() {
  local what=$1 folder=$2
  local made_from=$folder/node_modules/.made-from-package-lock.json
  local lock log status=0
  # One at a time: two test runs may start together.
  exec {lock}<"$folder/package-lock.json"
  flock "$lock"
  if ! cmp -s "$folder/package-lock.json" "$made_from"; then
    echo "== installing $what from npm"
    log=$(mktemp)
    if install_twice "$log" npm --prefix "$folder" ci --ignore-scripts; then
      cp "$folder/package-lock.json" "$made_from"
    else
      install_complain "npm cannot install $what:" "$log"
      status=1
    fi
    rm -f "$log"
  fi
  exec {lock}<&-
  return "$status"
}

# Debian packages ------------------------------------------------------------------------------

# install_packages PURPOSE PACKAGE...: those of the packages that are missing.
install_packages() {
  local purpose=$1 missing=() lock status=0
  shift
  install_find_missing "$@"
  ((${#missing[@]})) || return 0
  # One at a time: somebody beside may be installing the same.
  exec {lock}<"$install_root/scripts/lib/install.sh"
  flock "$lock"
  install_find_missing "$@"
  ((${#missing[@]} == 0)) || install_missing "$purpose" || status=1
  exec {lock}<&-
  return "$status"
}

# Those of the packages that are missing, in `missing`.
install_find_missing() {
  local package
  missing=()
  for package in "$@"; do
    install_is_there "$package" || missing+=("$package")
  done
}

install_missing() {
  if ! command -v apt-get >/dev/null; then
    echo "This is not Debian. For $1 there must be what Debian has in: ${missing[*]}" >&2
    return 0
  fi
  install_can_be_root || {
    echo "For $1 these Debian packages are missing: ${missing[*]}" >&2
    echo "Installing them needs root or sudo. As root: apt-get install ${missing[*]}" >&2
    return 1
  }
  echo "== installing for $1: ${missing[*]}"
  install_by_apt "${missing[@]}"
}

install_is_there() {
  local state
  # Quoted dollar: this is dpkg's own notation.
  # shellcheck disable=SC2016
  state=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) && [[ $state == installed ]]
}

# By sudo only where it does not have to ask, or can ask the person at the terminal.
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
  # A list that cannot be fetched need not be the one that matters, so this goes on without it.
  if install_twice "$log" install_apt_get update --error-on=any; then
    : >"$log"
  else
    echo "apt-get update failed twice; trying with the package lists there are" >&2
  fi
  install_without_services install_apt_get install --no-install-recommends "$@" >>"$log" 2>&1 ||
    status=1
  ((status == 0)) || install_complain "apt-get cannot install $*:" "$log"
  rm -f "$log"
  return "$status"
}

install_apt_get() {
  # Waits for another apt to end. The environment is set after sudo, which would not pass it on.
  install_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -y -q -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

# install_without_services COMMAND...: what COMMAND installs is neither started now nor at boot.
# Debian's beanstalkd would take port 11300. While a file policy-rc.d says 101 (forbidden), packages
# start nothing; one that is there already is the administrator's and stays.
install_without_services() (
  policy=/usr/sbin/policy-rc.d
  had_beanstalkd=no
  install_is_there beanstalkd && had_beanstalkd=yes
  if [[ ! -e $policy ]]; then
    # A subshell has an exit of its own, so the file goes even when Ctrl-C ends the installation.
    trap 'install_as_root rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | install_as_root tee "$policy" >/dev/null
    install_as_root chmod 755 "$policy"
  fi
  status=0
  "$@" || status=$?
  if [[ $had_beanstalkd == no ]] && install_is_there beanstalkd; then
    # An administrator's policy may have let it start.
    install_as_root invoke-rc.d beanstalkd stop || true
    install_as_root update-rc.d beanstalkd disable || true
  fi
  exit "$status"
)

# install_twice LOG COMMAND...: runs it again, once, when it fails; networks do hiccup.
install_twice() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { sleep 3 && "$@" >"$log" 2>&1; }
}

install_complain() {
  echo "$1" >&2
  sed 's/^/    /' "$2" >&2
}
