/**
 * Ends a desktop when its input closes: on request of the service, or because the service has exited. It is a
 * separate process, so that a killed service leaves no processes, displays or files behind.
 *
 * Arguments: mark of the desktop's processes, their user (empty for that of this process), display number, folder.
 */
export const KEEPER_SCRIPT = `
mark=$1 user=$2 number=$3 folder=$4
while read -r _; do :; done

# Zombies (ended, but not reaped yet) have no environment, and state Z.
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
  # All at once if they have their own user: one that forks as fast as it can does not get away.
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
