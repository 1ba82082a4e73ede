#!/bin/bash
# What a VM of Debian 12 runs when it starts: the services that its metadata names, each kept running by systemd. Metadata (instance attributes):
#   ui-rl-source    address of the git repository
#   ui-rl-services  services, separated by colons: env:actor; nats is a broker
# Context files of the broker's users, and for nats its configuration, are expected in /etc/ui-rl: docs/guides/gcp.md. Runs again at every start, and changes nothing then.
set -euo pipefail

attribute() {
  curl -sf -H 'Metadata-Flavor: Google' "http://metadata.google.internal/computeMetadata/v1/instance/attributes/$1"
}

source=$(attribute ui-rl-source)
services=$(attribute ui-rl-services)

if [ ! -e /opt/ui-rl/.installed ]; then
  apt-get update
  apt-get install --yes --no-install-recommends git ca-certificates curl gnupg chromium fonts-dejavu-core
  # Node of the distribution is too old.
  curl -sf https://deb.nodesource.com/gpgkey/nodesource-repo.gpg.key | gpg --dearmor --yes -o /usr/share/keyrings/nodesource.gpg
  echo 'deb [signed-by=/usr/share/keyrings/nodesource.gpg] https://deb.nodesource.com/node_22.x nodistro main' \
    > /etc/apt/sources.list.d/nodesource.list
  apt-get update
  apt-get install --yes nodejs
  id ui-rl > /dev/null 2>&1 || useradd --system --create-home --shell /usr/sbin/nologin ui-rl
  [ -d /opt/ui-rl ] || git clone --depth 1 "$source" /opt/ui-rl
  chown -R ui-rl: /opt/ui-rl
  cd /opt/ui-rl
  runuser -u ui-rl -- env HOME=/home/ui-rl npm run setup
  touch .installed
fi

install -d -o ui-rl -g ui-rl /var/lib/ui-rl /var/lib/nats
for service in ${services//:/ }; do
  needs=/etc/ui-rl/$service.json
  command="/usr/bin/node dist/services/$service/src/main.js"
  if [ "$service" = nats ]; then
    needs=/etc/ui-rl/nats.conf
    # Stores in /var/lib/nats, as its configuration says: it refuses to be told twice.
    command='/opt/ui-rl/.cache/bin/nats-server -c /etc/ui-rl/nats.conf'
  fi
  cat > "/etc/systemd/system/ui-rl-$service.service" <<UNIT
[Unit]
Description=ui-rl $service
After=network-online.target
Wants=network-online.target
ConditionPathExists=$needs

[Service]
User=ui-rl
WorkingDirectory=/opt/ui-rl
Environment=NATS_CONTEXT=/etc/ui-rl/$service.json UIRL_RUNS_DIR=/var/lib/ui-rl/runs UIRL_CACHE_DIR=/var/lib/ui-rl/cache HF_HOME=/var/lib/ui-rl/huggingface
EnvironmentFile=-/etc/ui-rl/$service.env
ExecStart=$command
Restart=always
RestartSec=2
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths=/var/lib/ui-rl /var/lib/nats
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable --now "ui-rl-$service"
done
