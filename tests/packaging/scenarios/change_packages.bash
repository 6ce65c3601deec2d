# Replaces beanstalkd by haricot, by a later version, by an earlier one, and by beanstalkd again, with apt and with dpkg
# alone. After each step the service runs with its jobs. Debian 12 has beanstalkd's unit in /lib, Debian 13 in
# /usr/lib, which is the same folder.

unit=beanstalkd.service
file=/usr/lib/systemd/system/$unit
theirs=(/var/cache/apt/archives/beanstalkd_*.deb)

# repacked VERSION FOLDER: prints the path of a copy of the package with this version, and with its units in FOLDER.
repacked() {
  local tree=/scenario/tree made=/scenario/repacked_$1.deb
  rm -rf "$tree"
  dpkg-deb -R "$package" "$tree"
  sed -i "s/^Version: .*/Version: $1/" "$tree/DEBIAN/control"
  if [[ $2 != usr/lib/systemd ]]; then
    mkdir -p "$tree/${2%/*}"
    mv "$tree/usr/lib/systemd" "$tree/$2"
    sed -i "s| usr/lib/systemd/| $2/|" "$tree/DEBIAN/md5sums"
  fi
  dpkg-deb --root-owner-group -b "$tree" "$made" >/dev/null
  echo "$made"
}

# check PACKAGE: checks that the service is enabled, runs the server of the package, and has the job.
check() {
  [[ -s $file ]] || fail "the unit is gone"
  [[ -s /etc/systemd/system/multi-user.target.wants/$unit ]] || fail "the unit is not enabled"
  eventually is_answered
  if [[ $1 == haricot ]]; then is_haricot; else not is_haricot; fi
  [[ $(dpkg --verify "$1") != *"$file"* ]] || fail "the unit is not that of $1"
  equal "the job" "$(ask 'peek 1')" $'FOUND 1 3\nabc'
  equal "diversions" "$(dpkg-divert --list '*beanstalkd*')" ""
}
by_dpkg() { dpkg --force-confold "$@" </dev/null >/scenario/dpkg.log 2>&1 || fail "$(cat /scenario/dpkg.log)"; }

later=$(repacked 99 usr/lib/systemd)
earlier=$(repacked 0.0.1 lib/systemd)

step "beanstalkd keeps a job"
install beanstalkd
echo 'BEANSTALKD_EXTRA="-b /var/lib/beanstalkd"' >>/etc/default/beanstalkd
/etc/init.d/beanstalkd restart >/dev/null
eventually is_answered
equal "the job" "$(ask 'put 0 0 60 3' abc)" "INSERTED 1"
check beanstalkd

step "apt: there, later, earlier, and back"
install "$package"
check haricot
install "$later"
check haricot
install --allow-downgrades "$package"
check haricot
install beanstalkd
check beanstalkd
apt-get -q -y purge haricot </dev/null >/scenario/apt.log 2>&1
check beanstalkd

step "dpkg alone: there, later, earlier, and back"
by_dpkg -i "$package"
check haricot
by_dpkg -i "$later"
check haricot
by_dpkg -i "$package"
check haricot
by_dpkg -r haricot
by_dpkg -i "${theirs[0]}"
check beanstalkd

step "dpkg alone, with the units of an earlier version in the other folder"
by_dpkg -i "$earlier"
by_dpkg -i "$package"
check haricot
by_dpkg -i "$earlier"
check haricot
by_dpkg -i "$package"
check haricot

step "an installation that fails leaves the machine as it was"
by_dpkg -r haricot
by_dpkg -i "${theirs[0]}"
check beanstalkd
rm -rf /scenario/tree
dpkg-deb -R "$package" /scenario/tree
printf '#!/bin/sh\n[ "$1" = abort-remove ] || exit 1\n' >/scenario/tree/usr/bin/haricotd
sed -i '$i exit 1' /scenario/tree/DEBIAN/preinst
dpkg-deb --root-owner-group -b /scenario/tree /scenario/broken.deb >/dev/null
not dpkg -i /scenario/broken.deb >/scenario/dpkg.log 2>&1
dpkg --configure -a >/scenario/dpkg.log 2>&1
check beanstalkd
step "done"
