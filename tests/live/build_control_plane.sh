#!/usr/bin/env bash
# build_control_plane.sh [DIR]: builds etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl from
# their Go modules into DIR (default: a cache folder) and prints DIR. Needs Go; the first run takes a quarter of an hour,
# what is there already is left alone. KUBERNETES=1.37 builds that release instead of 1.36: the version that
# conformance/releases.toml names, and etcd in the version of that release's go.mod. If that go.mod needs a newer Go than
# the installed one, Go fetches it as a module.
set -euo pipefail
release=${KUBERNETES:-1.36} releases=$(cd "$(dirname "$0")/../../conformance" && pwd)/releases.toml
kubernetes=$(sed -n "s/^\"$release\" = \"\(.*\)\"\$/\1/p" "$releases")
[ -n "$kubernetes" ] || { echo "no such release: KUBERNETES=$release is not in $releases" >&2; exit 2; }
out=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/kschedctl/kubernetes-$kubernetes}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS=-mod=mod GOTOOLCHAIN=auto
cd "$work"

build() {  # build NAME PACKAGE [LDFLAGS]
  [ -x "$out/$1" ] && return
  echo "building $1" >&2
  [ -f go.mod ] || prepare >&2
  go build -trimpath -ldflags "-s -w ${3:-}" -o "$out/$1.part" "$2"
  mv "$out/$1.part" "$out/$1"
}

prepare() {
  # Kubernetes' own parts are modules of the same release, which its go.mod replaces by folders.
  gomod=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  {
    printf 'module control-plane\n\n%s\n\nreplace (\n' "$(grep '^go ' "$gomod")"
    sed -n "s#^\s*\(k8s\.io/[a-z0-9-]*\) => \./staging/.*#\t\1 => \1 v0.${kubernetes#*.}#p" "$gomod"
    printf ')\n\nrequire k8s.io/kubernetes v%s\n' "$kubernetes"
    sed -n 's#^\s*\(go\.etcd\.io/etcd/server/v3 v\S*\).*#require \1#p' "$gomod"
  } > go.mod
  case $kubernetes in 1.38.0-*) replace_unpublished ;; esac
}

# Three modules of the pre-releases of 1.38 are not published. Only tests use k8s.io/ktesting. k8s.io/apiextensions-api
# has the types and clients that k8s.io/apiextensions-apiserver had until 1.37.
replace_unpublished() {
  mkdir -p ktesting apiextensions-api/pkg/apis/apiextensions
  echo 'module k8s.io/ktesting' > ktesting/go.mod
  printf 'module k8s.io/apiextensions-api\n\ngo 1.26.0\n' > apiextensions-api/go.mod
  old=$(go mod download -json k8s.io/apiextensions-apiserver@v0.37.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  cp -r "$old"/pkg/apis/apiextensions/v1* apiextensions-api/pkg/apis/apiextensions/
  cp -r "$old"/pkg/client apiextensions-api/pkg/
  chmod -R u+w apiextensions-api
  rm apiextensions-api/pkg/apis/apiextensions/v1*/{,zz_generated.}conversion.go
  find apiextensions-api -name '*.go' -exec sed -i \
    -e 's#k8s.io/apiextensions-apiserver/pkg#k8s.io/apiextensions-api/pkg#' \
    -e 's#structured-merge-diff/v6#structured-merge-diff/v7#' -e 's#nullLiteral#[]byte("null")#' {} +
  go mod edit -replace k8s.io/ktesting=./ktesting -replace k8s.io/apiextensions-api=./apiextensions-api \
    -replace sigs.k8s.io/structured-merge-diff/v7=sigs.k8s.io/structured-merge-diff/v7@v7.0.0
}

version="-X k8s.io/component-base/version.gitVersion=v$kubernetes -X k8s.io/component-base/version.gitMajor=${kubernetes%%.*}"
version+=" -X k8s.io/component-base/version.gitMinor=$(cut -d . -f 2 <<< "$kubernetes")"
build etcd go.etcd.io/etcd/server/v3
for command in kube-apiserver kube-scheduler kube-controller-manager kubectl; do
  build "$command" "k8s.io/kubernetes/cmd/$command" "$version"
done
echo "$out"
