# Uses the init script for OpenRC like an administrator.

step "OpenRC is there"
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d # Only OpenRC may start services.
install "$package"
install openrc
not pidof beanstalkd
# The folders that OpenRC makes at boot.
for folder in starting started stopping stopped inactive wasinactive failed hotplugged daemons options exclusive scheduled; do
  mkdir -p "/run/openrc/$folder"
done
echo default >/run/openrc/softlevel
cp /usr/share/doc/haricot/examples/openrc/beanstalkd /etc/init.d/beanstalkd
sed -i 's|^#BEANSTALKD_EXTRA|BEANSTALKD_EXTRA|' /etc/default/beanstalkd # With a binlog.
rm -rf /var/lib/beanstalkd
service() { rc-service --nodeps beanstalkd "$@"; }

step "start, restart, stop"
not service status
service start
eventually is_answered
is_haricot
service status
equal "who runs it" "$(ps -o user= -p "$(pidof beanstalkd)")" beanstalkd
equal "the first job" "$(ask 'put 0 0 60 2' hi)" "INSERTED 1"
service restart
eventually is_answered
equal "the job" "$(ask 'peek 1')" $'FOUND 1 2\nhi'
before=$(pidof beanstalkd)
exec 3<>/dev/tcp/127.0.0.1/11300
printf 'reserve\r\nlist-tu' >&3
hear() { IFS= read -r -t 60 answer <&3 && equal "an answer" "${answer%$'\r'}" "$1"; }
hear "RESERVED 1 2"
hear hi
service reload
not test "$(pidof beanstalkd)" = "$before"
printf 'be-used\r\nrelease 1 0 0\r\n' >&3
hear "USING default"
hear RELEASED
equal "how often it was handed over" "$(ask stats | grep '^hand-overs')" "hand-overs: 1"
equal "the job" "$(ask 'peek 1')" $'FOUND 1 2\nhi'
service status

step "a reload that comes to nothing leaves the service as it is"
before=$(pidof beanstalkd)
cp /etc/default/beanstalkd /scenario/settings
echo 'BEANSTALKD_EXTRA="--no-such-flag"' >>/etc/default/beanstalkd
not service reload
echo 'BEANSTALKD_EXTRA=""' >>/etc/default/beanstalkd # The running server has a binlog.
not service reload
cp /scenario/settings /etc/default/beanstalkd
equal "the process" "$(pidof beanstalkd)" "$before"
printf 'reserve-job 1\r\n' >&3
hear "RESERVED 1 2"
hear hi
service reload
printf 'delete 1\r\n' >&3
hear DELETED
exec 3>&-
service status
service stop
not pidof beanstalkd
not service status
step "done"
