# SPDX-License-Identifier: BSD-3-Clause
# Systems in a folder, made of the packages that this machine's apt gets.  To be sourced; needs root and mmdebstrap.

# Whether that can be done here; says what is missing.
can_make_chroots() {
  [ "$(id -u)" -eq 0 ] || { echo "needs root"; return 1; }
  command -v mmdebstrap >/dev/null || { echo "needs mmdebstrap"; return 1; }
  unshare --mount true 2>/dev/null || { echo "needs mount namespaces"; return 1; }
  [ -n "$(sources_of any)" ] || { echo "needs apt's lists of Debian (apt-get update)"; return 1; }
}

# sources_of SUITE: from where this machine has Debian, for another suite of it.
sources_of() {
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Identifier: Packages' 'Component: main' 2>/dev/null |
    awk -v suite="$1" '$1 == "Debian" && !/security/ { print "deb", $2, suite, "main"; exit }'
}

# make_chroot FOLDER SUITE PACKAGES [OPTIONS of mmdebstrap]: a minimal system with these packages (a,b,c), which has apt.
make_chroot() {
  local folder=$1 suite=$2 packages=$3 settings
  shift 3
  settings=$(mktemp)
  apt-config dump Acquire | grep -E '^Acquire::(http|https|Check-|Retries)' >"$settings" || true
  sources_of "$suite" | mmdebstrap --quiet --mode=root --variant=apt --include="$packages" --aptopt="$settings" \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io "$@" "$suite" "$folder" -
  rm -f "$settings"
}

# in_chroot FOLDER [FROM=TO ...] -- COMMAND: runs a command there, with /proc, /dev and these folders of this system.  What
# it leaves behind ends with it.
in_chroot() {
  local folder=$1
  shift
  unshare --mount --pid --fork --kill-child -- bash -c '
    set -e
    folder=$1
    shift
    mount --make-rprivate /
    mount -t proc proc "$folder/proc"
    mount --rbind /sys "$folder/sys"
    mount --rbind /dev "$folder/dev"
    while [ "$1" != -- ]; do
      mkdir -p "$folder${1#*=}"
      mount --bind "${1%%=*}" "$folder${1#*=}"
      shift
    done
    shift
    exec chroot "$folder" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
  ' in_chroot "$folder" "$@"
}
