# shellcheck shell=bash
# Makes the files of a release. scripts/release runs it from the exported tree of the tag, in an environment without
# the user's variables:
#
#   bash make_release.sh WORK VERSION COMMIT KINDS ARCHITECTURES
#
# WORK/source is the tree. The files are written to WORK/out; all other files in WORK are temporary.
set -euo pipefail
work=$1
version=$2
commit=$3
kinds=,$4,
architectures=,$5,
source=$work/source
out=$work/out
cd "$source"
. scripts/lib/install.sh
mkdir "$out"

quietly() {
  "$@" >"$work/log" 2>&1 || { install_report "failed: $*" "$work/log"; exit 1; }
}
is_wanted() {
  [[ $kinds == *,$1,* ]]
}

# The programs -----------------------------------------------------------------------------------

# configure ARCHITECTURE: configures the build folder of the architecture. The programs contain no path of it.
configure() {
  local build=$work/build-$1 toolchain=()
  [[ $1 == amd64 ]] || toolchain=(-DCMAKE_TOOLCHAIN_FILE="$source/cmake/$1.cmake")
  quietly cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHARICOT_TESTS=OFF \
    -DHARICOT_FAT_OBJECTS=OFF -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$build=build -ffile-prefix-map=$source=." \
    "${toolchain[@]}"
}

# link ARCHITECTURE HOW: builds the programs into WORK/programs/ARCHITECTURE-HOW. Both kinds differ only in the link,
# so nothing is compiled twice.
#   dynamic    for the packages of a distribution
#   static     for machines without the libraries
link() {
  local architecture=$1 how=$2 into=$work/programs/$1-$2
  local from=$work/build-$1 targets=(haricotd haricot)
  if [[ $how == static ]]; then
    from+=/static
    targets=(haricotd_static haricot_static)
  fi
  echo "== building haricotd and haricot for $architecture, $how" >&2
  configure "$architecture"
  cmake --build "$work/build-$architecture" --target "${targets[@]}" >"$work/log" 2>&1 ||
    { install_report "the build failed:" "$work/log"; exit 1; }
  mkdir -p "$into"
  cp "$from/haricotd" "$from/haricot" "$into"
}

# The packages -----------------------------------------------------------------------------------

make_deb() {
  echo "== packing for $1: deb" >&2
  quietly scripts/package --into "$out" --architecture "$1" --programs "$work/programs/$1-dynamic"
}

# run_cmake_install ROOT FROM WORD...: runs `cmake --install` into ROOT, with the programs in FROM. The other words are
# settings for cmake.
run_cmake_install() {
  local root=$1 from=$2 build=$work/install
  shift 2
  rm -rf "$build"
  quietly cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHARICOT_TESTS=OFF "$@"
  cp "$from/haricotd" "$from/haricot" "$build"
  DESTDIR=$root quietly cmake --install "$build" --strip
}

make_tar() {
  local name=haricot-$version-linux-$1 toolchain=()
  [[ $1 == amd64 ]] || toolchain=(-DCMAKE_TOOLCHAIN_FILE="$source/cmake/$1.cmake")
  echo "== packing for $1: tar" >&2
  run_cmake_install "$work/tree-$1" "$work/programs/$1-static" -DCMAKE_INSTALL_PREFIX=/usr/local \
    -DCMAKE_INSTALL_DOCDIR=share/doc/haricot "${toolchain[@]}"
  mv "$work/tree-$1/usr/local" "$work/tree-$1/$name"
  tar -c -C "$work/tree-$1" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner --mode=u=rwX,go=rX "$name" | gzip -9n >"$out/$name.tar.gz"
}

make_image() {
  echo "== packing for $1: image" >&2
  quietly scripts/image --into "$out" --architecture "$1" --programs "$work/programs/$1-static"
}

make_rpm() {
  local root=$work/rpm-tree architecture=x86_64
  echo "== packing for amd64: rpm" >&2
  run_cmake_install "$root" "$work/programs/amd64-dynamic" -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_DOCDIR=share/doc/haricot -DHARICOT_REPLACE_BEANSTALKD=ON \
    -DHARICOT_UNIT_DIR=/usr/lib/systemd/system -DHARICOT_DEFAULT_FILE=/etc/sysconfig/beanstalkd \
    -DHARICOT_WEB_DEFAULT_FILE=/etc/sysconfig/haricot-web
  install -D -m 644 packaging/rpm/beanstalkd.sysconfig "$root/etc/sysconfig/beanstalkd"
  install -d "$root/var/lib/beanstalkd"
  gzip -9n "$root"/usr/share/man/man?/*
  # Keeps the name of this machine, the current time and the user's settings out of the package.
  quietly rpmbuild -bb --target "$architecture-linux" --rcfile /usr/lib/rpm/rpmrc \
    --define "_topdir $work/rpm" --define "_dbpath $work/rpm/db" --define "_tmppath $work" \
    --define "tree $root" --define "project_version $version" --define "_build_id_links none" \
    --define "_buildhost haricot.invalid" --define "use_source_date_epoch_as_buildtime 1" \
    --define "clamp_mtime_to_source_date_epoch 1" --define "_binary_payload w9.xzdio" \
    --define "__os_install_post %{nil}" --define "debug_package %{nil}" \
    packaging/rpm/haricot.spec
  cp "$work/rpm/RPMS/$architecture"/haricot-*.rpm "$out"
}

for architecture in amd64 arm64; do
  [[ $architectures == *,$architecture,* ]] || continue
  if is_wanted deb || is_wanted rpm; then
    link "$architecture" dynamic
    ! is_wanted deb || make_deb "$architecture"
    ! is_wanted rpm || [[ $architecture != amd64 ]] || make_rpm
  fi
  if is_wanted tar || is_wanted image; then
    link "$architecture" static
    ! is_wanted tar || make_tar "$architecture"
    ! is_wanted image || make_image "$architecture"
  fi
done

# Manual pages, bill of materials and checksums ---------------------------------------------------

install -m 644 packaging/man/haricotd.8 packaging/man/haricot.1 "$out"
quietly python3 scripts/lib/spdx.py --folder "$out" --version "$version" --commit "$commit" \
  --created "$SOURCE_DATE_EPOCH"
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS)
chmod 644 "$out"/*
