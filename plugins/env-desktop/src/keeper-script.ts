/**
 * Ends a desktop when its input ends: because the service says so, or because there is no service any more. Not in this process,
 * so that a service that is killed leaves no processes, displays and files behind.
 *
 * Arguments: mark of the desktop's processes, their user (empty: that of this process), number of the display, folder.
 */
export const KEEPER_SCRIPT = `
mark=$1 user=$2 number=$3 folder=$4
while read -r _; do :; done

# Those that have ended, but that nobody has asked for yet, have no environment, and state Z.
alive() {
  if [ -n "$user" ]; then
    grep -slE "^Uid:[[:space:]]+$user[[:space:]]" /proc/[0-9]*/status | xargs -r grep -sLE '^State:[[:space:]]*[ZX]'
  else
    grep -slzxF "UIRL_DESKTOP=$mark" /proc/[0-9]*/environ
  fi
}

tries=0
while [ $tries -lt 60 ]; do
  tries=$((tries + 1))
  found=$(alive)
  [ -n "$found" ] || break
  # All at once where they have a user of their own: one that forks as fast as it can does not get away.
  [ -z "$user" ] || setpriv --reuid="$user" --regid="$user" --clear-groups -- /bin/sh -c 'kill -KILL -1' 2>/dev/null
  for file in $found; do
    pid=\${file#/proc/}
    pid=\${pid%%/*}
    # With its group, where it has one: not all of a browser's processes keep their environment.
    kill -KILL -- "-$pid" 2>/dev/null
    kill -KILL "$pid" 2>/dev/null
  done
  sleep 0.05
done

if [ -n "$user" ]; then
  find /tmp /tmp/.X11-unix /var/tmp /dev/shm -mindepth 1 -maxdepth 1 -user "$user" -exec rm -rf {} + 2>/dev/null
fi
# Only where the server that wrote it has ended: it may be another one's by now.
lock=/tmp/.X$number-lock
owner=$(cat "$lock" 2>/dev/null | tr -d ' ')
if [ -n "$owner" ] && ! grep -sqE '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$owner/status"; then
  rm -f "/tmp/.X11-unix/X$number" "$lock"
fi
rm -rf "$folder"
`;
