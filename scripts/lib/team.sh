# The team service on this machine, for scripts to `source`: PostgreSQL from the distribution's packages and
# nodes of `twining serve`, in a folder that is removed with them when the script ends.
# It wants $twining, the program.

# Where PostgreSQL's programs are; empty where it is not installed.
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1) || true

# PostgreSQL refuses to be root: then it is the user of its package.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi
}

field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

tidy_team() {
  for process in "${started[@]}"; do
    kill -9 "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  as_postgres "$programs/pg_ctl" -D "$stage/database" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$stage"
}

# The folder $stage, and its end.
make_stage() {
  stage=$(mktemp -d)
  started=()
  trap tidy_team EXIT
  chmod 755 "$stage"
}

# A fresh database in the stage, and TWINING_DATABASE_URL.
make_database() {
  mkdir "$stage/database" "$stage/sockets"
  if [ "$(id -u)" = 0 ]; then chown postgres "$stage/database" "$stage/sockets"; fi
  as_postgres "$programs/initdb" -D "$stage/database" -A trust -U postgres >/dev/null
  start_database
  export TWINING_DATABASE_URL="host=$stage/sockets user=postgres dbname=postgres"
  "$twining" serve migrate
}

start_database() {
  as_postgres "$programs/pg_ctl" -D "$stage/database" -w -l "$stage/sockets/log" \
    -o "-k $stage/sockets -c listen_addresses=" start >/dev/null
}

start_node() { # name, port, flags: its address is in $address, its process in $started
  rm -f "$stage/$1.out"
  "$twining" serve --listen "127.0.0.1:${2:-0}" --data "$stage/$1" --drain 0 --json "${@:3}" \
    >"$stage/$1.out" 2>"$stage/$1.log" &
  started+=($!)
  until [ -s "$stage/$1.out" ]; do
    kill -0 "${started[-1]}" 2>/dev/null || { cat "$stage/$1.log" >&2; return 1; }
    sleep 0.05
  done
  address=http://$(field listening <"$stage/$1.out")
}
