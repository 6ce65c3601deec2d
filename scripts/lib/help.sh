# shellcheck shell=bash
# Source it before a script installs or builds anything.
#
#   help_if_wanted WORD...    prints the comment at the top of the script, and exits, if a word is -h or --help

help_if_wanted() {
  local word
  for word; do
    [[ $word == -h || $word == --help ]] || continue
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "scripts/$(basename "$0")"
    exit 0
  done
}
