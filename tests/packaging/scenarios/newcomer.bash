# A fresh installation, without a compiler: the first command of the README, and the first job.

cd /scenario/haricot
show_state() { tail -n 40 /scenario/serve.log; }

step "nothing is there to build with"
not command -v c++
not command -v cmake

step "scripts/serve installs it, builds and serves"
# As in CI, a warning fails the build. Each folder is compiled as one file, which takes less time. All other builds show
# the warnings of Debian 12's compiler, so it does not optimise here.
settings='"CMAKE_BUILD_TYPE": "Release"'
[[ $(. /etc/os-release && echo "$VERSION_ID") != 12 ]] ||
  settings='"CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS_DEBUG": "-O0"'
settings+=', "HARICOT_UNITY_LIBRARIES": "ON", "CMAKE_COMPILE_WARNING_AS_ERROR": "ON"'
sed -i "s/\"CMAKE_BUILD_TYPE\": \"Release\"/$settings/" CMakePresets.json
grep -q WARNING_AS_ERROR CMakePresets.json
scripts/serve >/scenario/serve.log 2>&1 &
server=$!
until is_answered; do
  kill -0 "$server" || fail "it has ended"
  sleep 1
done
grep -e -Werror -q build/release/build.ninja

step "the tool is built while the server serves: its first command waits for it"
haricot=build/release/haricot
[[ -x $haricot ]] || fail "there is no tool when the server answers"
$haricot ping >/scenario/ping.log 2>&1 || fail "$(cat /scenario/ping.log build/release/haricot.log)"
[[ $(head -c 2 $haricot) != "#!" ]] || fail "the tool did not take the place of the script"
eventually grep -q "^The tool is ready: build/release/haricot$" /scenario/serve.log

step "the first job"
equal "the job that is put" "$($haricot put --tube greetings hello)" 1
equal "the job that is peeked at" "$($haricot peek --ready --tube greetings)" hello
equal "the server" "$(ask 'peek 1')" $'FOUND 1 5\nhello'
kill "$server"
wait "$server"
step "done"
