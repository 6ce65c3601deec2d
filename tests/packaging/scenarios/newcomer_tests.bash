# A fresh installation, without a compiler: the second command of the README.

cd /scenario/haricot
show_state() { cp -r build/release/Testing /scenario/testing 2>/dev/null || true; }

# The file of Debian's installer.
cat >/etc/hosts <<'END'
127.0.0.1	localhost
127.0.1.1	machine
::1     localhost ip6-localhost ip6-loopback
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
END

step "scripts/test installs what it needs, builds, and passes all tests"
not command -v c++
scripts/test
step "done"
