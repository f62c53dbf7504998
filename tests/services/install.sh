#!/bin/sh
# Installs the servers and the browser that tests/services needs, as far as they are missing. Debian packages, as root.
set -eu

# A server of MongoDB's protocol, which Debian has none of: from its lock file, in an environment of its own.
here=$(dirname "$0")
venv="$here/../../.venv"
if ! cmp -s "$here/mongodb.lock" "$venv/mongodb/installed"; then
    echo "installing a server of MongoDB's protocol"
    rm -rf "$venv/mongodb"
    "$venv/bin/python" -m venv "$venv/mongodb"
    "$venv/mongodb/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/mongodb.lock"
    cp "$here/mongodb.lock" "$venv/mongodb/installed"
fi

missing=""
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="nginx-light"
command -v chromium >/dev/null 2>&1 || missing="${missing:+$missing }chromium"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="${missing:+$missing }postgresql"
command -v mariadbd >/dev/null 2>&1 || [ -x /usr/sbin/mariadbd ] || missing="${missing:+$missing }mariadb-server"
command -v redis-server >/dev/null 2>&1 || missing="${missing:+$missing }redis-server"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    echo "missing: $missing (Debian packages; as root on Debian, this script installs them)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
# A package's own service must not start: the tests run servers of their own, on ports of their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

install() {
    # shellcheck disable=SC2086 # one word per package
    apt-get install --yes --quiet --quiet --no-install-recommends -o DPkg::Lock::Timeout=120 $missing >/dev/null 2>&1
}

echo "installing $missing"
# Lists of packages may be absent or too old; they are fetched only then.
install || { apt-get update --quiet --quiet >/dev/null 2>&1 && install; } || {
    echo "could not install $missing; \`apt-get install $missing\` says why" >&2
    exit 1
}
