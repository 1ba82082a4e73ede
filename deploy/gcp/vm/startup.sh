#!/bin/bash
# Startup script of a VM with Debian 12: installs the services named in its metadata; systemd keeps them running.
# Metadata (instance attributes):
#   ui-rl-source    address of the git repository
#   ui-rl-commit    the commit to run, 40 hex digits, which pins the installed code
#   ui-rl-services  services, separated by colons: env:actor; nats is a broker
# Each service has its own user, folder and context file, which no other service can read. Context files, and the
# configuration of nats, must be in /etc/ui-rl: docs/guides/gcp.md. Runs at every start; later runs change nothing.
set -euo pipefail

attribute() {
  curl -sf -H 'Metadata-Flavor: Google' "http://metadata.google.internal/computeMetadata/v1/instance/attributes/$1"
}

source=$(attribute ui-rl-source)
commit=$(attribute ui-rl-commit)
services=$(attribute ui-rl-services)
if ! [[ $commit =~ ^[0-9a-f]{40}$ ]]; then
  echo "metadata ui-rl-commit is \"$commit\", expected the 40 hex digits of a commit of $source (git rev-parse HEAD)" >&2
  exit 1
fi

if [ ! -e /opt/ui-rl/.installed ]; then
  apt-get update
  apt-get install --yes --no-install-recommends git ca-certificates curl gnupg chromium fonts-dejavu-core
  # The distribution's Node is too old.
  curl -sf https://deb.nodesource.com/gpgkey/nodesource-repo.gpg.key | gpg --dearmor --yes -o /usr/share/keyrings/nodesource.gpg
  echo 'deb [signed-by=/usr/share/keyrings/nodesource.gpg] https://deb.nodesource.com/node_22.x nodistro main' \
    > /etc/apt/sources.list.d/nodesource.list
  apt-get update
  apt-get install --yes nodejs
  id ui-rl > /dev/null 2>&1 || useradd --system --create-home --shell /usr/sbin/nologin ui-rl
  git init --quiet /opt/ui-rl
  cd /opt/ui-rl
  git fetch --depth 1 "$source" "$commit"
  git checkout --quiet --force "$commit"
  chown -R ui-rl: /opt/ui-rl
  runuser -u ui-rl -- env HOME=/home/ui-rl npm run setup
  # Services can read it, but not change it.
  chown -R root: /opt/ui-rl
  touch .installed
fi

for service in ${services//:/ }; do
  user=ui-rl-$service
  id "$user" > /dev/null 2>&1 || useradd --system --home-dir "/var/lib/$user" --shell /usr/sbin/nologin "$user"
  needs=/etc/ui-rl/$service.json
  state=ui-rl-$service
  command="/usr/bin/node dist/services/$service/src/main.js"
  if [ "$service" = nats ]; then
    needs=/etc/ui-rl/nats.conf
    # The configuration sets the store to /var/lib/nats; nats-server rejects a second setting.
    state=nats
    command='/opt/ui-rl/.cache/bin/nats-server -c /etc/ui-rl/nats.conf'
  fi
  cat > "/etc/systemd/system/ui-rl-$service.service" <<UNIT
[Unit]
Description=ui-rl $service
After=network-online.target
Wants=network-online.target
ConditionPathExists=$needs

[Service]
User=$user
WorkingDirectory=/opt/ui-rl
StateDirectory=$state
StateDirectoryMode=0700
Environment=NATS_CONTEXT=/etc/ui-rl/$service.json UIRL_RUNS_DIR=/var/lib/$state/runs UIRL_CACHE_DIR=/var/lib/$state/cache HF_HOME=/var/lib/$state/huggingface
EnvironmentFile=-/etc/ui-rl/$service.env
ExecStart=$command
Restart=always
RestartSec=2
NoNewPrivileges=yes
ProtectSystem=strict
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable --now "ui-rl-$service"
done
