#!/usr/bin/env bash
# build.sh VERSION DIR: builds the judge for a version of Kubernetes (1.37.0) in DIR, and prints the program's path.
#
# DIR becomes a Go module of its own, with go.mod and go.sum; nothing is written beside the sources. Every minor release
# up to the one that is built is a build tag (kube1.34, kube1.35, ...), so that a file says since when or until when it
# holds, and a new release needs a file only for what moved.
set -euo pipefail
version=$1 dir=$2 here=$(cd "$(dirname "$0")" && pwd)
minor=${version#1.} minor=${minor%%.*}

mkdir -p "$dir"
rm -f "$dir"/*.go
cp "$here"/*.go "$dir/"
export GOFLAGS=-mod=mod GOWORK=off GOTOOLCHAIN=auto
"$here/module.sh" "$version" judge > "$dir/go.mod"
cd "$dir"

tags=$(seq -f kube1.%g 34 "$minor" | paste -sd, -)
go build -tags "$tags" -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version" -o judge .
echo "$dir/judge"
