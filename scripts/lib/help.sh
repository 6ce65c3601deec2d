# shellcheck shell=bash
# To be sourced before anything is installed or built.
#
#   help_if_wanted WORD...    if one of them is -h or --help: prints the comment at the top of the script, and ends it

help_if_wanted() {
  local word
  for word; do
    [[ $word == -h || $word == --help ]] || continue
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "scripts/$(basename "$0")"
    exit 0
  done
}
